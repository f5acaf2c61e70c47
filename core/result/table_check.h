// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/base/export.h"
#include "core/base/result.h"
#include "core/result/figure.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace halftone {

// What all writers of results check alike.

/// The distinct texts of one Name column, in order of first use.
class NameDictionary {
public:
    std::uint32_t id(std::string_view text);
    const std::vector<std::string>& names() const { return m_names; }

private:
    std::vector<std::string> m_names;
    std::unordered_map<std::string, std::uint32_t> m_index;
};

/// nameId() of every writer: NaN, which append() refuses, when the column holds no names.
HALFTONE_API double dictionaryId(const TableSchema& schema, std::vector<NameDictionary>& names,
                                 std::size_t column, std::string_view text);

/// Table and column names present, UTF-8 and unique, also against the dictionaries' "<column>_names".
HALFTONE_API Status checkSchema(const TableSchema& schema);
/// The same columns in the same order; helps may differ.
HALFTONE_API bool sameColumns(const TableSchema& a, const TableSchema& b);
/// One value a column; whole numbers in Integer columns, known indices in Name columns.
HALFTONE_API Status checkRow(const TableSchema& schema, const std::vector<NameDictionary>& names,
                             std::span<const double> row);
/// The same for columns of one length.
HALFTONE_API Status checkColumns(const TableSchema& schema, const std::vector<NameDictionary>& names,
                                 std::span<const std::span<const double>> columns);
/// Name present, sizes positive, their product equal to the number of values.
HALFTONE_API Status checkArray(std::string_view name, std::span<const std::int64_t> dims, std::size_t values);
HALFTONE_API Status checkFigure(const FigureSpec& spec);
/// Index of a column. NotFound names the table, the column and what there is.
HALFTONE_API Result<std::size_t> findColumn(std::span<const TableSchema> tables, std::string_view table,
                                            std::string_view column);
/// "there is no array 'x'; there are: a, b".
HALFTONE_API Error missing(std::string_view what, std::string_view name, std::span<const std::string> known);
HALFTONE_API Error otherColumns(std::string_view table);
HALFTONE_API Error doubleArray(std::string_view name);
HALFTONE_API Error noNames(std::string_view table, std::string_view column);
/// `text` with U+FFFD in the place of each byte that is not UTF-8 and of each zero byte: files keep text.
HALFTONE_API std::string cleanText(std::string_view text);

} // namespace halftone
