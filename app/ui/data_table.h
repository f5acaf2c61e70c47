// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/models/table_data.h"

#include <QTableView>

namespace halftone {

/// Numbers as a table: sorts, copies what is selected (or all) with its header line at full precision.
class DataTable : public QTableView {
    Q_OBJECT
public:
    explicit DataTable(QWidget* parent = nullptr);
    void setTable(std::shared_ptr<const TableData> table);
    const std::shared_ptr<const TableData>& table() const { return m_model->table(); }
    TableDataModel* tableModel() const { return m_model; }
    /// The selected rows as text, all of them when none is selected, in the order shown.
    QString text(char separator) const;
    void copy(char separator);

Q_SIGNALS:
    /// A row was activated: its number in the table, whatever the order shown.
    void rowActivated(std::size_t row);

protected:
    void keyPressEvent(QKeyEvent* event) override;
    void contextMenuEvent(QContextMenuEvent* event) override;

private:
    TableDataModel* m_model;
};

} // namespace halftone
