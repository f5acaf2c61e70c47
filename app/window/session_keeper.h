// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/window/session_file.h"

#include <QLockFile>
#include <QObject>
#include <QTimer>

#include <functional>
#include <memory>

namespace halftone {

/// Saves what a window's person chose, soon after each choice, and removes the file when the window closes:
/// a file that nobody holds is what a crash left. One that was offered in vain is kept as
/// "unrestored.halftone". Gathers on the window's thread, writes on another.
class SessionKeeper : public QObject {
    Q_OBJECT
public:
    /// `folder` holds one file and one lock for each window; it is made when it is missing.
    SessionKeeper(const QString& folder, std::function<Session()> gather, QObject* parent);
    ~SessionKeeper() override;
    /// Something was chosen: it is saved after a moment.
    void touch();
    void setDelay(int milliseconds) { m_timer.setInterval(milliseconds); }
    const QString& file() const;
    /// What another window left when it crashed; read once. BadFormat when that file is broken.
    std::optional<Result<Session>> orphan();
    /// It is restored, or unwanted.
    void dropOrphan();

Q_SIGNALS:
    void saved();
    void failed(const QString& line);

private:
    class Store;
    void save();
    void findOrphan(const QString& folder);
    std::function<Session()> m_gather;
    std::shared_ptr<Store> m_store;
    std::unique_ptr<QLockFile> m_lock, m_orphanLock;
    QString m_orphan;
    QTimer m_timer;
    std::optional<Session> m_last;
};

} // namespace halftone
