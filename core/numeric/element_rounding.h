// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/numeric/hd.h"
#include "core/numeric/small_float.h"

#include <cstdint>

namespace halftone {

/// How a value between two codes of a small float is rounded.
enum class Rounding : std::uint8_t {
    Even,      ///< nearest, ties to the even code: what all formats use
    Away,      ///< nearest, ties away from zero
    Zero,      ///< towards zero
    Stochastic ///< up with the probability of the part that is cut off
};

/// What becomes of values beyond the largest finite code.
enum class Overflow : std::uint8_t {
    Saturate, ///< the largest finite code, for infinities as well: what all formats use
    Special   ///< infinity, or NaN where the type has none (OFP8 without saturation); FP6 and FP4 saturate
};

/// Code of `x` under any rounding and overflow policy. `random` is used by Rounding::Stochastic only: 32
/// fresh bits. The sign of zero is kept; NaN gives the NaN code, or 0 where the type has none. With Even and
/// Saturate it is smallFloatCode(), only slower.
HALFTONE_HD std::uint32_t roundedFloatCode(float x, SmallFloat f, Rounding rounding, Overflow overflow,
                                           std::uint32_t random = 0)
{
    const std::uint32_t u = floatBits(x);
    const std::uint32_t sign = (u >> 31) << (f.exponentBits + f.mantissaBits);
    const std::uint32_t a = u & 0x7fffffffu;
    if (a > 0x7f800000u) return f.nanCode == 0 ? 0u : sign | f.nanCode;
    const std::uint32_t beyond = overflow == Overflow::Saturate ? f.maxCode
                                 : f.infCode != 0               ? f.infCode
                                 : f.nanCode != 0               ? f.nanCode
                                                                : f.maxCode;
    if (a == 0x7f800000u) return sign | beyond;
    // |x| = significand * 2^(exponent - 23), the significand a whole number below 2^24.
    const std::uint32_t field = a >> 23;
    const std::uint32_t significand = (a & 0x7fffffu) | (field != 0 ? 0x800000u : 0u);
    const std::int32_t exponent = (field != 0 ? static_cast<std::int32_t>(field) : 1) - 127;
    const std::int32_t least = 1 - f.bias; // exponent of the smallest normal, and of the subnormals
    const std::int32_t top = exponent > least ? exponent : least;
    std::int32_t drop = 23 - f.mantissaBits + (top - exponent);
    if (drop > 31) drop = 31; // all of it is cut off, and less than a half
    const std::uint32_t whole = significand >> drop;
    const std::uint32_t rest = significand & ((1u << drop) - 1u), half = 1u << (drop - 1);
    bool up = false;
    if (rounding == Rounding::Even) up = rest > half || (rest == half && (whole & 1u) != 0);
    if (rounding == Rounding::Away) up = rest >= half;
    if (rounding == Rounding::Stochastic) up = (random & ((1u << drop) - 1u)) + rest >= 1u << drop;
    // The whole part of a normal number carries its leading bit, which is one step of the exponent field.
    const std::uint32_t code =
        (static_cast<std::uint32_t>(top - least) << f.mantissaBits) + whole + (up ? 1u : 0u);
    return sign | (code > f.maxCode ? beyond : code);
}

} // namespace halftone
