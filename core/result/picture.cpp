// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/result/picture.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <optional>
#include <unordered_map>

namespace halftone {

namespace {

using Mark = Trace::Mark;

/// One column with its texts when it is a Name column.
struct Values {
    std::vector<double> numbers;
    std::vector<std::string> names;
    bool named = false;
};

struct Counts {
    std::int64_t notFinite = 0, notPositive = 0, noSize = 0;
    std::int64_t all() const { return notFinite + notPositive + noSize; }
};

/// Positions of names on an axis, shared by all traces of a figure.
class Positions {
public:
    explicit Positions(std::vector<std::string>& names) : m_names(names) {}
    double of(const std::string& name)
    {
        const auto [it, fresh] = m_index.try_emplace(name, static_cast<double>(m_names.size()));
        if (fresh) m_names.push_back(name);
        return it->second;
    }

private:
    std::vector<std::string>& m_names;
    std::unordered_map<std::string, double> m_index;
};

Result<Values> read(const ResultReader& results, const std::string& table, const std::string& column)
{
    Values out;
    HALFTONE_TRY(numbers, results.column(table, column));
    out.numbers = std::move(numbers);
    for (const TableSchema& schema : results.tables())
        if (schema.name == table)
            if (const Column* c = schema.find(column)) out.named = c->type == Column::Type::Name;
    if (!out.named) return out;
    HALFTONE_TRY(names, results.names(table, column));
    out.names = std::move(names);
    return out;
}

Result<std::optional<Values>> readOptional(const ResultReader& results, const Trace& trace,
                                           const std::string& column)
{
    if (column.empty()) return std::optional<Values>();
    HALFTONE_TRY(values, read(results, trace.table, column));
    return std::optional<Values>(std::move(values));
}

Result<std::optional<Values>> readNames(const ResultReader& results, const Trace& trace,
                                        const std::string& column)
{
    HALFTONE_TRY(values, readOptional(results, trace, column));
    if (values && !values->named)
        return Error(
            Errc::InvalidArgument,
            fmt::format("table {}: column {} holds numbers, and names are needed", trace.table, column));
    return std::move(values);
}

std::size_t nameIndex(const Values& values, std::size_t row)
{
    // Readers check indices; a job may have added a name between two reads, which the next picture shows.
    const double v = values.numbers[row];
    return v >= 0 && v < static_cast<double>(values.names.size()) ? static_cast<std::size_t>(v)
                                                                  : values.names.size();
}

/// All columns of one trace.
struct Rows {
    std::optional<Values> x, y, z, text, where;
    std::vector<std::vector<double>> spread; ///< boxes: four columns
    std::size_t count = 0;
};

Result<Rows> readRows(const ResultReader& results, const Trace& trace)
{
    Rows rows;
    HALFTONE_TRY(x, readOptional(results, trace, trace.x));
    HALFTONE_TRY(y, readOptional(results, trace, trace.y));
    const bool classes = trace.mark == Mark::Rectangles;
    HALFTONE_TRY(z, classes ? readNames(results, trace, trace.z) : readOptional(results, trace, trace.z));
    HALFTONE_TRY(text, readNames(results, trace, trace.text));
    HALFTONE_TRY(where, readNames(results, trace, trace.where));
    if (!x && !y) return Error(Errc::InvalidArgument, fmt::format("trace {} has no columns", trace.label));
    if (trace.mark != Mark::Rectangles && (!x || !y))
        return Error(Errc::InvalidArgument,
                     fmt::format("trace {} needs a column for x and for y", trace.label));
    if (trace.mark == Mark::Cells && !z)
        return Error(Errc::InvalidArgument,
                     fmt::format("trace {} needs a column for the cells", trace.label));
    if (trace.mark == Mark::Boxes)
        for (const std::string& column : trace.spread) {
            HALFTONE_TRY(values, read(results, trace.table, column));
            if (values.named)
                return Error(Errc::InvalidArgument,
                             fmt::format("table {}: column {} holds names, and numbers are needed",
                                         trace.table, column));
            rows.spread.push_back(std::move(values.numbers));
        }
    rows.x = std::move(x);
    rows.y = std::move(y);
    rows.z = std::move(z);
    rows.text = std::move(text);
    rows.where = std::move(where);
    // A job may append between two columns: only rows that all of them have.
    rows.count = SIZE_MAX;
    for (const auto* column : {&rows.x, &rows.y, &rows.z, &rows.text, &rows.where})
        if (*column) rows.count = std::min(rows.count, (*column)->numbers.size());
    for (const auto& column : rows.spread)
        rows.count = std::min(rows.count, column.size());
    return rows;
}

class SeriesBuilder {
public:
    SeriesBuilder(const FigureSpec& spec, const Trace& trace, Rows rows, Positions& xs, Positions& ys)
        : m_spec(spec), m_trace(trace), m_rows(std::move(rows)), m_xs(xs), m_ys(ys)
    {
    }

