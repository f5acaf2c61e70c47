// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/ui/view.h"
#include "app/window/action_list.h"
#include "app/window/command_palette.h"
#include "app/window/help_page.h"
#include "app/window/layouts.h"
#include "app/window/main_window.h"
#include "core/base/version.h"

#include <QActionGroup>
#include <QDialog>
#include <QDialogButtonBox>
#include <QMenuBar>
#include <QPlainTextEdit>
#include <QTextBrowser>
#include <QToolButton>
#include <QVBoxLayout>

namespace halftone {

using namespace Qt::Literals::StringLiterals;

namespace {

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

/// A window of its own that leaves the work alone.
void showDialog(QWidget* parent, const QString& title, QWidget* content)
{
    auto* dialog = new QDialog(parent);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setWindowTitle(title);
    content->setAccessibleName(title);
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close, dialog);
    QObject::connect(buttons, &QDialogButtonBox::rejected, dialog, &QDialog::close);
    auto* layout = new QVBoxLayout(dialog);
    layout->addWidget(content);
    layout->addWidget(buttons);
    dialog->resize(680, 480);
    dialog->show();
}

} // namespace

void MainWindow::makeWindowActions(QMenu* window)
{
    m_workspaceGroup = new QActionGroup(this);
    for (const QString& id : Layouts::ids()) {
        QAction* action =
            m_actions->add(u"window.workspace-"_s + id, tr("Workspace %1").arg(Layouts::title(id)), {},
                           window, [this, id] { m_layouts->switchTo(id); });
        action->setCheckable(true);
        m_workspaceGroup->addAction(action);
    }
    m_actions->add(u"window.reset-layout"_s, tr("&Reset layout"), {}, window, [this] { m_layouts->reset(); });
    window->addSeparator();
}

void MainWindow::makeHelpActions(QMenu* help)
{
    m_actions->add(u"help.palette"_s, tr("&Search everything…"), QKeySequence(u"Ctrl+Shift+P"_s), help,
                   [this] { m_palette->popUp(); });
    m_actions->add(u"help.panel"_s, tr("&Help for the panel"), QKeySequence(Qt::Key_F1), help, [this] {
        if (const View* shown = currentView()) showHelp(shown->helpTopic());
    });
    m_actions->add(u"help.plugins"_s, tr("&Plugins"), {}, help, [this] {
        QString text;
        for (const PluginEntry& plugin : m_plugins)
            text += u"%1  %2  %3\n  %4\n  %5\n"_s.arg(plugin.id, plugin.version, stateText(plugin.state),
                                                      plugin.file, plugin.why);
        showText(tr("Plugins"), text.isEmpty() ? tr("No plugin was found.") : text);
    });
    m_actions->add(u"help.shortcuts"_s, tr("&Actions and shortcuts"), QKeySequence(u"Shift+F1"_s), help,
                   [this] {
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

void MainWindow::showText(const QString& title, const QString& text)
{
    auto* edit = new QPlainTextEdit(text);
    edit->setReadOnly(true);
    QFont font(u"monospace"_s);
    font.setStyleHint(QFont::Monospace);
    edit->setFont(font);
    showDialog(this, title, edit);
}

void MainWindow::showHelp(const QString& topic)
{
    auto* page = new QTextBrowser;
    page->setOpenExternalLinks(false);
    page->setMarkdown(helpPage(topic));
    showDialog(this, tr("Help: %1").arg(topic), page);
}

} // namespace halftone
