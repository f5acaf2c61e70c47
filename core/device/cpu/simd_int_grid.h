// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/numeric/dtype.h"
#include "core/numeric/int_grid.h"

#include <cstddef>
#include <cstdint>

namespace halftone::cpu {

/// A uniform integer grid, and how its codes are written.
struct GridJob {
    int bits = 4;
    GridRule rule = GridRule::SymRestricted;
    ScaleType scale = ScaleType::F16;
    bool aroundCaches = false;    ///< stores go past the caches: for outputs that are larger than them
    bool highNibbleFirst = false; ///< of two 4-bit codes in a byte, the first has the high half
};

/// Where a span's codes, scales and zero points go; zeros is null for symmetric rules.
struct GridPlanes {
    std::uint8_t *codes, *scales, *zeros;
};
struct ConstGridPlanes {
    const std::uint8_t *codes, *scales, *zeros;
};

// Vector code, chosen for this machine at run time. A span is `n` consecutive elements (F32, F16 or BF16
// at any alignment) whose codes begin at a whole byte; its last code is padded to a 32-bit word.

/// Groups of `group` columns (the last may be short), in one pass over memory. False when a value is not
/// finite or a scale overflows: the reference then finds the place and the words.
bool quantizeGridSpan(const GridJob& job, DType dtype, const std::byte* in, std::int64_t n,
                      std::int64_t group, GridPlanes out);
/// Smallest and largest value (both 0 or beyond it). False when a value is not finite.
bool rangeOfSpan(DType dtype, const std::byte* in, std::int64_t n, float& min, float& max);
/// Codes of a span under one scale.
void encodeGridSpan(const GridJob& job, DType dtype, const std::byte* in, std::int64_t n, GridPoint point,
                    std::uint8_t* codes);
/// Values of a span that begins with a group.
void decodeGridSpan(const GridJob& job, ConstGridPlanes in, std::int64_t n, std::int64_t group, float* out);

} // namespace halftone::cpu
