// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/numeric/hd.h"
#include "core/numeric/int_grid.h"
#include "core/numeric/small_float.h"

#include <cmath>
#include <cstdint>
#include <cstring>

namespace halftone {

// A block type is a struct of constants and static functions, its layout written down once:
//   kElements, kBytes, kCodeBytes  weights of a block, its bytes, and those of them that hold codes
//   kPart                          neighbouring weights that are read with the same point
//   kBits                          bits of one code
//   kLowest, kHighest              codes that an encoder writes
//   kUniform                       value = (code - zero) * scale + offset; else valueOf(code) * scale
//   kMinimum                       the offset is used
//   kFlops                         operations an encoder spends on a weight, about
//   kBestFlops                     the same of the better encoder, where devices have one
//   point(block, part)             scale, zero point and offset of a part
//   code(block, j)                 code of weight j
//   encode(x, block)               false when a scale overflows its type; the block is undefined then.
//                                  Missing in types that are only read.
// All integers are little-endian, byte for byte those of ggml's structs.

HALFTONE_HD std::uint16_t loadHalfBits(const std::uint8_t* at)
{
    return static_cast<std::uint16_t>(at[0] | at[1] << 8);
}

HALFTONE_HD void storeHalfBits(std::uint8_t* at, std::uint16_t bits)
{
    at[0] = static_cast<std::uint8_t>(bits & 0xffu);
    at[1] = static_cast<std::uint8_t>(bits >> 8);
}

HALFTONE_HD float loadHalf(const std::uint8_t* at) { return halfToFloat(loadHalfBits(at)); }

HALFTONE_HD bool isFiniteHalf(std::uint16_t bits) { return (bits & 0x7c00u) != 0x7c00u; }

/// Stores a scale or minimum as F16; false when it overflows.
HALFTONE_HD bool storeHalf(std::uint8_t* at, float x)
{
    const std::uint16_t bits = floatToHalf(x);
    storeHalfBits(at, bits);
    return isFiniteHalf(bits);
}

/// Nearest integer, halves away from zero, for |x| < 2^23. (x + 0.5 would push 0.49999997 up.)
HALFTONE_HD std::int32_t roundAway(float x)
{
    const auto whole = static_cast<std::int32_t>(x);
    const float rest = x - static_cast<float>(whole);
    return whole + (rest >= 0.5f ? 1 : rest <= -0.5f ? -1 : 0);
}

HALFTONE_HD std::int32_t clampCode(std::int32_t code, std::int32_t low, std::int32_t high)
{
    return code < low ? low : code > high ? high : code;
}

/// The value of largest magnitude with its sign; the first one wins.
template <int kCount> HALFTONE_HD float signedPeak(const float* x)
{
    float peak = 0.0f, size = 0.0f;
    for (int j = 0; j < kCount; ++j) {
        const float a = fabsf(x[j]);
        if (a > size) {
            size = a;
            peak = x[j];
        }
    }
    return peak;
}

/// Value of a code in its point. No offset is added where the type has none: it would turn -0 into 0.
template <class Block> HALFTONE_HD float blockValue(std::int32_t code, const GridPoint& p)
{
    if constexpr (!Block::kUniform)
        return Block::valueOf(code) * p.scale;
    else if constexpr (Block::kMinimum)
        return static_cast<float>(code - p.zero) * p.scale + p.offset;
    else
        return static_cast<float>(code - p.zero) * p.scale;
}

/// All kElements values of a block.
template <class Block> HALFTONE_HD void decodeBlockOf(const std::uint8_t* block, float* y)
{
    for (int part = 0; part < Block::kElements / Block::kPart; ++part) {
        const GridPoint p = Block::point(block, part);
        for (int j = part * Block::kPart; j < (part + 1) * Block::kPart; ++j)
            y[j] = blockValue<Block>(Block::code(block, j), p);
    }
}

/// All kElements codes of a block with the points they are read with.
template <class Block>
HALFTONE_HD void inspectBlockOf(const std::uint8_t* block, std::int32_t* codes, GridPoint* points)
{
    for (int part = 0; part < Block::kElements / Block::kPart; ++part) {
        const GridPoint p = Block::point(block, part);
        for (int j = part * Block::kPart; j < (part + 1) * Block::kPart; ++j) {
            codes[j] = Block::code(block, j);
            points[j] = p;
        }
    }
}

// 32 codes of 4 bits as 16 bytes: weight j < 16 has the low nibble of byte j, weight j + 16 the high one.

HALFTONE_HD std::int32_t nibbleAt(const std::uint8_t* qs, int j)
{
    return j < 16 ? qs[j] & 15 : qs[j - 16] >> 4;
}

template <class Code> HALFTONE_HD void storeNibbles(std::uint8_t* qs, const Code* codes)
{
    // Through memory of its own, which cannot be that of the codes: compilers then take many at once.
    std::uint8_t packed[16];
    for (int j = 0; j < 16; ++j)
        packed[j] = static_cast<std::uint8_t>((codes[j] & 15u) | (codes[j + 16] & 15u) << 4);
    memcpy(qs, packed, sizeof packed);
}

} // namespace halftone
