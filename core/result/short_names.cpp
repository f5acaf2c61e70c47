// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/result/short_names.h"

#include "core/base/text.h"

#include <algorithm>
#include <map>
#include <set>

namespace halftone {

namespace {

/// First part with its dot, or last part with its dot; empty where cutting it leaves nothing.
std::string_view partOf(std::string_view name, bool first)
{
    const std::size_t dot = first ? name.find('.') : name.rfind('.');
    if (dot == std::string_view::npos || dot == 0 || dot + 1 == name.size()) return {};
    return first ? name.substr(0, dot + 1) : name.substr(dot);
}

void cutShared(std::vector<std::string>& names, bool first)
{
    std::map<std::string, std::size_t> counts;
    for (const std::string& name : names)
        if (const auto part = partOf(name, first); !part.empty()) ++counts[std::string(part)];
    const auto most = std::max_element(counts.begin(), counts.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    if (most == counts.end() || most->second * 2 <= names.size()) return;
    std::vector<std::string> cut = names;
    for (std::string& name : cut)
        if (partOf(name, first) == most->first)
            name.erase(first ? 0 : name.size() - most->first.size(), most->first.size());
    const std::size_t before = std::set<std::string>(names.begin(), names.end()).size();
    if (std::set<std::string>(cut.begin(), cut.end()).size() == before) names = std::move(cut);
}

} // namespace

std::vector<std::string> shortNames(std::span<const std::string> names)
{
    std::vector<std::string> out(names.begin(), names.end());
    if (out.size() < 2) return out;
    cutShared(out, false);
    cutShared(out, true);
    return out;
}

std::string quantityText(double value, std::string_view unit)
{
    if (unit == "B" && value >= 0 && value < 1e18) return humanBytes(static_cast<std::uint64_t>(value));
    return unit.empty() ? shortNumber(value) : shortNumber(value) + " " + std::string(unit);
}

} // namespace halftone
