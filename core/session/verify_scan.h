// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/base/result.h"
#include "core/io/weights.h"
#include "core/job/job.h"
#include "core/session/verify.h"

#include <cstdint>
#include <string>

namespace halftone {

/// What the planes of a quantized weight show by themselves.
struct CodeScan {
    std::int64_t scales = 0;       ///< how many there are
    bool constantCodes = false;    ///< every code is the same
    bool zeroScales = false;       ///< every scale is 0
    bool equalScales = false;      ///< there are many, all the same and none of them 0
    std::int64_t wrappedZeros = 0; ///< zero points beyond the codes: 0 stored as -1
    /// What no sound weight has, on one line; empty when there is nothing.
    std::string problem() const;
    /// What a person should look at, though it may be right; empty when there is nothing.
    std::string remark() const;
};
/// All false for a weight without a format of its own. Reads all codes only while they are the same.
Result<CodeScan> scanCodes(const WeightSet& weights, const WeightInfo& info, JobContext& ctx);

} // namespace halftone
