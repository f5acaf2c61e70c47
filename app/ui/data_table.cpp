// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/ui/data_table.h"

#include "app/host/strings.h"

#include <QClipboard>
#include <QContextMenuEvent>
#include <QGuiApplication>
#include <QHeaderView>
#include <QKeyEvent>
#include <QMenu>

#include <algorithm>
#include <numeric>
#include <vector>

namespace halftone {

DataTable::DataTable(QWidget* parent) : QTableView(parent), m_model(new TableDataModel(this))
{
    setModel(m_model);
    setAccessibleName(tr("Numbers as a table"));
    setSortingEnabled(true);
    sortByColumn(-1, Qt::AscendingOrder);
    setAlternatingRowColors(true);
    setShowGrid(false);
    setSelectionBehavior(QAbstractItemView::SelectRows);
    setEditTriggers(QAbstractItemView::NoEditTriggers);
    setWordWrap(false);
    verticalHeader()->setVisible(false);
    verticalHeader()->setDefaultSectionSize(fontMetrics().height() + 8);
    horizontalHeader()->setHighlightSections(false);
    horizontalHeader()->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
    horizontalHeader()->setSectionsMovable(true);
    connect(this, &QTableView::activated, this, [this](const QModelIndex& index) {
        if (index.isValid()) Q_EMIT rowActivated(m_model->sourceRow(index.row()));
    });
}

void DataTable::setTable(std::shared_ptr<const TableData> table)
{
    m_model->setTable(std::move(table));
    horizontalHeader()->setSortIndicator(-1, Qt::AscendingOrder);
    // Widths from the header and the first rows: looking at a million rows would take seconds.
    for (int c = 0; c < m_model->columnCount(); ++c) {
        int width = fontMetrics().horizontalAdvance(
            m_model->headerData(c, Qt::Horizontal, Qt::DisplayRole).toString());
        for (int r = 0; r < std::min(50, m_model->rowCount()); ++r)
            width = std::max(width, fontMetrics().horizontalAdvance(m_model->index(r, c).data().toString()));
        setColumnWidth(c, std::min(width + 28, 360));
    }
}

QString DataTable::text(char separator) const
{
    if (!m_model->table()) return {};
    std::vector<int> shown;
    for (const QModelIndex& index : selectionModel()->selectedRows())
        shown.push_back(index.row());
    if (shown.empty()) {
        shown.resize(static_cast<std::size_t>(m_model->rowCount()));
        std::iota(shown.begin(), shown.end(), 0);
    }
    std::sort(shown.begin(), shown.end());
    std::vector<std::size_t> rows;
    rows.reserve(shown.size());
    for (const int row : shown)
        rows.push_back(m_model->sourceRow(row));
    return toQt(m_model->table()->text(rows, separator));
}

void DataTable::copy(char separator) { QGuiApplication::clipboard()->setText(text(separator)); }

void DataTable::keyPressEvent(QKeyEvent* event)
{
    if (event->matches(QKeySequence::Copy)) {
        copy('\t');
        return;
    }
    // T belongs to the view around, not to the type-ahead search.
    if (event->key() == Qt::Key_T && event->modifiers() == Qt::NoModifier) {
        event->ignore();
        return;
    }
    QTableView::keyPressEvent(event);
}

void DataTable::contextMenuEvent(QContextMenuEvent* event)
{
    QMenu menu(this);
    menu.addAction(tr("Copy as TSV"), this, [this] { copy('\t'); });
    menu.addAction(tr("Copy as CSV"), this, [this] { copy(','); });
    menu.exec(event->globalPos());
}

} // namespace halftone
