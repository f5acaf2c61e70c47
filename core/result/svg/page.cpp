// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/result/svg/page.h"

#include "core/base/text.h"
#include "core/result/table_check.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <numbers>

namespace halftone::svg {

namespace {

constexpr Theme kLight{0xFFFFFF, 0x1A1A1A, 0x595959, 0x767676, 0xE6E6E6};
constexpr Theme kDark{0x1E1F22, 0xECECEC, 0xA9ACB2, 0x85888E, 0x34363B};

/// Width of one character in em, as in DejaVu Sans, the widest of the fonts that are asked for.
double emOf(std::string_view character)
{
    constexpr double kMean = 0.62, kNarrow = 0.38, kWide = 1.0, kCapital = 0.74;
    const char c = character.front();
    if (static_cast<unsigned char>(c) >= 0x80) return character.size() == 2 ? 0.65 : kWide;
    if (std::string_view("ijltfrI.,:;'|!()[] -/").find(c) != std::string_view::npos) return kNarrow;
    if (std::string_view("mMwW%@").find(c) != std::string_view::npos) return kWide;
    return c >= 'A' && c <= 'Z' ? kCapital : kMean;
}

double channel(std::uint32_t colour, int shift)
{
    const double c = (colour >> shift & 0xFF) / 255.0;
    return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
}

double luminance(std::uint32_t colour)
{
    return 0.2126 * channel(colour, 16) + 0.7152 * channel(colour, 8) + 0.0722 * channel(colour, 0);
}

std::uint32_t mixed(std::uint32_t a, std::uint32_t b, double part)
{
    std::uint32_t out = 0;
    for (int shift : {16, 8, 0}) {
        const double v = (1 - part) * (a >> shift & 0xFF) + part * (b >> shift & 0xFF);
        out |= static_cast<std::uint32_t>(std::lround(v)) << shift;
    }
    return out;
}

std::string hex(std::uint32_t colour) { return fmt::format("#{:06X}", colour); }

std::string escaped(std::string_view text)
{
    std::string out;
    for (char c : cleanText(text)) {
        if (c == '&')
            out += "&amp;";
        else if (c == '<')
            out += "&lt;";
        else if (c == '>')
            out += "&gt;";
        else if (c == '"')
            out += "&quot;";
        else
            // XML 1.0 has no way to write the other control characters.
            out += static_cast<unsigned char>(c) < 0x20 || c == 0x7F ? ' ' : c;
    }
    return out;
}

bool startsCharacter(char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }

std::vector<std::size_t> characterStarts(std::string_view text)
{
    std::vector<std::size_t> starts;
    for (std::size_t i = 0; i < text.size(); ++i)
        if (startsCharacter(text[i])) starts.push_back(i);
    return starts;
}

std::string polygon(std::span<const Point> points)
{
    std::string out;
    for (const Point& p : points)
        out += (out.empty() ? "M" : "L") + coordinate(p.x) + " " + coordinate(p.y);
    return out;
}

} // namespace

const Theme& themeOf(PictureTheme theme) { return theme == PictureTheme::Dark ? kDark : kLight; }

double contrast(std::uint32_t a, std::uint32_t b)
{
    const double la = luminance(a), lb = luminance(b);
    return (std::max(la, lb) + 0.05) / (std::min(la, lb) + 0.05);
}

std::uint32_t readable(std::uint32_t colour, std::uint32_t background, double ratio)
{
    const std::uint32_t end = luminance(background) > 0.18 ? 0x000000 : 0xFFFFFF;
    for (int step = 0; step <= 20; ++step) {
        const std::uint32_t candidate = mixed(colour, end, step / 20.0);
        if (contrast(candidate, background) >= ratio) return candidate;
    }
    return end;
}

double textWidth(std::string_view text, double size)
{
    double em = 0;
    const auto starts = characterStarts(text);
    for (std::size_t i = 0; i < starts.size(); ++i) {
        const std::size_t end = i + 1 < starts.size() ? starts[i + 1] : text.size();
        em += emOf(text.substr(starts[i], end - starts[i]));
    }
    return em * size;
}

std::string elided(std::string_view text, double width, double size)
{
    if (textWidth(text, size) <= width) return std::string(text);
    constexpr std::size_t kFewest = 4; // letters beside the dots, below which nothing can be read
    const auto starts = characterStarts(text);
    // The end of a name says more than its beginning: it gets the odd letter.
    for (std::size_t kept =
             std::min(starts.size() - 1, static_cast<std::size_t>(std::max(width / size * 3, 0.0)));
         kept >= kFewest; --kept) {
        const std::size_t head = kept / 2, tail = kept - head;
        std::string candidate(text.substr(0, starts[head]));
        candidate += "…";
        candidate += text.substr(starts[starts.size() - tail]);
        if (textWidth(candidate, size) <= width) return candidate;
    }
    return {};
}

std::vector<std::string> wrapped(std::string_view text, double width, double size, std::size_t lines)
{
    std::vector<std::string> out;
    while (!text.empty() && out.size() < lines) {
        if (textWidth(text, size) <= width || out.size() + 1 == lines) {
            out.push_back(elided(text, width, size));
            break;
        }
        std::size_t cut = std::string_view::npos;
        for (std::size_t at = text.find(' '); at != std::string_view::npos; at = text.find(' ', at + 1)) {
            if (textWidth(text.substr(0, at), size) > width) break;
            cut = at;
        }
        if (cut == std::string_view::npos) {
            out.push_back(elided(text, width, size));
            break;
        }
        out.emplace_back(text.substr(0, cut));
        text.remove_prefix(cut + 1);
    }
    return out;
}

std::string coordinate(double value)
{
    std::string out = fmt::format("{:.2f}", value);
    while (out.back() == '0')
        out.pop_back();
    if (out.back() == '.') out.pop_back();
    return out == "-0" ? "0" : out;
}

Page::Page(int width, int height, const Theme& theme) : m_theme(theme), m_width(width), m_height(height)
{
    rect({0, 0, m_width, m_height}, theme.background);
}

void Page::text(Point at, std::string_view text, const TextStyle& style)
{
    if (text.empty()) return;
    constexpr std::array<const char*, 3> kAnchors{"start", "middle", "end"};
    const std::string x = coordinate(at.x), y = coordinate(at.y);
    m_body += fmt::format("<text x=\"{}\" y=\"{}\" font-size=\"{}\" fill=\"{}\" text-anchor=\"{}\"", x, y,
                          coordinate(style.size), hex(style.colour),
                          kAnchors[static_cast<std::size_t>(style.anchor)]);
    if (style.bold) m_body += " font-weight=\"bold\"";
    if (style.rotate != 0)
        m_body += fmt::format(" transform=\"rotate({} {} {})\"", coordinate(style.rotate), x, y);
    m_body += ">" + escaped(text) + "</text>\n";
}

void Page::line(Point from, Point to, std::uint32_t colour, double width, std::string_view dash)
{
    polyline(std::array{from, to}, colour, width, dash);
}

void Page::polyline(std::span<const Point> points, std::uint32_t colour, double width, std::string_view dash)
{
    m_body += fmt::format(
        "<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{}\" stroke-linejoin=\"round\"",
        polygon(points), hex(colour), coordinate(width));
    if (!dash.empty()) m_body += fmt::format(" stroke-dasharray=\"{}\"", dash);
    m_body += "/>\n";
}

void Page::rect(const Box& box, std::uint32_t fill)
{
    m_body +=
        fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"/>\n", coordinate(box.x),
                    coordinate(box.y), coordinate(box.width), coordinate(box.height), hex(fill));
}

