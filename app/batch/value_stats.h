// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/base/result.h"
#include "core/job/job.h"
#include "core/model/model.h"

#include <cstdint>
#include <vector>

namespace halftone::batch {

/// What the values of one weight look like. Values that are not finite are counted and left out of the rest.
struct ValueStats {
    std::int64_t count = 0, zeros = 0, nonFinite = 0;
    double min = 0, max = 0, sum = 0, squares = 0;
    double mean() const;
    double rms() const;
    double crestFactor() const;
};

/// One entry a weight, in their order; empty for weights that can't be decoded.
Status valueStats(const Model& model, const std::vector<std::uint32_t>& weights,
                  std::vector<ValueStats>& stats, JobContext& ctx);

} // namespace halftone::batch
