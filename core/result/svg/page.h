// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/result/picture.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace halftone::svg {

/// Colours of one theme; text at least 4.5:1 on the background, lines at least 3:1.
struct Theme {
    std::uint32_t background, text, muted, axis, grid;
};
HALFTONE_API const Theme& themeOf(PictureTheme theme);

/// Contrast of two colours (WCAG 2.1): 1 to 21.
HALFTONE_API double contrast(std::uint32_t a, std::uint32_t b);
/// `colour`, made darker or lighter until its contrast to `background` is at least `ratio`.
HALFTONE_API std::uint32_t readable(std::uint32_t colour, std::uint32_t background, double ratio);

struct Point {
    double x, y;
};
struct Box {
    double x, y, width, height;
    double right() const { return x + width; }
    double bottom() const { return y + height; }
    bool overlaps(const Box& o) const
    {
        return x < o.right() && o.x < right() && y < o.bottom() && o.y < bottom();
    }
    bool contains(const Box& o) const
    {
        return o.x >= x && o.y >= y && o.right() <= right() && o.bottom() <= bottom();
    }
};

/// Width of `text` in pixels, estimated on the safe side: which font draws it is not known here.
HALFTONE_API double textWidth(std::string_view text, double size);
/// `text` with its middle left out so that it fits: "layers.1...down_proj". Empty when nothing readable fits.
HALFTONE_API std::string elided(std::string_view text, double width, double size);
/// `text` in at most `lines` lines of `width`, the last one elided.
HALFTONE_API std::vector<std::string> wrapped(std::string_view text, double width, double size,
                                              std::size_t lines);
/// Coordinates with two decimals and no trailing zeros.
std::string coordinate(double value);

enum class Anchor : std::uint8_t { Start, Middle, End };
struct TextStyle {
    std::uint32_t colour = 0;
    double size = 12;
    Anchor anchor = Anchor::Start;
    bool bold = false;
    double rotate = 0; ///< degrees around the anchor, clockwise
};

/// Writes the elements of one SVG document.
class Page {
public:
    Page(int width, int height, const Theme& theme);
    const Theme& theme() const { return m_theme; }
    double width() const { return m_width; }
    double height() const { return m_height; }
    void text(Point at, std::string_view text, const TextStyle& style);
    void line(Point from, Point to, std::uint32_t colour, double width, std::string_view dash = {});
    void polyline(std::span<const Point> points, std::uint32_t colour, double width,
                  std::string_view dash = {});
    void rect(const Box& box, std::uint32_t fill);
    /// A filled path without smoothed edges, for cells that touch.
    void cells(std::string_view path, std::uint32_t fill);
    /// Marker `shape` (0..6: circle, square, triangle, diamond, cross, plus, triangle down).
    void marker(Point at, std::size_t shape, double radius, std::uint32_t colour, bool filled);
    /// The whole document; `title` and `description` are what a screen reader says.
    std::string finish(std::string_view title, std::string_view description) const;

private:
    Theme m_theme;
    double m_width, m_height;
    std::string m_body;
};

} // namespace halftone::svg
