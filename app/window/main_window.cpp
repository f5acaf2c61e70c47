// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/window/main_window.h"

#include "app/host/strings.h"
#include "app/ui/data_table.h"
#include "app/window/action_list.h"
#include "app/window/block_panel.h"
#include "app/window/command_palette.h"
#include "app/window/figures_panel.h"
#include "app/window/jobs_panel.h"
#include "app/window/layers_panel.h"
#include "app/window/layouts.h"
#include "app/window/message_bar.h"
#include "app/window/method_panel.h"
#include "app/window/model_panel.h"
#include "app/window/overview_panel.h"
#include "app/window/pareto_panel.h"
#include "app/window/tensor_panel.h"
#include "core/base/text.h"

#include <QCloseEvent>
#include <QFileDialog>
#include <QFileInfo>
#include <QLabel>
#include <QMenuBar>
#include <QMessageBox>
#include <QMimeData>
#include <QSettings>
#include <QStatusBar>
#include <QTabWidget>
#include <QTreeView>
#include <QUrl>
#include <QVBoxLayout>

#include <algorithm>

namespace halftone {

using namespace Qt::Literals::StringLiterals;

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
    makeViewActions(menuBar()->findChild<QMenu*>(u"menu.view"_s));
    makeDocks();
    connectAll();
    fillRecent();
    m_modelPanel->view().setFocus();
    restoreGeometry(QSettings().value(u"window/geometry"_s).toByteArray());
    m_layouts->load();
}

MainWindow::~MainWindow() { m_removeSink(); }

View* MainWindow::currentView() const { return qobject_cast<View*>(m_tabs->currentWidget()); }

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
    // In a narrow window all tabs stay in sight, with shorter words.
    m_tabs->setUsesScrollButtons(false);
    m_tabs->setElideMode(Qt::ElideRight);
    QAction* sweep = m_actions->find(u"run.sweep"_s);
    QAction* measure = m_actions->find(u"run.block-error"_s);
    m_overview = new OverviewPanel(m_workspace, m_actions->find(u"file.open"_s),
                                   {sweep, m_actions->find(u"model.look-inside"_s)}, m_tabs);
    m_pareto = new ParetoPanel(m_workspace, sweep, m_tabs);
    m_layers = new LayersPanel(m_workspace, sweep, m_tabs);
    m_blocks = new BlockPanel(m_workspace, measure, m_tabs);
    m_tensor = new TensorPanel(m_workspace, m_tabs);
    m_figures = new FiguresPanel(m_workspace, m_tabs);
    m_panels = {{u"overview"_s, tr("Overview"), m_overview}, {u"pareto"_s, tr("Pareto"), m_pareto},
                {u"layers"_s, tr("Layers"), m_layers},       {u"block-error"_s, tr("Block error"), m_blocks},
                {u"tensor"_s, tr("Tensor"), m_tensor},       {u"results"_s, tr("Results"), m_figures}};
    for (const Panel& panel : m_panels) {
        m_tabs->addTab(panel.view, panel.title);
        panel.view->setHelpTopic(panel.title);
    }
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

void MainWindow::open(const QString& path)
{
    if (path.endsWith(kSessionSuffix))
        openSession(path);
    else
        m_workspace.open(path);
}

void MainWindow::askOpen(bool folder)
{
    QSettings settings;
    const QString from = settings.value(u"open/folder"_s).toString();
    const QString path =
        folder ? QFileDialog::getExistingDirectory(this, tr("Open a model folder"), from)
               : QFileDialog::getOpenFileName(this, tr("Open a checkpoint or results"), from,
                                              tr("Checkpoints, results and sessions (*.safetensors *.gguf "
                                                 "*.json *.h5 *%1);;All files (*)")
                                                  .arg(kSessionSuffix));
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
        [this, file](const Status& done) {
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
    QSettings().setValue(u"window/geometry"_s, saveGeometry());
    m_layouts->save();
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
