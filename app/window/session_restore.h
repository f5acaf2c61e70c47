// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/window/session_file.h"

#include <QObject>
#include <QStringList>

#include <functional>
#include <optional>

namespace halftone {

class Workspace;

/// Opens the inputs of a session, one after the other, and holds them against their hashes. What is missing
/// or not what it was is told; it never passes in silence, and never stops the rest.
class SessionRestore : public QObject {
    Q_OBJECT
public:
    SessionRestore(Workspace& workspace, QObject* parent);
    /// `choose` is called when the model is open (or there is none, or it can't be opened).
    void start(Session session, std::function<void(const Session&)> choose);
    bool active() const { return m_session.has_value(); }

Q_SIGNALS:
    /// All is open that could be. The panel that was in front; one line a problem.
    void finished(const QString& panel, const QStringList& problems);

private:
    void modelSettled(const QString& line);
    void openResults();
    void end();
    void inputOpened(const QString& path);
    void inputFailed(const QString& path, const QString& line);
    Workspace& m_workspace;
    std::optional<Session> m_session;
    std::function<void(const Session&)> m_choose;
    QStringList m_problems;
    bool m_atModel = false; ///< else at the results
};

} // namespace halftone
