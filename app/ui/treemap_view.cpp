// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/ui/treemap_view.h"

#include "app/host/strings.h"
#include "app/ui/theme.h"
#include "core/model/model.h"

#include <QEvent>
#include <QMouseEvent>
#include <QPainter>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace halftone {

using namespace Qt::Literals::StringLiterals;

namespace {

/// Classes in the order that every legend has; other names come after them.
std::vector<std::string> inClassOrder(std::vector<std::string> names)
{
    const auto rank = [](const std::string& name) {
        int at = 0;
        for (const RoleClass c : {RoleClass::Attention, RoleClass::Ffn, RoleClass::Expert,
                                  RoleClass::Embedding, RoleClass::Norm, RoleClass::Other}) {
            if (nameOf(c) == name) return at;
            ++at;
        }
        return at;
    };
    std::stable_sort(names.begin(), names.end(),
                     [&](const std::string& a, const std::string& b) { return rank(a) < rank(b); });
    return names;
}

/// Black or white, whichever reads better on this colour.
QColor inkOn(const QColor& colour)
{
    const double luminance = 0.2126 * colour.redF() * colour.redF() +
                             0.7152 * colour.greenF() * colour.greenF() +
                             0.0722 * colour.blueF() * colour.blueF();
    return luminance > 0.25 ? QColor(0x10, 0x14, 0x18) : QColor(0xFF, 0xFF, 0xFF);
}

/// The sizes are the figure's y; older figures say their unit on x.
const std::string& sizeUnit(const FigureSpec& spec)
{
    return spec.y.unit.empty() ? spec.x.unit : spec.y.unit;
}

} // namespace

TreemapView::TreemapView(QWidget* parent) : Plot(parent) {}

QRectF TreemapView::mapArea() const
{
    // Below the map: the legend of classes.
    return QRectF(0, 0, width(), std::max(10.0, height() - fontMetrics().height() - 10.0));
}

void TreemapView::pictureChanged()
{
    m_hover.reset();
    relayout();
}

void TreemapView::relayout()
{
    m_cells.clear();
    m_cellOf.clear();
    m_image = {};
    m_total = 0;
    const auto& p = picture();
    update();
    if (!p || p->series.empty() || p->series.front().y.empty() || width() < 2 || height() < 2) return;
    const Series& s = p->series.front();
    // The layout wants descending sizes; names of one class and layer then stay near each other in size only.
    std::vector<std::uint32_t> order(s.y.size());
    std::iota(order.begin(), order.end(), std::uint32_t{0});
    std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return s.y[a] > s.y[b]; });
    std::vector<double> sizes;
    sizes.reserve(order.size());
    for (const std::uint32_t i : order) {
        sizes.push_back(std::max(0.0, s.y[i]));
        m_total += sizes.back();
    }
    const QRectF area = mapArea();
    const std::vector<TreemapCell> boxes = treemap(sizes, area.width(), area.height());
    m_cellOf.resize(order.size());
    const double ratio = devicePixelRatioF();
    m_image = QImage((area.size() * ratio).toSize(), QImage::Format_RGB32);
    m_image.setDevicePixelRatio(ratio);
    m_image.fill(Theme::colours().surface);
    QPainter painter(&m_image);
    QFont small = font();
    small.setPointSizeF(std::max(6.0, small.pointSizeF() * 0.9));
    painter.setFont(small);
    const QFontMetricsF metrics(small);
    for (std::size_t k = 0; k < boxes.size(); ++k) {
        const QRectF box(boxes[k].x, boxes[k].y, boxes[k].width, boxes[k].height);
        m_cellOf[order[k]] = static_cast<std::uint32_t>(m_cells.size());
        m_cells.push_back({box, order[k]});
        const std::string category =
            order[k] < s.category.size() ? s.categories[s.category[order[k]]] : std::string();
        const QColor colour(QRgb(categoryColour(category)));
        // A gap of one pixel instead of outlines; what is smaller than that only tints its place.
        const bool large = box.width() > 3 && box.height() > 3;
        painter.fillRect(large ? box.adjusted(0, 0, -1, -1) : box, colour);
        if (box.width() < 34 || box.height() < metrics.height() + 4) continue;
        painter.setPen(inkOn(colour));
        const QRectF inner = box.adjusted(5, 2, -4, -2);
        QString name = nameOfPoint(order[k]);
        if (name.startsWith(u"layers."_s)) name.remove(0, 7);
        if (metrics.horizontalAdvance(name) > inner.width()) {
            // The end of a name tells more than its beginning.
            name = metrics.elidedText(name, Qt::ElideLeft, inner.width());
            if (inner.width() < metrics.averageCharWidth() * 7) continue;
        }
        painter.drawText(inner, Qt::AlignLeft | Qt::AlignTop, name);
        const QString size = numberText(s.y[order[k]], sizeUnit(p->spec));
        if (inner.height() > 2 * metrics.height() && metrics.horizontalAdvance(size) <= inner.width())
            painter.drawText(inner.adjusted(0, metrics.height(), 0, 0), Qt::AlignLeft | Qt::AlignTop, size);
    }
}

