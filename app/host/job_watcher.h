// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/job/job.h"

#include <QObject>
#include <QTimer>

#include <map>

namespace halftone {

/// The only bridge from jobs to Qt. Lives on the window's thread; pulls snapshots every 50 ms and is
/// never pushed, so that a fast job can't flood the event loop. The runner outlives it.
class JobWatcher : public QObject {
    Q_OBJECT
public:
    explicit JobWatcher(const JobRunner& runner, QObject* parent = nullptr);
    /// True while any job is queued or running.
    bool busy() const { return m_busy; }
    /// Looks now instead of at the next tick, e.g. right after a submit.
    void look();

Q_SIGNALS:
    void changed(const halftone::JobSnapshot& job);  ///< at most 20 a second a job
    void finished(const halftone::JobSnapshot& job); ///< once a job, after its last changed()

private:
    const JobRunner& m_runner;
    QTimer m_timer;
    std::map<JobId, std::uint64_t> m_seen; ///< version last shown
    std::map<JobId, bool> m_over;          ///< finished() was sent
    bool m_busy = false;
};

} // namespace halftone
