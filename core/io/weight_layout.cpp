// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/io/weight_layout.h"

#include "core/io/compressed_tensors.h"
#include "core/io/layout_list.h"
#include "core/io/text_names.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>

namespace halftone {

namespace {

constexpr std::string_view kAuto = "auto";

// In the order in which "auto" tries them.
std::array<const WeightLayout*, 10> allLayouts()
{
    return {&packQuantizedLayout(), &floatQuantizedLayout(),
            &mxfp8Layout(),         &mxfp4Layout(),
            &nvfp4Layout(),         &bitsAndBytesLayout(),
            &intQuantizedLayout(),  &gptqLayout(false),
            &gptqLayout(true),      &awqLayout()};
}

bool isCompressed(const WeightLayout& layout) { return layout.name().ends_with("-quantized"); }

} // namespace

Result<const WeightLayout*> weightLayout(std::string_view choice, const BlockFormat& format)
{
    std::string why;
    for (const auto* layout : allLayouts()) {
        if (choice != kAuto && layout->name() != choice) continue;
        why = layout->whyNot(format, {});
        if (why.empty()) return layout;
    }
    if (choice == kAuto)
        return Error(Errc::InvalidArgument,
                     fmt::format("safetensors can't hold {}: no layout that other programs read has room for "
                                 "it; choose another format, or only measure its errors",
                                 format.name()));
    return Error(Errc::InvalidArgument,
                 why.empty() ? fmt::format("there is no layout {}", shownName(choice)) : why);
}

std::vector<std::string> weightLayoutChoices()
{
    std::vector<std::string> all{std::string(kAuto)};
    for (const auto* layout : allLayouts())
        all.emplace_back(layout->name());
    return all;
}

Result<std::string> layoutConfig(std::span<const LaidOutWeight> weights, std::span<const std::string> ignored)
{
    if (weights.empty()) return std::string();
    const auto& first = weights.front();
    if (std::ranges::all_of(weights, [](const auto& w) { return isCompressed(*w.layout); })) {
        std::vector<CompressedWeight> list;
        for (const auto& w : weights)
            list.push_back({w.name, w.format, w.layout->name()});
        return compressedConfig(list, ignored);
    }
    for (const auto& w : weights) {
        if (w.layout != first.layout)
            return Error(
                Errc::InvalidArgument,
                fmt::format("{} is stored as {} and {} as {}: one config.json can't say both; choose "
                            "one layout for all",
                            shownName(first.name), first.layout->name(), shownName(w.name),
                            w.layout->name()));
        if (w.format != first.format)
            return Error(
                Errc::InvalidArgument,
                fmt::format("{} is {} and {} is {}: {} has room for one format; leave the exceptions "
                            "out, or choose layout=auto",
                            shownName(first.name), first.format->name(), shownName(w.name), w.format->name(),
                            first.layout->name()));
    }
    if (first.layout == &awqLayout()) return awqConfig(weights, ignored);
    if (first.layout == &bitsAndBytesLayout()) return bitsAndBytesConfig(weights, ignored);
    return gptqConfig(weights, ignored);
}

} // namespace halftone
