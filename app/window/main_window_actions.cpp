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
#include "core/base/version.h"

#include <QApplication>
#include <QClipboard>
#include <QDesktopServices>
#include <QDialog>
#include <QDialogButtonBox>
#include <QDockWidget>
#include <QFileInfo>
#include <QMenuBar>
#include <QPlainTextEdit>
#include <QSettings>
#include <QTabWidget>
#include <QToolButton>
#include <QUrl>
#include <QVBoxLayout>

#include <algorithm>

namespace halftone {

using namespace Qt::Literals::StringLiterals;

namespace {

constexpr int kRecent = 20;

QString stateText(PluginEntry::State state)
{
    switch (state) {
    case PluginEntry::State::Found:
        return u"found"_s;
    case PluginEntry::State::Read:
        return u"read"_s;
    case PluginEntry::State::Refused:
        return u"refused"_s;
    case PluginEntry::State::Loaded:
        return u"loaded"_s;
    case PluginEntry::State::Ready:
        return u"ready"_s;
    case PluginEntry::State::Failed:
        return u"failed"_s;
    }
    return {};
}

} // namespace

void MainWindow::makeActions()
{
    const auto menu = [this](const QString& id, const QString& title) {
        QMenu* made = menuBar()->addMenu(title);
        made->setObjectName(id);
        return made;
    };
    const auto clipboard = [](const QString& text) { QGuiApplication::clipboard()->setText(text); };
    const auto current = [this] { return qobject_cast<View*>(m_tabs->currentWidget()); };

    QMenu* file = menu(u"menu.file"_s, tr("&File"));
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

    QMenu* edit = menu(u"menu.edit"_s, tr("&Edit"));
    QAction* undo = m_actions->add(u"edit.undo"_s, tr("&Undo"), QKeySequence(u"Ctrl+Z"_s), edit,
                                   [this] { m_undo.undo(); });
    QAction* redo = m_actions->add(u"edit.redo"_s, tr("&Redo"), QKeySequence(u"Ctrl+Shift+Z"_s), edit,
                                   [this] { m_undo.redo(); });
    undo->setEnabled(false);
    redo->setEnabled(false);
    connect(&m_undo, &QUndoStack::canUndoChanged, undo, &QAction::setEnabled);
    connect(&m_undo, &QUndoStack::canRedoChanged, redo, &QAction::setEnabled);
    edit->addSeparator();
    m_actions->add(u"edit.find"_s, tr("&Filter the weights"), QKeySequence(u"Ctrl+F"_s), edit, [this] {
        m_modelDock->show();
        m_modelPanel->focusFilter();
    });
    m_actions->add(u"edit.copy-command"_s, tr("Copy as &command line"), QKeySequence(u"Ctrl+Shift+C"_s), edit,
                   [this, clipboard] { clipboard(m_methodPanel->commandLine()); });
    m_actions->add(u"edit.copy-job"_s, tr("Copy as &job file"), QKeySequence(u"Ctrl+Shift+J"_s), edit,
                   [this, clipboard] { clipboard(m_methodPanel->jobFile()); });

    QMenu* view = menu(u"menu.view"_s, tr("&View"));
    const QStringList tabs{tr("Overview"),    tr("Pareto"), tr("Layers"),
                           tr("Block error"), tr("Tensor"), tr("Results")};
    const QStringList ids{u"overview"_s,    u"pareto"_s, u"layers"_s,
                          u"block-error"_s, u"tensor"_s, u"results"_s};
    for (int i = 0; i < tabs.size(); ++i)
        m_actions->add(u"view.show-"_s + ids[i], tr("Show %1").arg(tabs[i]),
                       QKeySequence(u"Alt+%1"_s.arg(i + 1)), view, [this, i] { m_tabs->setCurrentIndex(i); });
    view->addSeparator();
    // T alone works inside a panel; this one from anywhere.
    m_actions->add(u"view.table"_s, tr("Figure or &table"), QKeySequence(u"Ctrl+T"_s), view, [current] {
        if (View* shown = current()) shown->toggleTable();
    });
    m_actions->add(u"view.reset-zoom"_s, tr("Reset &zoom"), QKeySequence(u"Ctrl+0"_s), view, [current] {
        View* shown = current();
        if (shown != nullptr && shown->plot() != nullptr) shown->plot()->resetZoom();
    });
    m_actions->add(u"view.copy-description"_s, tr("Copy &description"), {}, view, [current, clipboard] {
        if (View* shown = current()) clipboard(shown->describe());
    });
    view->addSeparator();
    m_actions->add(u"view.theme-system"_s, tr("Theme of the &system"), {}, view,
                   [this] { setTheme(static_cast<int>(ThemeMode::System)); });
    m_actions->add(u"view.theme-light"_s, tr("&Light theme"), {}, view,
                   [this] { setTheme(static_cast<int>(ThemeMode::Light)); });
    m_actions->add(u"view.theme-dark"_s, tr("&Dark theme"), {}, view,
                   [this] { setTheme(static_cast<int>(ThemeMode::Dark)); });

    QMenu* model = menu(u"menu.model"_s, tr("&Model"));
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
                       m_tabs->setCurrentIndex(4);
                   });
    m_actions->add(u"model.copy-names"_s, tr("&Copy the selected names"), {}, model,
                   [this, clipboard] { clipboard(m_modelPanel->selectedNames()); });

    QMenu* run = menu(u"menu.run"_s, tr("&Run"));
    m_actions->add(u"run.method"_s, tr("&Run the method"), QKeySequence(u"Ctrl+Return"_s), run,
                   [this] { m_methodPanel->run(); });
    m_actions->add(u"run.sweep"_s, tr("&Measure all settings"), QKeySequence(u"Ctrl+M"_s), run,
                   [this] { startSweep(); });
    m_actions->add(u"run.block-error"_s, tr("Map the &block error"), QKeySequence(u"Ctrl+B"_s), run,
                   [this] { measureSelected(); });
    run->addSeparator();
    m_actions->add(u"run.cancel"_s, tr("&Cancel the running job"), QKeySequence(u"Ctrl+."_s), run,
                   [this] { m_jobsPanel->cancelCurrent(); });

    QMenu* window = menu(u"menu.window"_s, tr("&Window"));
    m_actions->add(u"window.reset-layout"_s, tr("&Reset layout"), {}, window, [this] { resetLayout(); });
    window->addSeparator();

    QMenu* help = menu(u"menu.help"_s, tr("&Help"));
    m_actions->add(u"help.palette"_s, tr("&Search everything…"), QKeySequence(u"Ctrl+Shift+P"_s), help,
                   [this] { m_palette->popUp(); });
    m_actions->add(u"help.plugins"_s, tr("&Plugins"), {}, help, [this] {
        QString text;
        for (const PluginEntry& plugin : m_plugins)
            text += u"%1  %2  %3\n  %4\n  %5\n"_s.arg(plugin.id, plugin.version, stateText(plugin.state),
                                                      plugin.file, plugin.why);
        showText(tr("Plugins"), text.isEmpty() ? tr("No plugin was found.") : text);
    });
    m_actions->add(u"help.shortcuts"_s, tr("&Actions and shortcuts"), QKeySequence(Qt::Key_F1), help, [this] {
        QString text;
        for (const QAction* action : m_actions->all())
            if (!action->text().isEmpty())
                text += u"%1  %2  %3\n"_s.arg(action->objectName(), -26)
                            .arg(action->shortcut().toString(QKeySequence::NativeText), -14)
                            .arg(action->text().remove(u'&'));
        showText(tr("Actions and shortcuts"), text);
    });
    m_actions->add(u"help.about"_s, tr("&About Halftone"), {}, help, [this] {
        showText(tr("About Halftone"), tr("Halftone %1\n\nInteractive desktop quantization "
                                          "explorer.\nGPL-3.0-or-later, with permission to "
                                          "combine with the CUDA libraries.\nNo network use at all.")
                                           .arg(QLatin1StringView(kVersion)));
    });
    auto* search = new QToolButton(menuBar());
    search->setFocusPolicy(Qt::TabFocus);
    search->setText(tr("Search everything   Ctrl+Shift+P"));
    search->setAccessibleName(tr("Search everything"));
    connect(search, &QToolButton::clicked, m_actions->find(u"help.palette"_s), &QAction::trigger);
    menuBar()->setCornerWidget(search, Qt::TopRightCorner);
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

void MainWindow::showText(const QString& title, const QString& text)
{
    auto* dialog = new QDialog(this);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setWindowTitle(title);
    auto* edit = new QPlainTextEdit(text, dialog);
    edit->setReadOnly(true);
    edit->setAccessibleName(title);
    QFont font(u"monospace"_s);
    font.setStyleHint(QFont::Monospace);
    edit->setFont(font);
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close, dialog);
    connect(buttons, &QDialogButtonBox::rejected, dialog, &QDialog::close);
    auto* layout = new QVBoxLayout(dialog);
    layout->addWidget(edit);
    layout->addWidget(buttons);
    dialog->resize(680, 480);
    dialog->show();
}

} // namespace halftone
