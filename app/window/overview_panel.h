// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/ui/view.h"

#include <utility>
#include <vector>

class QGridLayout;
class QVBoxLayout;

namespace halftone {

class Workspace;

/// What is open, how big it is and what is unusual about it: facts, size by layer, things worth knowing.
class OverviewPanel : public View {
    Q_OBJECT
public:
    OverviewPanel(Workspace& workspace, QAction* openAction, const QList<QAction*>& next,
                  QWidget* parent = nullptr);
    /// The things worth knowing, one a line.
    QStringList notes() const { return m_notes; }

protected:
    void resizeEvent(QResizeEvent* event) override;

private:
    void refresh();
    void showFacts();
    void placeFacts();
    void findNotes();
    void showSizes();
    Workspace& m_workspace;
    QAction* m_openAction;
    QWidget* m_facts;
    QGridLayout* m_factGrid;
    QWidget* m_below;
    QVBoxLayout* m_noteList;
    QStringList m_notes;
    std::vector<std::pair<QWidget*, QWidget*>> m_factLabels; ///< number, what it is
    int m_factColumns = 0;
};

} // namespace halftone
