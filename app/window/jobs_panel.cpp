// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/window/jobs_panel.h"

#include "app/ui/theme.h"
#include "app/window/workspace.h"

#include <QHBoxLayout>
#include <QHeaderView>
#include <QPainter>
#include <QPushButton>
#include <QStyledItemDelegate>
#include <QTableView>

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
      m_cancel(new QPushButton(tr("Cancel"), this))
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
    m_table->setColumnWidth(JobsModel::Title, 280);
    m_table->setColumnWidth(JobsModel::ProgressText, 200);
    m_table->horizontalHeader()->setSectionResizeMode(JobsModel::Stage, QHeaderView::Stretch);
    m_table->setColumnWidth(JobsModel::Elapsed, 80);
    m_table->setColumnWidth(JobsModel::Remaining, 80);
    m_table->setColumnWidth(JobsModel::State, 100);
    m_cancel->setAccessibleName(tr("Cancel the selected job"));
    m_cancel->setEnabled(false);
    auto* layout = new QHBoxLayout(this);
    layout->setContentsMargins(4, 0, 12, 4);
    layout->setSpacing(Theme::kStep);
    layout->addWidget(m_table, 1);
    layout->addWidget(m_cancel, 0, Qt::AlignTop);
    connect(m_cancel, &QPushButton::clicked, this, &JobsPanel::cancelCurrent);
    connect(m_table->selectionModel(), &QItemSelectionModel::currentChanged, this, &JobsPanel::updateButton);
    connect(&workspace.jobs(), &QAbstractItemModel::dataChanged, this, &JobsPanel::updateButton);
    connect(&workspace.jobs(), &QAbstractItemModel::rowsInserted, this, &JobsPanel::updateButton);
}

void JobsPanel::updateButton() { m_cancel->setEnabled(m_workspace.busy()); }

void JobsPanel::cancelCurrent()
{
    const JobsModel& jobs = m_workspace.jobs();
    const auto runs = [&](int row) { return jobs.index(row, 0).data(JobsModel::RunningRole).toBool(); };
    int row = m_table->currentIndex().row();
    // Without a choice, the oldest one that runs: the one people wait for.
    if (row < 0 || !runs(row))
        for (row = jobs.rowCount() - 1; row >= 0 && !runs(row);)
            --row;
    if (const JobSnapshot* job = jobs.at(row)) m_workspace.cancel(job->id);
}

} // namespace halftone
