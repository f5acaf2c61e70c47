// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/base/result.h"
#include "core/job/job.h"
#include "core/model/model.h"
#include "core/session/verify_scan.h"

#include <cstdint>
#include <string>

namespace halftone {

/// Rows [begin, end) of one weight seen as a matrix.
struct WeightSlice {
    const Model* model = nullptr;
    const WeightInfo* info = nullptr;
    std::int64_t begin = 0, end = 0;
};

/// What two weights have in common. Values that are not finite in the source are left out of all sums.
struct WeightComparison {
    std::int64_t count = 0, notFinite = 0; ///< notFinite: in the output where the source is finite
    double signal = 0, noise = 0, product = 0, writtenSquares = 0, maxError = 0;
    CodeScan codes;          ///< of the written weight
    bool otherOrder = false; ///< the rows fit better in the other order of Q and K
    std::int64_t differingRow = -1, badRow = -1, badColumn = -1;
    double sqnr() const; ///< dB; +inf without noise
    double cosine() const;
    /// What is wrong, on one line with its numbers; empty when nothing is.
    std::string problem(const WeightSlice& written, const WeightSlice& source, double minSqnr) const;
};

/// Reads both in pieces. Rows of Q and K are moved where the two namings order them differently.
/// CheckFailed when the shapes differ or one can't be read.
Result<WeightComparison> compareWeights(const WeightSlice& written, const WeightSlice& source,
                                        const WeightRole& role, JobContext& ctx);

} // namespace halftone
