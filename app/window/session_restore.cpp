// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/window/session_restore.h"

#include "app/host/strings.h"
#include "app/window/workspace.h"

#include <QTimer>

#include <utility>

namespace halftone {

SessionRestore::SessionRestore(Workspace& workspace, QObject* parent)
    : QObject(parent), m_workspace(workspace)
{
    connect(&workspace, &Workspace::opened, this, &SessionRestore::inputOpened);
    connect(&workspace, &Workspace::openFailed, this, &SessionRestore::inputFailed);
}

void SessionRestore::start(Session session, std::function<void(const Session&)> choose)
{
    m_session = std::move(session);
    m_choose = std::move(choose);
    m_problems.clear();
    m_atModel = true;
    m_workspace.closeModel();
    if (m_session->model)
        m_workspace.open(m_session->model->path);
    else
        modelSettled({});
}

void SessionRestore::inputOpened(const QString& path)
{
    if (!m_session) return;
    if (m_atModel && m_session->model) {
        const SessionInput& wanted = *m_session->model;
        if (path != wanted.path) {
            m_session.reset(); // the person opened something else meanwhile
            return;
        }
        const QString hash = toQt(m_workspace.model()->weights()->checkpoint()->contentHash());
        modelSettled(hash == wanted.hash ? QString()
                                         : tr("%1 is not what it was when the session was saved: its content "
                                              "hash is %2, not %3.")
                                               .arg(path, hash, wanted.hash));
    } else if (m_session->results && path == m_session->results->path) {
        end();
    }
}

void SessionRestore::inputFailed(const QString& path, const QString& line)
{
    if (!m_session) return;
    if (m_atModel && m_session->model && path == m_session->model->path) {
        modelSettled(tr("The session's model is missing: %1").arg(line));
    } else if (m_session->results && path == m_session->results->path) {
        m_problems << tr("The session's results are missing: %1").arg(line);
        end();
    }
}

void SessionRestore::modelSettled(const QString& line)
{
    m_atModel = false;
    if (!line.isEmpty()) m_problems << line;
    m_choose(*m_session);
    openResults();
}

void SessionRestore::openResults()
{
    if (!m_session->results) {
        end();
        return;
    }
    inBackground(
        this, [path = m_session->results->path] { return contentHashOf(path); },
        [this](Result<QString> hash) {
            if (!m_session || !m_session->results) return;
            const SessionInput& wanted = *m_session->results;
            // A file that can't be read says so when it is opened.
            if (hash && *hash != wanted.hash)
                m_problems << tr("%1 is not what it was when the session was saved: its content hash is %2, "
                                 "not %3.")
                                  .arg(wanted.path, *hash, wanted.hash);
            m_workspace.open(wanted.path);
        });
}

void SessionRestore::end()
{
    const QString panel = std::exchange(m_session, std::nullopt)->panel;
    // Others still hear that the last input is open, and bring their panels to the front.
    QTimer::singleShot(0, this, [this, panel, problems = std::exchange(m_problems, {})] {
        Q_EMIT finished(panel, problems);
    });
}

} // namespace halftone
