// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/numeric/hd.h"

#include <cstdint>
#include <cstring>

namespace halftone {

HALFTONE_HD std::uint32_t floatBits(float x)
{
    std::uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

HALFTONE_HD float bitsFloat(std::uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

HALFTONE_HD float bfloatToFloat(std::uint16_t h) { return bitsFloat(static_cast<std::uint32_t>(h) << 16); }

/// Round to nearest even; NaN stays NaN, made quiet.
HALFTONE_HD std::uint16_t floatToBfloat(float x)
{
    const std::uint32_t u = floatBits(x);
    if ((u & 0x7fffffffu) > 0x7f800000u) return static_cast<std::uint16_t>((u >> 16) | 0x40u);
    return static_cast<std::uint16_t>((u + 0x7fffu + ((u >> 16) & 1u)) >> 16);
}

HALFTONE_HD float halfToFloat(std::uint16_t h)
{
    const std::uint32_t sign = static_cast<std::uint32_t>(h & 0x8000u) << 16;
    const std::uint32_t exponent = (h >> 10) & 0x1fu;
    const std::uint32_t mantissa = h & 0x3ffu;
    if (exponent == 31) return bitsFloat(sign | 0x7f800000u | (mantissa << 13));
    if (exponent != 0) return bitsFloat(sign | ((exponent + 112u) << 23) | (mantissa << 13));
    const float magnitude = static_cast<float>(mantissa) * 5.9604644775390625e-8f; // 2^-24
    return bitsFloat(sign | floatBits(magnitude));
}

/// Round to nearest even; overflow gives infinity from 65520 on.
HALFTONE_HD std::uint16_t floatToHalf(float x)
{
    const std::uint32_t u = floatBits(x);
    const std::uint32_t sign = (u >> 16) & 0x8000u;
    const std::uint32_t a = u & 0x7fffffffu;
    if (a > 0x7f800000u) return static_cast<std::uint16_t>(sign | 0x7e00u);
    if (a >= 0x477ff000u) return static_cast<std::uint16_t>(sign | 0x7c00u);
    if (a < 0x38800000u) {
        // Below the smallest normal: let float addition do the rounding at 2^-24.
        const float shifted = bitsFloat(a) + 0.5f;
        return static_cast<std::uint16_t>(sign | (floatBits(shifted) - 0x3f000000u));
    }
    const std::uint32_t rounded = a + 0xfffu + ((a >> 13) & 1u);
    return static_cast<std::uint16_t>(sign | ((rounded - 0x38000000u) >> 13));
}

/// A small float in numbers: sign | exponent | mantissa, subnormals at exponent 0.
struct SmallFloat {
    int exponentBits;
    int mantissaBits;
    int bias;
    std::uint32_t maxCode; ///< largest finite magnitude's code
    std::uint32_t infCode; ///< 0: the format has no infinity
    std::uint32_t nanCode; ///< 0: the format has no NaN
};

inline constexpr SmallFloat kE4M3{4, 3, 7, 0x7E, 0, 0x7F};
inline constexpr SmallFloat kE5M2{5, 2, 15, 0x7B, 0x7C, 0x7E};
inline constexpr SmallFloat kE2M3{2, 3, 1, 0x1F, 0, 0};
inline constexpr SmallFloat kE3M2{3, 2, 3, 0x1F, 0, 0};
inline constexpr SmallFloat kE2M1{2, 1, 1, 0x7, 0, 0};
// The FNUZ forms use the code of -0 for NaN, which readers must look for themselves.
inline constexpr SmallFloat kE4M3Fnuz{4, 3, 8, 0x7F, 0, 0};
inline constexpr SmallFloat kE5M2Fnuz{5, 2, 16, 0x7F, 0, 0};
inline constexpr std::uint8_t kFnuzNan = 0x80;

/// Value of a code; the sign bit is the one above exponent and mantissa.
HALFTONE_HD float smallFloatValue(std::uint32_t code, SmallFloat f)
{
    const int bits = f.exponentBits + f.mantissaBits;
    const std::uint32_t magnitude = code & ((1u << bits) - 1u);
    const std::uint32_t sign = (code >> bits & 1u) << 31;
    if (f.nanCode != 0 && magnitude > f.maxCode)
        return bitsFloat(sign | (magnitude == f.infCode ? 0x7f800000u : 0x7fc00000u));
    const std::uint32_t mantissa = magnitude & ((1u << f.mantissaBits) - 1u);
    const auto exponent = static_cast<int>(magnitude >> f.mantissaBits);
    // Every value of these formats is a normal float (the smallest is 2^-16), so powers of two are exact.
    const float unit = bitsFloat(
        static_cast<std::uint32_t>(127 + (exponent == 0 ? 1 : exponent) - f.bias - f.mantissaBits) << 23);
    const float significand = static_cast<float>(mantissa + (exponent == 0 ? 0u : 1u << f.mantissaBits));
    return bitsFloat(floatBits(significand * unit) | sign);
}

/// Nearest code, ties to even, saturating; the sign of zero is kept. NaN gives the NaN code, or 0
/// where the format has none (callers with the policy "reject" never get here).
HALFTONE_HD std::uint32_t smallFloatCode(float x, SmallFloat f)
{
    const int bits = f.exponentBits + f.mantissaBits;
    const std::uint32_t u = floatBits(x);
    const std::uint32_t sign = (u >> 31) << bits;
    const std::uint32_t a = u & 0x7fffffffu;
    if (a > 0x7f800000u) return f.nanCode == 0 ? 0u : sign | f.nanCode;
    const int minExponent = 1 - f.bias; // of the smallest normal
    const auto exponent = static_cast<int>(a >> 23) - 127;
    if (exponent < minExponent) {
        // Subnormal: round magnitude / 2^(minExponent - mantissaBits) to an integer by float addition.
        const float unit = bitsFloat(static_cast<std::uint32_t>(127 - (minExponent - f.mantissaBits)) << 23);
        const float scaled = bitsFloat(a) * unit + 8388608.0f;
        return sign | (floatBits(scaled) & 0x7fffffu);
    }
    const int drop = 23 - f.mantissaBits;
    const std::uint32_t rounded = a + ((1u << (drop - 1)) - 1u) + ((a >> drop) & 1u);
    const std::uint32_t rebias = static_cast<std::uint32_t>(127 - f.bias) << f.mantissaBits;
    const std::uint32_t code = (rounded >> drop) - rebias;
    return sign | (code > f.maxCode ? f.maxCode : code);
}

/// E8M0 (OCP MX): a power of two, 2^(code - 127); 0xFF is NaN.
HALFTONE_HD float e8m0Value(std::uint8_t code)
{
    if (code == 0xFF) return bitsFloat(0x7fc00000u);
    return code == 0 ? bitsFloat(0x00400000u) : bitsFloat(static_cast<std::uint32_t>(code) << 23);
}

} // namespace halftone
