// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/result/svg/chart.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace halftone::svg {

namespace {

using Mark = Trace::Mark;

constexpr double kLeastCell = 3; ///< pixels: smaller cells are merged
constexpr std::size_t kColours = 256;

/// Cells along one axis: how many there are, and how many of them can be shown.
struct Grid {
    double first = 0, step = 1; ///< in the axis' own measure
    bool log = false;
    std::size_t count = 1, shown = 1;

    std::size_t placeOf(double value) const
    {
        const double v = log ? std::log10(value) : value;
        const double cell = std::clamp(std::round((v - first) / step), 0.0, static_cast<double>(count - 1));
        return std::min(
            static_cast<std::size_t>(cell * static_cast<double>(shown) / static_cast<double>(count)),
            shown - 1);
    }
};

Grid gridOf(const std::vector<double>& values, bool log, std::size_t names, double pixels)
{
    Grid g;
    g.log = log;
    const auto most = static_cast<std::size_t>(std::max(1.0, std::floor(pixels / kLeastCell)));
    if (names != 0) {
        g.count = names;
    } else {
        const auto [low, high] = std::minmax_element(values.begin(), values.end());
        g.first = log ? std::log10(*low) : *low;
        const double last = log ? std::log10(*high) : *high;
        g.step = stepOf(values, log);
        const double cells = std::min((last - g.first) / g.step, 1e9);
        g.count = static_cast<std::size_t>(std::lround(cells)) + 1;
    }
    g.shown = std::min(g.count, most);
    return g;
}

double colourPlace(double value, double min, double max, bool log)
{
    if (log) {
        const double a = std::log10(min), b = std::log10(max);
        return b > a ? (std::log10(value) - a) / (b - a) : 0.5;
    }
    const double range = max / 2 - min / 2;
    return range > 0 ? (value / 2 - min / 2) / range : 0.5;
}

} // namespace

Raster rasterOf(const Picture& picture, const Layout& l)
{
    Raster raster;
    std::vector<double> x, y, z;
    for (const Series& s : picture.series) {
        if (s.mark != Mark::Cells) continue;
        x.insert(x.end(), s.x.begin(), s.x.end());
        y.insert(y.end(), s.y.begin(), s.y.end());
        z.insert(z.end(), s.z.begin(), s.z.end());
    }
    if (z.empty()) return raster;
    const Grid columns = gridOf(x, l.x.scale.log, l.x.names.size(), l.plot.width);
    const Grid rows = gridOf(y, l.y.scale.log, l.y.names.size(), l.plot.height);
    raster.columns = columns.shown;
    raster.rows = rows.shown;
    raster.values.assign(raster.columns * raster.rows, std::numeric_limits<double>::quiet_NaN());
    std::vector<std::size_t> hits(raster.values.size());
    for (std::size_t i = 0; i < z.size(); ++i) {
        const std::size_t place = rows.placeOf(y[i]) * raster.columns + columns.placeOf(x[i]);
        double& value = raster.values[place];
        if (!(value >= z[i])) value = z[i];
        raster.cellsInOne = std::max(raster.cellsInOne, ++hits[place]);
    }
    const auto [low, high] = std::minmax_element(z.begin(), z.end());
    raster.min = *low;
    raster.max = *high;
    return raster;
}

void drawRaster(Page& page, const Raster& raster, const Box& plot, bool log)
{
    // One path for each colour: a tenth of the size of one element for each cell.
    std::array<std::string, kColours> paths;
    const double w = plot.width / static_cast<double>(raster.columns);
    const double h = plot.height / static_cast<double>(raster.rows);
    for (std::size_t r = 0; r < raster.rows; ++r)
        for (std::size_t c = 0; c < raster.columns;) {
            const double value = raster.values[r * raster.columns + c];
            if (std::isnan(value)) {
                ++c;
                continue;
            }
            const auto colour = [&](double v) {
                const double t = std::clamp(colourPlace(v, raster.min, raster.max, log), 0.0, 1.0);
                return static_cast<std::size_t>(std::lround(t * (kColours - 1)));
            };
            const std::size_t own = colour(value);
            std::size_t end = c + 1;
            while (end < raster.columns && !std::isnan(raster.values[r * raster.columns + end]) &&
                   colour(raster.values[r * raster.columns + end]) == own)
                ++end;
            const double left = plot.x + static_cast<double>(c) * w,
                         right = plot.x + static_cast<double>(end) * w;
            const double top = plot.y + static_cast<double>(r) * h;
            paths[own] += "M" + coordinate(left) + " " + coordinate(top) + "H" + coordinate(right) + "V" +
                          coordinate(top + h) + "H" + coordinate(left) + "Z";
            c = end;
        }
    for (std::size_t k = 0; k < kColours; ++k)
        if (!paths[k].empty())
            page.cells(paths[k], viridis(static_cast<double>(k) / static_cast<double>(kColours - 1)));
}

void drawColourBar(Page& page, const Raster& raster, const Axis& axis, const Box& plot)
{
    constexpr double kWidth = 14;
    constexpr int kSteps = 128;
    const double left = plot.right() + 18;
    const double step = plot.height / kSteps;
    for (int k = 0; k < kSteps; ++k) {
        const double top = plot.bottom() - (k + 1) * step;
        page.cells("M" + coordinate(left) + " " + coordinate(top) + "h" + coordinate(kWidth) + "v" +
                       coordinate(step) + "h-" + coordinate(kWidth) + "Z",
                   viridis((k + 0.5) / kSteps));
    }
    Scale scale{raster.min, raster.max, axis.log, plot.bottom(), plot.y};
    const Ticks ticks =
        ticksFor(scale.min, scale.max, scale.log, std::max(2, static_cast<int>(plot.height / 48)));
    for (std::size_t i = 0; i < ticks.at.size(); ++i) {
        const double y = scale.at(ticks.at[i]);
        page.line({left + kWidth, y}, {left + kWidth + 4, y}, page.theme().axis, 1);
        page.text({left + kWidth + 7, y + 4}, ticks.labels[i], {page.theme().text, kSmallSize});
    }
    page.text({page.width() - kMargin + 2, plot.y + plot.height / 2},
              elided(axisTitle(axis), plot.height, kTextSize),
              {.colour = page.theme().text, .size = kTextSize, .anchor = Anchor::Middle, .rotate = -90});
}

} // namespace halftone::svg
