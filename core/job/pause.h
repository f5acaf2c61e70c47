// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/base/export.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <stop_token>

namespace halftone {

/// Holds a job's threads while it is paused. Threads pass through wait() wherever they ask whether to
/// stop; time spent in there does not count as work. Any thread may call anything.
class HALFTONE_API PauseGate {
public:
    using Clock = std::chrono::steady_clock;

    void pause();
    void resume();
    bool paused() const;
    /// Returns at once when the gate is open, else when it is opened or a stop is requested.
    void wait(const std::stop_token& stop);
    /// `now` on a clock that stands still while a thread is held.
    Clock::time_point working(Clock::time_point now) const;

private:
    mutable std::mutex m_mutex; // guards all below
    std::condition_variable_any m_opened;
    bool m_paused = false;
    int m_held = 0;                            ///< threads inside wait()
    std::optional<Clock::time_point> m_heldAt; ///< when the first of them came
    Clock::duration m_total{};                 ///< of the pauses that are over
};

} // namespace halftone
