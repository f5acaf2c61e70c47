// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QEvent>
#include <QScrollArea>

namespace halftone {

/// As high as what it holds wants to be, and lower with a scroll bar where there is no room.
class FittingArea : public QScrollArea {
public:
    FittingArea(QWidget* content, int leastHeight, QWidget* parent)
        : QScrollArea(parent), m_least(leastHeight)
    {
        setWidget(content);
        setWidgetResizable(true);
        setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
        setFocusPolicy(Qt::NoFocus);
        setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Maximum);
    }
    QSize sizeHint() const override
    {
        const int height =
            widget()->hasHeightForWidth() ? widget()->heightForWidth(width()) : widget()->sizeHint().height();
        return {widget()->sizeHint().width(), height};
    }
    QSize minimumSizeHint() const override { return {0, m_least}; }
    bool eventFilter(QObject* watched, QEvent* event) override
    {
        if (watched == widget() && event->type() == QEvent::LayoutRequest) updateGeometry();
        return QScrollArea::eventFilter(watched, event);
    }

protected:
    void resizeEvent(QResizeEvent* event) override
    {
        QScrollArea::resizeEvent(event);
        updateGeometry(); // wrapped words need another height at another width
    }

private:
    int m_least;
};

} // namespace halftone
