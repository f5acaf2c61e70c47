// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/job/job.h"

#include <chrono>
#include <string>

namespace halftone::batch {

/// While it lives, SIGINT and SIGTERM ask instead of killing; the second one kills as usual. One at a time.
class InterruptWatch {
public:
    InterruptWatch();
    ~InterruptWatch();
    InterruptWatch(const InterruptWatch&) = delete;
    InterruptWatch& operator=(const InterruptWatch&) = delete;
    static bool requested();
};

/// Progress on stderr: one line that is written over on a terminal, a line every tenth or half minute
/// elsewhere.
class TerminalProgress {
public:
    TerminalProgress();
    void show(const JobSnapshot& job);
    /// Takes the line away, so that what follows starts on a clean one.
    void clear();

private:
    bool m_terminal = false, m_shown = false;
    int m_tenth = 0;
    std::chrono::nanoseconds m_last{};
    std::string m_line;
};

} // namespace halftone::batch
