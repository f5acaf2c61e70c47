// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/models/table_data.h"

#include "app/host/strings.h"
#include "core/base/text.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>

namespace halftone {

std::string TableData::cell(std::size_t row, std::size_t column) const
{
    const Col& col = columns[column];
    const double value = col.values[row];
    if (col.names.empty()) return exactNumber(value);
    return value >= 0 && value < static_cast<double>(col.names.size())
               ? col.names[static_cast<std::size_t>(value)]
               : std::string();
}

std::string TableData::text(std::span<const std::size_t> rowList, char separator) const
{
    std::string out;
    const auto put = [&](const std::string& field) {
        if (field.find_first_of(std::string{separator, '"', '\n'}) == std::string::npos) {
            out += field;
            return;
        }
        out += '"';
        for (const char c : field)
            out += c == '"' ? std::string("\"\"") : std::string(1, c);
        out += '"';
    };
    for (std::size_t c = 0; c < columns.size(); ++c) {
        if (c > 0) out += separator;
        put(columns[c].title);
    }
    out += '\n';
    for (const std::size_t r : rowList) {
        for (std::size_t c = 0; c < columns.size(); ++c) {
            if (c > 0) out += separator;
            put(cell(r, c));
        }
        out += '\n';
    }
    return out;
}

std::string TableData::text(char separator) const
{
    std::vector<std::size_t> all(rows());
    std::iota(all.begin(), all.end(), std::size_t{0});
    return text(all, separator);
}

const TableData::Col* TableData::find(std::string_view title) const
{
    for (const Col& col : columns)
        if (col.title == title) return &col;
    return nullptr;
}

Result<TableData> readTable(const ResultReader& results, std::string_view table)
{
    TableData out;
    for (const TableSchema& schema : results.tables()) {
        if (schema.name != table) continue;
        std::size_t shortest = std::numeric_limits<std::size_t>::max();
        for (const Column& column : schema.columns) {
            TableData::Col col{column.name, column.unit, column.help, {}, {}};
            HALFTONE_TRY(values, results.column(table, column.name));
            col.values = std::move(values);
            if (column.type == Column::Type::Name) {
                HALFTONE_TRY(names, results.names(table, column.name));
                col.names = std::move(names);
                if (col.names.empty()) col.names.emplace_back();
            }
            shortest = std::min(shortest, col.values.size());
            out.columns.push_back(std::move(col));
        }
        // A running job may have added a row between two columns.
        for (TableData::Col& col : out.columns)
            col.values.resize(shortest);
        return out;
    }
    return Error(Errc::NotFound, "the results hold no table \"" + std::string(table) + "\"");
}

TableData tableOf(const Picture& picture)
{
    TableData out;
    const auto title = [](const Axis& axis, const char* fallback) {
        return axis.label.empty() ? std::string(fallback) : axis.label;
    };
    TableData::Col series{"series", "", "", {}, {}};
    TableData::Col name{"name", "", "", {}, {}};
    TableData::Col x{title(picture.spec.x, "x"), picture.spec.x.unit, "", {}, {}};
    TableData::Col y{title(picture.spec.y, "y"), picture.spec.y.unit, "", {}, {}};
    TableData::Col z{title(picture.spec.z, "z"), picture.spec.z.unit, "", {}, {}};
    std::vector<TableData::Col> spread;
    spread.reserve(std::size(kSpreadNames));
    for (const char* what : kSpreadNames)
        spread.push_back({what, picture.spec.y.unit, "", {}, {}});
    bool anySpread = false;
    bool anyName = false;
    bool anyZ = false;
    bool anyY = false;
    name.names.emplace_back();
    for (std::size_t s = 0; s < picture.series.size(); ++s) {
        const Series& one = picture.series[s];
        series.names.push_back(one.label);
        const std::size_t base = name.names.size();
        name.names.insert(name.names.end(), one.names.begin(), one.names.end());
        for (std::size_t i = 0; i < one.x.size(); ++i) {
            const auto at = [i](const std::vector<double>& v) {
                return i < v.size() ? v[i] : std::numeric_limits<double>::quiet_NaN();
            };
            series.values.push_back(static_cast<double>(s));
            name.values.push_back(i < one.text.size() ? static_cast<double>(base + one.text[i]) : 0);
            x.values.push_back(one.x[i]);
            y.values.push_back(at(one.y));
            z.values.push_back(at(one.z));
            for (std::size_t k = 0; k < spread.size(); ++k)
                spread[k].values.push_back(i < one.spread.size() ? one.spread[i][k]
                                                                 : std::numeric_limits<double>::quiet_NaN());
        }
        anySpread = anySpread || !one.spread.empty();
        anyName = anyName || !one.text.empty();
        anyY = anyY || !one.y.empty();
        anyZ = anyZ || !one.z.empty();
    }
    if (picture.series.size() > 1) out.columns.push_back(std::move(series));
    if (anyName) out.columns.push_back(std::move(name));
    out.columns.push_back(std::move(x));
    if (anyY) out.columns.push_back(std::move(y));
    if (anyZ) out.columns.push_back(std::move(z));
    if (anySpread) std::move(spread.begin(), spread.end(), std::back_inserter(out.columns));
    return out;
}

void TableDataModel::setTable(std::shared_ptr<const TableData> table)
{
    beginResetModel();
    m_table = std::move(table);
    m_order.resize(m_table ? m_table->rows() : 0);
    std::iota(m_order.begin(), m_order.end(), std::size_t{0});
    endResetModel();
}

int TableDataModel::rowCount(const QModelIndex& parent) const
{
    return parent.isValid() ? 0 : static_cast<int>(m_order.size());
}

int TableDataModel::columnCount(const QModelIndex& parent) const
{
    return parent.isValid() || !m_table ? 0 : static_cast<int>(m_table->columns.size());
}

QVariant TableDataModel::data(const QModelIndex& index, int role) const
{
    if (!index.isValid()) return {};
    const auto c = static_cast<std::size_t>(index.column());
    const std::size_t r = sourceRow(index.row());
    const TableData::Col& col = m_table->columns[c];
    if (role == Qt::TextAlignmentRole)
        return QVariant::fromValue(col.names.empty() ? Qt::AlignRight | Qt::AlignVCenter
                                                     : Qt::AlignLeft | Qt::AlignVCenter);
    // Four digits on screen, all of them in the tool tip and in copies.
    if (role == Qt::ToolTipRole || role == Qt::EditRole) return toQt(m_table->cell(r, c));
    if (role != Qt::DisplayRole) return {};
    if (!col.names.empty()) return toQt(m_table->cell(r, c));
    const double value = col.values[r];
    // An infinite ratio of signal to noise is no number that anybody reads.
    if (std::isinf(value) && value > 0 && col.unit == "dB") return tr("no error");
    // Counts are shown whole: a rounded row number would be a wrong one.
    if (value == std::floor(value) && std::abs(value) < 1e15) return QString::number(value, 'f', 0);
    return toQt(shortNumber(value));
}

QVariant TableDataModel::headerData(int section, Qt::Orientation orientation, int role) const
{
    if (!m_table || section < 0) return {};
    if (orientation == Qt::Vertical) return role == Qt::DisplayRole ? QVariant(section + 1) : QVariant();
    if (static_cast<std::size_t>(section) >= m_table->columns.size()) return {};
    const TableData::Col& col = m_table->columns[static_cast<std::size_t>(section)];
    if (role == Qt::ToolTipRole) return toQt(col.help);
    if (role != Qt::DisplayRole) return {};
    return col.unit.empty() ? toQt(col.title) : toQt(col.title + " [" + col.unit + "]");
}

void TableDataModel::sort(int column, Qt::SortOrder order)
{
    if (!m_table || column < 0 || static_cast<std::size_t>(column) >= m_table->columns.size()) return;
    const TableData::Col& col = m_table->columns[static_cast<std::size_t>(column)];
    Q_EMIT layoutAboutToBeChanged();
    const QModelIndexList before = persistentIndexList();
    const std::vector<std::size_t> old = m_order;
    std::iota(m_order.begin(), m_order.end(), std::size_t{0});
    const bool up = order == Qt::AscendingOrder;
    std::stable_sort(m_order.begin(), m_order.end(), [&](std::size_t a, std::size_t b) {
        if (!col.names.empty()) {
            const int c = m_table->cell(a, static_cast<std::size_t>(column))
                              .compare(m_table->cell(b, static_cast<std::size_t>(column)));
            return up ? c < 0 : c > 0;
        }
        const double x = col.values[a];
        const double y = col.values[b];
        if (std::isnan(x) || std::isnan(y)) return !std::isnan(x) && std::isnan(y);
        return up ? x < y : y < x;
    });
    std::vector<std::size_t> rowOf(m_order.size());
    for (std::size_t i = 0; i < m_order.size(); ++i)
        rowOf[m_order[i]] = i;
    QModelIndexList after;
    for (const QModelIndex& i : before)
        after.push_back(index(static_cast<int>(rowOf[old[static_cast<std::size_t>(i.row())]]), i.column()));
    changePersistentIndexList(before, after);
    Q_EMIT layoutChanged();
}

} // namespace halftone