    Series build(Counts& dropped)
    {
        Series out;
        out.label = m_trace.label;
        out.mark = m_trace.mark;
        if (m_rows.text) out.names = m_rows.text->names;
        if (m_trace.mark == Mark::Rectangles && m_rows.z) out.categories = m_rows.z->names;
        for (std::size_t row = 0; row < m_rows.count; ++row)
            if (chosen(row)) addRow(out, row, dropped);
        if (m_trace.hull) out.hull = upperLeftHull(out.x, out.y);
        return out;
    }

private:
    bool chosen(std::size_t row) const
    {
        if (!m_rows.where) return true;
        const std::size_t name = nameIndex(*m_rows.where, row);
        return name < m_rows.where->names.size() && m_rows.where->names[name] == m_trace.is;
    }
    double position(const Values& values, std::size_t row, Positions& positions) const
    {
        if (!values.named) return values.numbers[row];
        const std::size_t name = nameIndex(values, row);
        return name < values.names.size() ? positions.of(values.names[name])
                                          : std::numeric_limits<double>::quiet_NaN();
    }
    void addRow(Series& out, std::size_t row, Counts& dropped)
    {
        const bool sizes = m_trace.mark == Mark::Rectangles;
        double x = 0, y = 0, z = 0;
        if (sizes) {
            y = m_rows.y ? m_rows.y->numbers[row] : m_rows.x->numbers[row];
            x = static_cast<double>(out.x.size());
        } else {
            // Positions are given to the rows that are shown, so what is checked first is what can drop one.
            z = m_rows.z ? m_rows.z->numbers[row] : 0;
            if (!m_rows.x->named) x = m_rows.x->numbers[row];
            if (!m_rows.y->named) y = m_rows.y->numbers[row];
        }
        std::array<double, 4> spread{};
        for (std::size_t k = 0; k < m_rows.spread.size(); ++k)
            spread[k] = m_rows.spread[k][row];
        const bool whole =
            std::all_of(spread.begin(), spread.end(), [](double v) { return std::isfinite(v); });
        if (!std::isfinite(x) || !std::isfinite(y) || !std::isfinite(z) || !whole) {
            ++dropped.notFinite;
            return;
        }
        if (sizes && y <= 0) {
            ++dropped.noSize;
            return;
        }
        if (!sizes &&
            ((m_spec.x.log && !m_rows.x->named && x <= 0) || (m_spec.y.log && !m_rows.y->named && y <= 0) ||
             (m_spec.z.log && m_trace.mark == Mark::Cells && z <= 0) ||
             (m_spec.y.log && m_trace.mark == Mark::Boxes && spread[0] <= 0))) {
            ++dropped.notPositive;
            return;
        }
        if (!sizes && m_rows.x->named) x = position(*m_rows.x, row, m_xs);
        if (!sizes && m_rows.y->named) y = position(*m_rows.y, row, m_ys);
        if (!std::isfinite(x) || !std::isfinite(y)) return;
        out.x.push_back(x);
        out.y.push_back(y);
        if (!sizes && m_rows.z) out.z.push_back(z);
        if (!m_rows.spread.empty()) out.spread.push_back(spread);
        if (m_rows.text) out.text.push_back(indexOrNone(*m_rows.text, row, out.names));
        if (sizes && m_rows.z) out.category.push_back(indexOrNone(*m_rows.z, row, out.categories));
        out.sourceRow.push_back(static_cast<std::uint32_t>(row));
    }
    static std::uint32_t indexOrNone(const Values& values, std::size_t row, std::vector<std::string>& names)
    {
        const std::size_t name = nameIndex(values, row);
        if (name < values.names.size()) return static_cast<std::uint32_t>(name);
        if (names.size() == values.names.size()) names.emplace_back();
        return static_cast<std::uint32_t>(names.size() - 1);
    }

    const FigureSpec& m_spec;
    const Trace& m_trace;
    Rows m_rows;
    Positions& m_xs;
    Positions& m_ys;
};

std::string noteOf(const Counts& c)
{
    std::vector<std::string> parts;
    const auto add = [&](std::int64_t n, const char* one, const char* many) {
        if (n != 0) parts.push_back(fmt::format("{} {} not shown", n, n == 1 ? one : many));
    };
    if (c.notPositive != 0) // the wording that every view uses
        parts.push_back(fmt::format("{} {} <= 0 not shown on the log axis", c.notPositive,
                                    c.notPositive == 1 ? "value" : "values"));
    add(c.notFinite, "value that is not finite", "values that are not finite");
    add(c.noSize, "entry without a size", "entries without a size");
    return fmt::format("{}", fmt::join(parts, "; "));
}

} // namespace

Result<Picture> pictureOf(const FigureSpec& spec, const ResultReader& results)
{
    Picture picture;
    picture.spec = spec;
    Positions xs(picture.xNames), ys(picture.yNames);
    Counts dropped;
    for (const Trace& trace : spec.traces) {
        auto rows = readRows(results, trace).in(fmt::format("figure {}", spec.id));
        if (!rows) return std::move(rows).error();
        picture.series.push_back(SeriesBuilder(spec, trace, *std::move(rows), xs, ys).build(dropped));
    }
    picture.dropped = dropped.all();
    picture.note = noteOf(dropped);
    return picture;
}

} // namespace halftone
