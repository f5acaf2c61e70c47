// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/base/export.h"
#include "core/numeric/hd.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace halftone {

// Scales in 8 bits of their own (Dettmers et al., QLoRA, 2023, as bitsandbytes stores them): the mean of all
// scales of a tensor is taken off, and the rest is coded relative to the largest magnitude of each run of
// 256.

inline constexpr std::int64_t kNestedBlock = 256;

/// The signed dynamic map (Dettmers, 8-bit Approximations for Parallelism, 2015): 7 decades below 1, each
/// with twice as many values as the one below, 0 and 1; ascending.
HALFTONE_API const std::array<float, 256>& dynamicMap();
/// Code of the nearest value of the map; the lower one on a tie.
HALFTONE_API std::uint8_t dynamicCode(float x);

/// F32 values of a tensor with `groups` scales: the mean, then a scale a run.
constexpr std::int64_t nestedCount(std::int64_t groups)
{
    return 1 + (groups + kNestedBlock - 1) / kNestedBlock;
}

/// A scale from the value of its code in the map.
HALFTONE_HD float nestedValue(float mapped, float mean, float runScale) { return mapped * runScale + mean; }

/// Mean and scales of runs for all scales of a tensor; `out` holds nestedCount() floats.
void makeNested(std::span<const float> scales, std::span<float> out);
/// Codes of the scales of groups `first` and on of the whole tensor, and back; `shared` holds what
/// makeNested() made.
HALFTONE_API void nestScales(std::span<const float> scales, std::span<const std::byte> shared,
                             std::size_t first, std::span<std::byte> codes);
HALFTONE_API void unnestScales(std::span<const std::byte> codes, std::span<const std::byte> shared,
                               std::size_t first, std::span<float> scales);
/// Code of a scale, and the scale of a code, under the mean and the scale of its run.
std::uint8_t nestedCode(float scale, float mean, float runScale);
float nestedScale(std::uint8_t code, float mean, float runScale);

} // namespace halftone
