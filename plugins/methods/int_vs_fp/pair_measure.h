// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/job/job.h"
#include "core/model/model.h"
#include "core/numeric/error_stats.h"
#include "core/tensor/tensor.h"
#include "plugins/methods/int_vs_fp/format_pairs.h"
#include "plugins/methods/int_vs_fp/spread.h"

#include <cstdint>
#include <map>
#include <vector>

namespace halftone::int_vs_fp {

/// One weight as it is measured: F32 in host memory, its blocks along the inputs of the layer.
class OperandRows {
public:
    /// At most `rows` rows, spread evenly over the weight; 0: all. A weight that is stored [in, out] is
    /// turned.
    static Result<OperandRows> load(const WeightSet& weights, const WeightInfo& info, const WeightRole& role,
                                    std::int64_t rows, const JobContext& ctx);
    const Tensor& values() const { return m_values; }
    /// The same rows rotated in pieces of `size`; kept until the next size is asked for.
    Result<Tensor> rotated(std::int64_t size, const JobContext& ctx);

private:
    Tensor m_values, m_rotated;
    std::int64_t m_rotatedBy = 0;
};

/// Rows that load() takes of a matrix of `all` rows.
std::int64_t sampledRows(std::int64_t all, std::int64_t rows);

struct FormatLoss {
    ErrorStats total;
    Spread blocks; ///< dB, of blocks that are not all zero
};
struct PairLoss {
    FormatLoss integer, floating;
    Spread crest;
    std::int64_t zeroBlocks = 0;  ///< without crest factor and ratio: in no statistics
    std::int64_t integerWins = 0; ///< blocks in which the whole numbers lose less
    std::int64_t ties = 0;
    /// Share of the blocks that differ or tie, ties counted half; nan when all are zero.
    double winShare() const;
};

/// Both formats on the same F32 matrix, block by block. What they share is their block size.
Result<PairLoss> measurePair(const Tensor& matrix, const PairFormats& formats, JobContext& ctx);

/// Error of one format over the whole matrix.
Result<ErrorStats> measureFormat(const Tensor& matrix, const BlockFormat& format, JobContext& ctx);

/// Crest factors of all blocks that are not all zero, of this many columns (kWholeRow: of rows), row by row.
Result<std::vector<double>> crestFactors(const Tensor& matrix, std::int64_t block, const JobContext& ctx);

} // namespace halftone::int_vs_fp
