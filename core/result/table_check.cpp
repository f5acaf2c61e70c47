// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/result/table_check.h"

#include "core/base/checked.h"
#include "core/base/text.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <set>

namespace halftone {

namespace {

Error refused(std::string text) { return {Errc::InvalidArgument, std::move(text)}; }

Status checkValue(const TableSchema& schema, const std::vector<NameDictionary>& names, std::size_t column,
                  double value)
{
    const Column& c = schema.columns[column];
    if (c.type == Column::Type::Real) return Ok{};
    // Above 2^53 a double no longer holds each whole number.
    if (c.type == Column::Type::Integer) {
        if (value == std::floor(value) && std::fabs(value) <= 0x1p53) return Ok{};
        return refused(fmt::format("table {}, column {}: {} is not a whole number", schema.name, c.name,
                                   exactNumber(value)));
    }
    const auto count = static_cast<double>(names[column].names().size());
    if (value == std::floor(value) && value >= 0 && value < count) return Ok{};
    return refused(fmt::format("table {}, column {}: {} is not the index of one of its {} names", schema.name,
                               c.name, exactNumber(value), count));
}

Status checkName(std::string_view what, std::string_view name)
{
    if (name.empty()) return refused(fmt::format("a {} has no name", what));
    if (!isUtf8(name) || name.find('\0') != std::string_view::npos)
        return refused(fmt::format("the name of a {} is not UTF-8 text: '{}'", what, cleanText(name)));
    return Ok{};
}

} // namespace

std::uint32_t NameDictionary::id(std::string_view text)
{
    std::string clean = cleanText(text);
    const auto next = static_cast<std::uint32_t>(m_names.size());
    const auto [it, fresh] = m_index.try_emplace(std::move(clean), next);
    if (fresh) m_names.push_back(it->first);
    return it->second;
}

double dictionaryId(const TableSchema& schema, std::vector<NameDictionary>& names, std::size_t column,
                    std::string_view text)
{
    if (column >= names.size() || schema.columns[column].type != Column::Type::Name)
        return std::numeric_limits<double>::quiet_NaN();
    return names[column].id(text);
}

Status checkSchema(const TableSchema& schema)
{
    HALFTONE_CHECK(checkName("table", schema.name));
    if (schema.columns.empty()) return refused(fmt::format("table {} has no columns", schema.name));
    std::set<std::string> used;
    for (const Column& c : schema.columns) {
        HALFTONE_CHECK(checkName("column", c.name).in(fmt::format("table {}", schema.name)));
        if (!used.insert(c.name).second)
            return refused(fmt::format("table {} has two columns named {}", schema.name, c.name));
    }
    for (const Column& c : schema.columns)
        if (c.type == Column::Type::Name && used.contains(c.name + "_names"))
            return refused(fmt::format("table {}: column {}_names has the name that the texts of column {} "
                                       "are stored under",
                                       schema.name, c.name, c.name));
    return Ok{};
}

bool sameColumns(const TableSchema& a, const TableSchema& b)
{
    return std::equal(a.columns.begin(), a.columns.end(), b.columns.begin(), b.columns.end(),
                      [](const Column& p, const Column& q) {
                          return p.name == q.name && p.type == q.type && p.unit == q.unit;
                      });
}

Status checkRow(const TableSchema& schema, const std::vector<NameDictionary>& names,
                std::span<const double> row)
{
    if (row.size() != schema.columns.size())
        return refused(fmt::format("table {}: a row of {} values for {} columns", schema.name, row.size(),
                                   schema.columns.size()));
    for (std::size_t c = 0; c < row.size(); ++c)
        HALFTONE_CHECK(checkValue(schema, names, c, row[c]));
    return Ok{};
}

Status checkColumns(const TableSchema& schema, const std::vector<NameDictionary>& names,
                    std::span<const std::span<const double>> columns)
{
    if (columns.size() != schema.columns.size())
        return refused(fmt::format("table {}: {} columns given for {}", schema.name, columns.size(),
                                   schema.columns.size()));
    for (std::size_t c = 0; c < columns.size(); ++c) {
        if (columns[c].size() != columns[0].size())
            return refused(fmt::format("table {}: column {} has {} values, column {} has {}", schema.name,
                                       schema.columns[c].name, columns[c].size(), schema.columns[0].name,
                                       columns[0].size()));
        if (schema.columns[c].type == Column::Type::Real) continue;
        for (double value : columns[c])
            HALFTONE_CHECK(checkValue(schema, names, c, value));
    }
    return Ok{};
}

Status checkArray(std::string_view name, std::span<const std::int64_t> dims, std::size_t values)
{
    HALFTONE_CHECK(checkName("array", name));
    constexpr std::size_t kMostDims = 32; // HDF5's own limit
    if (dims.empty() || dims.size() > kMostDims)
        return refused(
            fmt::format("array {}: {} dimensions, 1 to {} are possible", name, dims.size(), kMostDims));
    std::optional<std::int64_t> count = 1;
    for (std::int64_t d : dims) {
        if (d < 1) return refused(fmt::format("array {}: a dimension of {}", name, d));
        if (count) count = checkedMul(*count, d);
    }
    if (!count || static_cast<std::uint64_t>(*count) != values)
        return refused(
            fmt::format("array {}: {} values for dimensions {}", name, values, fmt::join(dims, " x ")));
    return Ok{};
}

Status checkFigure(const FigureSpec& spec) { return checkName("figure", spec.id); }

Error missing(std::string_view what, std::string_view name, std::span<const std::string> known)
{
    const std::string all = known.empty() ? fmt::format("there are no {}s", what)
                                          : fmt::format("there are: {}", fmt::join(known, ", "));
    return {Errc::NotFound, fmt::format("there is no {} '{}'; {}", what, name, all)};
}

Error otherColumns(std::string_view table)
{
    return refused(fmt::format("table {} exists with other columns", table));
}

Error doubleArray(std::string_view name) { return refused(fmt::format("array {} exists already", name)); }

Error noNames(std::string_view table, std::string_view column)
{
    return refused(fmt::format("table {}: column {} holds numbers, not names", table, column));
}

Result<std::size_t> findColumn(std::span<const TableSchema> tables, std::string_view table,
                               std::string_view column)
{
    std::vector<std::string> known;
    for (const TableSchema& t : tables) {
        known.push_back(t.name);
        if (t.name != table) continue;
        std::vector<std::string> columns;
        for (std::size_t c = 0; c < t.columns.size(); ++c) {
            if (t.columns[c].name == column) return c;
            columns.push_back(t.columns[c].name);
        }
        return missing("column", column, columns).in(fmt::format("table {}", table));
    }
    return missing("table", table, known);
}

std::string cleanText(std::string_view text)
{
    if (isUtf8(text) && text.find('\0') == std::string_view::npos) return std::string(text);
    constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
    std::string out;
    for (std::size_t i = 0; i < text.size();) {
        std::size_t length = 4;
        while (length > 0 && (i + length > text.size() || !isUtf8(text.substr(i, length))))
            --length;
        // A prefix of several ASCII bytes is also well-formed; one character at a time is taken.
        const auto lead = static_cast<unsigned char>(text[i]);
        if (length > 0 && lead < 0x80) length = 1;
        if (length == 0 || lead == 0)
            out += kReplacement;
        else
            out += text.substr(i, length);
        i += length == 0 ? 1 : length;
    }
    return out;
}

} // namespace halftone
