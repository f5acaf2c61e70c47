// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/base/result.h"
#include "core/result/picture.h"
#include "core/result/writer.h"

#include <QAbstractTableModel>
#include <QString>

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace halftone {

/// A table of numbers and names, whole and immutable: what stands behind a view.
struct TableData {
    struct Col {
        std::string title, unit, help;
        std::vector<double> values;     ///< numbers, or indices into `names`
        std::vector<std::string> names; ///< dictionary; empty: numbers
    };
    std::vector<Col> columns;
    std::size_t rows() const { return columns.empty() ? 0 : columns.front().values.size(); }
    /// One cell at full precision, independent of the locale.
    std::string cell(std::size_t row, std::size_t column) const;
    /// Header line and the given rows; fields are quoted where the separator needs it.
    std::string text(std::span<const std::size_t> rows, char separator) const;
    std::string text(char separator) const;
    const Col* find(std::string_view title) const;
};

/// One table of a run. Reads files: not on the window's thread.
Result<TableData> readTable(const ResultReader& results, std::string_view table);
/// The numbers behind a picture: one row a point.
TableData tableOf(const Picture& picture);

/// An item model over a TableData with its own order of rows.
class TableDataModel : public QAbstractTableModel {
    Q_OBJECT
public:
    using QAbstractTableModel::QAbstractTableModel;
    void setTable(std::shared_ptr<const TableData> table);
    const std::shared_ptr<const TableData>& table() const { return m_table; }
    /// The table's row behind a row of the model.
    std::size_t sourceRow(int row) const { return m_order[static_cast<std::size_t>(row)]; }
    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;
    void sort(int column, Qt::SortOrder order = Qt::AscendingOrder) override;

private:
    std::shared_ptr<const TableData> m_table;
    std::vector<std::size_t> m_order;
};

} // namespace halftone
