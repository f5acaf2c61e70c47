// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/text.h"
#include "core/result/picture.h"
#include "core/result/table_check.h"

#include <algorithm>
#include <new>

namespace halftone {

namespace {

/// One field after RFC 4180: quoted when it holds a comma, a quote or a line break.
std::string field(std::string_view text)
{
    if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
    std::string out = "\"";
    for (char c : text) {
        if (c == '"') out += '"';
        out += c;
    }
    return out + "\"";
}

std::string header(const Axis& axis, const char* fallback)
{
    const std::string name = axis.label.empty() ? fallback : axis.label;
    return field(axis.unit.empty() ? name : name + " (" + axis.unit + ")");
}

std::string position(double at, const std::vector<std::string>& names)
{
    const auto index = static_cast<std::size_t>(std::clamp(at, 0.0, 1e15));
    const bool named = index < names.size() && static_cast<double>(index) == at;
    return named ? field(names[index]) : exactNumber(at);
}

} // namespace

std::string renderCsv(const Picture& picture)
{
    const FigureSpec& spec = picture.spec;
    bool texts = false, z = false, categories = false, hull = false, spread = false;
    for (const Series& s : picture.series) {
        texts |= !s.text.empty();
        z |= !s.z.empty();
        categories |= !s.category.empty();
        hull |= !s.hull.empty();
        spread |= !s.spread.empty();
    }
    const bool sizes = spec.kind == "treemap";
    std::string out = "series";
    if (texts) out += ",name";
    if (categories) out += ",class";
    if (!sizes) out += "," + header(spec.x, "x");
    out += "," + header(spec.y, sizes ? "size" : "y");
    if (z) out += "," + header(spec.z, "z");
    if (spread)
        for (const char* name : kSpreadNames)
            out += std::string(",") + name;
    if (hull) out += ",hull";
    out += "\n";
    for (const Series& s : picture.series) {
        const std::string label = field(s.label);
        std::vector<bool> onHull(s.x.size());
        for (std::uint32_t i : s.hull)
            onHull[i] = true;
        for (std::size_t i = 0; i < s.x.size(); ++i) {
            out += label;
            if (texts) out += "," + (s.text.empty() ? std::string() : field(s.names[s.text[i]]));
            if (categories)
                out += "," + (s.category.empty() ? std::string() : field(s.categories[s.category[i]]));
            if (!sizes) out += "," + position(s.x[i], picture.xNames);
            out += "," + position(s.y[i], picture.yNames);
            if (z) out += "," + (s.z.empty() ? std::string() : exactNumber(s.z[i]));
            if (spread)
                for (std::size_t k = 0; k < kSpreadNames.size(); ++k)
                    out += "," + (s.spread.empty() ? std::string() : exactNumber(s.spread[i][k]));
            if (hull) out += onHull[i] ? ",1" : ",0";
            out += "\n";
        }
    }
    return out;
}

Result<std::string> tableCsv(const ResultReader& results, std::string_view table)
{
    const std::vector<TableSchema> tables = results.tables();
    const auto schema =
        std::find_if(tables.begin(), tables.end(), [&](const auto& t) { return t.name == table; });
    if (schema == tables.end()) {
        std::vector<std::string> known;
        known.reserve(tables.size());
        for (const TableSchema& t : tables)
            known.push_back(t.name);
        return missing("table", table, known);
    }
    std::string out;
    std::vector<std::vector<double>> columns;
    std::vector<std::vector<std::string>> names;
    std::size_t rows = static_cast<std::size_t>(results.rows(table));
    for (const Column& c : schema->columns) {
        out += (out.empty() ? "" : ",") + field(c.name);
        HALFTONE_TRY(values, results.column(table, c.name));
        rows = std::min(rows, values.size());
        columns.push_back(std::move(values));
        names.emplace_back();
        if (c.type != Column::Type::Name) continue;
        HALFTONE_TRY(texts, results.names(table, c.name));
        for (const std::string& text : texts)
            names.back().push_back(field(text));
    }
    out += "\n";
    try {
        for (std::size_t row = 0; row < rows; ++row)
            for (std::size_t c = 0; c < columns.size(); ++c) {
                const double v = columns[c][row];
                if (schema->columns[c].type == Column::Type::Name)
                    out += names[c][static_cast<std::size_t>(v)];
                else if (schema->columns[c].type == Column::Type::Integer)
                    out += std::to_string(static_cast<std::int64_t>(v)); // never 1e+06
                else
                    out += exactNumber(v);
                out += c + 1 == columns.size() ? "\n" : ",";
            }
    } catch (const std::bad_alloc&) {
        return Error(Errc::OutOfMemory, "the table is too large to be written as one text");
    }
    return out;
}

} // namespace halftone
