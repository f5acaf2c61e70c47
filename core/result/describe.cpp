// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/result/picture.h"
#include "core/result/short_names.h"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>

namespace halftone {

namespace {

using Mark = Trace::Mark;

std::string withUnit(double value, const Axis& axis) { return quantityText(value, axis.unit); }

std::string axisName(const Axis& axis, const char* fallback)
{
    return axis.label.empty() ? fallback : axis.label;
}

std::string positionText(double at, const Axis& axis, const std::vector<std::string>& names)
{
    const auto index = static_cast<std::size_t>(std::clamp(at, 0.0, 1e15));
    return index < names.size() && static_cast<double>(index) == at ? names[index] : withUnit(at, axis);
}

/// "at 4 bit (layers.0.w)".
std::string placeText(const Picture& p, const Series& s, std::size_t i)
{
    std::string out = " at " + positionText(s.x[i], p.spec.x, p.xNames);
    if (!p.yNames.empty() || s.mark == Mark::Cells) out += ", " + positionText(s.y[i], p.spec.y, p.yNames);
    const bool said = !p.xNames.empty();
    if (!s.text.empty() && !said && !s.names[s.text[i]].empty()) out += " (" + s.names[s.text[i]] + ")";
    return out;
}

std::string seriesText(const Picture& p, const Series& s)
{
    const std::string name = s.label.empty() ? "" : s.label + ": ";
    const std::size_t count = s.x.size();
    if (count == 0) return name + "nothing to show.";
    const bool cells = s.mark == Mark::Cells;
    const std::vector<double>& values = cells ? s.z : s.y;
    const Axis& axis = cells ? p.spec.z : p.spec.y;
    const auto least =
        static_cast<std::size_t>(std::min_element(values.begin(), values.end()) - values.begin());
    const auto most =
        static_cast<std::size_t>(std::max_element(values.begin(), values.end()) - values.begin());
    if (s.mark == Mark::Rectangles) {
        const double sum = std::accumulate(values.begin(), values.end(), 0.0);
        const std::string what = s.text.empty() ? "" : " (" + s.names[s.text[most]] + ")";
        return fmt::format("{}{} rectangles, {} in all; the largest{} is {}, {:.1f} %.", name, count,
                           withUnit(sum, axis), what, withUnit(values[most], axis), 100 * values[most] / sum);
    }
    const char* mark = cells                   ? "cells"
                       : s.mark == Mark::Bars  ? "bars"
                       : s.mark == Mark::Boxes ? "boxes around medians"
                                               : "points";
    std::string out =
        fmt::format("{}{} {}; {} from {}{} to {}{}.", name, count, mark,
                    axisName(axis, cells ? "value" : "y"), withUnit(values[least], axis),
                    placeText(p, s, least), withUnit(values[most], axis), placeText(p, s, most));
    if (!s.spread.empty()) {
        double low = s.spread.front()[0], high = s.spread.front()[3];
        for (const auto& spread : s.spread) {
            low = std::min(low, spread[0]);
            high = std::max(high, spread[3]);
        }
        out += fmt::format(" The whiskers reach from {} to {}.", withUnit(low, axis), withUnit(high, axis));
    }
    if (!s.hull.empty())
        out += fmt::format(" {} of them {} on the upper left hull.", s.hull.size(),
                           s.hull.size() == 1 ? "is" : "are");
    return out;
}

} // namespace

std::string describe(const Picture& picture)
{
    const FigureSpec& spec = picture.spec;
    std::string out = spec.title.empty() ? spec.id : spec.title;
    out += ".";
    if (!spec.caption.empty()) out += " " + spec.caption;
    if (spec.kind != "treemap") {
        const auto axis = [](const Axis& a, const char* fallback) {
            return axisName(a, fallback) + (a.unit.empty() ? "" : " in " + a.unit) +
                   (a.log ? ", logarithmic" : "");
        };
        out += fmt::format(" Across: {}; up: {}.", axis(spec.x, "x"), axis(spec.y, "y"));
    }
    for (const Series& s : picture.series)
        out += " " + seriesText(picture, s);
    if (!picture.note.empty()) out += " " + picture.note + ".";
    return out;
}

} // namespace halftone
