// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/job/pause.h"

#include <algorithm>

namespace halftone {

void PauseGate::pause()
{
    const std::lock_guard lock(m_mutex);
    m_paused = true;
}

void PauseGate::resume()
{
    {
        const std::lock_guard lock(m_mutex);
        m_paused = false;
    }
    m_opened.notify_all();
}

bool PauseGate::paused() const
{
    const std::lock_guard lock(m_mutex);
    return m_paused;
}

void PauseGate::wait(const std::stop_token& stop)
{
    std::unique_lock lock(m_mutex);
    if (!m_paused || stop.stop_requested()) return;
    if (m_held++ == 0) m_heldAt = Clock::now();
    m_opened.wait(lock, stop, [this] { return !m_paused; });
    if (--m_held == 0) {
        m_total += Clock::now() - *m_heldAt;
        m_heldAt.reset();
    }
}

PauseGate::Clock::time_point PauseGate::working(Clock::time_point now) const
{
    const std::lock_guard lock(m_mutex);
    // A `now` from before the pause began is not moved by it.
    return (m_heldAt ? std::min(now, *m_heldAt) : now) - m_total;
}

} // namespace halftone
