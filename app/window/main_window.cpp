// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/window/main_window.h"

#include "app/host/strings.h"
#include "app/ui/chart_view.h"
#include "app/ui/data_table.h"
#include "app/ui/theme.h"
#include "app/ui/treemap_view.h"
#include "app/window/action_list.h"
#include "app/window/block_panel.h"
#include "app/window/command_palette.h"
#include "app/window/figures_panel.h"
#include "app/window/jobs_panel.h"
#include "app/window/layers_panel.h"
#include "app/window/message_bar.h"
#include "app/window/method_panel.h"
#include "app/window/model_panel.h"
#include "app/window/overview_panel.h"
#include "app/window/pareto_panel.h"
#include "app/window/tensor_panel.h"
#include "core/base/text.h"

#include <QApplication>
#include <QCloseEvent>
#include <QDesktopServices>
#include <QDockWidget>
#include <QFileDialog>
#include <QFileInfo>
#include <QLabel>
#include <QMenuBar>
#include <QMessageBox>
#include <QMimeData>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QSettings>
#include <QStatusBar>
#include <QTabWidget>
#include <QTreeView>
#include <QUrl>
#include <QVBoxLayout>

#include <algorithm>

namespace halftone {

using namespace Qt::Literals::StringLiterals;

namespace {
constexpr int kLayoutVersion = 1;
constexpr int kLogLines = 5000;
} // namespace

MainWindow::MainWindow(const MethodRegistry& methods, std::vector<PluginEntry> plugins, QWidget* parent)
    : QMainWindow(parent), m_workspace(methods), m_plugins(std::move(plugins)),
      m_actions(new ActionList(this))
{
    setWindowTitle(u"Halftone"_s);
    setAcceptDrops(true);
    setDockOptions(AnimatedDocks | AllowTabbedDocks | AllowNestedDocks);
    setTabPosition(Qt::AllDockWidgetAreas, QTabWidget::North);
    resize(1440, 900);
    confirmClose = [this] {
        return QMessageBox::question(
                   this, tr("A job is running"),
                   tr("A job is still running. What it has finished is kept in its results; a file that "
                      "is not whole is not left behind. Close anyway?"),
                   QMessageBox::Close | QMessageBox::Cancel, QMessageBox::Cancel) == QMessageBox::Close;
    };
    makeActions();
    makeCentre();
    makeDocks();
    connectAll();
    fillRecent();
    resetLayout();
    m_modelPanel->view().setFocus();
    QSettings settings;
    restoreGeometry(settings.value(u"window/geometry"_s).toByteArray());
    restoreState(settings.value(u"window/state"_s).toByteArray(), kLayoutVersion);
}

MainWindow::~MainWindow() { m_removeSink(); }

std::vector<View*> MainWindow::views() const
{
    return {m_overview, m_pareto, m_layers, m_blocks, m_tensor, m_figures};
}

void MainWindow::makeCentre()
{
    auto* centre = new QWidget(this);
    auto* column = new QVBoxLayout(centre);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    m_messages = new MessageBar(centre);
    m_tabs = new QTabWidget(centre);
    m_tabs->setDocumentMode(true);
    m_tabs->setAccessibleName(tr("Panels"));
    m_tabs->tabBar()->setAccessibleName(tr("Panels"));
    m_tabs->tabBar()->setExpanding(false);
    QAction* sweep = m_actions->find(u"run.sweep"_s);
    QAction* measure = m_actions->find(u"run.block-error"_s);
    m_overview = new OverviewPanel(m_workspace, m_actions->find(u"file.open"_s),
                                   {sweep, m_actions->find(u"model.look-inside"_s)}, m_tabs);
    m_pareto = new ParetoPanel(m_workspace, sweep, m_tabs);
    m_layers = new LayersPanel(m_workspace, sweep, m_tabs);
    m_blocks = new BlockPanel(m_workspace, measure, m_tabs);
    m_tensor = new TensorPanel(m_workspace, m_tabs);
    m_figures = new FiguresPanel(m_workspace, m_tabs);
    m_tabs->addTab(m_overview, tr("Overview"));
    m_tabs->addTab(m_pareto, tr("Pareto"));
    m_tabs->addTab(m_layers, tr("Layers"));
    m_tabs->addTab(m_blocks, tr("Block error"));
    m_tabs->addTab(m_tensor, tr("Tensor"));
    m_tabs->addTab(m_figures, tr("Results"));
    column->addWidget(m_messages);
    column->addWidget(m_tabs, 1);
    setCentralWidget(centre);
    m_palette = new CommandPalette(
        *m_actions,
        [this](const QString& text) {
            std::vector<CommandPalette::Hit> out;
            const auto& model = m_workspace.model();
            if (!model) return out;
            const std::string wanted = toStd(text);
            const auto all = model->weights()->all();
            for (std::size_t i = 0; i < all.size() && out.size() < 20; ++i) {
                if (all[i].name.find(wanted) == std::string::npos &&
                    model->roles()[i].id.find(wanted) == std::string::npos)
                    continue;
                out.push_back({toQt(all[i].name), toQt(all[i].type + ", " + all[i].shape.text()), [this, i] {
                                   m_workspace.selection().select({static_cast<int>(i), -1, -1});
                               }});
            }
            return out;
        },
        this);
    m_hover = new QLabel(this);
    m_jobState = new QLabel(this);
    statusBar()->setSizeGripEnabled(false);
    statusBar()->addWidget(m_hover, 1);
    statusBar()->addPermanentWidget(m_jobState);
}

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
    m_modelPanel = new ModelPanel(m_workspace, this);
    m_methodPanel = new MethodPanel(m_workspace, m_undo, this);
    m_jobsPanel = new JobsPanel(m_workspace, this);
    m_log = new QPlainTextEdit(this);
    m_log->setReadOnly(true);
    m_log->setMaximumBlockCount(kLogLines);
    m_log->setAccessibleName(tr("Log"));
    m_log->setFrameShape(QFrame::NoFrame);
    m_selectionTable = new DataTable(this);
    m_selectionTable->setAccessibleName(tr("The selected weight"));
    m_modelDock = dock(u"dock.model"_s, tr("MODEL"), m_modelPanel, Qt::LeftDockWidgetArea);
    m_methodDock = dock(u"dock.method"_s, tr("METHOD"), m_methodPanel, Qt::RightDockWidgetArea);
    m_jobsDock = dock(u"dock.jobs"_s, tr("Jobs"), m_jobsPanel, Qt::BottomDockWidgetArea);
    m_logDock = dock(u"dock.log"_s, tr("Log"), m_log, Qt::BottomDockWidgetArea);
    m_selectionDock = dock(u"dock.selection"_s, tr("Selection"), m_selectionTable, Qt::BottomDockWidgetArea);
    // The tab says what the dock is: a title under it would say it twice.
    for (QDockWidget* widget : {m_jobsDock, m_logDock, m_selectionDock})
        widget->setTitleBarWidget(new QWidget(widget));
    setCorner(Qt::BottomLeftCorner, Qt::BottomDockWidgetArea);
    setCorner(Qt::BottomRightCorner, Qt::BottomDockWidgetArea);
    QMenu* window = menuBar()->findChild<QMenu*>(u"menu.window"_s);
    for (QDockWidget* widget : {m_modelDock, m_methodDock, m_jobsDock, m_logDock, m_selectionDock}) {
        const QString name = widget->objectName().mid(5);
        QAction* show =
            m_actions->add(u"window.show-"_s + name, tr("Show %1").arg(name), {}, window, [widget] {
                widget->show();
                widget->raise();
                widget->widget()->setFocus();
            });
        show->setStatusTip(tr("Shows the dock %1").arg(name));
    }
}

