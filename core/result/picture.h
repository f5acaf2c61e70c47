// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/base/export.h"
#include "core/base/result.h"
#include "core/result/figure.h"
#include "core/result/writer.h"

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace halftone {

/// One trace of a figure with its numbers. Non-finite points, and points <= 0 on a log axis, are
/// taken out and counted.
struct Series {
    std::string label;
    Trace::Mark mark = Trace::Mark::Line;
    std::vector<double> x, y, z;
    std::vector<std::uint32_t> text; ///< index into `names`, one a point; empty: unnamed
    std::vector<std::string> names;
    std::vector<std::uint32_t> category; ///< rectangles: index into `categories`
    std::vector<std::string> categories;
    std::vector<std::array<double, 4>> spread; ///< boxes: whisker, edge, edge, whisker around y
    std::vector<std::uint32_t> hull;           ///< indices of the points on the hull, in x order
    std::vector<std::uint32_t> sourceRow;      ///< row of the table each point came from
};

/// What the four numbers of a box are called in tables.
inline constexpr std::array<const char*, 4> kSpreadNames{"lower whisker", "lower edge", "upper edge",
                                                         "upper whisker"};

/// A figure with its numbers: the one thing that the window, SVG, PNG and CSV are all drawn from.
struct Picture {
    FigureSpec spec;
    std::vector<Series> series;
    /// When x (y) of the traces are Name columns: the names of the positions 0, 1, 2... on that axis.
    std::vector<std::string> xNames, yNames;
    std::int64_t dropped = 0; ///< points not shown
    std::string note;         ///< "3 values <= 0 not shown on the log axis"; empty when none
};

/// Reads the figure's columns. A Name column on an axis gives positions 0, 1, 2... in order of first use,
/// the same for all traces. NotFound names the figure, the table and the column.
HALFTONE_API Result<Picture> pictureOf(const FigureSpec& spec, const ResultReader& results);

/// Indices of the points that no other one beats in "less x, more y" and that lie on the upper-left
/// convex hull, by x. Non-finite points never do.
HALFTONE_API std::vector<std::uint32_t> upperLeftHull(std::span<const double> x, std::span<const double> y);

/// Ticks in 1-2-5 steps inside [min, max] (powers of ten on a log axis), at most `most`.
struct Ticks {
    std::vector<double> at;
    std::vector<std::string> labels;
};
HALFTONE_API Ticks ticksFor(double min, double max, bool log, int most);

/// Rectangles of a squarified treemap (Bruls et al. 2000) of `sizes` in a width x height area, same order.
struct TreemapCell {
    double x, y, width, height;
};
HALFTONE_API std::vector<TreemapCell> treemap(std::span<const double> sizes, double width, double height);

/// Colours shared by window and files (window.md): Okabe-Ito by role class, viridis for magnitudes.
HALFTONE_API std::uint32_t viridis(double t);                         ///< 0xRRGGBB, t in [0, 1]
HALFTONE_API std::uint32_t categoryColour(std::string_view category); ///< role classes fixed, others by order
HALFTONE_API bool isRoleClass(std::string_view category);             ///< whether its colour is fixed
HALFTONE_API std::uint32_t seriesColour(std::size_t index);

enum class PictureTheme : std::uint8_t { Light, Dark };
struct PictureStyle {
    int width = 960, height = 600;
    PictureTheme theme = PictureTheme::Light;
};
HALFTONE_API std::string renderSvg(const Picture& picture, const PictureStyle& style);
/// Rasterises that SVG; scale 2 doubles the pixels.
HALFTONE_API Result<std::vector<std::byte>> renderPng(const Picture& picture, const PictureStyle& style,
                                                      double scale);
/// Full precision, locale-free, one header line.
HALFTONE_API std::string renderCsv(const Picture& picture);
/// All of one table as CSV; names written out.
HALFTONE_API Result<std::string> tableCsv(const ResultReader& results, std::string_view table);
/// The picture in words, with extremes: for screen readers and captions.
HALFTONE_API std::string describe(const Picture& picture);

} // namespace halftone
