// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/result/hdf5/handle.h"
#include "core/result/table_check.h"
#include "core/result/writer.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace halftone::hdf5 {

/// Rows of a table that are written at once: one chunk of each column.
inline constexpr std::size_t kChunkRows = 65536;

struct TableFile {
    TableSchema schema;
    std::vector<NameDictionary> names;
    Handle group;
    std::vector<Handle> datasets; ///< made by the first flush, which knows how large the table is at least
    std::vector<std::vector<double>> buffer;
    std::uint64_t written = 0;
};

/// The file being written, shared by the writer and its tables.
class Output {
public:
    ~Output() { abandon(); }

    /// Opens FILE.part and writes where the run comes from.
    Status create(const std::string& path, const Provenance& provenance);
    Result<std::shared_ptr<TableFile>> table(const TableSchema& schema);
    /// Writes the buffered rows of one table.
    Status flush(TableFile& table);
    Status array(std::string_view name, std::span<const std::int64_t> dims, std::span<const float> values,
                 std::string_view unit, std::string_view help);
    Status commit(Outcome outcome, std::span<const FigureSpec> figures,
                  std::span<const std::pair<std::string, std::string>> log);
    /// Removes what is not committed.
    void abandon()
    {
        const Lock lock;
        discard();
    }
    /// InvalidArgument once committed, given up or abandoned.
    Status open() const
    {
        if (m_file) return Ok{};
        return Error(Errc::InvalidArgument, "the results are closed").in("file " + m_path);
    }

private:
    Status provenance(const Provenance& p);
    Status finish(Outcome outcome, std::span<const FigureSpec> figures,
                  std::span<const std::pair<std::string, std::string>> log);
    Status makeColumns(TableFile& table);
    Status texts(Hid parent, const std::string& name, std::span<const std::string> lines);
    Status enoughSpace(std::uint64_t bytes) const;
    Status publish();
    void closeObjects();
    void discard();
    Error failed(std::string_view what) const;

    std::string m_path, m_part;
    Handle m_file, m_tables, m_arrays;
    std::vector<std::shared_ptr<TableFile>> m_known;
    std::vector<std::string> m_arrayNames;
};

} // namespace halftone::hdf5
