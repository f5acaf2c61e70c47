// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/job/job.h"

#include <QAbstractTableModel>

#include <vector>

namespace halftone {

/// The jobs of this window, newest first, fed from a JobWatcher.
class JobsModel : public QAbstractTableModel {
    Q_OBJECT
public:
    enum ColumnId { Title, Stage, ProgressText, Elapsed, Remaining, State, ColumnCount };
    enum Roles { FractionRole = Qt::UserRole, IdRole, RunningRole, PausedRole };
    using QAbstractTableModel::QAbstractTableModel;
    /// Adds the job or brings its row up to date.
    void update(const JobSnapshot& job);
    const JobSnapshot* at(int row) const;
    static QString stateText(const JobSnapshot& job);

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

private:
    std::vector<JobSnapshot> m_jobs; ///< oldest first
};

} // namespace halftone
