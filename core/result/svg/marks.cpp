// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/result/svg/chart.h"

#include "core/result/short_names.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <set>

namespace halftone::svg {

namespace {

using Mark = Trace::Mark;

constexpr double kMarkerRadius = 4;
/// Above this, points that share a pixel are drawn once: more can't be seen and makes files of megabytes.
constexpr std::size_t kManyPoints = 4000;

Point pointAt(const Layout& l, const Series& s, std::size_t i)
{
    return {l.x.scale.at(s.x[i]), l.y.scale.at(s.y[i])};
}

/// Indices of the points of a line that show: first, least, most and last of each pixel column.
std::vector<std::size_t> visibleOnLine(const Layout& l, const Series& s)
{
    std::vector<std::size_t> order(s.x.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return s.x[a] < s.x[b]; });
    if (order.size() <= kManyPoints) return order;
    std::vector<std::size_t> kept;
    for (std::size_t start = 0; start < order.size();) {
        const auto column = std::floor(l.x.scale.at(s.x[order[start]]));
        std::size_t end = start;
        std::size_t least = start, most = start;
        for (; end < order.size() && std::floor(l.x.scale.at(s.x[order[end]])) == column; ++end) {
            if (s.y[order[end]] < s.y[order[least]]) least = end;
            if (s.y[order[end]] > s.y[order[most]]) most = end;
        }
        std::set<std::size_t> shown{start, least, most, end - 1};
        for (std::size_t k : shown)
            kept.push_back(order[k]);
        start = end;
    }
    return kept;
}

/// Bars of one series as boxes; bars thinner than a pixel are merged, the longest standing for all.
void drawBarSeries(Page& page, const Layout& l, const Series& s, std::uint32_t colour, double left,
                   double width)
{
    const double low = std::min(l.y.scale.start, l.y.scale.end),
                 high = std::max(l.y.scale.start, l.y.scale.end);
    const double foot = l.y.scale.log ? l.y.scale.start : std::clamp(l.y.scale.at(0), low, high);
    struct Bar {
        double x, top;
    };
    std::vector<Bar> bars;
    for (std::size_t i = 0; i < s.x.size(); ++i)
        bars.push_back({l.x.scale.at(s.x[i]) + left, l.y.scale.at(s.y[i])});
    std::stable_sort(bars.begin(), bars.end(), [](const Bar& a, const Bar& b) { return a.x < b.x; });
    const double drawn = std::max(width, 1.0);
    double last = -1e9;
    double longest = 0;
    for (const Bar& bar : bars) {
        const double length = std::fabs(bar.top - foot);
        if (width < 1 && std::floor(bar.x) == std::floor(last) && length <= longest) continue;
        if (std::floor(bar.x) != std::floor(last)) longest = 0;
        last = bar.x;
        longest = std::max(longest, length);
        page.rect({bar.x, std::min(bar.top, foot), drawn, length}, colour);
    }
}

/// Places for names that were taken already.
class Places {
public:
    void block(const Box& box) { m_taken.push_back(box); }
    /// Names on a line can't be read.
    void blockLine(const Point& a, const Point& b)
    {
        const int pieces = static_cast<int>(std::hypot(b.x - a.x, b.y - a.y) / 6) + 1;
        for (int t = 0; t <= pieces; ++t) {
            const double f = static_cast<double>(t) / pieces;
            block({a.x + f * (b.x - a.x) - 2, a.y + f * (b.y - a.y) - 2, 4, 4});
        }
    }
    bool take(const Box& box)
    {
        for (const Box& other : m_taken)
            if (other.overlaps(box)) return false;
        m_taken.push_back(box);
        return true;
    }

private:
    std::vector<Box> m_taken;
};

} // namespace

std::uint32_t colourOf(const Picture& picture, std::size_t series, const Theme& theme)
{
    const std::string& label = picture.series[series].label;
    const std::uint32_t colour = isRoleClass(label) ? categoryColour(label) : seriesColour(series);
    return readable(colour, theme.background, 3);
}

std::string dashOf(std::size_t series)
{
    constexpr std::array<const char*, 6> kDashes{"", "8 4", "2 3", "9 3 2 3", "14 4", "5 2"};
    return kDashes[series % kDashes.size()];
}

Slots slotsOf(const Picture& picture, Mark mark, const Layout& l)
{
    Slots slots;
    double step = 0;
    for (std::size_t i = 0; i < picture.series.size(); ++i) {
        const Series& s = picture.series[i];
        if (s.mark != mark || s.x.empty()) continue;
        slots.series.push_back(i);
        const double own = l.x.names.empty() ? stepOf(s.x, l.x.scale.log) : 1;
        step = step == 0 ? own : std::min(step, own);
    }
    if (slots.series.empty()) return slots;
    const Scale& x = l.x.scale;
    const double range = x.log ? std::log10(x.max) - std::log10(x.min) : x.max - x.min;
    const double band = step / range * l.plot.width;
    // The bars of a histogram touch, but for a hair; others stand apart.
    slots.full = picture.spec.kind == "histogram" ? std::max(band - 1, band * 0.5) : band * 0.8;
    slots.width = slots.full / static_cast<double>(slots.series.size());
    return slots;
}

void drawBars(Page& page, const Picture& picture, const Layout& l)
{
    const Slots slots = slotsOf(picture, Mark::Bars, l);
    for (std::size_t k = 0; k < slots.series.size(); ++k)
        drawBarSeries(page, l, picture.series[slots.series[k]],
                      colourOf(picture, slots.series[k], page.theme()), slots.left(k), slots.width);
}

