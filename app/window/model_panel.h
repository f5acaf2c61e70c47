// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/models/tensor_tree_model.h"

#include <QTimer>
#include <QWidget>

class QLabel;
class QLineEdit;
class QTreeView;

namespace halftone {

class TreemapView;
class Workspace;

/// The weights of the open model as a tree with a filter, and the treemap of their bytes.
class ModelPanel : public QWidget {
    Q_OBJECT
public:
    explicit ModelPanel(Workspace& workspace, QWidget* parent = nullptr);
    TensorTreeModel& tree() { return *m_model; }
    TreemapView& treemap() { return *m_treemap; }
    QTreeView& view() { return *m_view; }
    void focusFilter();
    void setFilter(const QString& text);
    QString filterText() const;
    /// The selected names, one a line.
    QString selectedNames() const;

protected:
    void showEvent(QShowEvent* event) override;

private:
    void refresh();
    void applyFilter();
    void showPlace();
    void showTreemap();
    Workspace& m_workspace;
    TensorTreeModel* m_model;
    QLabel* m_summary;
    QLineEdit* m_filter;
    QLabel* m_filterProblem;
    QTreeView* m_view;
    TreemapView* m_treemap;
    QTimer m_filterTimer;
    bool m_following = false; ///< the selection is being shown, not set
};

} // namespace halftone
