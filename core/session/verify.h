// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/base/export.h"
#include "core/job/job.h"
#include "core/model/model.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace halftone {

struct VerifyLimits {
    double minSqnr = 3.0; ///< dB; a quantized weight below fails
};
struct VerifyReport {
    std::int64_t compared = 0, failed = 0, missing = 0, extra = 0;
    double worstSqnr = 0;
    std::string worst;
    std::vector<std::string> findings; ///< one line each: tensor, number, what is wrong
    bool passed() const { return failed == 0 && missing == 0; }
};

/// Compares every weight of `written` with `source` by stable id (so across containers and shards):
/// shape, cosine, SQNR, NaN and Inf, constant codes, tie. One row a weight into table "verify".
HALFTONE_API Result<VerifyReport> verifyCheckpoint(const Model& written, const Model& source,
                                                   VerifyLimits limits, JobContext& ctx);

/// Looks at every weight of a checkpoint by itself, whoever wrote it: NaN and Inf, planes of equal codes,
/// scales of zero, wrapped zero points, a head that equals the embedding or should. One row a weight into
/// table "scan"; compared counts the weights.
HALFTONE_API Result<VerifyReport> scanCheckpoint(const Model& model, JobContext& ctx);

} // namespace halftone
