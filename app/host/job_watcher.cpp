// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/host/job_watcher.h"

#include <chrono>
#include <vector>

namespace halftone {

JobWatcher::JobWatcher(const JobRunner& runner, QObject* parent) : QObject(parent), m_runner(runner)
{
    connect(&m_timer, &QTimer::timeout, this, &JobWatcher::look);
    m_timer.start(std::chrono::milliseconds(50));
}

void JobWatcher::look()
{
    bool busy = false;
    std::vector<JobSnapshot> over;
    for (const JobSnapshot& job : m_runner.snapshots()) {
        const bool running = job.state == JobState::Queued || job.state == JobState::Running;
        busy = busy || running;
        const auto seen = m_seen.find(job.id);
        if (seen == m_seen.end() || seen->second != job.version) {
            m_seen[job.id] = job.version;
            Q_EMIT changed(job);
        }
        if (!running && !m_over[job.id]) {
            m_over[job.id] = true;
            over.push_back(job);
        }
    }
    // Set before finished(): a slot that asks busy() then sees the state after this job.
    m_busy = busy;
    for (const JobSnapshot& job : over)
        Q_EMIT finished(job);
}

} // namespace halftone
