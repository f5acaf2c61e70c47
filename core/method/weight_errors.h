// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/base/export.h"
#include "core/base/result.h"
#include "core/device/ops.h"
#include "core/job/job.h"
#include "core/model/model.h"
#include "core/numeric/error_stats.h"
#include "core/param/schema.h"
#include "core/result/figure.h"
#include "core/result/writer.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace halftone {

class QuantizeMethod;

/// Table "weights": one row a weight, what it cost and what it lost. The same for every quantizer, with
/// or without a file.
HALFTONE_API TableSchema weightTableSchema();
/// Figures over that table: "weight_sqnr" (bars by weight) and "weight_crest" (crest factor against SQNR).
HALFTONE_API std::vector<FigureSpec> weightFigures();

struct WeightErrorRow {
    std::string_view name;   ///< as it is called in the output
    std::string_view format; ///< "q4_0", or the plain type of a weight that was kept
    std::int64_t elements = 0;
    std::uint64_t bytesBefore = 0, bytesAfter = 0;
    ErrorStats stats;
};

/// Appends rows to table "weights".
class HALFTONE_API WeightErrorTable {
public:
    /// Opens the table and announces its figures.
    static Result<WeightErrorTable> open(ResultWriter& results);
    Status add(const WeightRole& role, const WeightErrorRow& row);

private:
    explicit WeightErrorTable(std::shared_ptr<TableWriter> table) : m_table(std::move(table)) {}
    std::shared_ptr<TableWriter> m_table;
};

/// The tensor seen as a matrix [count / cols, cols]; shares the storage.
HALFTONE_API Tensor asMatrix(const Tensor& tensor);
/// Rows [begin, end) of a packed matrix; shares the storage. A scale a tensor stays whole.
HALFTONE_API Result<PackedTensor> packedRows(const PackedTensor& packed, std::int64_t begin,
                                             std::int64_t end);
/// Rows that one uninterruptible piece of work may take, so that a cancel is heard soon.
HALFTONE_API std::int64_t rowsPerPiece(std::int64_t cols);

/// QuantizeBlocks over the whole matrix, asking ctx between pieces. Of several sets of importance, one after
/// the other, each is for an equal share of the rows (stacked experts).
HALFTONE_API Status quantizeBlocks(const Tensor& matrix, PackedTensor& packed, JobContext& ctx,
                                   EncodeOptions options = {});

/// BlockErrors over the whole matrix, piece by piece: `sink` gets the first row of a piece and its
/// statistics, blocks of `blockCols` columns (0: whole rows), row-major.
using ErrorSink = std::function<Status(std::int64_t firstRow, std::span<const ErrorStats> stats)>;
HALFTONE_API Status measureBlocks(const Tensor& original, const PackedTensor& packed, std::int64_t blockCols,
                                  const ErrorSink& sink, JobContext& ctx);
/// Error of all of `packed` against `original` (same count), asking ctx between pieces.
HALFTONE_API Result<ErrorStats> measurePacked(const Tensor& original, const PackedTensor& packed,
                                              JobContext& ctx);

struct QuantizedWeight {
    PackedTensor packed; ///< on ctx.device
    ErrorStats stats;
};
/// Makes the planes, lets the method fill them and measures the error.
HALFTONE_API Result<QuantizedWeight> quantizeAndMeasure(const QuantizeMethod& method, const Tensor& source,
                                                        const BlockFormat& format, const ParamList& params,
                                                        std::span<const float> importance, JobContext& ctx);

/// What quantizers take when nothing is selected: decodable linear weights; every decodable matrix of a
/// network whose names are unknown.
HALFTONE_API std::vector<std::uint32_t> defaultWeights(const Model& model);
/// The selection if there is one, else defaultWeights(). InvalidArgument for an index that does not exist.
HALFTONE_API Result<std::vector<std::uint32_t>> selectedWeights(const Model& model,
                                                                const std::vector<std::uint32_t>& selection);

} // namespace halftone
