// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/ui/raster_view.h"

#include "app/host/strings.h"
#include "app/ui/theme.h"
#include "core/base/text.h"

#include <QEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QWheelEvent>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace halftone {

namespace {

constexpr double kBarWidth = 12;
constexpr std::size_t kMostCells = std::size_t{1} << 26;

std::vector<double> distinct(std::vector<double> values)
{
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
    return values;
}

/// Cells begin at their coordinate (a block's number) and reach to the next one.
std::vector<double> edgesOf(const std::vector<double>& starts)
{
    std::vector<double> edges = starts;
    const std::size_t n = starts.size();
    edges.push_back(n >= 2 ? starts[n - 1] + (starts[n - 1] - starts[n - 2]) : starts.front() + 1);
    return edges;
}

} // namespace

RasterView::RasterView(QWidget* parent) : Plot(parent) {}

void RasterView::pictureChanged()
{
    m_hover.reset();
    m_axes = {};
    m_xs.clear();
    m_ys.clear();
    m_xEdges.clear();
    m_yEdges.clear();
    m_cells.clear();
    m_full = QRectF(0, 0, 1, 1);
    const auto& p = picture();
    if (p && !p->series.empty() && !p->series.front().x.empty()) {
        const Series& s = p->series.front();
        m_xs = distinct(s.x);
        m_ys = distinct(s.y);
        m_log = p->spec.z.log;
        if (m_xs.size() * m_ys.size() <= kMostCells) {
            m_xEdges = edgesOf(m_xs);
            m_yEdges = edgesOf(m_ys);
            m_cells.assign(m_xs.size() * m_ys.size(), -1);
            m_low = std::numeric_limits<double>::infinity();
            m_high = -m_low;
            int hidden = 0;
            for (std::size_t i = 0; i < s.z.size(); ++i) {
                const auto column = static_cast<std::size_t>(
                    std::lower_bound(m_xs.begin(), m_xs.end(), s.x[i]) - m_xs.begin());
                const auto row = static_cast<std::size_t>(std::lower_bound(m_ys.begin(), m_ys.end(), s.y[i]) -
                                                          m_ys.begin());
                m_cells[row * m_xs.size() + column] = static_cast<std::int32_t>(i);
                if (!std::isfinite(s.z[i]) || (m_log && s.z[i] <= 0)) {
                    ++hidden;
                    continue;
                }
                m_low = std::min(m_low, s.z[i]);
                m_high = std::max(m_high, s.z[i]);
            }
            if (hidden > 0)
                m_extraNote = m_log ? tr("blank cells, without a value above 0: %1").arg(hidden)
                                    : tr("blank cells, without a number: %1").arg(hidden);
            if (!(m_high >= m_low)) m_low = m_high = 1;
            // Ten decades are enough: what lies below is the floor's colour, not the scale's length.
            if (m_log) m_low = std::max(m_low, m_high * 1e-10);
            m_full = QRectF(QPointF(m_xEdges.front(), m_yEdges.front()),
                            QPointF(m_xEdges.back(), m_yEdges.back()));
        } else {
            m_extraNote = tr("%1 x %2 cells are too many to draw").arg(m_xs.size()).arg(m_ys.size());
        }
        describeAxis(m_axes.x, p->spec.x);
        describeAxis(m_axes.y, p->spec.y);
        // Cells stand at their numbers, whatever the figure says about logarithms.
        m_axes.x.log = m_axes.y.log = false;
    }
    m_axes.y.descending = true; // row 0 on top, as matrices are written
    resetZoom();
}

void RasterView::resetZoom()
{
    m_axes.x.min = m_full.left();
    m_axes.x.max = m_full.right();
    m_axes.y.min = m_full.top();
    m_axes.y.max = m_full.bottom();
    relayout();
}

void RasterView::relayout()
{
    const double numbers = fontMetrics().horizontalAdvance(QStringLiteral("8.888e-88"));
    m_axes.layOut(size(), font(), kBarWidth + numbers + 20);
    render();
    update();
}

double RasterView::level(double value) const
{
    if (m_high <= m_low) return 1;
    const double t =
        m_log ? std::log(value / m_low) / std::log(m_high / m_low) : (value - m_low) / (m_high - m_low);
    return std::clamp(t, 0.0, 1.0);
}

