// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/result/table_check.h"
#include "core/result/writer.h"

#include <algorithm>
#include <fmt/format.h>
#include <mutex>

namespace halftone {

namespace {

struct MemoryTable {
    TableSchema schema;
    std::vector<std::vector<double>> columns;
    std::vector<NameDictionary> names;
};

/// All that is held, with the one lock that guards it. Shared with the table writers, which a method may
/// keep longer than the results.
struct Store {
    mutable std::mutex mutex;
    std::vector<std::shared_ptr<MemoryTable>> tables; // a vector: in order of creation
    std::vector<ArrayData> arrays;
    std::vector<FigureSpec> figures;
    std::vector<std::pair<std::string, std::string>> log;
    Outcome outcome = Outcome::Cancelled;
    std::uint64_t revision = 0;

    std::shared_ptr<MemoryTable> find(std::string_view name) const
    {
        for (const auto& t : tables)
            if (t->schema.name == name) return t;
        return nullptr;
    }
};

class MemoryTableWriter final : public TableWriter {
public:
    MemoryTableWriter(std::shared_ptr<Store> store, std::shared_ptr<MemoryTable> table)
        : m_store(std::move(store)), m_table(std::move(table))
    {
    }
    const TableSchema& schema() const override { return m_table->schema; }
    double nameId(std::size_t column, std::string_view text) override
    {
        const std::lock_guard lock(m_store->mutex);
        return dictionaryId(m_table->schema, m_table->names, column, text);
    }
    Status append(std::span<const double> row) override
    {
        const std::lock_guard lock(m_store->mutex);
        HALFTONE_CHECK(checkRow(m_table->schema, m_table->names, row));
        for (std::size_t c = 0; c < row.size(); ++c)
            m_table->columns[c].push_back(row[c]);
        ++m_store->revision;
        return Ok{};
    }
    Status appendColumns(std::span<const std::span<const double>> columns) override
    {
        const std::lock_guard lock(m_store->mutex);
        HALFTONE_CHECK(checkColumns(m_table->schema, m_table->names, columns));
        for (std::size_t c = 0; c < columns.size(); ++c)
            m_table->columns[c].insert(m_table->columns[c].end(), columns[c].begin(), columns[c].end());
        ++m_store->revision;
        return Ok{};
    }

private:
    std::shared_ptr<Store> m_store;
    std::shared_ptr<MemoryTable> m_table;
};

class Memory final : public MemoryResults {
public:
    explicit Memory(Provenance provenance) : m_provenance(std::move(provenance)) {}

    Result<std::shared_ptr<TableWriter>> table(const TableSchema& schema) override
    {
        HALFTONE_CHECK(checkSchema(schema));
        const std::lock_guard lock(m_store->mutex);
        std::shared_ptr<MemoryTable> table = m_store->find(schema.name);
        if (table && !sameColumns(table->schema, schema)) return otherColumns(schema.name);
        if (!table) {
            table = std::make_shared<MemoryTable>();
            table->schema = schema;
            table->columns.resize(schema.columns.size());
            table->names.resize(schema.columns.size());
            m_store->tables.push_back(table);
            ++m_store->revision;
        }
        return std::shared_ptr<TableWriter>(std::make_shared<MemoryTableWriter>(m_store, table));
    }
    Status array(std::string_view name, std::span<const std::int64_t> dims, std::span<const float> values,
                 std::string_view unit, std::string_view help) override
    {
        HALFTONE_CHECK(checkArray(name, dims, values.size()));
        ArrayData data{std::string(name),
                       cleanText(unit),
                       cleanText(help),
                       {dims.begin(), dims.end()},
                       {values.begin(), values.end()}};
        const std::lock_guard lock(m_store->mutex);
        for (const ArrayData& a : m_store->arrays)
            if (a.name == name) return doubleArray(name);
        m_store->arrays.push_back(std::move(data));
        ++m_store->revision;
        return Ok{};
    }
    Status figure(const FigureSpec& spec) override
    {
        HALFTONE_CHECK(checkFigure(spec));
        const std::lock_guard lock(m_store->mutex);
        auto& figures = m_store->figures;
        const auto it =
            std::find_if(figures.begin(), figures.end(), [&](const auto& f) { return f.id == spec.id; });
        if (it == figures.end())
            figures.push_back(spec);
        else
            *it = spec;
        ++m_store->revision;
        return Ok{};
    }
    Status line(LogLevel level, std::string_view text) override
    {
        const std::lock_guard lock(m_store->mutex);
        m_store->log.emplace_back(std::string(logLevelName(level)), cleanText(text));
        ++m_store->revision;
        return Ok{};
    }

