// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/host/plugin_loader.h"
#include "app/window/workspace.h"
#include "core/base/log.h"

#include <QMainWindow>
#include <QUndoStack>

#include <functional>
#include <vector>

class QComboBox;
class QLabel;
class QPlainTextEdit;
class QTabWidget;

namespace halftone {

class ActionList;
class BlockPanel;
class CommandPalette;
class DataTable;
class FiguresPanel;
class JobsPanel;
class LayersPanel;
class MessageBar;
class MethodPanel;
class ModelPanel;
class OverviewPanel;
class ParetoPanel;
class TensorPanel;
class View;

/// The window: what is open on the left, figures in the middle, what to do on the right, what is happening
/// at the bottom; one selection ties them.
class MainWindow : public QMainWindow {
    Q_OBJECT
public:
    MainWindow(const MethodRegistry& methods, std::vector<PluginEntry> plugins, QWidget* parent = nullptr);
    ~MainWindow() override;

    Workspace& workspace() { return m_workspace; }
    ActionList& actions() { return *m_actions; }
    CommandPalette& palette() { return *m_palette; }
    MessageBar& messages() { return *m_messages; }
    ModelPanel& modelPanel() { return *m_modelPanel; }
    MethodPanel& methodPanel() { return *m_methodPanel; }
    ParetoPanel& pareto() { return *m_pareto; }
    LayersPanel& layers() { return *m_layers; }
    BlockPanel& blocks() { return *m_blocks; }
    TensorPanel& tensor() { return *m_tensor; }
    FiguresPanel& figures() { return *m_figures; }
    OverviewPanel& overview() { return *m_overview; }
    QTabWidget& tabs() { return *m_tabs; }
    /// The centre's panels in the order of their tabs.
    std::vector<View*> views() const;
    void open(const QString& path);
    QStringList recentFiles() const;
    /// Asked before the window closes while a job runs; true closes. Tests put their own answer here.
    std::function<bool()> confirmClose;

protected:
    void closeEvent(QCloseEvent* event) override;
    void dragEnterEvent(QDragEnterEvent* event) override;
    void dropEvent(QDropEvent* event) override;

private:
    void makeActions();
    void makeCentre();
    void makeDocks();
    void connectAll();
    void resetLayout();
    void addRecent(const QString& path);
    void fillRecent();
    void askOpen(bool folder);
    void showIssues();
    void showPlace(const Place& place);
    void showSelectionTable(const Place& place);
    void measureSelected();
    void startSweep();
    void wroteFile(const QString& path);
    void exportResults();
    void showText(const QString& title, const QString& text);
    void setTheme(int mode);

    Workspace m_workspace;
    std::vector<PluginEntry> m_plugins;
    QUndoStack m_undo;
    ActionList* m_actions;
    MessageBar* m_messages = nullptr;
    QTabWidget* m_tabs = nullptr;
    OverviewPanel* m_overview = nullptr;
    ParetoPanel* m_pareto = nullptr;
    LayersPanel* m_layers = nullptr;
    BlockPanel* m_blocks = nullptr;
    TensorPanel* m_tensor = nullptr;
    FiguresPanel* m_figures = nullptr;
    ModelPanel* m_modelPanel = nullptr;
    MethodPanel* m_methodPanel = nullptr;
    JobsPanel* m_jobsPanel = nullptr;
    QPlainTextEdit* m_log = nullptr;
    DataTable* m_selectionTable = nullptr;
    QDockWidget* m_modelDock = nullptr;
    QDockWidget* m_methodDock = nullptr;
    QDockWidget* m_jobsDock = nullptr;
    QDockWidget* m_logDock = nullptr;
    QDockWidget* m_selectionDock = nullptr;
    CommandPalette* m_palette = nullptr;
    QLabel* m_hover = nullptr;
    QLabel* m_jobState = nullptr;
    std::vector<QAction*> m_recentActions;
    QMenu* m_recentMenu = nullptr;
    std::function<void()> m_removeSink;
};

} // namespace halftone
