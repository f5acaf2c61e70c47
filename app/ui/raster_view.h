// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/ui/plot.h"
#include "app/ui/plot_axes.h"

#include <QImage>

#include <optional>
#include <vector>

namespace halftone {

/// A matrix of cells as a picture: reduced by maximum where cells are smaller than pixels, so that one
/// large error survives; colours by viridis, on a log scale where the figure asks for one. Numbers under
/// the cursor come from the full data.
class RasterView : public Plot {
    Q_OBJECT
public:
    explicit RasterView(QWidget* parent = nullptr);
    std::optional<PlotPoint> pointAt(QPointF position) const override;
    void resetZoom() override;
    /// The cell of this column and row as a point, for highlights that come as places.
    std::optional<PlotPoint> cellAt(double x, double y) const;
    QRectF plotArea() const { return m_axes.area; }
    QPointF pixelOf(double x, double y) const;
    const QImage& image() const { return m_image; }

protected:
    void pictureChanged() override;
    void staleChanged() override;
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void changeEvent(QEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    PlotPoint neighbour(PlotPoint from, int dx, int dy) const override;

private:
    struct Range {
        std::size_t begin, end;
    };
    void relayout();
    void render();
    void paintBar(QPainter& painter) const;
    double level(double value) const; ///< 0..1 on the colour map
    Range columnsIn(double from, double to) const;
    Range rowsIn(double from, double to) const;
    static Range cellsIn(const std::vector<double>& edges, double from, double to);

    PlotAxes m_axes;
    // The cells as a dense matrix; edges are one longer than the cells of an axis.
    std::vector<double> m_xs, m_ys, m_xEdges, m_yEdges;
    std::vector<std::int32_t> m_cells; ///< [row][column] -> index of the point, -1: none
    QRectF m_full;
    double m_low = 0, m_high = 1;
    bool m_log = false;
    QImage m_image;
    std::optional<PlotPoint> m_hover;
    QPointF m_cursor;
    std::optional<QPointF> m_boxFrom, m_boxTo;
};

} // namespace halftone
