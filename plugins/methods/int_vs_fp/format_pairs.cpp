// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/methods/int_vs_fp/format_pairs.h"

#include <algorithm>
#include <fmt/format.h>

namespace halftone::int_vs_fp {

namespace {

constexpr std::array<Pair, 4> kPairs{{
    {"mxint8", "mxfp8_e4m3", {40.35, 31.50, 1.0, 12}, {41.93, 31.51, 1.0, 12}},
    {"mxint6", "mxfp6_e2m3", {28.57, 30.39, 0.001, 0}, {30.18, 31.03, 0.055, 1}},
    {"mxint4", "mxfp4_e2m1", {15.89, 17.98, 0.003, 0}, {17.22, 18.79, 0.013, 0}},
    {"nvint4", "nvfp4_e2m1", {20.55, 20.60, 0.643, 0}, {21.65, 20.35, 0.993, 12}},
}};

constexpr std::int64_t kRow = FormatDesc::kWholeRow;
constexpr std::array<PublishedCrest, 6> kCrests{{
    {kRow, false, {3.55, 4.26, 6.2, 11.97, 60.15}},
    {32, false, {2.28, 2.40, 2.48, 2.96, 4.26}},
    {16, false, {2.04, 2.13, 2.16, 2.39, 3.16}},
    {kRow, true, {3.62, 3.9, 4.15, 5.79, 13.02}},
    {32, true, {1.91, 2.29, 2.35, 2.36, 2.57}},
    {16, true, {1.77, 2.06, 2.10, 2.11, 2.21}},
}};

const FormatHead& headOf(std::string_view name)
{
    const auto& all = formatHeads();
    const auto it = std::find_if(all.begin(), all.end(), [&](const FormatHead& h) { return h.name == name; });
    static const FormatHead kNone;
    return it == all.end() ? kNone : *it;
}

} // namespace

std::span<const Pair> allPairs() { return kPairs; }

std::span<const PublishedCrest> publishedCrests() { return kCrests; }

std::vector<const Pair*> pairsNamed(std::string_view id)
{
    std::vector<const Pair*> out;
    for (const Pair& pair : kPairs)
        if (id == "all" || pair.id() == id) out.push_back(&pair);
    return out;
}

std::string Pair::title() const { return headTitle(integer) + " / " + headTitle(floating); }

std::int64_t Pair::usualBlock() const { return headOf(integer).usualBlock; }

bool Pair::fineScale() const
{
    const auto formats = formatsOf(*this, usualBlock(), headOf(integer).tails.front());
    return formats && formats->integer->desc().scale == ScaleType::E4M3;
}

std::vector<std::string> scaleRulesOf(std::string_view head) { return headOf(head).tails; }

std::string headTitle(std::string_view head) { return headOf(head).title; }

Result<PairFormats> formatsOf(const Pair& pair, std::int64_t block, std::string_view rule)
{
    HALFTONE_TRY(integer, formatNamed(fmt::format("{}.{}.{}", pair.integer, groupName(block), rule)));
    HALFTONE_TRY(floating, formatNamed(fmt::format("{}.{}.{}", pair.floating, groupName(block), rule)));
    return PairFormats{integer, floating};
}

} // namespace halftone::int_vs_fp