void MainWindow::resetLayout()
{
    for (QDockWidget* widget : {m_modelDock, m_methodDock, m_jobsDock, m_logDock, m_selectionDock}) {
        widget->setFloating(false);
        widget->show();
    }
    addDockWidget(Qt::LeftDockWidgetArea, m_modelDock);
    addDockWidget(Qt::RightDockWidgetArea, m_methodDock);
    addDockWidget(Qt::BottomDockWidgetArea, m_jobsDock);
    tabifyDockWidget(m_jobsDock, m_logDock);
    tabifyDockWidget(m_logDock, m_selectionDock);
    m_jobsDock->raise();
    resizeDocks({m_modelDock, m_methodDock}, {348, 344}, Qt::Horizontal);
    resizeDocks({m_jobsDock}, {128}, Qt::Vertical);
}

void MainWindow::connectAll()
{
    for (View* view : views()) {
        connect(view, &View::hovered, m_hover, &QLabel::setText);
        connect(view, &View::failed, this, [this](const QString& line) { m_messages->showError(line); });
        connect(view, &View::picked, this,
                [this](const Place& place) { m_workspace.selection().select(place); });
        connect(&m_workspace.selection(), &Selection::changed, view, &View::follow);
    }
    for (View* view : {static_cast<View*>(m_blocks), static_cast<View*>(m_tensor)})
        view->setPinnable();
    connect(&m_modelPanel->treemap(), &Plot::hovered, m_hover, &QLabel::setText);
    connect(m_layers, &LayersPanel::statisticsReady, this, [this](const std::vector<WeightStatistics>& s) {
        if (s.size() == (m_workspace.model() ? m_workspace.model()->weights()->all().size() : 0))
            m_modelPanel->tree().setStatistics(s);
    });
    connect(m_pareto, &ParetoPanel::budgetMoved, m_methodPanel, &MethodPanel::setBudgetBytes);
    connect(m_pareto, &ParetoPanel::useRequested, m_methodPanel, &MethodPanel::usePoint);
    connect(m_methodPanel, &MethodPanel::budgetChosen, this, [this](double bytes) {
        m_pareto->setBudget(bytes);
        if (m_workspace.results(Workspace::Kind::Sweep)) m_tabs->setCurrentWidget(m_pareto);
    });
    connect(m_methodPanel, &MethodPanel::sweepAsked, this, &MainWindow::startSweep);
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
        m_messages->hide();
        showIssues();
    });
    connect(&m_workspace, &Workspace::modelChanged, this, [this] {
        const QString name = QFileInfo(m_workspace.modelPath()).fileName();
        setWindowTitle(m_workspace.model() ? name + u" – Halftone"_s : u"Halftone"_s);
        const bool open = m_workspace.model() != nullptr;
        for (const char* id : {"file.close", "run.method", "run.sweep", "model.next", "model.previous",
                               "model.look-inside", "model.copy-names", "edit.copy-command", "edit.copy-job"})
            m_actions->find(QLatin1StringView(id))->setEnabled(open);
        m_actions->find(u"run.block-error"_s)->setEnabled(open);
        m_pareto->setBudget(std::nullopt);
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
            m_jobState->setText(tr("%1: %2").arg(toQt(job.title), JobsModel::stateText(job.state)));
            return;
        }
        QString text = tr("%1  %2 %").arg(toQt(job.title)).arg(job.fraction * 100, 0, 'f', 0);
        if (job.remaining) text += tr("  %1 left").arg(toQt(humanDuration(*job.remaining)));
        m_jobState->setText(text);
    });
    m_removeSink = addLogSink([this](const LogLine& line) {
        const QString text =
            toQt(std::string(logLevelName(line.level)) + "  " + line.category + "  " + line.text);
        QMetaObject::invokeMethod(
            m_log, [log = m_log, text] { log->appendPlainText(text); }, Qt::QueuedConnection);
    });
    connect(m_tabs, &QTabWidget::currentChanged, this,
            [this] { showPlace(m_workspace.selection().place()); });
    Q_EMIT m_workspace.modelChanged();
}

