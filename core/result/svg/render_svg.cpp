// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/result/svg/chart.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace halftone {

namespace svg {

Box drawFrame(Page& page, const Picture& picture, const std::string& extraNote)
{
    const Theme& theme = page.theme();
    const double width = page.width() - 2 * kMargin;
    page.text({kMargin, kMargin + 12}, elided(picture.spec.title, width, kTitleSize * 1.12),
              {theme.text, kTitleSize, Anchor::Start, true});
    std::string below = picture.spec.caption;
    for (const std::string& note : {picture.note, extraNote})
        if (!note.empty()) below += (below.empty() ? "" : below.back() == '.' ? " " : ". ") + note + ".";
    const auto lines = wrapped(below, width, kTextSize, 2);
    const double step = kTextSize + 4;
    const double top = page.height() - kMargin - step * static_cast<double>(lines.size());
    for (std::size_t i = 0; i < lines.size(); ++i)
        page.text({kMargin, top + step * static_cast<double>(i + 1)}, lines[i], {theme.muted, kTextSize});
    const double start = kMargin + 26;
    return {kMargin, start, width, std::max(top - start - (lines.empty() ? 0 : 6), 40.0)};
}

Box drawLegend(Page& page, const std::vector<LegendEntry>& entries, const Box& area)
{
    if (entries.empty()) return area;
    constexpr double kSample = 26, kGap = 18, kRow = 18, kLongest = 220;
    constexpr int kMostRows = 3;
    double x = area.x, y = area.y + 10;
    int row = 1;
    for (std::size_t i = 0; i < entries.size(); ++i) {
        const LegendEntry& e = entries[i];
        const std::string label = elided(e.label, kLongest, kTextSize);
        const double width = kSample + textWidth(label, kTextSize) + kGap;
        if (x > area.x && x + width - kGap > area.right()) {
            if (row == kMostRows) {
                page.text({x, y + 4}, fmt::format("+{}", entries.size() - i),
                          {page.theme().muted, kTextSize});
                break;
            }
            x = area.x;
            y += kRow;
            ++row;
        }
        using Sample = LegendEntry::Sample;
        if (e.sample == Sample::Block) page.rect({x + 6, y - 6, 12, 12}, e.colour);
        if (e.sample == Sample::Line || e.sample == Sample::LineAndMarker)
            page.line({x, y}, {x + 20, y}, e.colour, 2, e.dash);
        if (e.sample == Sample::Marker || e.sample == Sample::LineAndMarker)
            page.marker({x + 10, y}, e.shape, 4, e.colour, e.sample == Sample::LineAndMarker);
        page.text({x + kSample, y + 4}, label, {page.theme().text, kTextSize});
        x += width;
    }
    const double used = y + kRow - 4 - area.y;
    return {area.x, area.y + used, area.width, area.height - used};
}

namespace {

using Mark = Trace::Mark;
using Sample = LegendEntry::Sample;

std::vector<LegendEntry> legendOf(const Picture& picture, const Theme& theme)
{
    std::vector<LegendEntry> entries;
    bool hull = false;
    std::size_t shown = 0;
    for (const Series& s : picture.series) {
        hull |= !s.hull.empty();
        shown += s.mark != Mark::Cells && !s.x.empty() ? 1 : 0;
    }
    if (shown < 2 && !hull) return entries; // the axis says what a single series is
    for (std::size_t i = 0; i < picture.series.size(); ++i) {
        const Series& s = picture.series[i];
        if (s.mark == Mark::Cells || s.x.empty()) continue;
        const std::uint32_t colour = colourOf(picture, i, theme);
        const std::string label = s.label.empty() ? fmt::format("series {}", i + 1) : s.label;
        if (s.mark == Mark::Bars || s.mark == Mark::Boxes)
            entries.push_back({label, colour});
        else if (s.mark == Mark::Line)
            entries.push_back(
                {label, colour, i, dashOf(i), s.x.size() <= 40 ? Sample::LineAndMarker : Sample::Line});
        else
            entries.push_back({label, colour, i, {}, Sample::Marker});
        if (!s.hull.empty())
            entries.push_back({shown < 2 ? "upper left hull" : label + ", hull", colour, i, dashOf(i),
                               Sample::LineAndMarker});
    }
    return entries;
}

bool nothingToShow(const Picture& picture)
{
    return std::all_of(picture.series.begin(), picture.series.end(),
                       [](const Series& s) { return s.x.empty(); });
}

void drawChart(Page& page, const Picture& picture, const Box& area)
{
    const Box inside = drawLegend(page, legendOf(picture, page.theme()), area);
    const Layout layout = layOut(picture, inside);
    drawAxes(page, layout);
    drawBars(page, picture, layout);
    drawBoxes(page, picture, layout);
    for (std::size_t i = 0; i < picture.series.size(); ++i) {
        if (picture.series[i].mark == Mark::Line) drawLine(page, picture, i, layout);
        if (picture.series[i].mark == Mark::Points) drawPoints(page, picture, i, layout);
    }
    drawPointNames(page, picture, layout);
}

} // namespace

} // namespace svg

std::string renderSvg(const Picture& picture, const PictureStyle& style)
{
    using namespace svg;
    constexpr int kLeast = 160, kMost = 20000;
    Page page(std::clamp(style.width, kLeast, kMost), std::clamp(style.height, kLeast, kMost),
              themeOf(style.theme));
    const auto has = [&](Trace::Mark mark) {
        return std::any_of(picture.series.begin(), picture.series.end(),
                           [&](const Series& s) { return s.mark == mark && !s.x.empty(); });
    };
    if (nothingToShow(picture)) {
        const Box area = drawFrame(page, picture, {});
        page.text({page.width() / 2, area.y + area.height / 2}, "There are no values to show",
                  {page.theme().muted, kTitleSize, Anchor::Middle});
    } else if (has(Trace::Mark::Rectangles)) {
        drawTreemap(page, picture, drawFrame(page, picture, {}));
    } else if (has(Trace::Mark::Cells)) {
        // The caption depends on what was merged, and that on the caption's height: laid out on a page apart.
        Page trial = page;
        Box area = drawFrame(trial, picture, "x");
        area.width -= kColourBarWidth;
        const Layout layout = layOut(picture, area);
        const Raster raster = rasterOf(picture, layout);
        std::string merged;
        if (raster.cellsInOne > 1)
            merged = fmt::format("Each cell is the maximum of up to {} values", raster.cellsInOne);
        drawFrame(page, picture, merged);
        drawAxes(page, layout);
        drawRaster(page, raster, layout.plot, picture.spec.z.log);
        drawColourBar(page, raster, picture.spec.z, layout.plot);
    } else {
        drawChart(page, picture, drawFrame(page, picture, {}));
    }
    return page.finish(picture.spec.title, describe(picture));
}

} // namespace halftone
