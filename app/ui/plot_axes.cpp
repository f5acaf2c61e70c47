// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/ui/plot_axes.h"

#include "app/host/strings.h"
#include "app/ui/theme.h"
#include "core/result/picture.h"

#include <QFontMetricsF>
#include <QPainter>

#include <algorithm>
#include <cmath>

namespace halftone {

using namespace Qt::Literals::StringLiterals;

void describeAxis(PlotAxis& axis, const Axis& spec)
{
    axis.bytes = spec.unit == "B";
    axis.log = spec.log;
    axis.title = toQt(spec.label);
    if (!spec.unit.empty() && !axis.bytes) axis.title += u" ["_s + toQt(spec.unit) + u"]"_s;
}

QString powerOfTen(int exponent)
{
    if (exponent == 0) return u"1"_s;
    if (exponent == 1) return u"10"_s;
    static const QString raised = u"⁰¹²³⁴⁵⁶⁷⁸⁹"_s;
    QString out = u"10"_s;
    for (const QChar c : QString::number(exponent))
        out += c == u'-' ? QChar(u'⁻') : raised[c.digitValue()];
    return out;
}

bool PlotAxis::shows(double value) const { return std::isfinite(value) && (!log || value > 0); }

double PlotAxis::toPlot(double value) const { return log ? std::log10(value) : value; }

double PlotAxis::toValue(double plot) const { return log ? std::pow(10.0, plot) : plot; }

std::vector<std::pair<double, QString>> PlotAxis::ticks(int most) const
{
    std::vector<std::pair<double, QString>> out;
    if (!labels.empty()) {
        for (const auto& l : labels)
            if (l.first >= min && l.first <= max) out.push_back(l);
        return out;
    }
    if (log) {
        const int first = static_cast<int>(std::ceil(min - 1e-9));
        const int last = static_cast<int>(std::floor(max + 1e-9));
        const int step = std::max(1, (last - first + most) / std::max(1, most));
        for (int e = first; e <= last; e += step)
            out.emplace_back(e, powerOfTen(e));
        if (out.size() >= 2) return out;
        // Less than two whole decades in sight: plain numbers read better than one power.
        out.clear();
    }
    const Ticks ticks = ticksFor(toValue(min), toValue(max), false, most);
    for (std::size_t i = 0; i < ticks.at.size(); ++i)
        if (!log || ticks.at[i] > 0) out.emplace_back(toPlot(ticks.at[i]), toQt(ticks.labels[i]));
    if (bytes)
        for (auto& [at, text] : out)
            if (!text.isEmpty() && text != u"0"_s)
                text = text.back().isLetter() ? text.chopped(1) + u' ' + text.back() + u'B' : text + u" B"_s;
    return out;
}

int PlotAxes::xTicks(const QFont& font) const
{
    return std::clamp(static_cast<int>(area.width() / (QFontMetricsF(font).averageCharWidth() * 11)), 2, 10);
}

int PlotAxes::yTicks(const QFont& font) const
{
    return std::clamp(static_cast<int>(area.height() / (QFontMetricsF(font).height() * 2.4)), 2, 9);
}

void PlotAxes::layOut(QSizeF size, const QFont& font, double right)
{
    const QFontMetricsF metrics(font);
    const double line = metrics.height();
    // Top: the y title stands above the axis, so that nobody has to tilt their head.
    const double top = line + 14;
    const double bottom = 2 * line + 14;
    area = QRectF(0, top, size.width(), std::max(20.0, size.height() - top - bottom));
    double left = 0;
    for (const auto& [at, text] : y.ticks(yTicks(font)))
        left = std::max(left, metrics.horizontalAdvance(text));
    left += 14;
    area.setLeft(left);
    area.setRight(std::max(left + 20, size.width() - 16 - right));
}

QPointF PlotAxes::toPixel(double plotX, double plotY) const
{
    const double fx = (plotX - x.min) / (x.max - x.min);
    const double fy = (plotY - y.min) / (y.max - y.min);
    return {area.left() + fx * area.width(),
            y.descending ? area.top() + fy * area.height() : area.bottom() - fy * area.height()};
}

QPointF PlotAxes::toPlot(QPointF pixel) const
{
    const double fx = (pixel.x() - area.left()) / area.width();
    const double fy =
        y.descending ? (pixel.y() - area.top()) / area.height() : (area.bottom() - pixel.y()) / area.height();
    return {x.min + fx * (x.max - x.min), y.min + fy * (y.max - y.min)};
}

void PlotAxes::paintGrid(QPainter& painter) const
{
    painter.setRenderHint(QPainter::Antialiasing, false);
    painter.setPen(QPen(Theme::colours().grid, 1));
    if (x.labels.empty())
        for (const auto& [at, text] : x.ticks(xTicks(painter.font()))) {
            const double px = std::round(toPixel(at, y.min).x());
            painter.drawLine(QPointF(px, area.top()), QPointF(px, area.bottom()));
        }
    for (const auto& [at, text] : y.ticks(yTicks(painter.font()))) {
        const double py = std::round(toPixel(x.min, at).y());
        painter.drawLine(QPointF(area.left(), py), QPointF(area.right(), py));
    }
}

void PlotAxes::paintLabels(QPainter& painter, QSizeF size) const
{
    const ThemeColours& c = Theme::colours();
    const QFontMetricsF metrics(painter.font());
    const double line = metrics.height();
    painter.setRenderHint(QPainter::Antialiasing, false);
    painter.setPen(QPen(c.line, 1));
    painter.drawLine(QPointF(area.left(), area.bottom()), QPointF(area.right(), area.bottom()));
    painter.setRenderHint(QPainter::Antialiasing, true);
    painter.setPen(c.dim);
    double busyUntil = -1e9;
    for (const auto& [at, text] : x.ticks(xTicks(painter.font()))) {
        const double px = toPixel(at, y.min).x();
        const double width = metrics.horizontalAdvance(text);
        const double from = std::min(px - width / 2, size.width() - width);
        if (from < busyUntil) continue; // labels never overlap: the later one gives way
        painter.drawText(QPointF(from, area.bottom() + 4 + metrics.ascent()), text);
        busyUntil = from + width + metrics.averageCharWidth();
    }
    for (const auto& [at, text] : y.ticks(yTicks(painter.font()))) {
        const double py = toPixel(x.min, at).y();
        painter.drawText(QRectF(0, py - line / 2, area.left() - 8, line), Qt::AlignRight | Qt::AlignVCenter,
                         text);
    }
    painter.setPen(c.text);
    painter.drawText(QRectF(0, 2, area.width() + area.left(), line), Qt::AlignLeft | Qt::AlignVCenter,
                     y.title);
    painter.drawText(QRectF(area.left(), area.bottom() + line + 8, area.width(), line),
                     Qt::AlignHCenter | Qt::AlignVCenter, x.title);
}

} // namespace halftone
