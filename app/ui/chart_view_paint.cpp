// SPDX-License-Identifier: GPL-3.0-or-later
// What a chart paints by itself, under and over the series that Qt Charts draws.
#include "app/ui/chart_view.h"

#include "app/host/strings.h"
#include "app/ui/chart_canvas.h"
#include "app/ui/theme.h"

#include <QPainter>
#include <QPainterPath>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

namespace halftone {

using namespace Qt::Literals::StringLiterals;

void ChartView::paintUnder(QPainter& painter) const
{
    painter.fillRect(rect(), Theme::colours().surface);
    if (!picture()) return;
    painter.setFont(font());
    m_axes.paintGrid(painter);
    if (!m_ruler.empty()) {
        QColor line = Theme::colours().highlight;
        line.setAlphaF(0.55F);
        painter.setPen(QPen(line, 1));
        for (const double value : m_ruler) {
            if (!m_axes.x.shows(value)) continue;
            const double px = std::round(m_axes.toPixel(m_axes.x.toPlot(value), m_axes.y.min).x());
            if (px >= m_axes.area.left() && px <= m_axes.area.right())
                painter.drawLine(QPointF(px, m_axes.area.top()), QPointF(px, m_axes.area.bottom()));
        }
    }
    paintDense(painter);
    paintBoxes(painter);
}

void ChartView::paintBoxes(QPainter& painter) const
{
    const double perUnit = m_axes.area.width() / (m_axes.x.max - m_axes.x.min);
    painter.save();
    painter.setClipRect(m_axes.area);
    painter.setRenderHint(QPainter::Antialiasing, false);
    for (std::size_t k = 0; k < picture()->series.size(); ++k) {
        const Series& s = picture()->series[k];
        if (m_hidden[k] || s.mark != Trace::Mark::Boxes) continue;
        QColor colour(QRgb(colourOfSeries(*picture(), k)));
        if (stale()) colour.setAlpha(90);
        const double half = std::clamp(barWidth() * perUnit * 0.33 * m_slots[k].share, 1.0, 24.0);
        for (const std::uint32_t i : m_byX[k]) {
            if (i >= s.spread.size()) continue;
            const double x = drawnPixel(k, i).x();
            const auto y = [&](double value) { return pixelOf(s.x[i], value).y(); };
            const auto [low, lower, upper, high] = s.spread[i];
            painter.setPen(QPen(colour, 2));
            painter.drawLine(QPointF(x, y(low)), QPointF(x, y(lower)));
            painter.drawLine(QPointF(x, y(upper)), QPointF(x, y(high)));
            for (const double end : {low, high})
                painter.drawLine(QPointF(x - half / 2, y(end)), QPointF(x + half / 2, y(end)));
            // A box without height is still seen.
            const QRectF box(x - half, y(upper), 2 * half, std::max(2.0, y(lower) - y(upper)));
            painter.fillRect(box, colour);
            if (box.height() <= 4) continue;
            painter.setPen(QPen(Theme::colours().surface, 2));
            painter.drawLine(QPointF(box.left(), y(s.y[i])), QPointF(box.right(), y(s.y[i])));
        }
    }
    painter.restore();
}

void ChartView::paintDense(QPainter& painter) const
{
    for (std::size_t k = 0; k < picture()->series.size(); ++k) {
        if (m_hidden[k] || !dense(k)) continue;
        const Series& s = picture()->series[k];
        QColor colour(QRgb(colourOfSeries(*picture(), k)));
        colour.setAlphaF(stale() ? 0.2F : 0.6F);
        painter.save();
        painter.setClipRect(m_axes.area);
        // Square dots of 2 pixels: a million of them stay quick, and an outlier is never lost.
        painter.setRenderHint(QPainter::Antialiasing, false);
        QList<QRectF> dots;
        dots.reserve(static_cast<qsizetype>(s.x.size()));
        for (const std::uint32_t i : m_byX[k]) {
            const QPointF pixel = pixelOf(s.x[i], s.y[i]);
            dots << QRectF(pixel.x() - 1, pixel.y() - 1, 2, 2);
        }
        painter.setPen(Qt::NoPen);
        painter.setBrush(colour);
        painter.drawRects(dots);
        painter.restore();
    }
}

void ChartView::paintLegend(QPainter& painter) const
{
    m_legend.clear();
    const auto& p = picture();
    if (p->series.size() < 2) return;
    const QFontMetricsF metrics(painter.font());
    double right = m_axes.area.right();
    for (std::size_t back = std::min<std::size_t>(p->series.size(), kMostSeries); back-- > 0;) {
        const QString label = toQt(p->series[back].label);
        if (label.isEmpty()) continue;
        const double width = metrics.horizontalAdvance(label) + 18;
        if (right - width < m_axes.area.left() + metrics.horizontalAdvance(m_axes.y.title) + 24) break;
        const QRectF box(right - width, 2, width, metrics.height());
        const bool off = m_hidden[back];
        const QColor colour(QRgb(colourOfSeries(*p, back)));
        painter.setRenderHint(QPainter::Antialiasing, true);
        ChartCanvas::paintSample(painter, QRectF(box.left(), box.center().y() - 5, 12, 10),
                                 p->series[back].mark == Trace::Mark::Line ? ChartCanvas::Kind::Line
                                 : standing(back)                          ? ChartCanvas::Kind::Area
                                                                           : ChartCanvas::Kind::Scatter,
                                 off ? Theme::colours().line : colour, static_cast<int>(back));
        painter.setPen(off ? Theme::colours().line : Theme::colours().dim);
        painter.drawText(box.adjusted(16, 0, 0, 0), Qt::AlignLeft | Qt::AlignVCenter, label);
        m_legend.push_back({box, static_cast<int>(back)});
        right -= width + 14;
    }
}

void ChartView::paintHullLabels(QPainter& painter) const
{
    // Above and left of the hull there is no data: room for the names of its points.
    const QFontMetricsF metrics(painter.font());
    QList<QRectF> taken;
    if (m_threshold) {
        const double px = pixelOf(*m_threshold, m_axes.y.toValue(m_axes.y.min)).x();
        taken << QRectF(px - 4, m_axes.area.top(), 8, m_axes.area.height());
    }
    painter.setPen(Theme::colours().dim);
    for (const Series& s : picture()->series) {
        // What all names begin with (the method) is said once, elsewhere.
        QString common;
        for (std::size_t k = 0; k < s.hull.size(); ++k) {
            const std::size_t i = s.hull[k];
            if (i >= s.text.size()) return;
            const QString name = toQt(s.names[s.text[i]]);
            const QString word = name.section(u' ', 0, 0) + u' ';
            common = k == 0 || common == word ? word : QString();
        }
        for (const std::uint32_t i : s.hull) {
            QString text = toQt(s.names[s.text[i]]);
            if (!common.isEmpty() && text.startsWith(common)) text.remove(0, common.size());
            const QPointF at = pixelOf(s.x[i], s.y[i]);
            const double width = metrics.horizontalAdvance(text);
            const QRectF box(at.x() - 10 - width, at.y() - metrics.height() - 4, width, metrics.height());
            if (box.left() < m_axes.area.left() + 4 || !m_axes.area.contains(at)) continue;
            if (std::any_of(taken.begin(), taken.end(),
                            [&](const QRectF& other) { return other.intersects(box); }))
                continue;
            painter.drawText(box, Qt::AlignRight | Qt::AlignVCenter, text);
            taken << box.adjusted(-4, 0, 4, 0);
        }
    }
}

void ChartView::paintOver(QPainter& painter) const
{
    const auto& p = picture();
    if (!p) return;
    const ThemeColours& c = Theme::colours();
    painter.setFont(font());
    m_axes.paintLabels(painter, size());
    paintLegend(painter);
    const QFontMetricsF metrics(painter.font());
    const auto pill = [&](QPointF near, const QString& text, bool strong) {
        const double width = metrics.horizontalAdvance(text) + 16;
        QRectF box(near.x() + 10, near.y() - metrics.height() - 16, width, metrics.height() + 6);
        if (box.right() > this->width() - 4) box.moveRight(near.x() - 10);
        if (box.left() < 4) box.moveLeft(4);
        if (box.top() < 2) box.moveTop(near.y() + 12);
        painter.setPen(QPen(strong ? c.accent : c.line, 1));
        painter.setBrush(c.surface);
        painter.drawRoundedRect(box, 4, 4);
        painter.setPen(c.text);
        painter.drawText(box, Qt::AlignCenter, text);
    };
    painter.setRenderHint(QPainter::Antialiasing, true);
    if (m_threshold) {
        const double px = std::round(pixelOf(*m_threshold, m_axes.y.toValue(m_axes.y.min)).x());
        if (px >= m_axes.area.left() && px <= m_axes.area.right()) {
            painter.setPen(QPen(c.accent, 2, Qt::DashLine));
            painter.drawLine(QPointF(px, m_axes.area.top()), QPointF(px, m_axes.area.bottom()));
            painter.setPen(Qt::NoPen);
            painter.setBrush(c.accent);
            painter.drawRoundedRect(QRectF(px - 4, m_axes.area.center().y() - 12, 8, 24), 4, 4);
            const double width = metrics.horizontalAdvance(m_thresholdLabel);
            const bool leftSide = px + width + 12 > m_axes.area.right();
            painter.setPen(c.accent);
            painter.drawText(QPointF(leftSide ? px - width - 8 : px + 8, m_axes.area.bottom() - 10),
                             m_thresholdLabel);
        }
    }
    paintHullLabels(painter);
    if (m_marker && m_axes.x.shows(m_marker->x()) && m_axes.y.shows(m_marker->y())) {
        const QPointF at = pixelOf(m_marker->x(), m_marker->y());
        if (m_axes.area.adjusted(-1, -1, 1, 1).contains(at)) {
            // A diamond: told apart from data by shape, not by colour alone.
            QPainterPath diamond;
            diamond.addPolygon(QPolygonF({at + QPointF(0, -8), at + QPointF(8, 0), at + QPointF(0, 8),
                                          at + QPointF(-8, 0), at + QPointF(0, -8)}));
            painter.setPen(QPen(c.surface, 2));
            painter.setBrush(c.accent);
            painter.drawPath(diamond);
            painter.setPen(c.text);
            const double width = metrics.horizontalAdvance(m_markerLabel);
            const bool leftSide = at.x() + width + 16 > this->width();
            painter.drawText(
                QPointF(leftSide ? at.x() - width - 12 : at.x() + 12, at.y() + metrics.ascent() + 6),
                m_markerLabel);
        }
    }
    const auto ring = [&](PlotPoint point, const QColor& colour) {
        const Series& s = p->series[static_cast<std::size_t>(point.series)];
        const auto i = static_cast<std::size_t>(point.index);
        if (i >= s.y.size() || !m_axes.x.shows(s.x[i]) || !m_axes.y.shows(s.y[i])) return QPointF(-1, -1);
        const auto k = static_cast<std::size_t>(point.series);
        const QPointF at = drawnPixel(k, i);
        if (!m_axes.area.adjusted(-2, -2, 2, 2).contains(at)) return QPointF(-1, -1);
        painter.setBrush(Qt::NoBrush);
        painter.setPen(QPen(colour, 2));
        if (s.mark == Trace::Mark::Bars) {
            const double half = std::max(2.0, barWidth() / (m_axes.x.max - m_axes.x.min) *
                                                  m_axes.area.width() * 0.41 * m_slots[k].share);
            painter.drawRect(
                QRectF(QPointF(at.x() - half, at.y()), QPointF(at.x() + half, m_axes.area.bottom())));
        } else {
            painter.drawEllipse(at, 7, 7);
        }
        return at;
    };
    if (const auto h = highlighted()) ring(*h, c.highlight);
    if (m_hover) {
        const QPointF at = ring(*m_hover, c.text);
        if (at.x() >= 0) pill(at, textOf(*m_hover), false);
    }
    if (m_boxFrom && m_boxTo) {
        QColor fill = c.accent;
        fill.setAlphaF(0.12F);
        painter.setBrush(fill);
        painter.setPen(QPen(c.accent, 1));
        painter.drawRect(QRectF(*m_boxFrom, *m_boxTo).normalized());
    }
    if (hasFocus()) {
        painter.setBrush(Qt::NoBrush);
        painter.setPen(QPen(c.accent, 1));
        painter.setRenderHint(QPainter::Antialiasing, false);
        painter.drawRect(QRectF(0.5, 0.5, this->width() - 1.0, this->height() - 1.0));
    }
}

} // namespace halftone
