// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/ui/chart_canvas.h"

#include <QAreaSeries>
#include <QChart>
#include <QChartView>
#include <QLineSeries>
#include <QMouseEvent>
#include <QPainter>
#include <QPen>
#include <QScatterSeries>
#include <QValueAxis>
#include <QWheelEvent>

#include <algorithm>
#include <array>

namespace halftone {

namespace {

constexpr std::array<Qt::PenStyle, 4> kDashes{Qt::SolidLine, Qt::DashLine, Qt::DotLine, Qt::DashDotLine};
constexpr std::array<QScatterSeries::MarkerShape, 5> kMarkers{
    QScatterSeries::MarkerShapeCircle, QScatterSeries::MarkerShapeRectangle,
    QScatterSeries::MarkerShapeRotatedRectangle, QScatterSeries::MarkerShapeTriangle,
    QScatterSeries::MarkerShapePentagon};

} // namespace

/// Series that Qt Charts holds, with the helper series that an area needs.
struct HeldSeries {
    ChartCanvas::Kind kind;
    QXYSeries* points = nullptr; ///< the data; the upper edge of an area
    QLineSeries* lower = nullptr;
    QAbstractSeries* shown = nullptr;
};

/// Draws under and over the series; the scene's coordinates are this widget's pixels.
class ChartCanvasView : public QChartView {
public:
    ChartCanvasView(QChart* chart, ChartCanvas& owner) : QChartView(chart, &owner), m_owner(owner)
    {
        setRenderHint(QPainter::Antialiasing);
        setFrameShape(QFrame::NoFrame);
        // Keys go to the view that owns the canvas, which has a name and words.
        setFocusPolicy(Qt::NoFocus);
        viewport()->setFocusPolicy(Qt::NoFocus);
        setMouseTracking(true);
        setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
        setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
        // Overlays cover any part of the view: a partial update would leave traces.
        setViewportUpdateMode(QGraphicsView::FullViewportUpdate);
    }

protected:
    void drawBackground(QPainter* painter, const QRectF&) override
    {
        painter->save();
        m_owner.paintUnder(*painter);
        painter->restore();
    }
    void drawForeground(QPainter* painter, const QRectF&) override
    {
        painter->save();
        m_owner.paintOver(*painter);
        painter->restore();
    }
    // The chart itself gets no mouse events: all interaction is the owner's.
    void mousePressEvent(QMouseEvent* event) override
    {
        if (event->button() == Qt::LeftButton) m_owner.press(event->position());
    }
    void mouseMoveEvent(QMouseEvent* event) override
    {
        m_owner.move(event->position(), (event->buttons() & Qt::LeftButton) != 0);
    }
    void mouseReleaseEvent(QMouseEvent* event) override
    {
        if (event->button() == Qt::LeftButton) m_owner.release(event->position());
    }
    void mouseDoubleClickEvent(QMouseEvent*) override { m_owner.doubleClick(); }
    void wheelEvent(QWheelEvent* event) override
    {
        m_owner.wheel(event->position(), event->angleDelta().y() / 120.0);
        event->accept();
    }
    void leaveEvent(QEvent* event) override
    {
        m_owner.leave();
        QChartView::leaveEvent(event);
    }

private:
    ChartCanvas& m_owner;
};

struct ChartCanvas::Parts {
    QChart* chart = nullptr;
    ChartCanvasView* view = nullptr;
    QValueAxis* x = nullptr;
    QValueAxis* y = nullptr;
    std::vector<HeldSeries> held;
};

ChartCanvas::ChartCanvas(QWidget* parent) : QWidget(parent), m_parts(std::make_unique<Parts>())
{
    m_parts->chart = new QChart;
    m_parts->chart->setAnimationOptions(QChart::NoAnimation);
    m_parts->chart->setBackgroundVisible(false);
    m_parts->chart->setMargins({});
    m_parts->chart->legend()->hide();
    m_parts->x = new QValueAxis(m_parts->chart);
    m_parts->y = new QValueAxis(m_parts->chart);
    m_parts->chart->addAxis(m_parts->x, Qt::AlignBottom);
    m_parts->chart->addAxis(m_parts->y, Qt::AlignLeft);
    // Painted by PlotAxes: the same axes under charts and maps.
    m_parts->x->setVisible(false);
    m_parts->y->setVisible(false);
    m_parts->view = new ChartCanvasView(m_parts->chart, *this);
    setMouseTracking(true);
}

ChartCanvas::~ChartCanvas() = default;

void ChartCanvas::setPlotArea(const QRectF& area) { m_parts->chart->setPlotArea(area); }

void ChartCanvas::setRange(double xMin, double xMax, double yMin, double yMax)
{
    m_parts->x->setRange(xMin, xMax);
    m_parts->y->setRange(yMin, yMax);
}

void ChartCanvas::setLines(std::vector<Line> lines)
{
    const bool same = lines.size() == m_parts->held.size() &&
                      std::equal(lines.begin(), lines.end(), m_parts->held.begin(),
                                 [](const Line& l, const HeldSeries& h) { return l.kind == h.kind; });
    if (!same) {
        m_parts->chart->removeAllSeries();
        for (const HeldSeries& held : m_parts->held)
            if (held.kind == Kind::Area) {
                delete held.points;
                delete held.lower;
            }
        m_parts->held.clear();
        for (const Line& line : lines) {
            HeldSeries held;
            held.kind = line.kind;
            if (line.kind == Kind::Scatter) {
                held.points = new QScatterSeries;
                held.shown = held.points;
            } else if (line.kind == Kind::Line) {
                held.points = new QLineSeries;
                held.shown = held.points;
            } else {
                auto* upper = new QLineSeries(m_parts->chart);
                held.points = upper;
                held.lower = new QLineSeries(m_parts->chart);
                held.shown = new QAreaSeries(upper, held.lower);
            }
            m_parts->chart->addSeries(held.shown);
            held.shown->attachAxis(m_parts->x);
            held.shown->attachAxis(m_parts->y);
            m_parts->held.push_back(held);
        }
    }
    for (std::size_t i = 0; i < lines.size(); ++i) {
        const Line& line = lines[i];
        const HeldSeries& held = m_parts->held[i];
        if (auto* scatter = qobject_cast<QScatterSeries*>(held.shown)) {
            scatter->setMarkerShape(kMarkers[static_cast<std::size_t>(line.order) % kMarkers.size()]);
            scatter->setMarkerSize(9);
            scatter->setColor(line.colour);
            scatter->setBorderColor(Qt::transparent);
        } else if (auto* area = qobject_cast<QAreaSeries*>(held.shown)) {
            area->setPen(Qt::NoPen);
            area->setBrush(line.colour);
            QList<QPointF> ground;
            if (!line.points.isEmpty())
                ground << QPointF(line.points.front().x(), line.ground)
                       << QPointF(line.points.back().x(), line.ground);
            held.lower->replace(ground);
        } else {
            held.points->setPen(
                QPen(line.colour, 2, kDashes[static_cast<std::size_t>(line.order) % kDashes.size()]));
        }
        held.points->replace(line.points);
    }
}

void ChartCanvas::refresh() { m_parts->view->viewport()->update(); }

void ChartCanvas::resizeEvent(QResizeEvent* event)
{
    QWidget::resizeEvent(event);
    m_parts->view->setGeometry(rect());
}

void ChartCanvas::paintSample(QPainter& painter, const QRectF& box, Kind kind, const QColor& colour,
                              int order)
{
    painter.save();
    painter.setBrush(colour);
    painter.setPen(Qt::NoPen);
    if (kind == Kind::Line) {
        painter.setPen(QPen(colour, 2, kDashes[static_cast<std::size_t>(order) % kDashes.size()]));
        painter.drawLine(QPointF(box.left(), box.center().y()), QPointF(box.right(), box.center().y()));
    } else if (kind == Kind::Area) {
        painter.drawRect(QRectF(box.center().x() - 5, box.center().y() - 5, 10, 10));
    } else {
        const QPointF c = box.center();
        switch (kMarkers[static_cast<std::size_t>(order) % kMarkers.size()]) {
        case QScatterSeries::MarkerShapeRectangle:
            painter.drawRect(QRectF(c.x() - 4, c.y() - 4, 8, 8));
            break;
        case QScatterSeries::MarkerShapeRotatedRectangle:
            painter.drawPolygon(
                QPolygonF({c + QPointF(0, -5), c + QPointF(5, 0), c + QPointF(0, 5), c + QPointF(-5, 0)}));
            break;
        case QScatterSeries::MarkerShapeTriangle:
            painter.drawPolygon(QPolygonF({c + QPointF(0, -5), c + QPointF(5, 4), c + QPointF(-5, 4)}));
            break;
        default:
            painter.drawEllipse(c, 4.5, 4.5);
        }
    }
    painter.restore();
}

} // namespace halftone
