// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/numeric/hd.h"
#include "core/numeric/small_float.h"

#include <cmath>
#include <cstdint>

namespace halftone {

/// How the scale and zero point of a uniform integer grid follow from a group's range
/// (the usual three). b = bits.
enum class GridRule : std::uint8_t {
    SymRestricted, ///< s = amax / (2^(b-1) - 1), codes +-(2^(b-1) - 1)
    SymFull,       ///< s = amax / ((2^b - 1) / 2), codes -2^(b-1) .. 2^(b-1) - 1 (compressed-tensors)
    Asym           ///< s = (max - min) / (2^b - 1), min <= 0 <= max forced, integer zero point
};

/// Type in which the scale of a group is stored. Integer grids use the first three.
enum class ScaleType : std::uint8_t {
    F32,
    F16,
    BF16,
    E8M0,    ///< a power of two (OCP MX)
    E4M3,    ///< under a scale of the whole tensor (NVFP4)
    Dynamic8 ///< a code of its own, under scales of runs of groups (double quantization)
};

HALFTONE_HD std::int64_t bytesOfScale(ScaleType type)
{
    return type == ScaleType::F32 ? 4 : type == ScaleType::F16 || type == ScaleType::BF16 ? 2 : 1;
}

/// Scale (already rounded to its stored type) and zero point of one group.
/// value = (code - zero) * scale with codes in [lowCode, highCode] of the rule.
struct GridPoint {
    float scale = 1.0f;
    std::int32_t zero = 0;
    float offset = 0.0f; ///< added to the value; only in formats that store a minimum (Q4_1, Q5_1)
};

HALFTONE_HD std::int32_t gridLow(GridRule rule, int bits)
{
    return rule == GridRule::SymRestricted ? -((1 << (bits - 1)) - 1)
           : rule == GridRule::SymFull     ? -(1 << (bits - 1))
                                           : 0;
}

HALFTONE_HD std::int32_t gridHigh(GridRule rule, int bits)
{
    return rule == GridRule::Asym ? (1 << bits) - 1 : (1 << (bits - 1)) - 1;
}

HALFTONE_HD float roundScale(float scale, ScaleType type)
{
    return type == ScaleType::F32   ? scale
           : type == ScaleType::F16 ? halfToFloat(floatToHalf(scale))
                                    : bfloatToFloat(floatToBfloat(scale));
}

/// Round to nearest, ties to even, for |x| <= 2^22: independent of the rounding mode of libm and the
/// same on every device.
HALFTONE_HD std::int32_t roundEven(float x)
{
    const float shifted = x + 12582912.0f; // 1.5 * 2^23
    return static_cast<std::int32_t>(floatBits(shifted) & 0x007fffffu) - 0x00400000;
}

/// The grid of a group whose values lie in [min, max]. A group of zeros gets scale 1. The scale is
/// rounded to its stored type before any code is made, so that measured and stored errors agree.
/// A scale that underflows in its stored type makes the group read as zeros ("flushed"); one that
/// overflows comes back infinite, and the caller refuses it.
HALFTONE_HD GridPoint gridOf(float min, float max, GridRule rule, int bits, ScaleType type)
{
    GridPoint g;
    if (rule == GridRule::Asym) {
        const float lo = min < 0 ? min : 0.0f;
        const float hi = max > 0 ? max : 0.0f;
        const auto top = static_cast<float>((1 << bits) - 1);
        // Halved first: hi - lo can overflow where each of them does not.
        const float half = hi * 0.5f - lo * 0.5f;
        if (half == 0.0f) return g;
        g.scale = roundScale(half / (top * 0.5f), type);
        if (g.scale == 0.0f) return g;
        float z = -lo / g.scale;
        z = z < 0 ? 0.0f : z > top ? top : z;
        g.zero = roundEven(z);
        return g;
    }
    const float a = -min > max ? -min : max;
    if (a == 0.0f) return g;
    const float top = rule == GridRule::SymRestricted ? static_cast<float>((1 << (bits - 1)) - 1)
                                                      : static_cast<float>((1 << bits) - 1) * 0.5f;
    g.scale = roundScale(a / top, type);
    return g;
}

/// clip(round(x / s) + z): the code of one value. `inverse` is inverseOf(scale).
HALFTONE_HD std::int32_t gridCode(float x, float inverse, std::int32_t zero, std::int32_t low,
                                  std::int32_t high)
{
    float t = x * inverse;
    // Clamped before rounding: roundEven needs a small argument.
    const auto lo = static_cast<float>(low - zero);
    const auto hi = static_cast<float>(high - zero);
    t = t < lo ? lo : t > hi ? hi : t;
    return roundEven(t) + zero;
}

/// 1 / scale, or 0 for a scale of 0 (flushed group) and for one whose inverse overflows.
HALFTONE_HD float inverseOf(float scale)
{
    if (scale == 0.0f) return 0.0f;
    const float inverse = 1.0f / scale;
    return inverse <= 3.402823466e38f && inverse >= -3.402823466e38f ? inverse : 0.0f;
}

HALFTONE_HD float gridValue(std::int32_t code, GridPoint g)
{
    return static_cast<float>(code - g.zero) * g.scale;
}

} // namespace halftone
