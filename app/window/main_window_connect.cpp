// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/host/strings.h"
#include "app/ui/treemap_view.h"
#include "app/window/action_list.h"
#include "app/window/block_panel.h"
#include "app/window/choice_history.h"
#include "app/window/figures_panel.h"
#include "app/window/layers_panel.h"
#include "app/window/layouts.h"
#include "app/window/main_window.h"
#include "app/window/message_bar.h"
#include "app/window/method_panel.h"
#include "app/window/model_panel.h"
#include "app/window/overview_panel.h"
#include "app/window/pareto_panel.h"
#include "app/window/session_keeper.h"
#include "app/window/tensor_panel.h"
#include "core/base/text.h"

#include <QFileInfo>
#include <QLabel>
#include <QPlainTextEdit>
#include <QTabWidget>

namespace halftone {

using namespace Qt::Literals::StringLiterals;

void MainWindow::connectAll()
{
    for (const Panel& panel : m_panels) {
        View* view = panel.view;
        connect(view, &View::hovered, m_hover, &QLabel::setText);
        connect(view, &View::failed, this, [this](const QString& line) { m_messages->showError(line); });
        connect(view, &View::picked, this,
                [this](const Place& place) { m_workspace.selection().select(place); });
        connect(view, &View::helpAsked, this, &MainWindow::showHelp);
        connect(&m_workspace.selection(), &Selection::changed, view, &View::follow);
    }
    for (View* view : {static_cast<View*>(m_blocks), static_cast<View*>(m_tensor)})
        view->setPinnable();
    connect(&m_modelPanel->treemap(), &Plot::hovered, m_hover, &QLabel::setText);
    connect(m_layers, &LayersPanel::statisticsReady, this, [this](const std::vector<WeightStatistics>& s) {
        if (s.size() == (m_workspace.model() ? m_workspace.model()->weights()->all().size() : 0))
            m_modelPanel->tree().setStatistics(s);
    });
    connect(m_methodPanel, &MethodPanel::sweepAsked, this, &MainWindow::startSweep);
    m_history = new ChoiceHistory(m_undo, m_workspace, this);
    connectWorkspace();
    m_removeSink = addLogSink([this](const LogLine& line) {
        const QString text =
            toQt(std::string(logLevelName(line.level)) + "  " + line.category + "  " + line.text);
        QMetaObject::invokeMethod(m_log, "appendPlainText", Qt::QueuedConnection, Q_ARG(QString, text));
    });
    connect(m_tabs, &QTabWidget::currentChanged, this,
            [this] { showPlace(m_workspace.selection().place()); });
    connectChoices();
    Q_EMIT m_workspace.modelChanged();
}

void MainWindow::connectChoices()
{
    for (const Panel& panel : m_panels)
        m_history->watchPin(*panel.view, panel.title);
    m_history->onBudget([this](std::optional<double> bytes) {
        m_methodPanel->setBudgetBytes(bytes);
        m_pareto->setBudget(bytes);
    });
    connect(m_pareto, &ParetoPanel::budgetMoved, this, [this](double bytes) {
        m_methodPanel->setBudgetBytes(bytes);
        m_history->setBudget(bytes);
    });
    connect(m_pareto, &ParetoPanel::useRequested, m_methodPanel, &MethodPanel::usePoint);
    connect(m_methodPanel, &MethodPanel::budgetChosen, this, [this](std::optional<double> bytes) {
        m_pareto->setBudget(bytes);
        m_history->setBudget(bytes);
        if (m_workspace.results(Workspace::Kind::Sweep)) m_tabs->setCurrentWidget(m_pareto);
    });
    // All that a session file holds.
    const auto touch = [this] {
        if (m_keeper != nullptr) m_keeper->touch();
    };
    connect(&m_undo, &QUndoStack::indexChanged, this, touch);
    connect(&m_workspace, &Workspace::modelChanged, this, touch);
    connect(&m_workspace, &Workspace::opened, this, touch);
    connect(m_tabs, &QTabWidget::currentChanged, this, touch);
    connect(m_notes, &QPlainTextEdit::textChanged, this, touch);
    connect(m_layouts, &Layouts::currentChanged, this, [this, touch](const QString& id) {
        m_actions->find(u"window.workspace-"_s + id)->setChecked(true);
        touch();
    });
    connect(m_methodPanel, &MethodPanel::stateChanged, this, touch);
}

void MainWindow::connectWorkspace()
{
    connect(&m_workspace.selection(), &Selection::changed, this, &MainWindow::showPlace);
    connect(&m_workspace, &Workspace::said, this, [this](Workspace::Tone tone, const QString& line) {
        if (tone == Workspace::Tone::Error)
            m_messages->showError(line);
        else if (tone == Workspace::Tone::Warning)
            m_messages->showWarning(line);
        else
            m_messages->showInfo(line);
    });
    connect(&m_workspace, &Workspace::opened, this, [this](const QString& path) {
        addRecent(path);
        m_messages->dismiss();
        showIssues();
    });
    connect(&m_workspace, &Workspace::opened, this, [this](const QString& path) {
        if (path != m_workspace.resultsPath()) return;
        m_resultsHash.clear();
        inBackground(
            this, [path] { return contentHashOf(path); },
            [this, path](Result<QString> hash) {
                if (hash && path == m_workspace.resultsPath()) m_resultsHash = *hash;
            });
    });
    connect(&m_workspace, &Workspace::modelChanged, this, [this] {
        const QString name = QFileInfo(m_workspace.modelPath()).fileName();
        setWindowTitle(m_workspace.model() ? name + u" – Halftone"_s : u"Halftone"_s);
        const bool open = m_workspace.model() != nullptr;
        for (const char* id :
             {"file.close", "run.method", "run.sweep", "model.next", "model.previous", "model.look-inside",
              "model.copy-names", "model.keep-8-bits", "edit.copy-command", "edit.copy-job"})
            m_actions->find(QLatin1StringView(id))->setEnabled(open);
        m_actions->find(u"run.block-error"_s)->setEnabled(open);
        m_pareto->setBudget(std::nullopt);
        // Steps of undo that name weights or sizes of the old model mean nothing in the new one.
        m_undo.clear();
        m_history->forget();
        if (open) m_tabs->setCurrentWidget(m_overview);
        showSelectionTable({});
    });
    connect(&m_workspace, &Workspace::resultsChanged, this, [this](Workspace::Kind kind) {
        if (kind == Workspace::Kind::File) m_tabs->setCurrentWidget(m_figures);
        if (kind == Workspace::Kind::Analysis) m_tabs->setCurrentWidget(m_figures);
        if (kind == Workspace::Kind::Verify) {
            const auto& report = m_workspace.verifyReport();
            if (report && report->passed())
                m_messages->showInfo(
                    tr("%1 is written and verified: all %2 weights agree with the source; the "
                       "weakest is %3 with %4 dB.")
                        .arg(m_workspace.writtenPath())
                        .arg(report->compared)
                        .arg(toQt(report->worst), toQt(shortNumber(report->worstSqnr))));
        }
    });
    connect(&m_workspace, &Workspace::wrote, this, &MainWindow::wroteFile);
    connect(&m_workspace.watcher(), &JobWatcher::changed, this, [this](const JobSnapshot& job) {
        if (job.state != JobState::Running && job.state != JobState::Queued) {
            m_jobState->setText(tr("%1: %2").arg(toQt(job.title), JobsModel::stateText(job)));
            return;
        }
        QString text = tr("%1  %2 %").arg(toQt(job.title)).arg(job.fraction * 100, 0, 'f', 0);
        if (job.paused)
            text += tr("  paused");
        else if (job.remaining)
            text += tr("  %1 left").arg(toQt(humanDuration(*job.remaining)));
        m_jobState->setText(text);
    });
}

} // namespace halftone
