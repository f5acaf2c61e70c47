// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/numeric/element.h"
#include "core/numeric/fp4_blocks.h"
#include "core/numeric/hd.h"
#include "core/numeric/int_grid.h"
#include "core/numeric/small_float.h"

#include <cstdint>

namespace halftone {

/// How the scale of a group follows from its values. Which rules a family takes is part of its names.
enum class ScaleRule : std::uint8_t {
    AbsMax,    ///< largest magnitude / largest element
    Floor,     ///< 2^(floor(log2 amax) - floor(log2 largest)): OCP MX; may clip the largest value
    Ceil,      ///< 2^ceil(log2(amax / largest)): never clips (INT v.s. FP, TetraJet)
    RoundedUp, ///< as Floor, one more from a significand of 1.75 on (compressed-tensors)
    Ggml,      ///< Floor through a rounded float log2, as ggml computes it
    Nearest,   ///< nearest E4M3 to amax / largest / tensor scale; half of all groups clip a little
    Up,        ///< smallest E4M3 that is not below it: never clips
    AbsMean    ///< mean magnitude (BitNet b1.58)
};

/// E8M0 code of a group with this largest magnitude, for elements up to `largest` (4 or more). A group of
/// zeros has code 0, like one whose scale would be less than 2^-127.
HALFTONE_HD std::uint8_t mxScaleCode(float peak, ScaleRule rule, float largest)
{
    if (peak < 0x1p-126f) return 0;
    const std::uint32_t bits = floatBits(peak), top = floatBits(largest);
    const std::uint32_t significand = bits & 0x7fffffu;
    std::int32_t exponent = static_cast<std::int32_t>(bits >> 23) - 127;
    // In bits: a float log2 errs near powers of two.
    if (rule == ScaleRule::Ceil && significand > (top & 0x7fffffu)) ++exponent;
    if (rule == ScaleRule::RoundedUp && significand >= 0x600000u) ++exponent;
    if (rule == ScaleRule::Ggml) exponent = floorLog2(peak);
    exponent += 127 - (static_cast<std::int32_t>(top >> 23) - 127);
    return static_cast<std::uint8_t>(exponent < 0 ? 0 : exponent);
}

/// 2^-(code - 127), exact for the codes that mxScaleCode() makes.
HALFTONE_HD float mxInverse(std::uint8_t code)
{
    return bitsFloat(static_cast<std::uint32_t>(254 - (code < 254 ? code : 253)) << 23);
}

inline constexpr float kLargestE4M3 = 448.0f;

/// Scale of a whole tensor under which the E4M3 scales of its groups reach up to 448. 1 for a tensor of
/// zeros, never subnormal.
HALFTONE_HD float tensorScaleOf(float peak, float largest)
{
    if (peak == 0.0f) return 1.0f;
    const float scale = peak / (kLargestE4M3 * largest);
    return scale < 0x1p-126f ? 0x1p-126f : scale;
}

/// E4M3 code of a group's scale under the tensor's. Never below 2^-9, the smallest: a group of zeros has it
/// as well (TetraJet-v2), and small groups keep what it can still hold.
HALFTONE_HD std::uint8_t nvScaleCode(float peak, ScaleRule rule, float largest, float tensorScale)
{
    const float wanted = peak / (largest * tensorScale);
    std::uint32_t code = smallFloatCode(wanted, kE4M3);
    if (rule == ScaleRule::Up && code < kE4M3.maxCode && smallFloatValue(code, kE4M3) < wanted) ++code;
    return static_cast<std::uint8_t>(code < 1 ? 1 : code);
}

/// Stored bits of a scale that stands for itself (not Dynamic8).
HALFTONE_HD std::uint32_t scaleBits(float scale, ScaleType type)
{
    switch (type) {
    case ScaleType::F16:
        return floatToHalf(scale);
    case ScaleType::BF16:
        return floatToBfloat(scale);
    case ScaleType::E8M0:
        return floatBits(scale) >> 23 & 0xffu;
    case ScaleType::E4M3:
        return smallFloatCode(scale, kE4M3);
    default:
        return floatBits(scale);
    }
}

HALFTONE_HD float scaleOfBits(std::uint32_t bits, ScaleType type)
{
    switch (type) {
    case ScaleType::F16:
        return halfToFloat(static_cast<std::uint16_t>(bits));
    case ScaleType::BF16:
        return bfloatToFloat(static_cast<std::uint16_t>(bits));
    case ScaleType::E8M0:
        return e8m0Value(static_cast<std::uint8_t>(bits));
    case ScaleType::E4M3:
        return smallFloatValue(bits, kE4M3);
    default:
        return bitsFloat(bits);
    }
}

/// value / scale, as elementCode() takes it. A scale of 0 reads as zeros of the value's sign.
HALFTONE_HD float overScale(float x, float scale) { return scale == 0.0f ? x * 0.0f : x / scale; }

} // namespace halftone
