// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/ui/plot.h"

#include "app/host/strings.h"
#include "core/base/text.h"

#include <QAccessible>
#include <QKeyEvent>

#include <algorithm>
#include <cmath>

namespace halftone {

using namespace Qt::Literals::StringLiterals;

QString numberText(double value, const std::string& unit)
{
    if (unit == "B" || unit == "byte" || unit == "bytes")
        return toQt(humanBytes(static_cast<std::uint64_t>(std::max(0.0, value))));
    const bool whole = value == std::floor(value) && std::abs(value) < 1e6;
    const QString number = whole ? QString::number(value, 'f', 0) : toQt(shortNumber(value));
    return unit.empty() ? number : number + u' ' + toQt(unit);
}

std::uint32_t colourOfSeries(const Picture& picture, std::size_t index)
{
    const std::string& label = picture.series[index].label;
    if (isRoleClass(label)) return categoryColour(label);
    return seriesColour(index);
}

Plot::Plot(QWidget* parent) : QWidget(parent)
{
    setFocusPolicy(Qt::StrongFocus);
    setMouseTracking(true);
    setMinimumSize(160, 120);
}

void Plot::setPicture(std::shared_ptr<const Picture> picture)
{
    m_picture = std::move(picture);
    m_highlight.reset();
    m_extraNote.clear();
    m_stale = false;
    setAccessibleDescription(m_picture ? toQt(describe(*m_picture)) : QString());
    pictureChanged();
}

void Plot::setHighlight(std::optional<PlotPoint> point)
{
    if (point && m_picture) {
        const auto s = static_cast<std::size_t>(point->series);
        if (point->series < 0 || s >= m_picture->series.size() || point->index < 0 ||
            static_cast<std::size_t>(point->index) >= m_picture->series[s].x.size())
            point.reset();
    }
    if (point == m_highlight) return;
    m_highlight = point;
    highlightChanged();
}

void Plot::setStale(bool stale)
{
    if (stale == m_stale) return;
    m_stale = stale;
    staleChanged();
}

QString Plot::note() const
{
    QString out = m_picture ? toQt(m_picture->note) : QString();
    if (!m_extraNote.isEmpty()) out += (out.isEmpty() ? QString() : u"; "_s) + m_extraNote;
    return out;
}

QString Plot::textOf(PlotPoint point) const
{
    if (!m_picture || point.series < 0) return {};
    const Series& s = m_picture->series[static_cast<std::size_t>(point.series)];
    const auto i = static_cast<std::size_t>(point.index);
    QString out;
    if (i < s.text.size() && s.text[i] < s.names.size())
        out = toQt(s.names[s.text[i]]);
    else if (m_picture->series.size() > 1)
        out = toQt(s.label);
    const auto add = [&](const Axis& axis, const std::vector<double>& values) {
        if (i >= values.size() || axis.label.empty()) return;
        if (!out.isEmpty()) out += u"  ·  "_s;
        out += toQt(axis.label) + u' ' + numberText(values[i], axis.unit);
    };
    // A place on an axis of names is told by the name, which most points bear already.
    if (m_picture->xNames.empty())
        add(m_picture->spec.x, s.x);
    else if (i >= s.text.size() && i < s.x.size())
        out += (out.isEmpty() ? QString() : u"  ·  "_s) +
               toQt(m_picture->xNames[static_cast<std::size_t>(s.x[i])]);
    if (m_picture->yNames.empty()) add(m_picture->spec.y, s.y);
    add(m_picture->spec.z, s.z);
    if (i < s.spread.size()) {
        const auto [low, lower, upper, high] = s.spread[i];
        const std::string& unit = m_picture->spec.y.unit;
        out += tr("  ·  half in %1 to %2, all in %3 to %4")
                   .arg(numberText(lower, unit), numberText(upper, unit), numberText(low, unit),
                        numberText(high, unit));
    }
    return out;
}

PlotPoint Plot::neighbour(PlotPoint from, int dx, int dy) const
{
    const auto& series = m_picture->series;
    if (dy != 0) {
        // Up and down change the series, at the same place along it.
        for (int s = from.series - dy; s >= 0 && s < static_cast<int>(series.size()); s -= dy) {
            const int n = static_cast<int>(series[static_cast<std::size_t>(s)].x.size());
            if (n > 0) return {s, std::min(from.index, n - 1)};
        }
        return from;
    }
    const int n = static_cast<int>(series[static_cast<std::size_t>(from.series)].x.size());
    return {from.series, std::clamp(from.index + dx, 0, std::max(0, n - 1))};
}

void Plot::keyPressEvent(QKeyEvent* event)
{
    int dx = 0;
    int dy = 0;
    if (event->modifiers() == Qt::NoModifier) {
        dx = event->key() == Qt::Key_Right ? 1 : event->key() == Qt::Key_Left ? -1 : 0;
        dy = event->key() == Qt::Key_Up ? 1 : event->key() == Qt::Key_Down ? -1 : 0;
    }
    if (m_picture && (dx != 0 || dy != 0)) {
        PlotPoint next;
        if (m_highlight)
            next = neighbour(*m_highlight, dx, dy);
        else
            for (std::size_t s = 0; s < m_picture->series.size() && next.series < 0; ++s)
                if (!m_picture->series[s].x.empty()) next = {static_cast<int>(s), 0};
        if (next.series < 0) return;
        setHighlight(next);
        const QString text = textOf(next);
        setAccessibleDescription(text);
        QAccessibleEvent spoken(this, QAccessible::DescriptionChanged);
        QAccessible::updateAccessibility(&spoken);
        Q_EMIT hovered(text);
        return;
    }
    if ((event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter) && m_highlight) {
        Q_EMIT picked(*m_highlight);
        return;
    }
    if (event->key() == Qt::Key_Home) {
        resetZoom();
        return;
    }
    QWidget::keyPressEvent(event);
}

} // namespace halftone
