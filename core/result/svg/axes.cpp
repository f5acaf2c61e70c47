// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/result/svg/chart.h"

#include "core/result/short_names.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace halftone::svg {

namespace {

using Mark = Trace::Mark;

constexpr double kTickLength = 4;
constexpr double kLongestName = 150;
constexpr double kSlant = -45;

struct Extent {
    double low = std::numeric_limits<double>::infinity(), high = -low;
    bool whole = true; ///< all values are whole numbers: so are the ticks
    double half = 0;   ///< half a cell or bar, on both sides
    bool bars = false, cells = false;
};

double measure(double value, bool log) { return log ? std::log10(value) : value; }
double unmeasured(double value, bool log) { return log ? std::pow(10.0, value) : value; }

Extent extentOf(const Picture& picture, bool xAxis)
{
    Extent e;
    const bool log = xAxis ? picture.spec.x.log : picture.spec.y.log;
    for (const Series& s : picture.series) {
        const std::vector<double>& values = xAxis ? s.x : s.y;
        for (double v : values) {
            e.low = std::min(e.low, v);
            e.high = std::max(e.high, v);
            e.whole &= v == std::floor(v);
        }
        if (!xAxis)
            for (const auto& spread : s.spread) {
                e.low = std::min(e.low, spread.front());
                e.high = std::max(e.high, spread.back());
                e.whole = false;
            }
        const bool cells = s.mark == Mark::Cells, bars = s.mark == Mark::Bars;
        const bool boxes = s.mark == Mark::Boxes;
        if (cells || ((bars || boxes) && xAxis)) e.half = std::max(e.half, stepOf(values, log) / 2);
        e.cells |= cells;
        e.bars |= bars;
    }
    return e;
}

/// The ends of an axis: the data, with a little room, or whole cells; bars start at 0.
void setEnds(Scale& scale, const Extent& e, bool xAxis)
{
    double low = measure(e.low, scale.log), high = measure(e.high, scale.log);
    if (e.half > 0) {
        low -= e.half;
        high += e.half;
    } else {
        if (e.bars && !xAxis && !scale.log) {
            low = std::min(low, 0.0);
            high = std::max(high, 0.0);
        }
        // Halves first: the difference of two large numbers may not fit.
        const double range = high / 2 - low / 2;
        const double room = range > 0 ? range * 0.1 : scale.log ? 0.5 : low != 0 ? std::fabs(low) * 0.1 : 1;
        const bool barFoot = e.bars && !xAxis;
        if (!(barFoot && low == 0)) low -= barFoot && scale.log ? std::max(room, 0.1) : room;
        if (!(barFoot && high == 0)) high += room;
    }
    const double most = std::numeric_limits<double>::max();
    scale.min =
        std::clamp(unmeasured(low, scale.log), scale.log ? std::numeric_limits<double>::min() : -most, most);
    scale.max = std::clamp(unmeasured(high, scale.log), scale.min, most);
}

void onlyWhole(Ticks& ticks)
{
    Ticks kept;
    for (std::size_t i = 0; i < ticks.at.size(); ++i)
        if (ticks.at[i] == std::floor(ticks.at[i])) {
            kept.at.push_back(ticks.at[i]);
            kept.labels.push_back(ticks.labels[i]);
        }
    if (!kept.at.empty()) ticks = kept;
}

AxisView axisView(const Picture& picture, bool xAxis, double pixels)
{
    const Axis& axis = xAxis ? picture.spec.x : picture.spec.y;
    AxisView view;
    view.title = axisTitle(axis);
    view.names = shortNames(xAxis ? picture.xNames : picture.yNames);
    view.scale.log = axis.log && view.names.empty();
    const Extent e = extentOf(picture, xAxis);
    if (!(e.low <= e.high)) return view; // no values at all
    if (!view.names.empty()) {
        view.scale.min = -0.5;
        view.scale.max = static_cast<double>(view.names.size()) - 0.5;
        return view;
    }
    setEnds(view.scale, e, xAxis);
    const int most = std::max(2, static_cast<int>(pixels / (xAxis ? 75 : 42)));
    view.ticks = ticksFor(view.scale.min, view.scale.max, view.scale.log, std::min(most, 12));
    if (e.whole && (e.cells || e.bars) && !view.scale.log) onlyWhole(view.ticks);
    return view;
}

/// Every how manieth name is written when each needs `need` pixels.
std::size_t strideOf(std::size_t names, double pixels, double need)
{
    const double band = pixels / static_cast<double>(std::max<std::size_t>(names, 1));
    return static_cast<std::size_t>(std::max(1.0, std::ceil(need / band)));
}

double widestName(const std::vector<std::string>& names)
{
    double widest = 0;
    for (const std::string& name : names)
        widest = std::max(widest, std::min(textWidth(name, kSmallSize), kLongestName));
    return widest;
}

void drawNamesBelow(Page& page, const Layout& l)
{
    const double band = l.plot.width / static_cast<double>(l.x.names.size());
    const double foot = l.plot.bottom();
    const std::size_t stride = l.rotateNames ? strideOf(l.x.names.size(), l.plot.width, 17) : 1;
    for (std::size_t i = 0; i < l.x.names.size(); i += stride) {
        const double x = l.x.scale.at(static_cast<double>(i));
        page.line({x, foot}, {x, foot + kTickLength}, page.theme().axis, 1);
        TextStyle style{page.theme().text, kSmallSize, Anchor::Middle};
        if (!l.rotateNames) {
            page.text({x, foot + 16}, elided(l.x.names[i], band - 4, kSmallSize), style);
            continue;
        }
        style.anchor = Anchor::End;
        style.rotate = kSlant;
        // A slanted name reaches to the left as far as down: it must not leave the page.
        const double room = std::min(kLongestName, (x - 4) / std::cos(kSlant * 3.14159265358979 / 180));
        page.text({x + 4, foot + 13}, elided(l.x.names[i], room, kSmallSize), style);
    }
}

void drawNamesLeft(Page& page, const Layout& l)
{
    const std::size_t stride = strideOf(l.y.names.size(), l.plot.height, 14);
    for (std::size_t i = 0; i < l.y.names.size(); i += stride) {
        const double y = l.y.scale.at(static_cast<double>(i));
        page.line({l.plot.x - kTickLength, y}, {l.plot.x, y}, page.theme().axis, 1);
        page.text({l.plot.x - 8, y + 4}, elided(l.y.names[i], kLongestName, kSmallSize),
                  {page.theme().text, kSmallSize, Anchor::End});
    }
}

void drawTicksBelow(Page& page, const Layout& l)
{
    double taken = -1e9; // right end of the last label
    for (std::size_t i = 0; i < l.x.ticks.at.size(); ++i) {
        const double x = l.x.scale.at(l.x.ticks.at[i]);
        page.line({x, l.plot.y}, {x, l.plot.bottom()}, page.theme().grid, 1);
        page.line({x, l.plot.bottom()}, {x, l.plot.bottom() + kTickLength}, page.theme().axis, 1);
        const double half = textWidth(l.x.ticks.labels[i], kTextSize) / 2;
        if (x - half < taken + 6 || x + half > page.width()) continue;
        taken = x + half;
        page.text({x, l.plot.bottom() + 18}, l.x.ticks.labels[i],
                  {page.theme().text, kTextSize, Anchor::Middle});
    }
}

void drawTicksLeft(Page& page, const Layout& l)
{
    for (std::size_t i = 0; i < l.y.ticks.at.size(); ++i) {
        const double y = l.y.scale.at(l.y.ticks.at[i]);
        page.line({l.plot.x, y}, {l.plot.right(), y}, page.theme().grid, 1);
        page.text({l.plot.x - 8, y + 4}, l.y.ticks.labels[i], {page.theme().text, kTextSize, Anchor::End});
    }
}

} // namespace

