// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/ui/plot.h"

#include <QImage>
#include <QRectF>

#include <optional>
#include <vector>

namespace halftone {

/// Sizes as areas, coloured by class. Painted once into an image: 100,000 rectangles cost no item each.
class TreemapView : public Plot {
    Q_OBJECT
public:
    explicit TreemapView(QWidget* parent = nullptr);
    std::optional<PlotPoint> pointAt(QPointF position) const override;
    void resetZoom() override {}
    QString textOf(PlotPoint point) const override;
    /// Where a point's rectangle lies, in this widget's pixels.
    QRectF cellOf(PlotPoint point) const;
    const QImage& image() const { return m_image; }

protected:
    void pictureChanged() override;
    void staleChanged() override { update(); }
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void changeEvent(QEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;

private:
    struct Cell {
        QRectF box;
        std::uint32_t index;
    };
    QRectF mapArea() const;
    void relayout();
    QString nameOfPoint(std::size_t index) const;

    std::vector<Cell> m_cells;           ///< large ones first
    std::vector<std::uint32_t> m_cellOf; ///< point -> cell
    double m_total = 0;
    QImage m_image;
    std::optional<PlotPoint> m_hover;
};

} // namespace halftone
