// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QCoreApplication>
#include <QObject>
#include <QPointer>
#include <QThreadPool>

#include <cstdint>
#include <memory>
#include <utility>

namespace halftone {

/// Runs `work` on the pool for short reads and hands its value to `done` on the window's thread, unless
/// `context` has gone by then. Work must not throw and must not touch widgets.
template <class Work, class Done> void inBackground(QObject* context, Work work, Done done)
{
    auto job = std::make_shared<std::pair<Work, Done>>(std::move(work), std::move(done));
    QThreadPool::globalInstance()->start([guard = QPointer<QObject>(context), job] {
        auto value = std::make_shared<decltype(job->first())>(job->first());
        QCoreApplication* application = QCoreApplication::instance();
        if (application == nullptr) return;
        // The guard is read on the window's thread only, where the context is destroyed.
        QMetaObject::invokeMethod(
            application,
            [guard, job, value] {
                if (!guard.isNull()) job->second(std::move(*value));
            },
            Qt::QueuedConnection);
    });
}

/// Latest wins: an answer whose ticket is no longer the newest is thrown away.
class LatestTicket {
public:
    std::uint64_t next() { return ++m_last; }
    bool current(std::uint64_t ticket) const { return ticket == m_last; }

private:
    std::uint64_t m_last = 0;
};

} // namespace halftone
