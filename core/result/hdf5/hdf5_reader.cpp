// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/result/hdf5/input.h"
#include "core/result/table_check.h"
#include "core/result/writer.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fmt/format.h>
#include <new>

namespace halftone {

namespace {

using namespace hdf5;

struct TableEntry {
    TableSchema schema;
    std::int64_t rows = 0;
};

Result<Column::Type> columnType(std::string_view name)
{
    if (name == "real") return Column::Type::Real;
    if (name == "integer") return Column::Type::Integer;
    if (name == "name") return Column::Type::Name;
    return Error(Errc::BadFormat, fmt::format("a column of unknown type '{}'", name));
}

std::string namesPlace(std::string_view table, std::string_view column)
{
    return "/tables/" + linkName(table) + "/" + linkName(std::string(column) + "_names");
}

/// Reads small things at once when it is opened, columns and arrays when they are asked for.
class Reader final : public ResultReader {
public:
    explicit Reader(std::string path) : m_path(std::move(path)) {}
    ~Reader() override
    {
        const Lock lock;
        m_input.close();
    }
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;

    Status open();
    const Provenance& provenance() const override { return m_provenance; }
    Outcome outcome() const override { return m_outcome; }
    std::vector<TableSchema> tables() const override { return m_schemas; }
    std::int64_t rows(std::string_view table) const override
    {
        const auto it = std::find_if(m_tables.begin(), m_tables.end(),
                                     [&](const auto& t) { return t.schema.name == table; });
        return it == m_tables.end() ? 0 : it->rows;
    }
    Result<std::vector<double>> column(std::string_view table, std::string_view column) const override;
    Result<std::vector<std::string>> names(std::string_view table, std::string_view column) const override;
    std::vector<FigureSpec> figures() const override { return m_figures; }
    std::vector<std::string> arrays() const override { return m_arrays; }
    Result<ArrayData> arrayData(std::string_view name) const override;
    std::vector<std::pair<std::string, std::string>> log() const override { return m_log; }

private:
    Status openLocked();
    Status readProvenance();
    Status readTables();
    Status readFigures();
    Status readLog();
    Result<TableEntry> readTable(const std::string& link) const;
    std::string where() const { return "file " + m_path; }