RasterView::Range RasterView::cellsIn(const std::vector<double>& edges, double from, double to)
{
    // Every cell that the pixel [from, to) touches, at least the one it lies in.
    auto begin = std::upper_bound(edges.begin(), edges.end(), from) - edges.begin() - 1;
    auto end = std::lower_bound(edges.begin(), edges.end(), to) - edges.begin();
    const auto cells = static_cast<std::ptrdiff_t>(edges.size()) - 1;
    begin = std::clamp<std::ptrdiff_t>(begin, 0, cells);
    end = std::clamp<std::ptrdiff_t>(std::max(end, begin + 1), 0, cells);
    return {static_cast<std::size_t>(begin), static_cast<std::size_t>(end)};
}

RasterView::Range RasterView::columnsIn(double from, double to) const { return cellsIn(m_xEdges, from, to); }

RasterView::Range RasterView::rowsIn(double from, double to) const { return cellsIn(m_yEdges, from, to); }

void RasterView::render()
{
    const int width = static_cast<int>(m_axes.area.width());
    const int height = static_cast<int>(m_axes.area.height());
    if (m_cells.empty() || width < 1 || height < 1) {
        m_image = {};
        return;
    }
    const Series& s = picture()->series.front();
    const QRgb blank = Theme::colours().raised.rgb();
    m_image = QImage(width, height, QImage::Format_RGB32);
    std::vector<Range> columns(static_cast<std::size_t>(width));
    for (int px = 0; px < width; ++px) {
        const double from = m_axes.toPlot({m_axes.area.left() + px, 0}).x();
        const double to = m_axes.toPlot({m_axes.area.left() + px + 1, 0}).x();
        columns[static_cast<std::size_t>(px)] = columnsIn(from, to);
    }
    for (int py = 0; py < height; ++py) {
        const double from = m_axes.toPlot({0, m_axes.area.top() + py}).y();
        const double to = m_axes.toPlot({0, m_axes.area.top() + py + 1}).y();
        const Range rows = rowsIn(from, to);
        auto* line = reinterpret_cast<QRgb*>(m_image.scanLine(py));
        for (int px = 0; px < width; ++px) {
            double highest = -std::numeric_limits<double>::infinity();
            for (std::size_t r = rows.begin; r < rows.end; ++r)
                for (std::size_t c = columns[static_cast<std::size_t>(px)].begin;
                     c < columns[static_cast<std::size_t>(px)].end; ++c) {
                    const std::int32_t i = m_cells[r * m_xs.size() + c];
                    if (i >= 0) highest = std::fmax(highest, s.z[static_cast<std::size_t>(i)]);
                }
            const bool known = std::isfinite(highest) && (!m_log || highest > 0);
            line[px] = known ? QRgb(viridis(level(highest)) | 0xFF000000U) : blank;
        }
    }
}

std::optional<PlotPoint> RasterView::cellAt(double x, double y) const
{
    if (m_cells.empty() || x < m_xEdges.front() || x >= m_xEdges.back() || y < m_yEdges.front() ||
        y >= m_yEdges.back())
        return std::nullopt;
    const std::size_t column = cellsIn(m_xEdges, x, x).begin;
    const std::size_t row = cellsIn(m_yEdges, y, y).begin;
    const std::int32_t i = m_cells[row * m_xs.size() + column];
    if (i < 0) return std::nullopt;
    return PlotPoint{0, i};
}

QPointF RasterView::pixelOf(double x, double y) const { return m_axes.toPixel(x, y); }

std::optional<PlotPoint> RasterView::pointAt(QPointF position) const
{
    if (m_cells.empty() || !m_axes.area.contains(position)) return std::nullopt;
    const QPointF from = m_axes.toPlot({std::floor(position.x()), std::floor(position.y())});
    const QPointF to = m_axes.toPlot({std::floor(position.x()) + 1, std::floor(position.y()) + 1});
    const Range columns = columnsIn(from.x(), to.x());
    const Range rows = rowsIn(from.y(), to.y());
    // Of the cells under one pixel, the one whose colour is seen.
    const Series& s = picture()->series.front();
    std::optional<PlotPoint> best;
    for (std::size_t r = rows.begin; r < rows.end; ++r)
        for (std::size_t c = columns.begin; c < columns.end; ++c) {
            const std::int32_t i = m_cells[r * m_xs.size() + c];
            if (i < 0) continue;
            if (!best || s.z[static_cast<std::size_t>(i)] > s.z[static_cast<std::size_t>(best->index)])
                best = PlotPoint{0, i};
        }
    return best;
}

