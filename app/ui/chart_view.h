// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/ui/plot.h"
#include "app/ui/plot_axes.h"

#include <optional>
#include <vector>

namespace halftone {

/// Curves, points and bars. The only user of Qt Charts, which gets reduced points by one replace() a
/// series, no animation and no OpenGL; axes, grid and overlays are painted here. Hover, picking and
/// the table read the full numbers.
class ChartView : public Plot {
    Q_OBJECT
public:
    static constexpr int kMostPoints = 5000; ///< a series that reach Qt Charts
    static constexpr int kMostSeries = 20;
    static constexpr int kMostMarkers = 2000; ///< above, points are painted into the background

    explicit ChartView(QWidget* parent = nullptr);
    ~ChartView() override;

    /// Texts under bars instead of numbers, by x.
    void setXLabels(std::vector<std::pair<double, QString>> labels);
    /// A vertical line that can be dragged, at an x value; nothing: no line.
    void setThreshold(std::optional<double> x, const QString& label);
    std::optional<double> threshold() const { return m_threshold; }
    /// An extra point that is no data: the plan under the budget.
    void setMarker(std::optional<QPointF> at, const QString& label);
    std::optional<QPointF> marker() const { return m_marker; }
    /// Values along x drawn as thin lines over the whole height: the code grid under a histogram.
    void setRuler(std::vector<double> values);

    /// What is shown, as values: for tests and for linked axes.
    QRectF shownRange() const;
    QRectF plotArea() const { return m_axes.area; }
    QPointF pixelOf(double x, double y) const;
    std::optional<PlotPoint> pointAt(QPointF position) const override;
    void resetZoom() override;
    /// Points that the series handed to Qt Charts, all together: tests hold it against the limits.
    int shownPoints() const { return m_shownPoints; }

Q_SIGNALS:
    void thresholdDragged(double x);
    void zoomed();

protected:
    void pictureChanged() override;
    void highlightChanged() override;
    void staleChanged() override;
    void resizeEvent(QResizeEvent* event) override;
    void changeEvent(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;

private:
    class Canvas;
    friend class Canvas;
    struct Legend {
        QRectF box;
        int series;
    };
    void findFullRange();
    void zoomTo(const QRectF& plotRange);
    void zoomBy(double factor, QPointF around);
    void relayout();
    void fillSeries();
    void paintUnder(QPainter& painter) const;
    void paintOver(QPainter& painter) const;
    void paintLegend(QPainter& painter) const;
    void paintHullLabels(QPainter& painter) const;
    void paintDense(QPainter& painter) const;
    void press(QPointF position);
    void move(QPointF position, bool pressed);
    void release(QPointF position);
    void leave();
    bool nearThreshold(QPointF position) const;
    bool dense(std::size_t series) const;
    double barWidth() const { return m_barWidth; }
    void findBarWidth();
    void paintBoxes(QPainter& painter) const;
    bool standing(std::size_t series) const;
    /// Pixel of a point as it is drawn: bars and boxes of several series stand side by side.
    QPointF drawnPixel(std::size_t series, std::size_t index) const;
    /// Height at which a point is drawn, as a value: on top of the series before it in a stacked figure.
    double drawnY(std::size_t series, std::size_t index) const
    {
        return m_tops.empty() ? picture()->series[series].y[index] : m_tops[series][index];
    }

    Canvas* m_canvas; ///< a child of this widget
    PlotAxes m_axes;
    QRectF m_full; ///< plot coordinates of all data
    std::vector<std::pair<double, QString>> m_xLabels;
    std::vector<double> m_ruler;
    std::vector<bool> m_hidden; ///< switched off in the legend, one a series
    mutable std::vector<Legend> m_legend;
    /// Per series: order of its points by x, for binary search; empty when they ascend already.
    std::vector<std::vector<std::uint32_t>> m_byX;
    std::vector<std::vector<double>> m_sortedX; ///< plot coordinates, ascending
    std::vector<std::vector<double>> m_tops;    ///< stacked figures only: upper edge of each bar
    std::optional<double> m_threshold;
    QString m_thresholdLabel;
    std::optional<QPointF> m_marker;
    QString m_markerLabel;
    std::optional<PlotPoint> m_hover;
    std::optional<QPointF> m_boxFrom, m_boxTo;
    bool m_draggingThreshold = false;
    int m_shownPoints = 0;
    double m_barWidth = 1; ///< of all that share an x, in plot coordinates
    struct Slot {
        double shift = 0, share = 1; ///< in bar widths: of its middle, and how much of the width it takes
    };
    std::vector<Slot> m_slots; ///< one a series
};

} // namespace halftone
