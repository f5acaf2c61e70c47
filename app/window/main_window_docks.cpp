// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/ui/data_table.h"
#include "app/window/action_list.h"
#include "app/window/jobs_panel.h"
#include "app/window/layouts.h"
#include "app/window/main_window.h"
#include "app/window/method_panel.h"
#include "app/window/model_panel.h"

#include <QDockWidget>
#include <QMenuBar>
#include <QPlainTextEdit>

namespace halftone {

using namespace Qt::Literals::StringLiterals;

namespace {

constexpr int kLogLines = 5000;

} // namespace

void MainWindow::makeDocks()
{
    const auto dock = [this](const QString& id, const QString& title, QWidget* content,
                             Qt::DockWidgetArea area) {
        auto* widget = new QDockWidget(title, this);
        widget->setObjectName(id);
        widget->setWidget(content);
        addDockWidget(area, widget);
        return widget;
    };
    const auto words = [this](const QString& name) {
        auto* edit = new QPlainTextEdit(this);
        edit->setAccessibleName(name);
        edit->setFrameShape(QFrame::NoFrame);
        return edit;
    };
    m_modelPanel = new ModelPanel(m_workspace, this);
    m_methodPanel = new MethodPanel(m_workspace, m_undo, this);
    m_jobsPanel = new JobsPanel(m_workspace, this);
    m_log = words(tr("Log"));
    m_log->setReadOnly(true);
    m_log->setMaximumBlockCount(kLogLines);
    m_notes = words(tr("Notes"));
    m_notes->setPlaceholderText(tr("What you found. Notes go into the session file (Ctrl+S)."));
    m_notes->setTabChangesFocus(true);
    m_selectionTable = new DataTable(this);
    m_selectionTable->setAccessibleName(tr("The selected weight"));
    m_modelDock = dock(u"dock.model"_s, tr("MODEL"), m_modelPanel, Qt::LeftDockWidgetArea);
    m_methodDock = dock(u"dock.method"_s, tr("METHOD"), m_methodPanel, Qt::RightDockWidgetArea);
    m_jobsDock = dock(u"dock.jobs"_s, tr("Jobs"), m_jobsPanel, Qt::BottomDockWidgetArea);
    m_logDock = dock(u"dock.log"_s, tr("Log"), m_log, Qt::BottomDockWidgetArea);
    m_selectionDock = dock(u"dock.selection"_s, tr("Selection"), m_selectionTable, Qt::BottomDockWidgetArea);
    m_notesDock = dock(u"dock.notes"_s, tr("Notes"), m_notes, Qt::BottomDockWidgetArea);
    // The tab says what the dock is: a title under it would say it twice.
    for (QDockWidget* widget : {m_jobsDock, m_logDock, m_selectionDock, m_notesDock})
        widget->setTitleBarWidget(new QWidget(widget));
    setCorner(Qt::BottomLeftCorner, Qt::BottomDockWidgetArea);
    setCorner(Qt::BottomRightCorner, Qt::BottomDockWidgetArea);
    QMenu* window = menuBar()->findChild<QMenu*>(u"menu.window"_s);
    for (QDockWidget* widget :
         {m_modelDock, m_methodDock, m_jobsDock, m_logDock, m_selectionDock, m_notesDock}) {
        const QString name = widget->objectName().mid(5);
        QAction* show =
            m_actions->add(u"window.show-"_s + name, tr("Show %1").arg(name), {}, window, [widget] {
                widget->show();
                widget->raise();
                widget->widget()->setFocus();
            });
        show->setStatusTip(tr("Shows the dock %1").arg(name));
    }
    m_layouts = new Layouts(
        *this, {m_modelDock, m_methodDock, m_jobsDock, m_logDock, m_selectionDock, m_notesDock}, m_undo);
}

} // namespace halftone
