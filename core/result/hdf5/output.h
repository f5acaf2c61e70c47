// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/result/hdf5/handle.h"
#include "core/result/table_check.h"
#include "core/result/writer.h"

#include <cstdint>
#include <memory>
#include <optional>
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

/// Format 1 of a results file:
///
///   /                 attributes halftone_format, program, version, created; outcome, absent while open
///   /provenance       attributes method, method_version, checkpoint_path, checkpoint_hash, device, seed,
///                     threads; in /provenance/parameters one typed attribute a parameter
///   /tables/T         attribute help
///   /tables/T/C       one column, chunks of up to 65,536 rows, shuffle and deflate; attributes unit, help,
///                     type (real: float64, integer: int64, name: int32 index)
///   /tables/T/C_names the texts of a name column
///   /arrays/A         float32, chunks of up to 1 MiB; attributes unit, help
///   /figures/ID       a FigureSpec as JSON text
///   /log              lines "level<TAB>text"
///
/// All texts are UTF-8 of fixed length; in names, bytes that are not safe in a path are written as %XX.

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
    /// The first failure, after which nothing is written any more; InvalidArgument once committed.
    Status open() const
    {
        if (m_failure) return *m_failure;
        if (m_file) return Ok{};
        return Error(Errc::InvalidArgument, "the results are closed").in("file " + m_path);
    }

private:
    Status provenance(const Provenance& p);
    Status finish(Outcome outcome, std::span<const FigureSpec> figures,
                  std::span<const std::pair<std::string, std::string>> log);
    Status makeColumns(TableFile& table);
    Status writeRows(TableFile& table);
    /// Gives the file up when `status` is an error: half of a flush can't be repeated.
    Status settle(Status status);
    Status texts(Hid parent, const std::string& name, std::span<const std::string> lines);
    Status enoughSpace(std::uint64_t bytes) const;
    Status publish();
    void closeObjects();
    void discard();
    Error failed(std::string_view what) const;

    std::string m_path, m_part;
    std::optional<Error> m_failure;
    Handle m_file, m_tables, m_arrays;
    std::vector<std::shared_ptr<TableFile>> m_known;
    std::vector<std::string> m_arrayNames;
};

} // namespace halftone::hdf5
