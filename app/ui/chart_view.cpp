// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/ui/chart_view.h"

#include "app/host/strings.h"
#include "app/ui/chart_canvas.h"
#include "app/ui/reduce.h"
#include "app/ui/theme.h"

#include <QEvent>
#include <QKeyEvent>
#include <QPainter>
#include <QPainterPath>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

namespace halftone {

using namespace Qt::Literals::StringLiterals;

namespace {

constexpr double kReach = 14; ///< pixels within which a point is "under the cursor"

} // namespace

/// The Qt Charts widget inside, and the way back from its events.
class ChartView::Canvas : public ChartCanvas {
public:
    explicit Canvas(ChartView& owner) : ChartCanvas(&owner), m_owner(owner) {}

protected:
    void paintUnder(QPainter& painter) override { m_owner.paintUnder(painter); }
    void paintOver(QPainter& painter) override { m_owner.paintOver(painter); }
    void press(QPointF position) override { m_owner.press(position); }
    void move(QPointF position, bool pressed) override { m_owner.move(position, pressed); }
    void release(QPointF position) override { m_owner.release(position); }
    void doubleClick() override { m_owner.resetZoom(); }
    void wheel(QPointF position, double steps) override
    {
        m_owner.zoomBy(std::pow(0.8, steps), m_owner.m_axes.toPlot(position));
    }
    void leave() override { m_owner.leave(); }

private:
    ChartView& m_owner;
};

ChartView::ChartView(QWidget* parent) : Plot(parent), m_canvas(new Canvas(*this))
{
    m_canvas->setGeometry(rect());
}

ChartView::~ChartView() = default;

void ChartView::setXLabels(std::vector<std::pair<double, QString>> labels)
{
    m_xLabels = std::move(labels);
    m_axes.x.labels = m_xLabels;
    m_canvas->refresh();
}

void ChartView::setThreshold(std::optional<double> x, const QString& label)
{
    m_threshold = x;
    m_thresholdLabel = label;
    m_canvas->refresh();
}

void ChartView::setMarker(std::optional<QPointF> at, const QString& label)
{
    m_marker = at;
    m_markerLabel = label;
    m_canvas->refresh();
}

void ChartView::setRuler(std::vector<double> values)
{
    m_ruler = std::move(values);
    m_canvas->refresh();
}

void ChartView::pictureChanged()
{
    m_hover.reset();
    m_threshold.reset();
    m_marker.reset();
    m_ruler.clear();
    m_xLabels.clear();
    m_axes = {};
    m_byX.clear();
    m_sortedX.clear();
    m_hidden.clear();
    m_tops.clear();
    if (const auto& p = picture()) {
        if (p->spec.kind == "stacked") {
            std::map<double, double> sums;
            for (const Series& s : p->series) {
                m_tops.emplace_back();
                for (std::size_t i = 0; i < s.x.size(); ++i)
                    m_tops.back().push_back(sums[s.x[i]] += i < s.y.size() ? s.y[i] : 0.0);
            }
        }
        describeAxis(m_axes.x, p->spec.x);
        describeAxis(m_axes.y, p->spec.y);
        m_hidden.assign(p->series.size(), false);
        for (std::size_t i = 0; i < p->xNames.size(); ++i)
            m_xLabels.emplace_back(static_cast<double>(i), toQt(p->xNames[i]));
        m_axes.x.labels = m_xLabels;
        for (const Series& s : p->series) {
            std::vector<std::uint32_t> order;
            for (std::uint32_t i = 0; i < s.x.size(); ++i)
                if (m_axes.x.shows(s.x[i]) && i < s.y.size() && m_axes.y.shows(s.y[i])) order.push_back(i);
            const std::size_t dropped = s.x.size() - order.size();
            if (dropped > 0)
                m_extraNote = tr("values of %1 not shown on these axes: %2").arg(toQt(s.label)).arg(dropped);
            std::stable_sort(order.begin(), order.end(),
                             [&](std::uint32_t a, std::uint32_t b) { return s.x[a] < s.x[b]; });
            std::vector<double> sorted;
            sorted.reserve(order.size());
            for (const std::uint32_t i : order)
                sorted.push_back(m_axes.x.toPlot(s.x[i]));
            m_byX.push_back(std::move(order));
            m_sortedX.push_back(std::move(sorted));
        }
        if (p->series.size() > kMostSeries)
            m_extraNote =
                tr("only the first %1 of %2 series are drawn").arg(kMostSeries).arg(p->series.size());
    }
    findBarWidth();
    findFullRange();
    zoomTo(m_full);
}

void ChartView::findFullRange()
{
    double x0 = std::numeric_limits<double>::infinity();
    double x1 = -x0;
    double y0 = x0;
    double y1 = -x0;
    bool bars = false;
    bool boxes = false;
    if (const auto& p = picture()) {
        for (std::size_t k = 0; k < p->series.size(); ++k) {
            const Series& s = p->series[k];
            bars = bars || s.mark == Trace::Mark::Bars;
            boxes = boxes || s.mark == Trace::Mark::Boxes;
            for (const std::uint32_t i : m_byX[k]) {
                const double x = m_axes.x.toPlot(s.x[i]);
                const double y = m_axes.y.toPlot(drawnY(k, i));
                x0 = std::min(x0, x);
                x1 = std::max(x1, x);
                y0 = std::min(y0, y);
                y1 = std::max(y1, y);
                if (i >= s.spread.size()) continue;
                y0 = std::min(y0, m_axes.y.toPlot(s.spread[i].front()));
                y1 = std::max(y1, m_axes.y.toPlot(s.spread[i].back()));
            }
        }
    }
    if (!(x1 >= x0)) {
        m_full = QRectF(0, 0, 1, 1);
        return;
    }
    if (bars || boxes) {
        const double half = barWidth() / 2;
        x0 -= half;
        x1 += half;
    }
    if (bars) {
        if (!m_axes.y.log) {
            y0 = std::min(y0, 0.0);
            y1 = std::max(y1, 0.0);
        } else {
            y0 = std::floor(y0 - 0.05);
        }
    }
    const double dx = x1 > x0 ? (x1 - x0) * (bars || boxes ? 0.01 : 0.04) : std::max(0.5, std::abs(x0) * 0.1);
    const double dy = y1 > y0 ? (y1 - y0) * 0.06 : std::max(0.5, std::abs(y0) * 0.1);
    const bool grounded = bars && (m_axes.y.log || y0 >= 0);
    m_full = QRectF(QPointF(x0 - dx, grounded ? y0 : y0 - dy), QPointF(x1 + dx, y1 + dy));
}

void ChartView::findBarWidth()
{
    m_barWidth = 1;
    if (!picture()) return;
    // Series that share the axis may interleave: bars of one class stand between those of another.
    std::vector<double> all;
    for (std::size_t k = 0; k < m_sortedX.size(); ++k)
        if (standing(k)) all.insert(all.end(), m_sortedX[k].begin(), m_sortedX[k].end());
    std::sort(all.begin(), all.end());
    double smallest = std::numeric_limits<double>::infinity();
    for (std::size_t i = 1; i < all.size(); ++i)
        if (all[i] > all[i - 1]) smallest = std::min(smallest, all[i] - all[i - 1]);
    if (std::isfinite(smallest)) m_barWidth = smallest;
    // Where two series have bars at one place, all of them stand side by side.
    m_slots.assign(m_sortedX.size(), {});
    std::vector<std::size_t> shown;
    for (std::size_t k = 0; k < m_sortedX.size(); ++k)
        if (standing(k) && !m_sortedX[k].empty()) shown.push_back(k);
    if (!m_tops.empty() || shown.size() < 2 || std::adjacent_find(all.begin(), all.end()) == all.end())
        return;
    const double share = 1.0 / static_cast<double>(shown.size());
    for (std::size_t slot = 0; slot < shown.size(); ++slot)
        m_slots[shown[slot]] = {0.82 * (share * (static_cast<double>(slot) + 0.5) - 0.5), share};
}

bool ChartView::standing(std::size_t k) const
{
    const Trace::Mark mark = picture()->series[k].mark;
    return mark == Trace::Mark::Bars || mark == Trace::Mark::Boxes;
}

QPointF ChartView::drawnPixel(std::size_t k, std::size_t i) const
{
    const QPointF at = pixelOf(picture()->series[k].x[i], drawnY(k, i));
    return at +
           QPointF(m_slots[k].shift * barWidth() / (m_axes.x.max - m_axes.x.min) * m_axes.area.width(), 0);
}

void ChartView::resetZoom()
{
    zoomTo(m_full);
    Q_EMIT zoomed();
}

void ChartView::zoomTo(const QRectF& range)
{
    // Doubles end somewhere: a range that has no width left is refused.
    const double scale = std::max({std::abs(range.left()), std::abs(range.right()), 1e-300});
    if (range.width() <= scale * 1e-12 || range.height() <= 0) return;
    m_axes.x.min = range.left();
    m_axes.x.max = range.right();
    m_axes.y.min = range.top();
    m_axes.y.max = range.bottom();
    relayout();
}

void ChartView::zoomBy(double factor, QPointF around)
{
    const QRectF now(QPointF(m_axes.x.min, m_axes.y.min), QPointF(m_axes.x.max, m_axes.y.max));
    QRectF next(around.x() + (now.left() - around.x()) * factor,
                around.y() + (now.top() - around.y()) * factor, now.width() * factor, now.height() * factor);
    if (next.width() >= m_full.width()) {
        resetZoom();
        return;
    }
    zoomTo(next);
    Q_EMIT zoomed();
}

QRectF ChartView::shownRange() const
{
    return QRectF(QPointF(m_axes.x.toValue(m_axes.x.min), m_axes.y.toValue(m_axes.y.min)),
                  QPointF(m_axes.x.toValue(m_axes.x.max), m_axes.y.toValue(m_axes.y.max)));
}

QPointF ChartView::pixelOf(double x, double y) const
{
    return m_axes.toPixel(m_axes.x.toPlot(x), m_axes.y.toPlot(y));
}

void ChartView::relayout()
{
    m_axes.layOut(size(), font(), 0);
    m_canvas->setGeometry(rect());
    m_canvas->setPlotArea(m_axes.area);
    m_canvas->setRange(m_axes.x.min, m_axes.x.max, m_axes.y.min, m_axes.y.max);
    fillSeries();
}

bool ChartView::dense(std::size_t k) const
{
    return picture()->series[k].mark == Trace::Mark::Points && m_byX[k].size() > kMostMarkers;
}

void ChartView::fillSeries()
{
    std::vector<ChartCanvas::Line> lines;
    m_shownPoints = 0;
    const auto& p = picture();
    const std::size_t n = p ? std::min<std::size_t>(p->series.size(), kMostSeries) : 0;
    const int columns = std::clamp(static_cast<int>(m_axes.area.width()), 1, kMostPoints / 4 - 1);
    const double width = p && n > 0 ? barWidth() : 1;
    const double ground = m_axes.y.log ? m_axes.y.min : 0;
    for (std::size_t k = 0; k < n; ++k) {
        if (m_hidden[k] || m_byX[k].empty()) continue;
        const Series& s = p->series[k];
        QColor colour(QRgb(colourOfSeries(*p, k)));
        if (stale()) colour.setAlpha(90);
        const auto point = [&](std::uint32_t i) {
            return QPointF(m_axes.x.toPlot(s.x[i]), m_axes.y.toPlot(s.y[i]));
        };
        ChartCanvas::Line line;
        line.colour = colour;
        line.order = static_cast<int>(k);
        if (s.mark == Trace::Mark::Bars) {
            line.kind = ChartCanvas::Kind::Area;
            line.ground = ground;
            std::vector<double> heights;
            for (const std::uint32_t i : m_byX[k])
                heights.push_back(m_axes.y.toPlot(drawnY(k, i)));
            const double shown = (p->spec.kind == "histogram" ? width : width * 0.82) * m_slots[k].share;
            std::vector<double> middles = m_sortedX[k];
            for (double& x : middles)
                x += m_slots[k].shift * width;
            for (const Bar& bar : reduceBars(middles, heights, shown, m_axes.x.min, m_axes.x.max, columns)) {
                line.points << QPointF(bar.left, ground) << QPointF(bar.left, bar.height)
                            << QPointF(bar.right, bar.height) << QPointF(bar.right, ground);
            }
        } else if (s.mark == Trace::Mark::Boxes) {
            continue; // painted by paintBoxes
        } else if (s.mark == Trace::Mark::Points) {
            if (dense(k)) continue; // painted by paintDense
            line.kind = ChartCanvas::Kind::Scatter;
            for (const std::uint32_t i : m_byX[k])
                line.points << point(i);
        } else {
            line.kind = ChartCanvas::Kind::Line;
            std::vector<double> ys;
            ys.reserve(m_byX[k].size());
            for (const std::uint32_t i : m_byX[k])
                ys.push_back(m_axes.y.toPlot(s.y[i]));
            for (const std::uint32_t i : reduceM4(m_sortedX[k], ys, m_axes.x.min, m_axes.x.max, columns))
                line.points << QPointF(m_sortedX[k][i], ys[i]);
        }
        m_shownPoints += static_cast<int>(line.points.size());
        lines.push_back(std::move(line));
        if (s.hull.size() < 2) continue;
        ChartCanvas::Line hull;
        hull.kind = ChartCanvas::Kind::Line;
        hull.colour = colour;
        hull.order = 0; // solid
        for (const std::uint32_t i : s.hull)
            if (i < s.x.size() && m_axes.x.shows(s.x[i]) && m_axes.y.shows(s.y[i])) hull.points << point(i);
        lines.push_back(std::move(hull));
    }
    // Stacked bars all stand on the ground: the higher ones are drawn first and show above the lower.
    if (!m_tops.empty()) std::reverse(lines.begin(), lines.end());
    m_canvas->setLines(std::move(lines));
    m_canvas->refresh();
}

bool ChartView::nearThreshold(QPointF position) const
{
    if (!m_threshold || !m_axes.area.adjusted(0, -8, 0, 8).contains(position)) return false;
    return std::abs(pixelOf(*m_threshold, m_axes.y.toValue(m_axes.y.min)).x() - position.x()) <= 6;
}

std::optional<PlotPoint> ChartView::pointAt(QPointF position) const
{
    const auto& p = picture();
    if (!p || !m_axes.area.adjusted(-kReach, -kReach, kReach, kReach).contains(position)) return std::nullopt;
    const QPointF plot = m_axes.toPlot(position);
    const double perPixel = (m_axes.x.max - m_axes.x.min) / m_axes.area.width();
    std::optional<PlotPoint> best;
    double bestDistance = kReach * kReach;
    bool bestInside = false;
    double nearestBar = std::numeric_limits<double>::infinity();
    for (std::size_t k = 0; k < p->series.size(); ++k) {
        if (m_hidden[k] || m_sortedX[k].empty()) continue;
        const Series& s = p->series[k];
        const auto& xs = m_sortedX[k];
        const bool bars = standing(k);
        const double reach = bars ? barWidth() / 2 : kReach * perPixel;
        // Binary search over all points, not over the reduced ones.
        auto at = std::lower_bound(xs.begin(), xs.end(), plot.x() - reach) - xs.begin();
        std::optional<PlotPoint> nearestInX;
        double nearestX = std::numeric_limits<double>::infinity();
        for (;
             static_cast<std::size_t>(at) < xs.size() && xs[static_cast<std::size_t>(at)] <= plot.x() + reach;
             ++at) {
            const std::uint32_t i = m_byX[k][static_cast<std::size_t>(at)];
            const QPointF pixel = drawnPixel(k, i);
            const double dx = std::abs(pixel.x() - position.x());
            if (dx < nearestX) {
                nearestX = dx;
                nearestInX = PlotPoint{static_cast<int>(k), static_cast<int>(i)};
            }
            const double dy = pixel.y() - position.y();
            const double distance = dx * dx + dy * dy;
            if (!bars && distance < bestDistance) {
                bestDistance = distance;
                best = PlotPoint{static_cast<int>(k), static_cast<int>(i)};
            }
        }
        if (bars && nearestInX && m_slots[k].share < 1) {
            if (nearestX < nearestBar) best = nearestInX;
            nearestBar = std::min(nearestBar, nearestX);
        } else if (bars && nearestInX) {
            // Of stacked bars the lowest whose top is above the cursor.
            const QPointF top = pixelOf(s.x[static_cast<std::size_t>(nearestInX->index)],
                                        drawnY(k, static_cast<std::size_t>(nearestInX->index)));
            const bool inside = top.y() <= position.y();
            if (!best || (inside && !bestInside)) best = nearestInX;
            bestInside = bestInside || inside;
        }
    }
    return best;
}

void ChartView::press(QPointF position)
{
    setFocus(Qt::MouseFocusReason);
    for (const Legend& entry : m_legend)
        if (entry.box.contains(position)) {
            const auto k = static_cast<std::size_t>(entry.series);
            m_hidden[k] = !m_hidden[k];
            fillSeries();
            return;
        }
    if (nearThreshold(position)) {
        m_draggingThreshold = true;
        return;
    }
    if (m_axes.area.contains(position)) m_boxFrom = position;
}

void ChartView::move(QPointF position, bool pressed)
{
    if (m_draggingThreshold) {
        const double x = std::clamp(m_axes.toPlot(position).x(), m_axes.x.min, m_axes.x.max);
        m_threshold = m_axes.x.toValue(x);
        Q_EMIT thresholdDragged(*m_threshold);
        m_canvas->refresh();
        return;
    }
    if (pressed && m_boxFrom) {
        m_boxTo = QPointF(std::clamp(position.x(), m_axes.area.left(), m_axes.area.right()),
                          std::clamp(position.y(), m_axes.area.top(), m_axes.area.bottom()));
        m_canvas->refresh();
        return;
    }
    m_canvas->setCursor(nearThreshold(position) ? Qt::SplitHCursor : Qt::ArrowCursor);
    const auto hit = pointAt(position);
    if (hit == m_hover) return;
    m_hover = hit;
    Q_EMIT hovered(hit ? textOf(*hit) : QString());
    m_canvas->refresh();
}

void ChartView::release(QPointF position)
{
    if (m_draggingThreshold) {
        m_draggingThreshold = false;
        return;
    }
    const auto from = std::exchange(m_boxFrom, std::nullopt);
    const auto to = std::exchange(m_boxTo, std::nullopt);
    if (from && to && std::abs(from->x() - to->x()) > 6 && std::abs(from->y() - to->y()) > 6) {
        zoomTo(QRectF(m_axes.toPlot(*from), m_axes.toPlot(*to)).normalized());
        Q_EMIT zoomed();
        return;
    }
    m_canvas->refresh();
    if (!from) return;
    if (const auto hit = pointAt(position)) {
        setHighlight(hit);
        Q_EMIT picked(*hit);
    }
}

void ChartView::leave()
{
    if (!m_hover) return;
    m_hover.reset();
    Q_EMIT hovered(QString());
    m_canvas->refresh();
}

void ChartView::highlightChanged() { m_canvas->refresh(); }

void ChartView::staleChanged() { fillSeries(); }

void ChartView::resizeEvent(QResizeEvent* event)
{
    Plot::resizeEvent(event);
    relayout();
}

void ChartView::changeEvent(QEvent* event)
{
    Plot::changeEvent(event);
    if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange ||
        event->type() == QEvent::StyleChange)
        relayout();
}

void ChartView::keyPressEvent(QKeyEvent* event)
{
    if (event->key() == Qt::Key_Plus || event->key() == Qt::Key_Minus) {
        zoomBy(event->key() == Qt::Key_Plus ? 0.8 : 1.25, m_axes.toPlot(m_axes.area.center()));
        return;
    }
    // The budget line moves with Shift and the arrow keys: nothing is reachable by mouse only.
    if (m_threshold && (event->modifiers() & Qt::ShiftModifier) != 0 &&
        (event->key() == Qt::Key_Left || event->key() == Qt::Key_Right)) {
        const double step = (m_axes.x.max - m_axes.x.min) / 100 * (event->key() == Qt::Key_Right ? 1 : -1);
        const double plot = std::clamp(m_axes.x.toPlot(*m_threshold) + step, m_axes.x.min, m_axes.x.max);
        m_threshold = m_axes.x.toValue(plot);
        Q_EMIT thresholdDragged(*m_threshold);
        m_canvas->refresh();
        return;
    }
    Plot::keyPressEvent(event);
}

} // namespace halftone
