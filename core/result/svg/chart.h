// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/result/svg/page.h"

#include <string>
#include <vector>

namespace halftone::svg {

/// Values of one axis to pixels.
struct Scale {
    double min = 0, max = 1;
    bool log = false;
    double start = 0, end = 1; ///< pixels of min and max; end < start on an axis that runs upwards
    double at(double value) const;
};

/// One axis with what is written beside it.
struct AxisView {
    Scale scale;
    Ticks ticks;
    std::string title;              ///< "Bits per weight (bit)"
    std::vector<std::string> names; ///< of the positions 0, 1, 2...; empty: numbers
};

/// Where things go on a page. `plot` is inside the axes.
struct Layout {
    Box plot;
    AxisView x, y;
    double captionTop = 0;
    bool rotateNames = false; ///< names under the x axis are slanted
};

/// A row of the legend.
struct LegendEntry {
    std::string label;
    std::uint32_t colour;
    std::size_t shape = 0;
    std::string dash = {};
    enum class Sample : std::uint8_t { Block, Marker, Line, LineAndMarker } sample = Sample::Block;
};

inline constexpr double kMargin = 16;
inline constexpr double kTextSize = 12;
inline constexpr double kSmallSize = 11;
inline constexpr double kTitleSize = 16;

/// Title at the top and caption with note at the bottom; gives the area between them.
Box drawFrame(Page& page, const Picture& picture, const std::string& extraNote);
/// Legend in rows from the top of `area`; gives what is left of it.
Box drawLegend(Page& page, const std::vector<LegendEntry>& entries, const Box& area);

/// Scales and ticks for the picture's series inside `area`.
HALFTONE_API Layout layOut(const Picture& picture, const Box& area);
void drawAxes(Page& page, const Layout& layout);

std::string axisTitle(const Axis& axis);
std::uint32_t colourOf(const Picture& picture, std::size_t series, const Theme& theme);
std::string dashOf(std::size_t series);

/// Step between cells (or bars) along an axis, in the axis' own measure (log10 on a log axis).
double stepOf(const std::vector<double>& values, bool log);

/// Places of bars or boxes that stand side by side around each x.
struct Slots {
    std::vector<std::size_t> series;
    double full = 0;  ///< pixels of all that share an x
    double width = 0; ///< of one of them
    double left(std::size_t slot) const { return -full / 2 + static_cast<double>(slot) * width; }
};
HALFTONE_API Slots slotsOf(const Picture& picture, Trace::Mark mark, const Layout& layout);

void drawBars(Page& page, const Picture& picture, const Layout& layout);
void drawBoxes(Page& page, const Picture& picture, const Layout& layout);
void drawLine(Page& page, const Picture& picture, std::size_t series, const Layout& layout);
void drawPoints(Page& page, const Picture& picture, std::size_t series, const Layout& layout);
/// Names of points, those on the hull first, where they cover neither points nor each other.
void drawPointNames(Page& page, const Picture& picture, const Layout& layout);

/// What a heat map shows: cells on a raster no finer than can be seen.
struct Raster {
    std::size_t columns = 0, rows = 0;
    std::vector<double> values; ///< NaN: no cell; several cells in one place: their maximum
    double min = 0, max = 1;
    std::size_t cellsInOne = 1; ///< most cells that share a place
};
HALFTONE_API Raster rasterOf(const Picture& picture, const Layout& layout);
void drawRaster(Page& page, const Raster& raster, const Box& plot, bool log);
void drawColourBar(Page& page, const Raster& raster, const Axis& axis, const Box& plot);
/// Room that the colour bar takes at the right.
inline constexpr double kColourBarWidth = 96;

void drawTreemap(Page& page, const Picture& picture, const Box& area);

} // namespace halftone::svg
