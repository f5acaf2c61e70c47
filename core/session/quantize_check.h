// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/io/weights.h"
#include "core/job/job.h"
#include "core/session/plan.h"

#include <string>
#include <vector>

namespace halftone {

/// What a quantized weight must read back as.
struct WrittenWeight {
    std::string name;
    const BlockFormat* format = nullptr;
    std::string hash;          ///< of its planes (HostPlanes::hash)
    std::int64_t elements = 0; ///< for the progress
};

/// Opens the weights of a file that is not yet renamed and compares: format, shape, planes (codes, scales,
/// zero points), and that every value decodes to a finite number. CheckFailed names the weight.
Status checkWritten(const Checkpoint& written, const std::vector<WrittenWeight>& expected, JobContext& ctx);

} // namespace halftone
