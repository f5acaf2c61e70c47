// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/base/export.h"
#include "core/base/log.h"
#include "core/base/result.h"
#include "core/param/schema.h"
#include "core/result/figure.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace halftone {

/// Where a result comes from: enough to make it again.
struct Provenance {
    std::string methodId;
    int methodVersion = 0;
    std::string checkpointPath, checkpointHash, device, programVersion, created; ///< created: ISO 8601, UTC
    std::uint64_t seed = 0;
    int threads = 0;
    ParamList params; ///< all of them, defaults included
};

enum class Outcome : std::uint8_t { Complete, Cancelled, Failed };
HALFTONE_API std::string_view nameOf(Outcome outcome);

/// Rows of one table. From the job's thread only. Buffered: what a row holds may reach the file later.
class HALFTONE_API TableWriter {
public:
    virtual ~TableWriter() = default;
    virtual const TableSchema& schema() const = 0;
    /// Index of `text` in the dictionary of a Name column; added on first use.
    virtual double nameId(std::size_t column, std::string_view text) = 0;
    /// One value a column, in the schema's order; Name columns take nameId().
    virtual Status append(std::span<const double> row) = 0;
    /// Many rows at once: one span a column, all of one length.
    virtual Status appendColumns(std::span<const std::span<const double>> columns) = 0;
};

/// Where a job puts what it finds: an HDF5 file, or memory. From the job's thread only.
class HALFTONE_API ResultWriter {
public:
    virtual ~ResultWriter() = default;
    /// InvalidArgument when a table of this name exists with another schema; the same one continues it.
    virtual Result<std::shared_ptr<TableWriter>> table(const TableSchema& schema) = 0;
    virtual Status array(std::string_view name, std::span<const std::int64_t> dims,
                         std::span<const float> values, std::string_view unit, std::string_view help) = 0;
    /// Replaces a figure of the same id.
    virtual Status figure(const FigureSpec& spec) = 0;
    virtual Status line(LogLevel level, std::string_view text) = 0;
};

/// One array with its values, the last dimension running fastest.
struct ArrayData {
    std::string name, unit, help;
    std::vector<std::int64_t> dims;
    std::vector<float> values;
};

/// Reads results, from a file or from memory. Any thread; immutable once a run is committed.
class HALFTONE_API ResultReader {
public:
    virtual ~ResultReader() = default;
    virtual const Provenance& provenance() const = 0;
    virtual Outcome outcome() const = 0;
    virtual std::vector<TableSchema> tables() const = 0;
    virtual std::int64_t rows(std::string_view table) const = 0;
    /// NotFound names the table, the column and what there is.
    virtual Result<std::vector<double>> column(std::string_view table, std::string_view column) const = 0;
    /// The dictionary of a Name column.
    virtual Result<std::vector<std::string>> names(std::string_view table, std::string_view column) const = 0;
    virtual std::vector<FigureSpec> figures() const = 0;
    virtual std::vector<std::string> arrays() const = 0;
    /// NotFound lists what there is.
    virtual Result<ArrayData> arrayData(std::string_view name) const = 0;
    virtual std::vector<std::pair<std::string, std::string>> log() const = 0; ///< level, text
};

/// Results in memory: what the window's jobs write and its views read. Thread-safe: views may read
/// whole rows while a job appends.
class HALFTONE_API MemoryResults : public ResultWriter, public ResultReader {
public:
    /// Until setOutcome() the outcome is Cancelled: what is there is a part of a run.
    static std::shared_ptr<MemoryResults> make(Provenance provenance);
    virtual void setOutcome(Outcome outcome) = 0;
    /// Grows with each change.
    virtual std::uint64_t revision() const = 0;
};

/// One HDF5 file a run, format 1: written as FILE.part, renamed by commit(). A writer
/// destroyed before commit() leaves no file under the final name.
class HALFTONE_API Hdf5Writer : public ResultWriter {
public:
    static Result<std::unique_ptr<Hdf5Writer>> create(const std::string& path, const Provenance& provenance);
    virtual Status commit(Outcome outcome) = 0;
};
/// BadFormat explains a file that a killed writer left.
HALFTONE_API Result<std::shared_ptr<const ResultReader>> openHdf5(const std::string& path);
/// Adds all that `reader` holds: its tables' rows, arrays, figures and log lines.
HALFTONE_API Status copyResults(const ResultReader& reader, ResultWriter& writer);
/// All that `reader` holds, as one file.
HALFTONE_API Status saveHdf5(const ResultReader& reader, const std::string& path);

} // namespace halftone