    const std::string m_path;
    Input m_input; // used under Lock only; the rest does not change after open()
    Provenance m_provenance;
    Outcome m_outcome = Outcome::Complete;
    std::vector<TableEntry> m_tables;
    std::vector<TableSchema> m_schemas;
    std::vector<FigureSpec> m_figures;
    std::vector<std::string> m_arrays;
    std::vector<std::pair<std::string, std::string>> m_log;
};

Status Reader::open()
{
    std::error_code error;
    if (!std::filesystem::exists(m_path, error)) {
        const bool part = std::filesystem::exists(m_path + ".part", error);
        const char* hint =
            part ? "; there is a .part file, left by a run that is going on or was stopped" : "";
        return Error(Errc::NotFound, fmt::format("there is no such file{}", hint)).in(where());
    }
    if (!std::filesystem::is_regular_file(m_path, error))
        return Error(Errc::Io, "this is not a file").in(where());
    const Lock lock;
    try {
        return openLocked().in(where());
    } catch (const std::bad_alloc&) {
        return Error(Errc::OutOfMemory, "there is not enough memory to read it").in(where());
    }
}

Status Reader::openLocked()
{
    HALFTONE_CHECK(m_input.open(m_path));
    auto format = m_input.readInt("/", "halftone_format");
    if (!format) return Error(Errc::BadFormat, "an HDF5 file, but not results of this program");
    if (*format != 1)
        return Error(Errc::Unsupported,
                     fmt::format("results of format {}; this program reads format 1", *format));
    if (!m_input.hasAttribute("/", "outcome"))
        return Error(Errc::BadFormat, "the run that writes it is going on or was killed: its results were "
                                      "never finished; run it again");
    HALFTONE_TRY(outcome, m_input.readText("/", "outcome"));
    const std::array all{Outcome::Complete, Outcome::Cancelled, Outcome::Failed};
    const auto known = std::find_if(all.begin(), all.end(), [&](Outcome o) { return nameOf(o) == outcome; });
    if (known == all.end()) return Error(Errc::BadFormat, fmt::format("the unknown outcome '{}'", outcome));
    m_outcome = *known;
    HALFTONE_CHECK(readProvenance());
    HALFTONE_CHECK(readTables());
    HALFTONE_TRY(arrays, m_input.links("/arrays"));
    for (const std::string& link : arrays)
        m_arrays.push_back(textOfLink(link));
    HALFTONE_CHECK(readFigures());
    return readLog();
}

Status Reader::readProvenance()
{
    Provenance& p = m_provenance;
    const std::string group = "/provenance";
    HALFTONE_TRY(version, m_input.readText("/", "version"));
    HALFTONE_TRY(created, m_input.readText("/", "created"));
    HALFTONE_TRY(method, m_input.readText(group, "method"));
    HALFTONE_TRY(methodVersion, m_input.readInt(group, "method_version"));
    HALFTONE_TRY(path, m_input.readText(group, "checkpoint_path"));
    HALFTONE_TRY(hash, m_input.readText(group, "checkpoint_hash"));
    HALFTONE_TRY(device, m_input.readText(group, "device"));
    HALFTONE_TRY(seed, m_input.readUnsigned(group, "seed"));
    HALFTONE_TRY(threads, m_input.readInt(group, "threads"));
    HALFTONE_TRY(params, m_input.readParams(group + "/parameters"));
    p.methodId = method;
    p.methodVersion = static_cast<int>(methodVersion);
    p.checkpointPath = path;
    p.checkpointHash = hash;
    p.device = device;
    p.programVersion = version;
    p.created = created;
    p.seed = seed;
    p.threads = static_cast<int>(threads);
    p.params = std::move(params);
    return Ok{};
}

Status Reader::readTables()
{
    HALFTONE_TRY(links, m_input.links("/tables"));
    for (const std::string& link : links) {
        auto table = readTable(link).in(fmt::format("table {}", textOfLink(link)));
        if (!table) return std::move(table).error();
        m_schemas.push_back(table->schema);
        m_tables.push_back(*std::move(table));
    }
    return Ok{};
}

Result<TableEntry> Reader::readTable(const std::string& link) const
{
    TableEntry entry;
    const std::string group = "/tables/" + link;
    entry.schema.name = textOfLink(link);
    HALFTONE_TRY(help, m_input.readText(group, "help"));
    entry.schema.help = help;
    HALFTONE_TRY(links, m_input.links(group));
    for (const std::string& columnLink : links) {
        const std::string place = fmt::format("{}/{}", group, columnLink);
        // The texts of a Name column carry no type: they belong to the column in front of them.
        if (!m_input.hasAttribute(place, "type")) continue;
        Column c;
        c.name = textOfLink(columnLink);
        HALFTONE_TRY(type, m_input.readText(place, "type"));
        HALFTONE_TRY(known, columnType(type));
        HALFTONE_TRY(unit, m_input.readText(place, "unit"));
        HALFTONE_TRY(columnHelp, m_input.readText(place, "help"));
        HALFTONE_TRY(dims, m_input.dims(place, known));
        c.type = known;
        c.unit = unit;
        c.help = columnHelp;
        if (dims.size() != 1)
            return Error(Errc::BadFormat, fmt::format("column {} has {} dimensions", c.name, dims.size()));
        if (entry.schema.columns.empty()) entry.rows = dims[0];
        if (dims[0] != entry.rows)
            return Error(Errc::BadFormat,
                         fmt::format("column {} has {} rows, the first has {}", c.name, dims[0], entry.rows));
        entry.schema.columns.push_back(std::move(c));
    }
    const Status sound = checkSchema(entry.schema);
    if (!sound) return Error(Errc::BadFormat, sound.error().what());
    return entry;
}

Status Reader::readFigures()
{
    HALFTONE_TRY(links, m_input.links("/figures"));
    for (const std::string& link : links) {
        HALFTONE_TRY(texts, m_input.texts("/figures/" + link));
        if (texts.size() != 1)
            return Error(Errc::BadFormat, fmt::format("figure {} is not one text", textOfLink(link)));
        auto spec = figureFromJson(texts[0]).in(fmt::format("figure {}", textOfLink(link)));
        if (!spec) return std::move(spec).error();
        m_figures.push_back(*std::move(spec));
    }
    return Ok{};
}

Status Reader::readLog()
{
    HALFTONE_TRY(lines, m_input.texts("/log"));
    for (const std::string& line : lines) {
        const std::size_t tab = std::min(line.find('\t'), line.size());
        m_log.emplace_back(line.substr(0, tab), line.substr(std::min(tab + 1, line.size())));
    }
    return Ok{};
}

Result<std::vector<double>> Reader::column(std::string_view table, std::string_view column) const
{
    HALFTONE_TRY(index, findColumn(m_schemas, table, column));
    const auto t =
        std::find_if(m_schemas.begin(), m_schemas.end(), [&](const auto& s) { return s.name == table; });
    const Column& c = t->columns[index];
    const Lock lock;
    try {
        const std::string place = "/tables/" + linkName(table) + "/" + linkName(column);
        auto values = m_input.reals(place, c.type);
        if (!values) return std::move(values).in(where());
        if (static_cast<std::int64_t>(values->size()) != rows(table))
            return Error(Errc::BadFormat, fmt::format("column {} changed while it was open", column))
                .in(where());
        if (c.type != Column::Type::Name) return values;
        auto texts = m_input.textCount(namesPlace(table, column));
        if (!texts) return std::move(texts).error().in(where());
        const auto count = static_cast<double>(*texts);
        for (double v : *values)
            if (v < 0 || v >= count)
                return Error(Errc::BadFormat, fmt::format("table {}, column {}: index {} of {} names", table,
                                                          column, v, *texts))
                    .in(where());
        return values;
    } catch (const std::bad_alloc&) {
        return Error(Errc::OutOfMemory, fmt::format("column {} needs more memory than there is", column))
            .in(where());
    }
}

Result<std::vector<std::string>> Reader::names(std::string_view table, std::string_view column) const
{
    HALFTONE_TRY(index, findColumn(m_schemas, table, column));
    const auto t =
        std::find_if(m_schemas.begin(), m_schemas.end(), [&](const auto& s) { return s.name == table; });
    if (t->columns[index].type != Column::Type::Name) return noNames(table, column);
    const Lock lock;
    try {
        return m_input.texts(namesPlace(table, column)).in(where());
    } catch (const std::bad_alloc&) {
        return Error(Errc::OutOfMemory, fmt::format("the names of {} need more memory than there is", column))
            .in(where());
    }
}

Result<ArrayData> Reader::arrayData(std::string_view name) const
{
    if (std::find(m_arrays.begin(), m_arrays.end(), name) == m_arrays.end())
        return missing("array", name, m_arrays);
    const Lock lock;
    try {
        return m_input.array("/arrays/" + linkName(name), std::string(name)).in(where());
    } catch (const std::bad_alloc&) {
        return Error(Errc::OutOfMemory, fmt::format("array {} needs more memory than there is", name))
            .in(where());
    }
}

} // namespace

Result<std::shared_ptr<const ResultReader>> openHdf5(const std::string& path)
{
    auto reader = std::make_shared<Reader>(path);
    HALFTONE_CHECK(reader->open());
    return std::shared_ptr<const ResultReader>(std::move(reader));
}

Status copyResults(const ResultReader& reader, ResultWriter& writer)
{
    for (const TableSchema& schema : reader.tables()) {
        HALFTONE_TRY(table, writer.table(schema));
        std::vector<std::vector<double>> columns;
        std::size_t rows = static_cast<std::size_t>(reader.rows(schema.name));
        for (std::size_t c = 0; c < schema.columns.size(); ++c) {
            HALFTONE_TRY(values, reader.column(schema.name, schema.columns[c].name));
            if (schema.columns[c].type == Column::Type::Name) {
                HALFTONE_TRY(names, reader.names(schema.name, schema.columns[c].name));
                // By text, and not by index: a broken file may hold a name twice.
                std::vector<double> ids;
                ids.reserve(names.size());
                for (const std::string& name : names)
                    ids.push_back(table->nameId(c, name));
                for (double& v : values)
                    v = ids[static_cast<std::size_t>(v)];
            }
            rows = std::min(rows, values.size());
            columns.push_back(std::move(values));
        }
        // A job may have appended since the first column was read: only rows that all of them have.
        std::vector<std::span<const double>> parts;
        parts.reserve(columns.size());
        for (const auto& column : columns)
            parts.push_back(std::span(column).first(rows));
        HALFTONE_CHECK(table->appendColumns(parts));
    }
    for (const std::string& name : reader.arrays()) {
        HALFTONE_TRY(a, reader.arrayData(name));
        HALFTONE_CHECK(writer.array(a.name, a.dims, a.values, a.unit, a.help));
    }
    for (const FigureSpec& figure : reader.figures())
        HALFTONE_CHECK(writer.figure(figure));
    for (const auto& [level, text] : reader.log()) {
        LogLevel known = LogLevel::Info;
        for (LogLevel l : {LogLevel::Trace, LogLevel::Debug, LogLevel::Warning, LogLevel::Error})
            if (logLevelName(l) == level) known = l;
        HALFTONE_CHECK(writer.line(known, text));
    }
    return Ok{};
}

Status saveHdf5(const ResultReader& reader, const std::string& path)
{
    HALFTONE_TRY(writer, Hdf5Writer::create(path, reader.provenance()));
    HALFTONE_CHECK(copyResults(reader, *writer));
    return writer->commit(reader.outcome());
}

} // namespace halftone
