// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/models/jobs_model.h"

#include "app/host/strings.h"
#include "core/base/text.h"

#include <array>

namespace halftone {

void JobsModel::update(const JobSnapshot& job)
{
    for (std::size_t i = 0; i < m_jobs.size(); ++i) {
        if (m_jobs[i].id != job.id) continue;
        m_jobs[i] = job;
        const int row = static_cast<int>(m_jobs.size() - 1 - i);
        Q_EMIT dataChanged(index(row, 0), index(row, ColumnCount - 1));
        return;
    }
    beginInsertRows({}, 0, 0);
    m_jobs.push_back(job);
    endInsertRows();
}

const JobSnapshot* JobsModel::at(int row) const
{
    if (row < 0 || static_cast<std::size_t>(row) >= m_jobs.size()) return nullptr;
    return &m_jobs[m_jobs.size() - 1 - static_cast<std::size_t>(row)];
}

QString JobsModel::stateText(const JobSnapshot& job)
{
    if (job.paused) return tr("paused");
    switch (job.state) {
    case JobState::Queued:
        return tr("waiting");
    case JobState::Running:
        return tr("running");
    case JobState::Succeeded:
        return tr("done");
    case JobState::Failed:
        return tr("failed");
    case JobState::Cancelled:
        return tr("cancelled");
    }
    return {};
}

int JobsModel::rowCount(const QModelIndex& parent) const
{
    return parent.isValid() ? 0 : static_cast<int>(m_jobs.size());
}

int JobsModel::columnCount(const QModelIndex& parent) const
{
    return parent.isValid() ? 0 : static_cast<int>(ColumnCount);
}

QVariant JobsModel::data(const QModelIndex& index, int role) const
{
    const JobSnapshot* job = index.isValid() ? at(index.row()) : nullptr;
    if (job == nullptr) return {};
    if (role == FractionRole) return job->fraction;
    if (role == IdRole) return QVariant::fromValue<qulonglong>(job->id);
    if (role == RunningRole) return job->state == JobState::Queued || job->state == JobState::Running;
    if (role == PausedRole) return job->paused;
    if (role == Qt::ToolTipRole && job->error) return toQt(job->error->line());
    if (role != Qt::DisplayRole) return {};
    switch (index.column()) {
    case Title:
        return toQt(job->title);
    case Stage:
        return job->error ? toQt(job->error->line()) : toQt(job->stage);
    case ProgressText:
        return QString::number(job->fraction * 100, 'f', 0) + QStringLiteral(" %");
    case Elapsed:
        return toQt(humanDuration(job->elapsed));
    case Remaining:
        return job->state == JobState::Running && job->remaining ? toQt(humanDuration(*job->remaining))
                                                                 : QString();
    case State:
        return stateText(*job);
    default:
        return {};
    }
}

QVariant JobsModel::headerData(int section, Qt::Orientation orientation, int role) const
{
    if (orientation != Qt::Horizontal || role != Qt::DisplayRole || section < 0 || section >= ColumnCount)
        return {};
    const std::array<QString, ColumnCount> titles{tr("Job"),     tr("Stage"), tr("Progress"),
                                                  tr("Elapsed"), tr("Left"),  tr("State")};
    return titles[static_cast<std::size_t>(section)];
}

} // namespace halftone
