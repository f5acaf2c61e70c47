// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/host/strings.h"
#include "app/window/choice_history.h"
#include "app/window/layouts.h"
#include "app/window/main_window.h"
#include "app/window/message_bar.h"
#include "app/window/method_panel.h"
#include "app/window/model_panel.h"
#include "app/window/pareto_panel.h"
#include "app/window/session_keeper.h"
#include "app/window/session_restore.h"

#include <QDir>
#include <QFileDialog>
#include <QFileInfo>
#include <QPlainTextEdit>
#include <QTabWidget>

namespace halftone {

using namespace Qt::Literals::StringLiterals;

Session MainWindow::session() const
{
    Session s;
    const auto& model = m_workspace.model();
    if (model)
        s.model = SessionInput{QFileInfo(m_workspace.modelPath()).absoluteFilePath(),
                               toQt(model->weights()->checkpoint()->contentHash())};
    if (m_workspace.results(Workspace::Kind::File))
        s.results = SessionInput{QFileInfo(m_workspace.resultsPath()).absoluteFilePath(), m_resultsHash};
    s.form = m_methodPanel->state();
    s.budget = m_history->budget();
    for (const Panel& panel : m_panels) {
        if (panel.view == m_tabs->currentWidget()) s.panel = panel.id;
        if (panel.view->isPinned()) s.pinned << panel.id;
    }
    s.filter = m_modelPanel->filterText();
    const Place& place = m_workspace.selection().place();
    if (model && place.weight >= 0) {
        s.weight = toQt(model->weights()->all()[static_cast<std::size_t>(place.weight)].name);
        s.row = place.row;
        s.block = place.block;
    }
    s.workspace = m_layouts->current();
    s.layout = m_layouts->state();
    s.notes = m_notes->toPlainText();
    return s;
}

void MainWindow::applyChoices(const Session& s)
{
    m_notes->setPlainText(s.notes);
    // A file of another version may hold docks that this window has not: the default stays then.
    if (!s.layout.isEmpty()) m_layouts->restore(s.workspace, s.layout);
    m_methodPanel->setState(s.form);
    m_modelPanel->setFilter(s.filter);
    for (const Panel& panel : m_panels)
        panel.view->setPinned(s.pinned.contains(panel.id));
    showPanel(s.panel);
    const int weight = s.weight.isEmpty() ? -1 : m_workspace.weightNamed(toStd(s.weight));
    if (weight >= 0) m_workspace.selection().select({weight, s.row, s.block});
    m_methodPanel->setBudgetBytes(s.budget);
    m_pareto->setBudget(s.budget);
    // What a session brings is no step of this window's work.
    m_undo.clear();
    m_history->forget(s.budget);
}

void MainWindow::showPanel(const QString& id)
{
    for (const Panel& panel : m_panels)
        if (panel.id == id) m_tabs->setCurrentWidget(panel.view);
}

void MainWindow::startRestore(Session session)
{
    if (m_restore == nullptr) {
        m_restore = new SessionRestore(m_workspace, this);
        connect(m_restore, &SessionRestore::finished, this,
                [this](const QString& panel, const QStringList& problems) {
                    showPanel(panel); // results that were opened last came to the front
                    if (problems.isEmpty())
                        m_messages->showInfo(tr("The session is open."));
                    else
                        m_messages->showWarning(problems.join(u' '), problems.join(u'\n'));
                });
    }
    m_restore->start(std::move(session), [this](const Session& s) { applyChoices(s); });
}

void MainWindow::openSession(const QString& file)
{
    inBackground(
        this, [file] { return loadSession(file); },
        [this, file](Result<Session> session) {
            if (!session) {
                m_messages->showError(toQt(session.error().line()));
                return;
            }
            m_sessionFile = file;
            addRecent(file);
            startRestore(std::move(*session));
        });
}

void MainWindow::saveSession(bool askName)
{
    QString file = m_sessionFile;
    if (askName || file.isEmpty()) {
        const QString near = m_workspace.modelPath().isEmpty()
                                 ? u"study"_s
                                 : QFileInfo(m_workspace.modelPath())
                                       .absoluteDir()
                                       .filePath(QFileInfo(m_workspace.modelPath()).completeBaseName());
        file = QFileDialog::getSaveFileName(this, tr("Save the session"), near + kSessionSuffix,
                                            tr("Sessions (*%1)").arg(kSessionSuffix));
        if (file.isEmpty()) return;
        if (!file.endsWith(kSessionSuffix)) file += kSessionSuffix;
    }
    saveSessionAs(file);
}

void MainWindow::saveSessionAs(const QString& file)
{
    inBackground(
        this, [session = session(), file] { return halftone::saveSession(session, file); },
        [this, file](const Status& done) {
            if (!done) {
                m_messages->showError(toQt(done.error().line()));
                return;
            }
            m_sessionFile = file;
            addRecent(file);
            m_messages->showInfo(tr("The session is saved: %1.").arg(file));
        });
}

void MainWindow::keepSession(const QString& folder)
{
    m_keeper = new SessionKeeper(
        folder, [this] { return session(); }, this);
    connect(m_keeper, &SessionKeeper::failed, this,
            [this](const QString& line) { m_messages->showWarning(line); });
    const auto left = m_keeper->orphan();
    if (!left) return;
    if (!*left) {
        m_messages->showWarning(tr("The window was not closed last time, and what it saved can't be read: %1")
                                    .arg(toQt(left->error().line())));
        m_keeper->dropOrphan();
        return;
    }
    const Session session = **left;
    const QString what = session.model     ? QFileInfo(session.model->path).fileName()
                         : session.results ? QFileInfo(session.results->path).fileName()
                                           : tr("your notes");
    m_messages->offer(tr("Last time the window was not closed properly. It showed %1.").arg(what),
                      tr("Restore it"), [this, session] {
                          startRestore(session);
                          m_keeper->dropOrphan();
                      });
}

} // namespace halftone
