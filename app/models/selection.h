// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QObject>

#include <cstdint>
#include <vector>

namespace halftone {

/// A place in the open model. Numbers below 0 mean "none".
struct Place {
    int weight = -1; ///< index into WeightSet::all()
    qint64 row = -1;
    qint64 block = -1;
    friend bool operator==(const Place&, const Place&) = default;
};

/// The one selection that every panel shows and may set. Lives on the window's thread.
class Selection : public QObject {
    Q_OBJECT
public:
    using QObject::QObject;
    const Place& place() const { return m_place; }
    /// Remembers where it was, for back().
    void select(const Place& place);
    /// Weights in the order in which step() walks them.
    void setOrder(std::vector<std::uint32_t> order);
    /// To the next or previous weight of the order; stays at the ends.
    void step(int by);
    bool canGoBack() const { return m_at > 0; }
    bool canGoForward() const { return m_at + 1 < m_history.size(); }
    void back();
    void forward();
    /// Forgets all: another model is open now.
    void reset();

Q_SIGNALS:
    void changed(const halftone::Place& place);

private:
    void show(const Place& place);
    Place m_place;
    std::vector<Place> m_history;
    std::size_t m_at = 0; ///< position in m_history
    std::vector<std::uint32_t> m_order;
};

} // namespace halftone
