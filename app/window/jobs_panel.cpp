// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/window/jobs_panel.h"

#include "app/ui/theme.h"
#include "app/window/workspace.h"

#include <QHeaderView>
#include <QPainter>
#include <QPushButton>
#include <QStyledItemDelegate>
#include <QTableView>
#include <QVBoxLayout>

namespace halftone {

using namespace Qt::Literals::StringLiterals;

namespace {

/// A thin bar with its number: readable in both themes, no gradient.
class ProgressDelegate : public QStyledItemDelegate {
public:
    using QStyledItemDelegate::QStyledItemDelegate;
    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override
    {
        const ThemeColours& c = Theme::colours();
        if ((option.state & QStyle::State_Selected) != 0) painter->fillRect(option.rect, c.selected);
        const double fraction = index.data(JobsModel::FractionRole).toDouble();
        const QString text = index.data().toString();
        const int number = option.fontMetrics.horizontalAdvance(u"100 %"_s) + 8;
        QRectF bar(option.rect.adjusted(8, 0, -number - 8, 0));
        bar = QRectF(bar.left(), bar.center().y() - 3, bar.width(), 6);
        painter->save();
        painter->setRenderHint(QPainter::Antialiasing);
        painter->setPen(Qt::NoPen);
        painter->setBrush(c.line);
        painter->drawRoundedRect(bar, 3, 3);
        painter->setBrush(c.accent);
        bar.setWidth(bar.width() * fraction);
        if (bar.width() >= 2) painter->drawRoundedRect(bar, 3, 3);
        painter->setPen(c.text);
        painter->drawText(option.rect.adjusted(0, 0, -8, 0), Qt::AlignRight | Qt::AlignVCenter, text);
        painter->restore();
    }
};

} // namespace

JobsPanel::JobsPanel(Workspace& workspace, QWidget* parent)
    : QWidget(parent), m_workspace(workspace), m_table(new QTableView(this)),
      m_pause(new QPushButton(tr("Pause"), this)), m_cancel(new QPushButton(tr("Cancel"), this))
{
    setProperty("role", u"page"_s);
    setAttribute(Qt::WA_StyledBackground);
    m_table->setModel(&workspace.jobs());
    m_table->setAccessibleName(tr("Jobs"));
    m_table->setSelectionBehavior(QAbstractItemView::SelectRows);
    m_table->setSelectionMode(QAbstractItemView::SingleSelection);
    m_table->setShowGrid(false);
    m_table->setWordWrap(false);
    m_table->verticalHeader()->hide();
    m_table->verticalHeader()->setDefaultSectionSize(fontMetrics().height() + 8);
    m_table->setItemDelegateForColumn(JobsModel::ProgressText, new ProgressDelegate(m_table));
    m_table->horizontalHeader()->setHighlightSections(false);
    m_table->horizontalHeader()->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
    m_table->setColumnWidth(JobsModel::Title, 220);
    m_table->setColumnWidth(JobsModel::ProgressText, 160);
    m_table->horizontalHeader()->setSectionResizeMode(JobsModel::Stage, QHeaderView::Stretch);
    m_table->setColumnWidth(JobsModel::Elapsed, 80);
    m_table->setColumnWidth(JobsModel::Remaining, 80);
    m_table->setColumnWidth(JobsModel::State, 100);
    m_pause->setAccessibleName(tr("Pause the selected job"));
    m_pause->setToolTip(tr("Holds the job at its next step; jobs behind it wait, too"));
    m_pause->setEnabled(false);
    // One width for both words, so that nothing jumps.
    m_pause->setMinimumWidth(m_pause->fontMetrics().horizontalAdvance(tr("Resume")) + 28);
    m_cancel->setAccessibleName(tr("Cancel the selected job"));
    m_cancel->setEnabled(false);
    auto* layout = new QHBoxLayout(this);
    layout->setContentsMargins(4, 0, 12, 4);
    layout->setSpacing(Theme::kStep);
    layout->addWidget(m_table, 1);
    auto* buttons = new QVBoxLayout;
    buttons->setSpacing(4);
    buttons->addWidget(m_pause);
    buttons->addWidget(m_cancel);
    buttons->addStretch(1);
    layout->addLayout(buttons);
    connect(m_pause, &QPushButton::clicked, this, &JobsPanel::pauseOrResume);
    connect(m_cancel, &QPushButton::clicked, this, &JobsPanel::cancelCurrent);
    connect(m_table->selectionModel(), &QItemSelectionModel::currentChanged, this, &JobsPanel::updateButtons);
    connect(&workspace.jobs(), &QAbstractItemModel::dataChanged, this, &JobsPanel::updateButtons);
    connect(&workspace.jobs(), &QAbstractItemModel::rowsInserted, this, &JobsPanel::updateButtons);
}

void JobsPanel::updateButtons()
{
    const int row = currentRow();
    const JobsModel& jobs = m_workspace.jobs();
    const bool paused = row >= 0 && jobs.index(row, 0).data(JobsModel::PausedRole).toBool();
    const JobSnapshot* job = jobs.at(row);
    m_cancel->setEnabled(row >= 0);
    m_pause->setEnabled(job != nullptr && job->state == JobState::Running);
    m_pause->setText(paused ? tr("Resume") : tr("Pause"));
    m_pause->setAccessibleName(paused ? tr("Resume the selected job") : tr("Pause the selected job"));
}

int JobsPanel::currentRow() const
{
    const JobsModel& jobs = m_workspace.jobs();
    const auto runs = [&](int row) { return jobs.index(row, 0).data(JobsModel::RunningRole).toBool(); };
    int row = m_table->currentIndex().row();
    // Without a choice, the oldest one that runs: the one people wait for.
    if (row < 0 || !runs(row))
        for (row = jobs.rowCount() - 1; row >= 0 && !runs(row);)
            --row;
    return row;
}

void JobsPanel::cancelCurrent()
{
    if (const JobSnapshot* job = m_workspace.jobs().at(currentRow())) m_workspace.cancel(job->id);
}

void JobsPanel::pauseOrResume()
{
    const JobSnapshot* job = m_workspace.jobs().at(currentRow());
    if (job == nullptr) return;
    if (job->paused)
        m_workspace.resume(job->id);
    else
        m_workspace.pause(job->id);
}

} // namespace halftone