void MainWindow::open(const QString& path) { m_workspace.open(path); }

void MainWindow::askOpen(bool folder)
{
    QSettings settings;
    const QString from = settings.value(u"open/folder"_s).toString();
    const QString path =
        folder ? QFileDialog::getExistingDirectory(this, tr("Open a model folder"), from)
               : QFileDialog::getOpenFileName(
                     this, tr("Open a checkpoint or results"), from,
                     tr("Checkpoints and results (*.safetensors *.gguf *.json *.h5);;All files (*)"));
    if (path.isEmpty()) return;
    settings.setValue(u"open/folder"_s, QFileInfo(path).absolutePath());
    open(path);
}

void MainWindow::showIssues()
{
    const auto& model = m_workspace.model();
    if (!model) return;
    const auto issues = model->weights()->checkpoint()->issues();
    if (issues.empty()) return;
    QStringList all;
    bool bad = false;
    for (const CheckpointIssue& issue : issues) {
        all << toQt(issue.text);
        bad = bad || issue.severity == CheckpointIssue::Severity::Error;
    }
    const QString line = issues.size() == 1
                             ? all.front()
                             : tr("%1 (and %2 more: Copy details)").arg(all.front()).arg(issues.size() - 1);
    if (bad)
        m_messages->showError(line);
    else
        m_messages->showWarning(line, all.join(u'\n'));
}

void MainWindow::showPlace(const Place& place)
{
    showSelectionTable(place);
    // A map costs a pass over the weight: only while somebody looks at it.
    if (m_tabs->currentWidget() == m_blocks && place.weight >= 0) m_blocks->measure(place.weight);
}

