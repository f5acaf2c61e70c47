// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/numeric/hd.h"
#include "core/numeric/int_grid.h"
#include "core/numeric/small_float.h"

#include <cmath>
#include <cstdint>
#include <cstring>

namespace halftone {

// The blocks of 32 of ggml (Q4_0 .. Q8_0), byte for byte: scale d (and minimum m) as F16, little-endian,
// then codes. Element j < 16 has the low nibble of byte j, element j + 16 the high one. An encoder says
// false, and leaves the block undefined, when d or m overflows F16. The codes are made with the float d,
// not the stored one: that is how ggml rounds, and files must be the same bytes.

inline constexpr int kGgufBlock = 32;
inline constexpr int kQ4_0Bytes = 18;
inline constexpr int kQ4_1Bytes = 20;
inline constexpr int kQ5_0Bytes = 22;
inline constexpr int kQ5_1Bytes = 24;
inline constexpr int kQ8_0Bytes = 34;

HALFTONE_HD std::uint16_t loadHalfBits(const std::uint8_t* at)
{
    return static_cast<std::uint16_t>(at[0] | at[1] << 8);
}

HALFTONE_HD void storeHalfBits(std::uint8_t* at, std::uint16_t bits)
{
    at[0] = static_cast<std::uint8_t>(bits & 0xffu);
    at[1] = static_cast<std::uint8_t>(bits >> 8);
}

HALFTONE_HD bool isFiniteHalf(std::uint16_t bits) { return (bits & 0x7c00u) != 0x7c00u; }

/// Nearest integer, halves away from zero, for |x| < 2^23. (x + 0.5 would push 0.49999997 up.)
HALFTONE_HD std::int32_t roundAway(float x)
{
    const auto whole = static_cast<std::int32_t>(x);
    const float rest = x - static_cast<float>(whole);
    return whole + (rest >= 0.5f ? 1 : rest <= -0.5f ? -1 : 0);
}

/// The value of largest magnitude with its sign; the first one wins.
HALFTONE_HD float signedPeak(const float* x)
{
    float peak = 0.0f, size = 0.0f;
    for (int j = 0; j < kGgufBlock; ++j) {
        const float a = fabsf(x[j]);
        if (a > size) {
            size = a;
            peak = x[j];
        }
    }
    return peak;
}

struct BlockRange {
    float min, max;
};

HALFTONE_HD BlockRange rangeOf(const float* x)
{
    BlockRange r{x[0], x[0]};
    for (int j = 1; j < kGgufBlock; ++j) {
        r.min = x[j] < r.min ? x[j] : r.min;
        r.max = x[j] > r.max ? x[j] : r.max;
    }
    return r;
}

/// trunc(t) for 0 <= t, at most `top`.
HALFTONE_HD std::uint32_t codeUpTo(float t, std::int32_t top)
{
    const auto code = static_cast<std::int32_t>(t);
    return static_cast<std::uint32_t>(code < top ? code : top);
}

// Codes of 4 bits as nibbles; the fifth bit of 5-bit ones goes into qh, bit j for element j.
HALFTONE_HD void storeNibbles(std::uint8_t* qs, int j, std::uint32_t low, std::uint32_t high)
{
    qs[j] = static_cast<std::uint8_t>((low & 15u) | (high & 15u) << 4);
}

HALFTONE_HD void storeFifthBits(std::uint8_t* qh, std::uint32_t bits)
{
    for (int k = 0; k < 4; ++k)
        qh[k] = static_cast<std::uint8_t>(bits >> (8 * k));
}

/// Code 0..15 of element j of 32.
HALFTONE_HD std::int32_t nibbleAt(const std::uint8_t* qs, int j)
{
    return j < 16 ? qs[j] & 15 : qs[j - 16] >> 4;
}

/// Code 0..31 of element j of 32.
HALFTONE_HD std::int32_t fiveBitsAt(const std::uint8_t* qh, const std::uint8_t* qs, int j)
{
    return nibbleAt(qs, j) | (qh[j / 8] >> (j % 8) & 1) << 4;
}

HALFTONE_HD bool encodeQ4_0(const float* x, std::uint8_t* block)
{
    const float d = signedPeak(x) / -8.0f;
    const float id = inverseOf(d);
    const std::uint16_t half = floatToHalf(d);
    if (!isFiniteHalf(half)) return false;
    storeHalfBits(block, half);
    for (int j = 0; j < 16; ++j)
        storeNibbles(block + 2, j, codeUpTo(x[j] * id + 8.5f, 15), codeUpTo(x[j + 16] * id + 8.5f, 15));
    return true;
}

HALFTONE_HD void decodeQ4_0(const std::uint8_t* block, float* y)
{
    const float d = halfToFloat(loadHalfBits(block));
    for (int j = 0; j < kGgufBlock; ++j)
        y[j] = static_cast<float>(nibbleAt(block + 2, j) - 8) * d;
}

HALFTONE_HD bool encodeQ4_1(const float* x, std::uint8_t* block)
{
    const BlockRange r = rangeOf(x);
    const float d = (r.max - r.min) / 15.0f;
    const float id = inverseOf(d);
    const std::uint16_t half = floatToHalf(d), min = floatToHalf(r.min);
    if (!isFiniteHalf(half) || !isFiniteHalf(min)) return false;
    storeHalfBits(block, half);
    storeHalfBits(block + 2, min);
    for (int j = 0; j < 16; ++j)
        storeNibbles(block + 4, j, codeUpTo((x[j] - r.min) * id + 0.5f, 15),
                     codeUpTo((x[j + 16] - r.min) * id + 0.5f, 15));
    return true;
}

HALFTONE_HD void decodeQ4_1(const std::uint8_t* block, float* y)
{
    const float d = halfToFloat(loadHalfBits(block)), m = halfToFloat(loadHalfBits(block + 2));
    for (int j = 0; j < kGgufBlock; ++j)
        y[j] = static_cast<float>(nibbleAt(block + 4, j)) * d + m;
}

HALFTONE_HD bool encodeQ5_0(const float* x, std::uint8_t* block)
{
    const float d = signedPeak(x) / -16.0f;
    const float id = inverseOf(d);
    const std::uint16_t half = floatToHalf(d);
    if (!isFiniteHalf(half)) return false;
    storeHalfBits(block, half);
    std::uint32_t fifth = 0;
    for (int j = 0; j < 16; ++j) {
        const std::uint32_t low = codeUpTo(x[j] * id + 16.5f, 31);
        const std::uint32_t high = codeUpTo(x[j + 16] * id + 16.5f, 31);
        storeNibbles(block + 6, j, low, high);
        fifth |= (low >> 4) << j | (high >> 4) << (j + 16);
    }
    storeFifthBits(block + 2, fifth);
    return true;
}

HALFTONE_HD void decodeQ5_0(const std::uint8_t* block, float* y)
{
    const float d = halfToFloat(loadHalfBits(block));
    for (int j = 0; j < kGgufBlock; ++j)
        y[j] = static_cast<float>(fiveBitsAt(block + 2, block + 6, j) - 16) * d;
}

HALFTONE_HD bool encodeQ5_1(const float* x, std::uint8_t* block)
{
    const BlockRange r = rangeOf(x);
    const float d = (r.max - r.min) / 31.0f;
    const float id = inverseOf(d);
    const std::uint16_t half = floatToHalf(d), min = floatToHalf(r.min);
    if (!isFiniteHalf(half) || !isFiniteHalf(min)) return false;
    storeHalfBits(block, half);
    storeHalfBits(block + 2, min);
    std::uint32_t fifth = 0;
    for (int j = 0; j < 16; ++j) {
        const std::uint32_t low = codeUpTo((x[j] - r.min) * id + 0.5f, 31);
        const std::uint32_t high = codeUpTo((x[j + 16] - r.min) * id + 0.5f, 31);
        storeNibbles(block + 8, j, low, high);
        fifth |= (low >> 4) << j | (high >> 4) << (j + 16);
    }
    storeFifthBits(block + 4, fifth);
    return true;
}

HALFTONE_HD void decodeQ5_1(const std::uint8_t* block, float* y)
{
    const float d = halfToFloat(loadHalfBits(block)), m = halfToFloat(loadHalfBits(block + 2));
    for (int j = 0; j < kGgufBlock; ++j)
        y[j] = static_cast<float>(fiveBitsAt(block + 4, block + 8, j)) * d + m;
}

HALFTONE_HD bool encodeQ8_0(const float* x, std::uint8_t* block)
{
    const float d = fabsf(signedPeak(x)) / 127.0f;
    const float id = inverseOf(d);
    const std::uint16_t half = floatToHalf(d);
    if (!isFiniteHalf(half)) return false;
    storeHalfBits(block, half);
    for (int j = 0; j < kGgufBlock; ++j)
        block[2 + j] = static_cast<std::uint8_t>(roundAway(x[j] * id));
    return true;
}

HALFTONE_HD void decodeQ8_0(const std::uint8_t* block, float* y)
{
    const float d = halfToFloat(loadHalfBits(block));
    for (int j = 0; j < kGgufBlock; ++j)
        y[j] = static_cast<float>(static_cast<std::int8_t>(block[2 + j])) * d;
}

} // namespace halftone
