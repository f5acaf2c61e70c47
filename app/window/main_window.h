// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/host/plugin_loader.h"
#include "app/window/session_file.h"
#include "app/window/workspace.h"
#include "core/base/log.h"

#include <QMainWindow>
#include <QUndoStack>

#include <functional>
#include <memory>
#include <vector>

class QActionGroup;
class QComboBox;
class QLabel;
class QPlainTextEdit;
class QTabWidget;

namespace halftone {

class ActionList;
class BlockPanel;
class ChoiceHistory;
class CommandPalette;
class DataTable;
class FiguresPanel;
class JobsPanel;
class LayersPanel;
class Layouts;
class MessageBar;
class MethodPanel;
class ModelPanel;
class OverviewPanel;
class ParetoPanel;
class SessionKeeper;
class SessionRestore;
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
    JobsPanel& jobsPanel() { return *m_jobsPanel; }
    Layouts& layouts() { return *m_layouts; }
    QUndoStack& undoStack() { return m_undo; }
    QPlainTextEdit& notes() { return *m_notes; }
    ChoiceHistory& history() { return *m_history; }
    /// One panel of the centre.
    struct Panel {
        QString id, title; ///< "block-error", "Block error"
        View* view;
    };
    /// In the order of their tabs.
    const std::vector<Panel>& panels() const { return m_panels; }
    void open(const QString& path);
    QStringList recentFiles() const;
    /// What the person chose until now.
    Session session() const;
    /// Saves choices into this folder from now on, and offers what a crash left there.
    void keepSession(const QString& folder);
    SessionKeeper* keeper() { return m_keeper; }
    void saveSessionAs(const QString& file);
    /// Opens a session file: its inputs, then its choices. What is missing or not what it was is said.
    void openSession(const QString& file);
    /// Asked before the window closes while a job runs; true closes. Tests put their own answer here.
    std::function<bool()> confirmClose;

protected:
    void closeEvent(QCloseEvent* event) override;
    void dragEnterEvent(QDragEnterEvent* event) override;
    void dropEvent(QDropEvent* event) override;

private:
    void makeActions();
    void makeFileActions(QMenu* file);
    void makeEditActions(QMenu* edit);
    void makeViewActions(QMenu* view);
    void makeModelActions(QMenu* model);
    void makeWindowActions(QMenu* window);
    void makeHelpActions(QMenu* help);
    void makeCentre();
    void makeDocks();
    void connectAll();
    void connectWorkspace();
    void connectChoices();
    void saveSession(bool askName);
    void startRestore(Session session);
    void applyChoices(const Session& session);
    void showPanel(const QString& id);
    void showHelp(const QString& topic);
    View* currentView() const;
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
    std::vector<Panel> m_panels;
    OverviewPanel* m_overview = nullptr;
    ParetoPanel* m_pareto = nullptr;
    LayersPanel* m_layers = nullptr;
    BlockPanel* m_blocks = nullptr;
    TensorPanel* m_tensor = nullptr;
    QActionGroup* m_workspaceGroup = nullptr;
    FiguresPanel* m_figures = nullptr;
    ModelPanel* m_modelPanel = nullptr;
    MethodPanel* m_methodPanel = nullptr;
    JobsPanel* m_jobsPanel = nullptr;
    QPlainTextEdit* m_log = nullptr;
    QPlainTextEdit* m_notes = nullptr;
    DataTable* m_selectionTable = nullptr;
    QDockWidget* m_modelDock = nullptr;
    QDockWidget* m_methodDock = nullptr;
    QDockWidget* m_jobsDock = nullptr;
    QDockWidget* m_logDock = nullptr;
    QDockWidget* m_selectionDock = nullptr;
    QDockWidget* m_notesDock = nullptr;
    Layouts* m_layouts = nullptr;
    ChoiceHistory* m_history = nullptr;
    SessionKeeper* m_keeper = nullptr;
    SessionRestore* m_restore = nullptr;
    QString m_sessionFile;
    QString m_resultsHash; ///< of the open results file, empty until it is known
    CommandPalette* m_palette = nullptr;
    QLabel* m_hover = nullptr;
    QLabel* m_jobState = nullptr;
    std::vector<QAction*> m_recentActions;
    QMenu* m_recentMenu = nullptr;
    std::function<void()> m_removeSink;
};

} // namespace halftone