void MainWindow::showSelectionTable(const Place& place)
{
    const auto& model = m_workspace.model();
    if (!model || place.weight < 0) {
        m_selectionTable->setTable(nullptr);
        return;
    }
    const auto i = static_cast<std::size_t>(place.weight);
    const WeightInfo& info = model->weights()->all()[i];
    const WeightRole& role = model->roles()[i];
    auto table = std::make_shared<TableData>();
    TableData::Col what{"what", "", "", {}, {}};
    TableData::Col value{"value", "", "", {}, {}};
    const auto add = [&](const char* name, const std::string& text) {
        what.values.push_back(static_cast<double>(what.names.size()));
        what.names.emplace_back(name);
        value.values.push_back(static_cast<double>(value.names.size()));
        value.names.push_back(text);
    };
    add("name", info.name);
    add("id", role.id);
    add("role", std::string(nameOf(role.role)) + ", " + std::string(nameOf(role.roleClass)));
    add("layer", role.layer < 0 ? "none" : std::to_string(role.layer));
    add("shape", info.shape.text());
    add("stored as", info.type);
    add("elements", std::to_string(info.count()));
    add("bytes", std::to_string(info.bytes));
    add("bits per weight", exactNumber(info.bitsPerWeight()));
    const auto& statistics = m_modelPanel->tree().statistics();
    if (i < statistics.size() && statistics[i].sqnr == statistics[i].sqnr) {
        add("SQNR of the last run, dB", exactNumber(statistics[i].sqnr));
        add("mean square error of the last run", exactNumber(statistics[i].mse));
    }
    if (place.row >= 0) add("row", std::to_string(place.row));
    if (place.block >= 0) add("block", std::to_string(place.block));
    table->columns = {std::move(what), std::move(value)};
    m_selectionTable->setTable(std::move(table));
}

void MainWindow::startSweep()
{
    m_workspace.runSweep(m_workspace.defaultSweep());
    m_tabs->setCurrentWidget(m_pareto);
}

void MainWindow::measureSelected()
{
    const auto& model = m_workspace.model();
    if (!model) return;
    int weight = m_workspace.selection().place().weight;
    if (weight < 0) weight = m_layers->worst();
    if (weight < 0) {
        // Nothing chosen and nothing measured: the largest linear weight is the one to look at.
        const auto all = model->weights()->all();
        for (const WeightRole& role : model->roles())
            if (role.linear && !role.bias && all[role.weight].isMatrix() &&
                (weight < 0 || all[role.weight].count() > all[static_cast<std::size_t>(weight)].count()))
                weight = static_cast<int>(role.weight);
    }
    if (weight < 0) return;
    m_tabs->setCurrentWidget(m_blocks);
    m_workspace.selection().select({weight, -1, -1});
    m_blocks->measure(weight);
}

void MainWindow::wroteFile(const QString& path)
{
    m_messages->showInfo(
        tr("%1 is written (%2). It is being compared with its source…")
            .arg(path, toQt(humanBytes(static_cast<std::uint64_t>(QFileInfo(path).size())))));
}

void MainWindow::exportResults()
{
    const Workspace::Kind kinds[] = {Workspace::Kind::Sweep, Workspace::Kind::BlockError,
                                     Workspace::Kind::Analysis, Workspace::Kind::Quantize,
                                     Workspace::Kind::Overview};
    // What the current panel shows, else the first that there is.
    std::shared_ptr<const ResultReader> results;
    if (m_tabs->currentWidget() == m_blocks) results = m_workspace.results(Workspace::Kind::BlockError);
    for (const Workspace::Kind kind : kinds)
        if (!results) results = m_workspace.results(kind);
    if (!results) {
        m_messages->showInfo(tr("There are no results yet: run something first."));
        return;
    }
    QString file =
        QFileDialog::getSaveFileName(this, tr("Export results"), u"results.h5"_s, tr("HDF5 (*.h5)"));
    if (file.isEmpty()) return;
    if (!file.endsWith(u".h5"_s)) file += u".h5"_s;
    inBackground(
        this, [results, path = toStd(file)] { return saveHdf5(*results, path); },
        [this, file](Status done) {
            if (!done)
                m_messages->showError(toQt(done.error().line()));
            else
                m_messages->showInfo(tr("%1 is written.").arg(file));
        });
}

void MainWindow::closeEvent(QCloseEvent* event)
{
    if (m_workspace.busy() && !confirmClose()) {
        event->ignore();
        return;
    }
    m_workspace.cancelAll();
    QSettings settings;
    settings.setValue(u"window/geometry"_s, saveGeometry());
    settings.setValue(u"window/state"_s, saveState(kLayoutVersion));
    event->accept();
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event)
{
    if (event->mimeData()->hasUrls()) event->acceptProposedAction();
}

void MainWindow::dropEvent(QDropEvent* event)
{
    bool any = false;
    for (const QUrl& url : event->mimeData()->urls())
        if (url.isLocalFile()) {
            open(url.toLocalFile());
            any = true;
        }
    if (!any) m_messages->showError(tr("Only files and folders of this machine can be opened."));
    event->acceptProposedAction();
}

} // namespace halftone