void Page::cells(std::string_view path, std::uint32_t fill)
{
    m_body += fmt::format("<path d=\"{}\" fill=\"{}\" shape-rendering=\"crispEdges\"/>\n", path, hex(fill));
}

void Page::marker(Point at, std::size_t shape, double r, std::uint32_t colour, bool filled)
{
    const auto fill = filled ? hex(colour) : std::string("none");
    const auto drawn = [&](std::string_view path, bool open) {
        m_body += fmt::format("<path d=\"{}\" fill=\"{}\" stroke=\"{}\" stroke-width=\"1.5\"/>\n", path,
                              open ? "none" : fill, hex(colour));
    };
    const auto at2 = [&](double dx, double dy) { return Point{at.x + dx * r, at.y + dy * r}; };
    switch (shape % 7) {
    case 0:
        m_body += fmt::format(
            "<circle cx=\"{}\" cy=\"{}\" r=\"{}\" fill=\"{}\" stroke=\"{}\" stroke-width=\"1.5\"/>\n",
            coordinate(at.x), coordinate(at.y), coordinate(r), fill, hex(colour));
        break;
    case 1:
        drawn(polygon(std::array{at2(-.9, -.9), at2(.9, -.9), at2(.9, .9), at2(-.9, .9)}) + "Z", false);
        break;
    case 2:
        drawn(polygon(std::array{at2(0, -1.2), at2(1.1, .8), at2(-1.1, .8)}) + "Z", false);
        break;
    case 3:
        drawn(polygon(std::array{at2(0, -1.3), at2(1.3, 0), at2(0, 1.3), at2(-1.3, 0)}) + "Z", false);
        break;
    case 4:
        drawn(polygon(std::array{at2(-1, -1), at2(1, 1)}) + polygon(std::array{at2(1, -1), at2(-1, 1)}),
              true);
        break;
    case 5:
        drawn(polygon(std::array{at2(-1.2, 0), at2(1.2, 0)}) + polygon(std::array{at2(0, -1.2), at2(0, 1.2)}),
              true);
        break;
    default:
        drawn(polygon(std::array{at2(0, 1.2), at2(1.1, -.8), at2(-1.1, -.8)}) + "Z", false);
    }
}

std::string Page::finish(std::string_view title, std::string_view description) const
{
    const std::string w = coordinate(m_width), h = coordinate(m_height);
    return fmt::format("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                       "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" "
                       "viewBox=\"0 0 {0} {1}\" role=\"img\" "
                       "font-family=\"DejaVu Sans, Noto Sans, Liberation Sans, Arial, sans-serif\">\n"
                       "<title>{2}</title>\n<desc>{3}</desc>\n{4}</svg>\n",
                       w, h, escaped(title), escaped(description), m_body);
}

} // namespace halftone::svg
