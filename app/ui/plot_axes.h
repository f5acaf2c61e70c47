// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QPointF>
#include <QRectF>
#include <QString>

#include <utility>
#include <vector>

class QFont;
class QPainter;

namespace halftone {

struct Axis;

/// One axis. Plot coordinates are values, or their log10 on a log axis.
struct PlotAxis {
    QString title; ///< with its unit
    bool log = false;
    bool bytes = false;      ///< labels read "2.5 MB"
    double min = 0, max = 1; ///< shown, in plot coordinates
    /// Labels of our own in plot coordinates, instead of numbers (layer names); empty: numbers.
    std::vector<std::pair<double, QString>> labels;
    bool descending = false; ///< y only: small numbers on top (matrix rows)
    /// Whether a value has a place: finite, and above 0 on a log axis.
    bool shows(double value) const;
    double toPlot(double value) const;
    double toValue(double plot) const;
    /// Ticks in plot coordinates with their texts; powers of ten on a log axis.
    std::vector<std::pair<double, QString>> ticks(int most) const;
};

/// Two axes around a plot area, painted the same way under every chart and map.
struct PlotAxes {
    PlotAxis x, y;
    QRectF area; ///< of the data, in pixels
    /// Sets `area` inside a widget of this size, `right` pixels kept free for a colour bar.
    void layOut(QSizeF size, const QFont& font, double right);
    QPointF toPixel(double plotX, double plotY) const;
    QPointF toPlot(QPointF pixel) const;
    void paintGrid(QPainter& painter) const;
    /// Tick labels, titles and the two axis lines.
    void paintLabels(QPainter& painter, QSizeF size) const;

private:
    int xTicks(const QFont& font) const;
    int yTicks(const QFont& font) const;
};

/// Title and scale of an axis as a figure describes it: "SQNR [dB]"; bytes are said at the ticks.
void describeAxis(PlotAxis& axis, const Axis& spec);
/// 10 with a raised exponent: "10⁻³"; "1" and "10" for the first two.
QString powerOfTen(int exponent);

} // namespace halftone
