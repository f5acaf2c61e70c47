// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/base/export.h"
#include "core/base/result.h"
#include "core/model/model.h"
#include "core/numeric/error_stats.h"
#include "core/result/writer.h"

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace halftone {

// What the tables of weights share, declared once: which weight a row is about, and what it lost.

/// name, id, layer, class. They come first in a table.
HALFTONE_API std::vector<Column> weightColumns();
/// mse, nmse, sqnr_db, max_error, crest_factor, clipped, underflowed.
HALFTONE_API std::vector<Column> errorColumns();
/// Several lists of columns, one after the other.
HALFTONE_API std::vector<Column> joinColumns(std::initializer_list<std::vector<Column>> lists);

/// One row of a table, built from left to right.
class HALFTONE_API TableRow {
public:
    explicit TableRow(TableWriter& table) : m_table(table) {}
    TableRow& number(double value);
    TableRow& number(std::int64_t value) { return number(static_cast<double>(value)); }
    /// A name column.
    TableRow& name(std::string_view text);
    /// The values of weightColumns().
    TableRow& weight(std::string_view name, const WeightRole& role);
    /// The values of errorColumns().
    TableRow& errors(const ErrorStats& stats);
    Status append() { return m_table.append(m_values); }

private:
    TableWriter& m_table;
    std::vector<double> m_values;
};

} // namespace halftone