void RasterView::paintBar(QPainter& painter) const
{
    const ThemeColours& c = Theme::colours();
    const QRectF bar(m_axes.area.right() + 16, m_axes.area.top(), kBarWidth, m_axes.area.height());
    for (int y = 0; y < static_cast<int>(bar.height()); ++y) {
        const double t = 1 - (y + 0.5) / bar.height();
        painter.fillRect(QRectF(bar.left(), bar.top() + y, bar.width(), 1), QColor(QRgb(viridis(t))));
    }
    PlotAxis scale;
    describeAxis(scale, picture()->spec.z);
    scale.log = m_log;
    scale.min = scale.toPlot(m_low);
    scale.max = scale.toPlot(m_high);
    const QFontMetricsF metrics(painter.font());
    painter.setPen(c.dim);
    if (m_high > m_low) {
        for (const auto& [at, text] : scale.ticks(std::max(2, static_cast<int>(bar.height() / 40)))) {
            const double y = bar.bottom() - (at - scale.min) / (scale.max - scale.min) * bar.height();
            painter.drawText(QRectF(bar.right() + 6, y - metrics.height() / 2, 200, metrics.height()),
                             Qt::AlignLeft | Qt::AlignVCenter, text);
        }
    }
    painter.setPen(c.text);
    const QString& title = scale.title;
    painter.drawText(QRectF(width() - 8 - metrics.horizontalAdvance(title), 2,
                            metrics.horizontalAdvance(title) + 4, metrics.height()),
                     Qt::AlignLeft | Qt::AlignVCenter, title);
}

void RasterView::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    const ThemeColours& c = Theme::colours();
    painter.fillRect(rect(), c.surface);
    if (!picture() || m_image.isNull()) return;
    if (stale()) painter.setOpacity(0.4);
    painter.drawImage(m_axes.area.topLeft(), m_image);
    painter.setOpacity(1);
    m_axes.paintLabels(painter, QSizeF(m_axes.area.right() + 16, height()));
    paintBar(painter);
    const Series& s = picture()->series.front();
    const auto frame = [&](PlotPoint point, const QColor& colour) {
        const auto i = static_cast<std::size_t>(point.index);
        const std::size_t column = cellsIn(m_xEdges, s.x[i], s.x[i]).begin;
        const std::size_t row = cellsIn(m_yEdges, s.y[i], s.y[i]).begin;
        const QPointF a = m_axes.toPixel(m_xEdges[column], m_yEdges[row]);
        const QPointF b = m_axes.toPixel(m_xEdges[column + 1], m_yEdges[row + 1]);
        QRectF box = QRectF(a, b).normalized();
        if (!m_axes.area.intersects(box)) return QRectF();
        // A cell of a pixel would vanish under its own mark.
        if (box.width() < 9) box = QRectF(box.center().x() - 4.5, box.top(), 9, box.height());
        if (box.height() < 9) box = QRectF(box.left(), box.center().y() - 4.5, box.width(), 9);
        painter.setBrush(Qt::NoBrush);
        painter.setPen(QPen(c.surface, 4));
        painter.drawRect(box);
        painter.setPen(QPen(colour, 2));
        painter.drawRect(box);
        return box;
    };
    painter.save();
    painter.setClipRect(m_axes.area.adjusted(-4, -4, 4, 4));
    if (const auto h = highlighted()) frame(*h, c.highlight);
    painter.restore();
    if (m_hover) {
        const QFontMetricsF metrics(painter.font());
        const QString text = textOf(*m_hover);
        QRectF box(m_cursor.x() + 14, m_cursor.y() - metrics.height() - 14,
                   metrics.horizontalAdvance(text) + 16, metrics.height() + 6);
        if (box.right() > width() - 4) box.moveRight(m_cursor.x() - 14);
        if (box.left() < 4) box.moveLeft(4);
        if (box.top() < 2) box.moveTop(m_cursor.y() + 18);
        painter.setRenderHint(QPainter::Antialiasing);
        painter.setPen(QPen(c.line, 1));
        painter.setBrush(c.surface);
        painter.drawRoundedRect(box, 4, 4);
        painter.setPen(c.text);
        painter.drawText(box, Qt::AlignCenter, text);
    }
    painter.setRenderHint(QPainter::Antialiasing, false);
    if (m_boxFrom && m_boxTo) {
        painter.setBrush(Qt::NoBrush);
        painter.setPen(QPen(c.surface, 3));
        painter.drawRect(QRectF(*m_boxFrom, *m_boxTo).normalized());
        painter.setPen(QPen(c.accent, 1));
        painter.drawRect(QRectF(*m_boxFrom, *m_boxTo).normalized());
    }
    if (hasFocus()) {
        painter.setBrush(Qt::NoBrush);
        painter.setPen(QPen(c.accent, 1));
        painter.drawRect(rect().adjusted(0, 0, -1, -1));
    }
}

