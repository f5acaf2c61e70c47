// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/result/hdf5/output.h"

#include <algorithm>

namespace halftone {

namespace {

using hdf5::kChunkRows;
using hdf5::Output;
using hdf5::TableFile;

class Hdf5Table final : public TableWriter {
public:
    Hdf5Table(std::shared_ptr<Output> file, std::shared_ptr<TableFile> table)
        : m_file(std::move(file)), m_table(std::move(table))
    {
    }
    const TableSchema& schema() const override { return m_table->schema; }
    double nameId(std::size_t column, std::string_view text) override
    {
        return dictionaryId(m_table->schema, m_table->names, column, text);
    }
    Status append(std::span<const double> row) override
    {
        HALFTONE_CHECK(m_file->open());
        HALFTONE_CHECK(checkRow(m_table->schema, m_table->names, row));
        for (std::size_t c = 0; c < row.size(); ++c)
            m_table->buffer[c].push_back(row[c]);
        return m_table->buffer[0].size() < kChunkRows ? Status(Ok{}) : m_file->flush(*m_table);
    }
    Status appendColumns(std::span<const std::span<const double>> columns) override
    {
        HALFTONE_CHECK(m_file->open());
        HALFTONE_CHECK(checkColumns(m_table->schema, m_table->names, columns));
        const std::size_t rows = columns[0].size();
        for (std::size_t start = 0; start < rows;) {
            const std::size_t n = std::min(rows - start, kChunkRows - m_table->buffer[0].size());
            for (std::size_t c = 0; c < columns.size(); ++c) {
                const auto part = columns[c].subspan(start, n);
                m_table->buffer[c].insert(m_table->buffer[c].end(), part.begin(), part.end());
            }
            start += n;
            if (m_table->buffer[0].size() == kChunkRows) HALFTONE_CHECK(m_file->flush(*m_table));
        }
        return Ok{};
    }

private:
    std::shared_ptr<Output> m_file;
    std::shared_ptr<TableFile> m_table;
};

class Writer final : public Hdf5Writer {
public:
    explicit Writer(std::shared_ptr<Output> file) : m_file(std::move(file)) {}
    ~Writer() override { m_file->abandon(); }
    Writer(const Writer&) = delete;
    Writer& operator=(const Writer&) = delete;

    Result<std::shared_ptr<TableWriter>> table(const TableSchema& schema) override
    {
        HALFTONE_TRY(t, m_file->table(schema));
        return std::shared_ptr<TableWriter>(std::make_shared<Hdf5Table>(m_file, t));
    }
    Status array(std::string_view name, std::span<const std::int64_t> dims, std::span<const float> values,
                 std::string_view unit, std::string_view help) override
    {
        return m_file->array(name, dims, values, unit, help);
    }
    Status figure(const FigureSpec& spec) override
    {
        HALFTONE_CHECK(m_file->open());
        HALFTONE_CHECK(checkFigure(spec));
        const auto it =
            std::find_if(m_figures.begin(), m_figures.end(), [&](const auto& f) { return f.id == spec.id; });
        if (it == m_figures.end())
            m_figures.push_back(spec);
        else
            *it = spec;
        return Ok{};
    }
    Status line(LogLevel level, std::string_view text) override
    {
        HALFTONE_CHECK(m_file->open());
        m_log.emplace_back(std::string(logLevelName(level)), cleanText(text));
        return Ok{};
    }
    Status commit(Outcome outcome) override { return m_file->commit(outcome, m_figures, m_log); }

private:
    std::shared_ptr<Output> m_file;
    std::vector<FigureSpec> m_figures;
    std::vector<std::pair<std::string, std::string>> m_log;
};

} // namespace

Result<std::unique_ptr<Hdf5Writer>> Hdf5Writer::create(const std::string& path, const Provenance& provenance)
{
    auto file = std::make_shared<Output>();
    HALFTONE_CHECK(file->create(path, provenance));
    return std::unique_ptr<Hdf5Writer>(std::make_unique<Writer>(std::move(file)));
}

} // namespace halftone