    const Provenance& provenance() const override { return m_provenance; }
    Outcome outcome() const override
    {
        const std::lock_guard lock(m_store->mutex);
        return m_store->outcome;
    }
    std::vector<TableSchema> tables() const override
    {
        const std::lock_guard lock(m_store->mutex);
        std::vector<TableSchema> out;
        for (const auto& t : m_store->tables)
            out.push_back(t->schema);
        return out;
    }
    std::int64_t rows(std::string_view table) const override
    {
        const std::lock_guard lock(m_store->mutex);
        const auto found = m_store->find(table);
        return found ? static_cast<std::int64_t>(found->columns[0].size()) : 0;
    }
    Result<std::vector<double>> column(std::string_view table, std::string_view column) const override
    {
        const std::lock_guard lock(m_store->mutex);
        HALFTONE_TRY(place, placeLocked(table, column));
        return place.first->columns[place.second];
    }
    Result<std::vector<std::string>> names(std::string_view table, std::string_view column) const override
    {
        const std::lock_guard lock(m_store->mutex);
        HALFTONE_TRY(place, placeLocked(table, column));
        if (place.first->schema.columns[place.second].type != Column::Type::Name)
            return noNames(table, column);
        return place.first->names[place.second].names();
    }
    std::vector<FigureSpec> figures() const override
    {
        const std::lock_guard lock(m_store->mutex);
        return m_store->figures;
    }
    std::vector<std::string> arrays() const override
    {
        const std::lock_guard lock(m_store->mutex);
        std::vector<std::string> out;
        for (const ArrayData& a : m_store->arrays)
            out.push_back(a.name);
        return out;
    }
    Result<ArrayData> arrayData(std::string_view name) const override
    {
        const std::lock_guard lock(m_store->mutex);
        std::vector<std::string> known;
        for (const ArrayData& a : m_store->arrays) {
            if (a.name == name) return a;
            known.push_back(a.name);
        }
        return missing("array", name, known);
    }
    std::vector<std::pair<std::string, std::string>> log() const override
    {
        const std::lock_guard lock(m_store->mutex);
        return m_store->log;
    }
    void setOutcome(Outcome outcome) override
    {
        const std::lock_guard lock(m_store->mutex);
        m_store->outcome = outcome;
        ++m_store->revision;
    }
    std::uint64_t revision() const override
    {
        const std::lock_guard lock(m_store->mutex);
        return m_store->revision;
    }

private:
    Result<std::pair<std::shared_ptr<MemoryTable>, std::size_t>> placeLocked(std::string_view table,
                                                                             std::string_view column) const
    {
        std::vector<TableSchema> schemas;
        for (const auto& t : m_store->tables)
            schemas.push_back(t->schema);
        HALFTONE_TRY(index, findColumn(schemas, table, column));
        return std::pair(m_store->find(table), index);
    }

    const Provenance m_provenance;
    const std::shared_ptr<Store> m_store = std::make_shared<Store>();
};

} // namespace

std::shared_ptr<MemoryResults> MemoryResults::make(Provenance provenance)
{
    return std::make_shared<Memory>(std::move(provenance));
}

std::string_view nameOf(Outcome outcome)
{
    switch (outcome) {
    case Outcome::Complete:
        return "complete";
    case Outcome::Cancelled:
        return "cancelled";
    case Outcome::Failed:
        break;
    }
    return "failed";
}

} // namespace halftone