QString TreemapView::nameOfPoint(std::size_t index) const
{
    const Series& s = picture()->series.front();
    if (index >= s.text.size() || s.text[index] >= s.names.size()) return {};
    // The stable id is shorter than the name and the same for all containers.
    return toQt(roleOfName(s.names[s.text[index]]).id);
}

QString TreemapView::textOf(PlotPoint point) const
{
    const Series& s = picture()->series.front();
    const auto i = static_cast<std::size_t>(point.index);
    QString out = nameOfPoint(i) + u"  ·  "_s + numberText(s.y[i], sizeUnit(picture()->spec));
    if (m_total > 0) out += u"  ·  "_s + QString::number(100 * s.y[i] / m_total, 'f', 1) + u" %"_s;
    if (i < s.category.size()) out += u"  ·  "_s + toQt(s.categories[s.category[i]]);
    return out;
}

QRectF TreemapView::cellOf(PlotPoint point) const
{
    const auto i = static_cast<std::size_t>(point.index);
    return i < m_cellOf.size() ? m_cells[m_cellOf[i]].box : QRectF();
}

std::optional<PlotPoint> TreemapView::pointAt(QPointF position) const
{
    for (const Cell& cell : m_cells)
        if (cell.box.contains(position)) return PlotPoint{0, static_cast<int>(cell.index)};
    return std::nullopt;
}

void TreemapView::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    const ThemeColours& c = Theme::colours();
    painter.fillRect(rect(), c.surface);
    if (m_image.isNull()) return;
    if (stale()) painter.setOpacity(0.4);
    painter.drawImage(QPointF(0, 0), m_image);
    painter.setOpacity(1);
    const auto mark = [&](PlotPoint point, const QColor& colour) {
        painter.setBrush(Qt::NoBrush);
        const QRectF box = cellOf(point).adjusted(1, 1, -2, -2);
        painter.setPen(QPen(c.surface, 4));
        painter.drawRect(box);
        painter.setPen(QPen(colour, 2));
        painter.drawRect(box);
    };
    if (m_hover) mark(*m_hover, c.text);
    if (const auto h = highlighted()) mark(*h, c.highlight);
    // Legend: only the classes that are there.
    const Series& s = picture()->series.front();
    const QFontMetricsF metrics(font());
    double x = 2;
    const double y = height() - metrics.height() / 2 - 2;
    painter.setRenderHint(QPainter::Antialiasing);
    for (const std::string& category : inClassOrder(s.categories)) {
        const QString text = toQt(category);
        if (x + 14 + metrics.horizontalAdvance(text) > width()) break;
        painter.setPen(Qt::NoPen);
        painter.setBrush(QColor(QRgb(categoryColour(category))));
        painter.drawRect(QRectF(x, y - 4, 9, 9));
        painter.setPen(c.dim);
        painter.drawText(QRectF(x + 14, y - metrics.height() / 2, 300, metrics.height()),
                         Qt::AlignLeft | Qt::AlignVCenter, text);
        x += 14 + metrics.horizontalAdvance(text) + 14;
    }
    if (hasFocus()) {
        painter.setRenderHint(QPainter::Antialiasing, false);
        painter.setBrush(Qt::NoBrush);
        painter.setPen(QPen(c.accent, 1));
        painter.drawRect(rect().adjusted(0, 0, -1, -1));
    }
}

void TreemapView::resizeEvent(QResizeEvent* event)
{
    Plot::resizeEvent(event);
    relayout();
}

void TreemapView::changeEvent(QEvent* event)
{
    Plot::changeEvent(event);
    if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange) relayout();
}

void TreemapView::mouseMoveEvent(QMouseEvent* event)
{
    const auto hit = pointAt(event->position());
    if (hit == m_hover) return;
    m_hover = hit;
    setToolTip(hit ? textOf(*hit) : QString());
    Q_EMIT hovered(hit ? textOf(*hit) : QString());
    update();
}

void TreemapView::mouseReleaseEvent(QMouseEvent* event)
{
    if (event->button() != Qt::LeftButton) return;
    if (const auto hit = pointAt(event->position())) {
        setHighlight(hit);
        Q_EMIT picked(*hit);
    }
}

void TreemapView::leaveEvent(QEvent* event)
{
    m_hover.reset();
    Q_EMIT hovered(QString());
    update();
    Plot::leaveEvent(event);
}

} // namespace halftone
