// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/job/job.h"

#include "core/result/table_check.h"

namespace halftone {

namespace {

/// Keeps no row, but refuses what the other writers refuse, so that a faulty method shows everywhere.
class NullTable final : public TableWriter {
public:
    explicit NullTable(TableSchema schema) : m_schema(std::move(schema)), m_names(m_schema.columns.size()) {}
    const TableSchema& schema() const override { return m_schema; }
    double nameId(std::size_t column, std::string_view text) override
    {
        return dictionaryId(m_schema, m_names, column, text);
    }
    Status append(std::span<const double> row) override { return checkRow(m_schema, m_names, row); }
    Status appendColumns(std::span<const std::span<const double>> columns) override
    {
        return checkColumns(m_schema, m_names, columns);
    }

private:
    TableSchema m_schema;
    std::vector<NameDictionary> m_names;
};

class NullResults final : public ResultWriter {
public:
    Result<std::shared_ptr<TableWriter>> table(const TableSchema& schema) override
    {
        HALFTONE_CHECK(checkSchema(schema));
        return std::shared_ptr<TableWriter>(std::make_shared<NullTable>(schema));
    }
    Status array(std::string_view name, std::span<const std::int64_t> dims, std::span<const float> values,
                 std::string_view, std::string_view) override
    {
        return checkArray(name, dims, values.size());
    }
    Status figure(const FigureSpec& spec) override { return checkFigure(spec); }
    Status line(LogLevel, std::string_view) override { return Ok{}; }
};

} // namespace

ResultWriter& nullResults()
{
    static NullResults none;
    return none;
}

} // namespace halftone
