// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/models/selection.h"

#include <algorithm>
#include <utility>

namespace halftone {

namespace {
constexpr std::size_t kHistory = 200;
}

void Selection::show(const Place& place)
{
    m_place = place;
    Q_EMIT changed(m_place);
}

void Selection::select(const Place& place)
{
    if (place == m_place) return;
    if (m_history.empty()) {
        m_history.push_back(place);
        m_at = 0;
    } else {
        m_history.resize(m_at + 1); // a new choice drops what lay ahead
        m_history.push_back(place);
        if (m_history.size() > kHistory) m_history.erase(m_history.begin());
        m_at = m_history.size() - 1;
    }
    show(place);
}

void Selection::setOrder(std::vector<std::uint32_t> order) { m_order = std::move(order); }

void Selection::step(int by)
{
    if (m_order.empty()) return;
    const auto here = std::find(m_order.begin(), m_order.end(), static_cast<std::uint32_t>(m_place.weight));
    std::ptrdiff_t next = 0;
    if (m_place.weight >= 0 && here != m_order.end())
        next = std::clamp<std::ptrdiff_t>(here - m_order.begin() + by, 0, std::ssize(m_order) - 1);
    select({static_cast<int>(m_order[static_cast<std::size_t>(next)]), -1, -1});
}

void Selection::back()
{
    if (!canGoBack()) return;
    show(m_history[--m_at]);
}

void Selection::forward()
{
    if (!canGoForward()) return;
    show(m_history[++m_at]);
}

void Selection::reset()
{
    m_history.clear();
    m_order.clear();
    m_at = 0;
    show({});
}

} // namespace halftone