double Scale::at(double value) const
{
    if (log) {
        const double a = std::log10(min), b = std::log10(max);
        return b > a ? start + (end - start) * (std::log10(value) - a) / (b - a) : (start + end) / 2;
    }
    const double range = max / 2 - min / 2;
    return range > 0 ? start + (end - start) * ((value / 2 - min / 2) / range) : (start + end) / 2;
}

std::string axisTitle(const Axis& axis)
{
    if (axis.unit.empty()) return axis.label;
    return axis.label.empty() ? axis.unit : axis.label + " (" + axis.unit + ")";
}

double stepOf(const std::vector<double>& values, bool log)
{
    std::vector<double> sorted;
    sorted.reserve(values.size());
    for (double v : values)
        sorted.push_back(measure(v, log));
    std::sort(sorted.begin(), sorted.end());
    double step = std::numeric_limits<double>::infinity();
    for (std::size_t i = 1; i < sorted.size(); ++i) {
        const double gap = sorted[i] - sorted[i - 1];
        // Two centres that differ by rounding alone are one.
        if (gap > 1e-9 * std::max(std::fabs(sorted[i]), 1e-300)) step = std::min(step, gap);
    }
    return std::isfinite(step) ? step : 1;
}

Layout layOut(const Picture& picture, const Box& area)
{
    Layout l;
    const AxisView yGuess = axisView(picture, false, area.height - 60);
    double labels = widestName(yGuess.names);
    for (const std::string& label : yGuess.ticks.labels)
        labels = std::max(labels, textWidth(label, kTextSize));
    const double left = labels + 12 + (yGuess.title.empty() ? 4 : 24);
    l.plot.x = area.x + left;
    l.plot.y = area.y + 8;
    l.plot.width = std::max(area.width - left - 8, 20.0);

    l.x = axisView(picture, true, l.plot.width);
    double below = 24;
    if (!l.x.names.empty()) {
        const double band = l.plot.width / static_cast<double>(l.x.names.size());
        const double widest = widestName(l.x.names);
        l.rotateNames = widest + 8 > band;
        if (l.rotateNames) below = 16 + widest * std::sin(-kSlant * 3.14159265358979 / 180) + 6;
    }
    below += l.x.title.empty() ? 2 : 20;
    l.plot.height = std::max(area.height - 8 - below, 20.0);
    l.captionTop = area.bottom();
    l.y = axisView(picture, false, l.plot.height);

    l.x.scale.start = l.plot.x;
    l.x.scale.end = l.plot.right();
    l.y.scale.start = l.plot.bottom();
    l.y.scale.end = l.plot.y;
    // Rows of a heat map run downwards, as those of a matrix do.
    if (picture.spec.kind == "heatmap") std::swap(l.y.scale.start, l.y.scale.end);
    return l;
}

void drawAxes(Page& page, const Layout& l)
{
    const Theme& theme = page.theme();
    if (l.y.names.empty())
        drawTicksLeft(page, l);
    else
        drawNamesLeft(page, l);
    if (l.x.names.empty())
        drawTicksBelow(page, l);
    else
        drawNamesBelow(page, l);
    page.line({l.plot.x, l.plot.bottom()}, {l.plot.right(), l.plot.bottom()}, theme.axis, 1);
    page.line({l.plot.x, l.plot.y}, {l.plot.x, l.plot.bottom()}, theme.axis, 1);
    page.text({l.plot.x + l.plot.width / 2, l.captionTop - 6}, elided(l.x.title, l.plot.width, kTextSize),
              {theme.text, kTextSize, Anchor::Middle});
    page.text({kMargin + 10, l.plot.y + l.plot.height / 2}, elided(l.y.title, l.plot.height, kTextSize),
              {.colour = theme.text, .size = kTextSize, .anchor = Anchor::Middle, .rotate = -90});
}

} // namespace halftone::svg