void RasterView::staleChanged() { update(); }

void RasterView::resizeEvent(QResizeEvent* event)
{
    Plot::resizeEvent(event);
    relayout();
}

void RasterView::changeEvent(QEvent* event)
{
    Plot::changeEvent(event);
    if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange) relayout();
}

void RasterView::mousePressEvent(QMouseEvent* event)
{
    if (event->button() == Qt::LeftButton && m_axes.area.contains(event->position()))
        m_boxFrom = event->position();
}

void RasterView::mouseMoveEvent(QMouseEvent* event)
{
    m_cursor = event->position();
    if ((event->buttons() & Qt::LeftButton) != 0 && m_boxFrom) {
        m_boxTo = QPointF(std::clamp(m_cursor.x(), m_axes.area.left(), m_axes.area.right()),
                          std::clamp(m_cursor.y(), m_axes.area.top(), m_axes.area.bottom()));
    } else {
        m_hover = pointAt(m_cursor);
        Q_EMIT hovered(m_hover ? textOf(*m_hover) : QString());
    }
    update();
}

void RasterView::mouseReleaseEvent(QMouseEvent* event)
{
    if (event->button() != Qt::LeftButton) return;
    const auto from = std::exchange(m_boxFrom, std::nullopt);
    const auto to = std::exchange(m_boxTo, std::nullopt);
    update();
    if (from && to && std::abs(from->x() - to->x()) > 6 && std::abs(from->y() - to->y()) > 6) {
        const QRectF range = QRectF(m_axes.toPlot(*from), m_axes.toPlot(*to)).normalized();
        m_axes.x.min = range.left();
        m_axes.x.max = range.right();
        m_axes.y.min = range.top();
        m_axes.y.max = range.bottom();
        relayout();
        return;
    }
    if (!from) return;
    if (const auto hit = pointAt(event->position())) {
        setHighlight(hit);
        Q_EMIT picked(*hit);
    }
}

void RasterView::mouseDoubleClickEvent(QMouseEvent*) { resetZoom(); }

void RasterView::wheelEvent(QWheelEvent* event)
{
    const QPointF at = m_axes.toPlot(event->position());
    const double factor = std::pow(0.8, event->angleDelta().y() / 120.0);
    const double width = (m_axes.x.max - m_axes.x.min) * factor;
    const double height = (m_axes.y.max - m_axes.y.min) * factor;
    event->accept();
    if (width >= m_full.width() || height >= m_full.height()) {
        resetZoom();
        return;
    }
    // Never closer than a quarter of the smallest cell.
    if (width < m_full.width() * 1e-6) return;
    m_axes.x.min = at.x() + (m_axes.x.min - at.x()) * factor;
    m_axes.y.min = at.y() + (m_axes.y.min - at.y()) * factor;
    m_axes.x.max = m_axes.x.min + width;
    m_axes.y.max = m_axes.y.min + height;
    relayout();
}

void RasterView::leaveEvent(QEvent* event)
{
    m_hover.reset();
    Q_EMIT hovered(QString());
    update();
    Plot::leaveEvent(event);
}

PlotPoint RasterView::neighbour(PlotPoint from, int dx, int dy) const
{
    const Series& s = picture()->series.front();
    const auto i = static_cast<std::size_t>(from.index);
    const auto column = static_cast<std::ptrdiff_t>(cellsIn(m_xEdges, s.x[i], s.x[i]).begin) + dx;
    const auto row = static_cast<std::ptrdiff_t>(cellsIn(m_yEdges, s.y[i], s.y[i]).begin) - dy;
    if (column < 0 || row < 0 || column >= std::ssize(m_xs) || row >= std::ssize(m_ys)) return from;
    const std::int32_t next =
        m_cells[static_cast<std::size_t>(row) * m_xs.size() + static_cast<std::size_t>(column)];
    return next < 0 ? from : PlotPoint{0, next};
}

void RasterView::keyPressEvent(QKeyEvent* event)
{
    if (m_cells.empty()) {
        event->ignore();
        return;
    }
    Plot::keyPressEvent(event);
}

} // namespace halftone
