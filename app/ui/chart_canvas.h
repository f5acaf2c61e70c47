// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QColor>
#include <QList>
#include <QPointF>
#include <QWidget>

#include <memory>
#include <vector>

class QPainter;

namespace halftone {

/// The Qt Charts part of ChartView, behind a wall: draws lines, markers and areas that are reduced
/// already, and hands mouse events and painting under and over the data to its owner.
class ChartCanvas : public QWidget {
public:
    enum class Kind : std::uint8_t { Line, Scatter, Area };
    struct Line {
        Kind kind = Kind::Line;
        QColor colour;
        int order = 0;     ///< chooses dash and marker: the second cue beside colour
        double ground = 0; ///< areas: where they stand on
        QList<QPointF> points;
    };
    explicit ChartCanvas(QWidget* parent);
    ~ChartCanvas() override;
    void setPlotArea(const QRectF& area);
    void setRange(double xMin, double xMax, double yMin, double yMax);
    /// Series of the same kind are used again; each gets one replace().
    void setLines(std::vector<Line> lines);
    void refresh();
    static void paintSample(QPainter& painter, const QRectF& box, Kind kind, const QColor& colour, int order);

    virtual void paintUnder(QPainter& painter) = 0;
    virtual void paintOver(QPainter& painter) = 0;
    virtual void press(QPointF position) = 0;
    virtual void move(QPointF position, bool pressed) = 0;
    virtual void release(QPointF position) = 0;
    virtual void doubleClick() = 0;
    virtual void wheel(QPointF position, double steps) = 0;
    virtual void leave() = 0;

protected:
    void resizeEvent(QResizeEvent* event) override;

private:
    struct Parts;
    std::unique_ptr<Parts> m_parts;
};

} // namespace halftone
