// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/result/picture.h"

#include <QWidget>

#include <memory>
#include <optional>

namespace halftone {

/// One point of a picture.
struct PlotPoint {
    int series = -1;
    int index = -1;
    friend bool operator==(const PlotPoint&, const PlotPoint&) = default;
};

/// The drawing surface of a view: shows a Picture, tells what is under the cursor (always from the
/// full numbers) and what was picked. Focusable: arrow keys move a cursor point, Enter picks it.
class Plot : public QWidget {
    Q_OBJECT
public:
    explicit Plot(QWidget* parent = nullptr);
    const std::shared_ptr<const Picture>& picture() const { return m_picture; }
    /// Null: nothing to show.
    void setPicture(std::shared_ptr<const Picture> picture);
    /// Marks one point as the selected place.
    void setHighlight(std::optional<PlotPoint> point);
    std::optional<PlotPoint> highlighted() const { return m_highlight; }
    /// Old numbers stay visible, greyed, while new ones are on their way.
    void setStale(bool stale);
    bool stale() const { return m_stale; }
    /// What could not be shown ("3 values <= 0 not shown on the log axis"), empty when all is.
    QString note() const;
    /// Name and numbers of one point, with units, for tool tips, the status line and screen readers.
    virtual QString textOf(PlotPoint point) const;
    /// The point under a position in this widget's pixels.
    virtual std::optional<PlotPoint> pointAt(QPointF position) const = 0;
    virtual void resetZoom() = 0;

Q_SIGNALS:
    void hovered(const QString& text);
    void picked(halftone::PlotPoint point);

protected:
    /// The picture changed: read it anew.
    virtual void pictureChanged() = 0;
    virtual void highlightChanged() { update(); }
    virtual void staleChanged() { update(); }
    /// Neighbour of a point for the arrow keys.
    virtual PlotPoint neighbour(PlotPoint from, int dx, int dy) const;
    void keyPressEvent(QKeyEvent* event) override;
    /// Further reductions add their words here.
    QString m_extraNote;

private:
    std::shared_ptr<const Picture> m_picture;
    std::optional<PlotPoint> m_highlight;
    bool m_stale = false;
};

/// A number for people with its unit.
QString numberText(double value, const std::string& unit);
/// Colour of a series: by its class when the label names one, else by its place.
std::uint32_t colourOfSeries(const Picture& picture, std::size_t index);

} // namespace halftone
