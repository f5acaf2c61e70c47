// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/window/main_window.h"

#include "app/host/strings.h"
#include "app/ui/theme.h"
#include "app/ui/view.h"
#include "app/window/action_list.h"
#include "app/window/command_palette.h"
#include "app/window/jobs_panel.h"
#include "app/window/message_bar.h"
#include "app/window/method_panel.h"
#include "app/window/model_panel.h"
#include "app/window/tensor_panel.h"

#include <QApplication>
#include <QClipboard>
#include <QDesktopServices>
#include <QDockWidget>
#include <QFileDialog>
#include <QFileInfo>
#include <QMenuBar>
#include <QSettings>
#include <QTabWidget>
#include <QUrl>

#include <algorithm>

namespace halftone {

using namespace Qt::Literals::StringLiterals;

namespace {

constexpr int kRecent = 20;

/// Copies and says nothing: the clipboard is not the window.
void copyText(const QString& text) { QGuiApplication::clipboard()->setText(text); }

} // namespace

void MainWindow::makeActions()
{
    const auto menu = [this](const QString& id, const QString& title) {
        QMenu* made = menuBar()->addMenu(title);
        made->setObjectName(id);
        return made;
    };
    makeFileActions(menu(u"menu.file"_s, tr("&File")));
    makeEditActions(menu(u"menu.edit"_s, tr("&Edit")));
    // Its entries are the panels, which take actions of other menus: they come later.
    menu(u"menu.view"_s, tr("&View"));
    makeModelActions(menu(u"menu.model"_s, tr("&Model")));
    QMenu* run = menu(u"menu.run"_s, tr("&Run"));
    m_actions->add(u"run.method"_s, tr("&Run the method"), QKeySequence(u"Ctrl+Return"_s), run,
                   [this] { m_methodPanel->run(); });
    m_actions->add(u"run.sweep"_s, tr("&Measure all settings"), QKeySequence(u"Ctrl+M"_s), run,
                   [this] { startSweep(); });
    m_actions->add(u"run.block-error"_s, tr("Map the &block error"), QKeySequence(u"Ctrl+B"_s), run,
                   [this] { measureSelected(); });
    run->addSeparator();
    m_actions->add(u"run.pause"_s, tr("&Pause or resume the running job"), QKeySequence(u"Ctrl+P"_s), run,
                   [this] { m_jobsPanel->pauseOrResume(); });
    m_actions->add(u"run.cancel"_s, tr("&Cancel the running job"), QKeySequence(u"Ctrl+."_s), run,
                   [this] { m_jobsPanel->cancelCurrent(); });
    makeWindowActions(menu(u"menu.window"_s, tr("&Window")));
    makeHelpActions(menu(u"menu.help"_s, tr("&Help")));
}

void MainWindow::makeFileActions(QMenu* file)
{
    m_actions->add(u"file.open"_s, tr("&Open…"), QKeySequence(u"Ctrl+O"_s), file, [this] { askOpen(false); });
    m_actions->add(u"file.open-folder"_s, tr("Open model &folder…"), QKeySequence(u"Ctrl+Shift+O"_s), file,
                   [this] { askOpen(true); });
    m_recentMenu = file->addMenu(tr("Open &recent"));
    for (int i = 0; i < kRecent; ++i) {
        const QKeySequence keys = i < 9 ? QKeySequence(u"Ctrl+%1"_s.arg(i + 1)) : QKeySequence();
        m_recentActions.push_back(
            m_actions->add(u"file.recent.%1"_s.arg(i + 1), {}, keys, m_recentMenu, [this, i] {
                const QStringList files = recentFiles();
                if (i < files.size()) open(files[i]);
            }));
    }
    m_actions->add(u"file.reload"_s, tr("Re&load"), QKeySequence(Qt::Key_F5), file, [this] {
        if (!m_workspace.modelPath().isEmpty()) open(m_workspace.modelPath());
    });
    m_actions->add(u"file.close"_s, tr("&Close model"), QKeySequence(u"Ctrl+W"_s), file,
                   [this] { m_workspace.closeModel(); });
    file->addSeparator();
    m_actions->add(u"file.open-session"_s, tr("Open sess&ion…"), QKeySequence(u"Ctrl+Alt+O"_s), file, [this] {
        const QString path = QFileDialog::getOpenFileName(this, tr("Open a session"), m_sessionFile,
                                                          tr("Sessions (*%1)").arg(kSessionSuffix));
        if (!path.isEmpty()) openSession(path);
    });
    m_actions->add(u"file.save-session"_s, tr("&Save session"), QKeySequence(u"Ctrl+S"_s), file,
                   [this] { saveSession(false); });
    m_actions->add(u"file.save-session-as"_s, tr("Save session &as…"), QKeySequence(u"Ctrl+Alt+S"_s), file,
                   [this] { saveSession(true); });
    file->addSeparator();
    m_actions->add(u"file.export-results"_s, tr("Export &results (HDF5)…"), QKeySequence(u"Ctrl+Shift+S"_s),
                   file, [this] { exportResults(); });
    m_actions->add(u"file.show-written"_s, tr("&Show written file in its folder"), {}, file, [this] {
        if (m_workspace.writtenPath().isEmpty())
            m_messages->showInfo(tr("Nothing was written yet."));
        else
            QDesktopServices::openUrl(
                QUrl::fromLocalFile(QFileInfo(m_workspace.writtenPath()).absolutePath()));
    });
    file->addSeparator();
    m_actions->add(u"file.quit"_s, tr("&Quit"), QKeySequence(u"Ctrl+Q"_s), file, [this] { close(); });
}

void MainWindow::makeEditActions(QMenu* edit)
{
    QAction* undo = m_actions->add(u"edit.undo"_s, tr("&Undo"), QKeySequence(u"Ctrl+Z"_s), edit,
                                   [this] { m_undo.undo(); });
    QAction* redo = m_actions->add(u"edit.redo"_s, tr("&Redo"), QKeySequence(u"Ctrl+Shift+Z"_s), edit,
                                   [this] { m_undo.redo(); });
    undo->setEnabled(false);
    redo->setEnabled(false);
    connect(&m_undo, &QUndoStack::canUndoChanged, undo, &QAction::setEnabled);
    connect(&m_undo, &QUndoStack::canRedoChanged, redo, &QAction::setEnabled);
    // The menu says what will be taken back.
    connect(&m_undo, &QUndoStack::undoTextChanged, undo, [undo](const QString& what) {
        undo->setText(what.isEmpty() ? tr("&Undo") : tr("&Undo %1").arg(what));
    });
    connect(&m_undo, &QUndoStack::redoTextChanged, redo, [redo](const QString& what) {
        redo->setText(what.isEmpty() ? tr("&Redo") : tr("&Redo %1").arg(what));
    });
    edit->addSeparator();
    m_actions->add(u"edit.find"_s, tr("&Filter the weights"), QKeySequence(u"Ctrl+F"_s), edit, [this] {
        m_modelDock->show();
        m_modelPanel->focusFilter();
    });
    m_actions->add(u"edit.copy-command"_s, tr("Copy as &command line"), QKeySequence(u"Ctrl+Shift+C"_s), edit,
                   [this] { copyText(m_methodPanel->commandLine()); });
    m_actions->add(u"edit.copy-job"_s, tr("Copy as &job file"), QKeySequence(u"Ctrl+Shift+J"_s), edit,
                   [this] { copyText(m_methodPanel->jobFile()); });
}

void MainWindow::makeViewActions(QMenu* view)
{
    for (std::size_t i = 0; i < m_panels.size(); ++i)
        m_actions->add(u"view.show-"_s + m_panels[i].id, tr("Show %1").arg(m_panels[i].title),
                       QKeySequence(u"Alt+%1"_s.arg(i + 1)), view,
                       [this, panel = m_panels[i].view] { m_tabs->setCurrentWidget(panel); });
    view->addSeparator();
    // T alone works inside a panel; this one from anywhere.
    m_actions->add(u"view.table"_s, tr("Figure or &table"), QKeySequence(u"Ctrl+T"_s), view, [this] {
        if (View* shown = currentView()) shown->toggleTable();
    });
    m_actions->add(u"view.reset-zoom"_s, tr("Reset &zoom"), QKeySequence(u"Ctrl+0"_s), view, [this] {
        View* shown = currentView();
        if (shown != nullptr && shown->plot() != nullptr) shown->plot()->resetZoom();
    });
    m_actions->add(u"view.copy-description"_s, tr("Copy &description"), {}, view, [this] {
        if (View* shown = currentView()) copyText(shown->describe());
    });
    view->addSeparator();
    m_actions->add(u"view.theme-system"_s, tr("Theme of the &system"), {}, view,
                   [this] { setTheme(static_cast<int>(ThemeMode::System)); });
    m_actions->add(u"view.theme-light"_s, tr("&Light theme"), {}, view,
                   [this] { setTheme(static_cast<int>(ThemeMode::Light)); });
    m_actions->add(u"view.theme-dark"_s, tr("&Dark theme"), {}, view,
                   [this] { setTheme(static_cast<int>(ThemeMode::Dark)); });
}

void MainWindow::makeModelActions(QMenu* model)
{
    m_actions->add(u"model.next"_s, tr("&Next weight"), QKeySequence(u"Ctrl+Right"_s), model,
                   [this] { m_workspace.selection().step(1); });
    m_actions->add(u"model.previous"_s, tr("&Previous weight"), QKeySequence(u"Ctrl+Left"_s), model,
                   [this] { m_workspace.selection().step(-1); });
    m_actions->add(u"model.back"_s, tr("&Back to the last place"), QKeySequence(u"Alt+Left"_s), model,
                   [this] { m_workspace.selection().back(); });
    m_actions->add(u"model.forward"_s, tr("&Forward"), QKeySequence(u"Alt+Right"_s), model,
                   [this] { m_workspace.selection().forward(); });
    model->addSeparator();
    m_actions->add(u"model.look-inside"_s, tr("&Look inside a weight"), QKeySequence(u"Ctrl+I"_s), model,
                   [this] {
                       if (m_workspace.selection().place().weight < 0) m_workspace.selection().step(1);
                       m_tabs->setCurrentWidget(m_tensor);
                   });
    m_actions->add(u"model.copy-names"_s, tr("&Copy the selected names"), {}, model,
                   [this] { copyText(m_modelPanel->selectedNames()); });
    m_actions->add(u"model.keep-8-bits"_s, tr("&Keep the weight at 8 bits"), QKeySequence(u"Ctrl+K"_s), model,
                   [this] {
                       const int weight = m_workspace.selection().place().weight;
                       if (weight < 0)
                           m_messages->showInfo(tr("Select the weight to keep first."));
                       else if (!m_methodPanel->keepAtEightBits(weight))
                           m_messages->showInfo(tr("This method takes no exceptions for single weights."));
                   });
}

void MainWindow::setTheme(int mode)
{
    QSettings().setValue(u"view/theme"_s, mode);
    if (auto* application = qobject_cast<QApplication*>(QCoreApplication::instance()))
        Theme::apply(*application, static_cast<ThemeMode>(mode));
}

QStringList MainWindow::recentFiles() const { return QSettings().value(u"open/recent"_s).toStringList(); }

void MainWindow::addRecent(const QString& path)
{
    QStringList files = recentFiles();
    const QString full = QFileInfo(path).absoluteFilePath();
    files.removeAll(full);
    files.prepend(full);
    QSettings().setValue(u"open/recent"_s, QStringList(files.mid(0, kRecent)));
    fillRecent();
}

void MainWindow::fillRecent()
{
    const QStringList files = recentFiles();
    for (std::size_t i = 0; i < m_recentActions.size(); ++i) {
        QAction* action = m_recentActions[i];
        const auto at = static_cast<qsizetype>(i);
        action->setVisible(at < files.size());
        action->setText(at < files.size() ? QFileInfo(files[at]).fileName() : QString());
        action->setToolTip(at < files.size() ? files[at] : QString());
    }
    m_recentMenu->setEnabled(!files.isEmpty());
    // Whether a file is still there is asked on another thread: it may lie on a slow disk.
    inBackground(
        this,
        [files] {
            std::vector<bool> there;
            for (const QString& file : files)
                there.push_back(QFileInfo::exists(file));
            return there;
        },
        [this](const std::vector<bool>& there) {
            for (std::size_t i = 0; i < there.size() && i < m_recentActions.size(); ++i)
                m_recentActions[i]->setEnabled(there[i]);
        });
}

} // namespace halftone
