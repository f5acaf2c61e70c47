// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/window/session_keeper.h"

#include "app/host/strings.h"
#include "app/models/background.h"

#include <QCoreApplication>
#include <QDir>
#include <QFile>
#include <QFileInfo>

#include <chrono>
#include <mutex>

namespace halftone {

using namespace Qt::Literals::StringLiterals;

namespace {

QString lockOf(const QString& file) { return file + u".lock"_s; }

/// Held as long as its process lives, however long that is.
std::unique_ptr<QLockFile> lockFor(const QString& file)
{
    auto lock = std::make_unique<QLockFile>(lockOf(file));
    lock->setStaleLockTime(0);
    return lock->tryLock(0) ? std::move(lock) : nullptr;
}

} // namespace

/// The file, shared with writers that may outlast the window.
class SessionKeeper::Store {
public:
    explicit Store(QString file) : m_file(std::move(file)) {}
    const QString& file() const { return m_file; }
    Status write(const Session& session)
    {
        const std::lock_guard lock(m_mutex);
        if (m_closed) return Ok{};
        return saveSession(session, m_file);
    }
    void remove()
    {
        const std::lock_guard lock(m_mutex);
        QFile::remove(m_file);
    }
    void close()
    {
        const std::lock_guard lock(m_mutex);
        m_closed = true;
        QFile::remove(m_file);
    }

private:
    const QString m_file;
    std::mutex m_mutex; // guards the file and m_closed
    bool m_closed = false;
};

SessionKeeper::SessionKeeper(const QString& folder, std::function<Session()> gather, QObject* parent)
    : QObject(parent), m_gather(std::move(gather))
{
    QDir().mkpath(folder);
    findOrphan(folder);
    // The process number alone is not enough: a process may have two windows.
    static int windows = 0;
    m_store = std::make_shared<Store>(QDir(folder).filePath(
        u"window-%1-%2.halftone"_s.arg(QCoreApplication::applicationPid()).arg(++windows)));
    m_lock = lockFor(m_store->file());
    m_timer.setSingleShot(true);
    m_timer.setInterval(std::chrono::milliseconds(1500));
    connect(&m_timer, &QTimer::timeout, this, &SessionKeeper::save);
}

SessionKeeper::~SessionKeeper()
{
    m_store->close();
    if (m_orphan.isEmpty()) return;
    // Offered for a whole run and not wanted: it is not offered again, and not lost.
    const QString aside = QFileInfo(m_orphan).dir().filePath(u"unrestored.halftone"_s);
    QFile::remove(aside);
    QFile::rename(m_orphan, aside);
}

const QString& SessionKeeper::file() const { return m_store->file(); }

void SessionKeeper::touch()
{
    // Not started anew: a person who never rests is saved, too.
    if (!m_timer.isActive()) m_timer.start();
}

void SessionKeeper::save()
{
    Session now = m_gather();
    if (m_last && *m_last == now) return;
    m_last = now;
    if (!now.model && !now.results && now.notes.isEmpty()) {
        m_store->remove(); // nothing that anybody would miss
        return;
    }
    inBackground(
        this, [store = m_store, now] { return store->write(now); },
        [this](const Status& done) {
            if (done)
                Q_EMIT saved();
            else
                Q_EMIT failed(toQt(done.error().line()));
        });
}

void SessionKeeper::findOrphan(const QString& folder)
{
    // The newest first; one a start, so that nothing is lost by an answer that was meant for another.
    const QStringList names = QDir(folder).entryList({u"window-*.halftone"_s}, QDir::Files, QDir::Time);
    for (const QString& name : names) {
        const QString file = QDir(folder).filePath(name);
        if (auto lock = lockFor(file)) {
            m_orphan = file;
            m_orphanLock = std::move(lock);
            return;
        }
    }
}

std::optional<Result<Session>> SessionKeeper::orphan()
{
    if (m_orphan.isEmpty()) return std::nullopt;
    return loadSession(m_orphan);
}

void SessionKeeper::dropOrphan()
{
    if (m_orphan.isEmpty()) return;
    QFile::remove(m_orphan);
    m_orphanLock.reset();
    m_orphan.clear();
}

} // namespace halftone
