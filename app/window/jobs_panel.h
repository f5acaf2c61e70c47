// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QWidget>

class QPushButton;
class QTableView;

namespace halftone {

class Workspace;

/// The jobs with progress, time left and a way to stop them.
class JobsPanel : public QWidget {
    Q_OBJECT
public:
    explicit JobsPanel(Workspace& workspace, QWidget* parent = nullptr);
    void cancelCurrent();
    /// Pauses the job that cancelCurrent() would stop, or lets it go on.
    void pauseOrResume();

private:
    void updateButtons();
    /// Row of the selected job if it runs, else of the oldest that does; -1: none.
    int currentRow() const;
    Workspace& m_workspace;
    QTableView* m_table;
    QPushButton* m_pause;
    QPushButton* m_cancel;
};

} // namespace halftone