void drawBoxes(Page& page, const Picture& picture, const Layout& l)
{
    const Slots slots = slotsOf(picture, Mark::Boxes, l);
    const double width = std::clamp(slots.width * 0.8, 1.0, 48.0);
    for (std::size_t k = 0; k < slots.series.size(); ++k) {
        const Series& s = picture.series[slots.series[k]];
        const std::uint32_t colour = colourOf(picture, slots.series[k], page.theme());
        for (std::size_t i = 0; i < std::min(s.x.size(), s.spread.size()); ++i) {
            const double middle = l.x.scale.at(s.x[i]) + slots.left(k) + slots.width / 2;
            const auto [low, lower, upper, high] = s.spread[i];
            const double bottom = l.y.scale.at(lower), top = l.y.scale.at(upper);
            page.line({middle, l.y.scale.at(low)}, {middle, bottom}, colour, 1.5);
            page.line({middle, top}, {middle, l.y.scale.at(high)}, colour, 1.5);
            for (const double end : {low, high})
                page.line({middle - width / 4, l.y.scale.at(end)}, {middle + width / 4, l.y.scale.at(end)},
                          colour, 1.5);
            // A box without height is still seen.
            const double height = std::max(bottom - top, 2.0);
            page.rect({middle - width / 2, top, width, height}, colour);
            const double median = l.y.scale.at(s.y[i]);
            if (height > 4)
                page.line({middle - width / 2, median}, {middle + width / 2, median}, page.theme().background,
                          2);
        }
    }
}

void drawLine(Page& page, const Picture& picture, std::size_t series, const Layout& l)
{
    const Series& s = picture.series[series];
    const std::uint32_t colour = colourOf(picture, series, page.theme());
    std::vector<Point> points;
    for (std::size_t i : visibleOnLine(l, s))
        points.push_back(pointAt(l, s, i));
    if (points.size() > 1) page.polyline(points, colour, 2, dashOf(series));
    // Few points are shown as such, so that a straight piece isn't taken for data.
    if (points.size() <= 40)
        for (const Point& p : points)
            page.marker(p, series, 3, colour, true);
}

void drawPoints(Page& page, const Picture& picture, std::size_t series, const Layout& l)
{
    const Series& s = picture.series[series];
    const std::uint32_t colour = colourOf(picture, series, page.theme());
    std::vector<Point> line;
    std::vector<bool> onHull(s.x.size());
    for (std::uint32_t i : s.hull) {
        line.push_back(pointAt(l, s, i));
        onHull[i] = true;
    }
    if (line.size() > 1) page.polyline(line, colour, 2, dashOf(series));
    const bool many = s.x.size() > kManyPoints;
    std::set<std::pair<int, int>> drawn;
    for (std::size_t i = 0; i < s.x.size(); ++i) {
        const Point p = pointAt(l, s, i);
        if (many && !onHull[i] && !drawn.emplace(static_cast<int>(p.x), static_cast<int>(p.y)).second)
            continue;
        page.marker(p, series, many ? 1.5 : kMarkerRadius, colour, s.hull.empty() || onHull[i]);
    }
}

void drawPointNames(Page& page, const Picture& picture, const Layout& l)
{
    constexpr std::size_t kMostNamed = 60; // with more, names are noise: the table has them
    constexpr double kLongest = 170;
    Places places;
    for (const Series& s : picture.series) {
        if (s.mark != Mark::Points || s.x.size() > kManyPoints) continue;
        for (std::size_t i = 0; i < s.x.size(); ++i) {
            const Point p = pointAt(l, s, i);
            places.block({p.x - kMarkerRadius - 1, p.y - kMarkerRadius - 1, 2 * kMarkerRadius + 2,
                          2 * kMarkerRadius + 2});
        }
        for (std::size_t k = 1; k < s.hull.size(); ++k)
            places.blockLine(pointAt(l, s, s.hull[k - 1]), pointAt(l, s, s.hull[k]));
    }
    for (const Series& s : picture.series) {
        if (s.mark != Mark::Line) continue;
        const std::vector<std::size_t> shown = visibleOnLine(l, s);
        for (std::size_t k = 1; k < shown.size(); ++k)
            places.blockLine(pointAt(l, s, shown[k - 1]), pointAt(l, s, shown[k]));
    }
    for (const Series& s : picture.series) {
        if (s.mark != Mark::Points || s.text.empty()) continue;
        std::vector<std::size_t> order(s.hull.begin(), s.hull.end());
        if (s.x.size() <= kMostNamed)
            for (std::size_t i = 0; i < s.x.size(); ++i)
                if (std::find(s.hull.begin(), s.hull.end(), i) == s.hull.end()) order.push_back(i);
        const std::vector<std::string> names = shortNames(s.names);
        for (std::size_t i : order) {
            const Point p = pointAt(l, s, i);
            const std::string name = elided(names[s.text[i]], kLongest, kSmallSize);
            const double w = textWidth(name, kSmallSize), gap = kMarkerRadius + 4, h = kSmallSize + 2;
            // Above and below, moved sideways where the plot ends.
            const double beside =
                std::clamp(p.x - w / 2, l.plot.x + 2, std::max(l.plot.right() - w - 2, l.plot.x));
            const std::array<Box, 8> tries{{{p.x - w - gap, p.y - h, w, h},
                                            {p.x + gap, p.y - h / 2, w, h},
                                            {p.x + gap, p.y + 3, w, h},
                                            {beside, p.y - gap - h, w, h},
                                            {beside, p.y + gap, w, h},
                                            {p.x - w - gap, p.y - h / 2, w, h},
                                            {p.x + gap, p.y - gap - h, w, h},
                                            {p.x - w - gap, p.y + gap, w, h}}};
            for (const Box& box : tries)
                if (l.plot.contains(box) && places.take(box)) {
                    page.text({box.x, box.y + h - 3}, name, {page.theme().text, kSmallSize});
                    break;
                }
        }
    }
}

} // namespace halftone::svg
