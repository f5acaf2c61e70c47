// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/numeric/dtype.h"
#include "core/numeric/error_stats.h"

#include <cstddef>
#include <cstdint>

namespace halftone::cpu {

// Vector code, chosen for this machine at run time.

/// `n` elements (F32, F16 or BF16 at any alignment) as floats.
void floatsOfSpan(DType dtype, const std::byte* in, std::int64_t n, float* out);
/// compare() of `n` values, the same bits.
ErrorStats compareSpan(const float* original, const float* decoded, std::int64_t n);
/// How many of `n` values are below `low` or above `high`.
std::int64_t countOutside(const float* x, std::int64_t n, double low, double high);

} // namespace halftone::cpu
