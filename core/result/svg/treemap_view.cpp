// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/result/short_names.h"
#include "core/result/svg/chart.h"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>

namespace halftone::svg {

namespace {

constexpr double kLeastText = 60;  ///< pixels: a name cut to less says nothing
constexpr double kLeastSide = 0.4; ///< pixels: what is smaller is left to the background

/// Colour of each class: those of roles are fixed, others follow in order.
std::vector<std::uint32_t> classColours(const Series& s)
{
    std::vector<std::uint32_t> colours;
    std::size_t next = 0;
    for (const std::string& name : s.categories)
        colours.push_back(isRoleClass(name) ? categoryColour(name) : seriesColour(next++));
    return colours;
}

std::vector<LegendEntry> legendOf(const Series& s, const std::vector<std::uint32_t>& colours)
{
    std::vector<double> sums(s.categories.size());
    for (std::size_t i = 0; i < s.category.size(); ++i)
        sums[s.category[i]] += s.y[i];
    const double all = std::accumulate(s.y.begin(), s.y.end(), 0.0);
    std::vector<std::size_t> order(sums.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return sums[a] > sums[b]; });
    std::vector<LegendEntry> entries;
    for (std::size_t c : order)
        if (sums[c] > 0)
            entries.push_back({fmt::format("{} {:.1f} %", s.categories[c], 100 * sums[c] / all), colours[c]});
    return entries;
}

/// A name in the lines that fit: whole, or its last part above the rest ("q_proj", "layers.9.self_attn").
std::vector<std::string> nameLines(const std::string& name, double room)
{
    if (textWidth(name, kSmallSize) <= room) return {name};
    const std::size_t dot = name.rfind('.');
    if (dot != std::string::npos && textWidth(std::string_view(name).substr(dot + 1), kSmallSize) <= room) {
        std::vector<std::string> lines{name.substr(dot + 1)};
        const std::string_view rest = std::string_view(name).substr(0, dot);
        if (textWidth(rest, kSmallSize) <= room || room >= kLeastText)
            lines.push_back(elided(rest, room, kSmallSize));
        return lines;
    }
    if (room < kLeastText) return {};
    return {elided(name, room, kSmallSize)};
}

void drawCellText(Page& page, const Box& box, const std::string& name, const std::string& size,
                  std::uint32_t fill)
{
    const std::uint32_t ink = contrast(0x000000, fill) >= contrast(0xFFFFFF, fill) ? 0x000000 : 0xFFFFFF;
    const double room = box.width - 8, step = kSmallSize + 4;
    std::vector<std::string> lines;
    if (!name.empty()) lines = nameLines(name, room);
    const bool named = !lines.empty();
    if ((named || name.empty()) && textWidth(size, kSmallSize) <= room) lines.push_back(size);
    for (std::size_t i = 0; i < lines.size(); ++i) {
        const double foot = box.y + 2 + step * static_cast<double>(i + 1);
        if (foot > box.bottom() - 3) break;
        page.text({box.x + 4, foot - 3}, lines[i], {ink, kSmallSize});
    }
}

} // namespace

void drawTreemap(Page& page, const Picture& picture, const Box& area)
{
    for (const Series& s : picture.series) {
        if (s.mark != Trace::Mark::Rectangles || s.y.empty()) continue;
        const std::vector<std::uint32_t> colours = classColours(s);
        const Box box = drawLegend(page, legendOf(s, colours), area);
        const std::string& unit = picture.spec.y.unit.empty() ? picture.spec.x.unit : picture.spec.y.unit;
        const std::vector<std::string> names = shortNames(s.names);
        const std::vector<TreemapCell> cells = treemap(s.y, box.width, box.height);
        for (std::size_t i = 0; i < cells.size(); ++i) {
            const TreemapCell& c = cells[i];
            if (std::min(c.width, c.height) < kLeastSide) continue;
            const std::uint32_t fill = s.category.empty() ? seriesColour(0) : colours[s.category[i]];
            // A gap of one pixel parts the cells where there is room for it.
            const double gap = std::min(c.width, c.height) > 4 ? 1 : std::min(c.width, c.height) * 0.15;
            const Box inner{box.x + c.x, box.y + c.y, c.width - gap, c.height - gap};
            page.rect(inner, fill);
            drawCellText(page, inner, s.text.empty() ? std::string() : names[s.text[i]],
                         quantityText(s.y[i], unit), fill);
        }
        return; // one treemap a figure
    }
}

} // namespace halftone::svg
