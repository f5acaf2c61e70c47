// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/numeric/block_code.h"

#include <cmath>
#include <cstdint>

namespace halftone {

// The plain blocks of ggml: scale d (and minimum m) as F16, then codes. The codes are made with the float d,
// not the stored one: that is how ggml rounds, and files must be the same bytes.

inline constexpr int kGgufBlock = 32;

/// trunc(t) for 0 <= t, at most `top`.
HALFTONE_HD std::uint32_t codeUpTo(float t, std::int32_t top)
{
    const auto code = static_cast<std::int32_t>(t);
    return static_cast<std::uint32_t>(code < top ? code : top);
}

/// 32 codes of 4 or 5 bits: the fifth bits first, bit j for weight j, then nibbles.
template <int kBits> struct PlainCodes {
    static constexpr int kHighBytes = kBits == 5 ? 4 : 0;
    static constexpr int kBytes = kHighBytes + 16;

    HALFTONE_HD static std::int32_t at(const std::uint8_t* bytes, int j)
    {
        const std::int32_t low = nibbleAt(bytes + kHighBytes, j);
        if constexpr (kBits == 5) return low | (bytes[j / 8] >> (j % 8) & 1) << 4;
        return low;
    }
    template <class Code> HALFTONE_HD static void store(std::uint8_t* bytes, const Code* codes)
    {
        if constexpr (kBits == 5)
            for (int k = 0; k < 4; ++k) {
                std::uint32_t high = 0;
                for (int i = 0; i < 8; ++i)
                    high |= static_cast<std::uint32_t>(codes[8 * k + i] >> 4) << i;
                bytes[k] = static_cast<std::uint8_t>(high);
            }
        storeNibbles(bytes + kHighBytes, codes);
    }
};

/// Q4_0 and Q5_0: the value of largest magnitude becomes code 0, so d may be negative.
template <int kCodeBits> struct AroundZeroBlock {
    using Codes = PlainCodes<kCodeBits>;
    static constexpr int kElements = kGgufBlock, kPart = kGgufBlock, kBits = kCodeBits;
    static constexpr int kCodeBytes = Codes::kBytes, kBytes = 2 + kCodeBytes;
    static constexpr int kLowest = 0, kHighest = (1 << kBits) - 1, kZero = 1 << (kBits - 1);
    static constexpr bool kUniform = true, kMinimum = false;
    static constexpr double kFlops = 5, kBestFlops = 13;

    HALFTONE_HD static GridPoint point(const std::uint8_t* block, int)
    {
        return {loadHalf(block), kZero, 0.0f};
    }
    HALFTONE_HD static std::int32_t code(const std::uint8_t* block, int j) { return Codes::at(block + 2, j); }
    HALFTONE_HD static bool encode(const float* x, std::uint8_t* block)
    {
        const float d = signedPeak<kElements>(x) / static_cast<float>(-kZero);
        const float id = inverseOf(d);
        if (!storeHalf(block, d)) return false;
        std::uint32_t codes[kElements];
        for (int j = 0; j < kElements; ++j)
            codes[j] = codeUpTo(x[j] * id + (static_cast<float>(kZero) + 0.5f), kHighest);
        Codes::store(block + 2, codes);
        return true;
    }
};
using Q4_0Block = AroundZeroBlock<4>;
using Q5_0Block = AroundZeroBlock<5>;

/// Q4_1 and Q5_1: the smallest value is stored and becomes code 0.
template <int kCodeBits> struct FromMinimumBlock {
    using Codes = PlainCodes<kCodeBits>;
    static constexpr int kElements = kGgufBlock, kPart = kGgufBlock, kBits = kCodeBits;
    static constexpr int kCodeBytes = Codes::kBytes, kBytes = 4 + kCodeBytes;
    static constexpr int kLowest = 0, kHighest = (1 << kBits) - 1;
    static constexpr bool kUniform = true, kMinimum = true;
    static constexpr double kFlops = 6, kBestFlops = 15;

    HALFTONE_HD static GridPoint point(const std::uint8_t* block, int)
    {
        return {loadHalf(block), 0, loadHalf(block + 2)};
    }
    HALFTONE_HD static std::int32_t code(const std::uint8_t* block, int j) { return Codes::at(block + 4, j); }
    HALFTONE_HD static bool encode(const float* x, std::uint8_t* block)
    {
        float min = x[0], max = x[0];
        for (int j = 1; j < kElements; ++j) {
            min = x[j] < min ? x[j] : min;
            max = x[j] > max ? x[j] : max;
        }
        const float d = (max - min) / static_cast<float>(kHighest);
        const float id = inverseOf(d);
        const bool scaleFits = storeHalf(block, d), minimumFits = storeHalf(block + 2, min);
        if (!scaleFits || !minimumFits) return false;
        std::uint32_t codes[kElements];
        for (int j = 0; j < kElements; ++j)
            codes[j] = codeUpTo((x[j] - min) * id + 0.5f, kHighest);
        Codes::store(block + 4, codes);
        return true;
    }
};
using Q4_1Block = FromMinimumBlock<4>;
using Q5_1Block = FromMinimumBlock<5>;

/// Signed bytes behind a scale: what Q8_0, Q8_1 and Q8_K have in common.
template <int kCount, int kHeader> struct BytesBlock {
    static constexpr int kElements = kCount, kPart = kCount, kBits = 8, kCodeBytes = kCount;
    static constexpr int kLowest = -127, kHighest = 127;
    static constexpr bool kUniform = true, kMinimum = false;
    static constexpr double kFlops = 5;

    HALFTONE_HD static std::int32_t code(const std::uint8_t* block, int j)
    {
        return static_cast<std::int8_t>(block[kHeader + j]);
    }
};

struct Q8_0Block : BytesBlock<kGgufBlock, 2> {
    static constexpr int kBytes = 34;
    static constexpr double kBestFlops = 8;

    HALFTONE_HD static GridPoint point(const std::uint8_t* block, int) { return {loadHalf(block), 0, 0.0f}; }
    HALFTONE_HD static bool encode(const float* x, std::uint8_t* block)
    {
        const float d = fabsf(signedPeak<kElements>(x)) / 127.0f;
        const float id = inverseOf(d);
        if (!storeHalf(block, d)) return false;
        for (int j = 0; j < kElements; ++j)
            block[2 + j] = static_cast<std::uint8_t>(roundAway(x[j] * id));
        return true;
    }
};

/// ggml's type for activations: d, then d times the sum of the codes, which only its kernels need.
struct Q8_1Block : BytesBlock<kGgufBlock, 4> {
    static constexpr int kBytes = 36;

    HALFTONE_HD static GridPoint point(const std::uint8_t* block, int) { return {loadHalf(block), 0, 0.0f}; }
};

/// One bit a weight, low bits first: -d or d.
struct Q1_0Block {
    static constexpr int kElements = 128, kPart = 128, kBits = 1, kCodeBytes = 16, kBytes = 18;
    static constexpr int kLowest = 0, kHighest = 1;
    static constexpr bool kUniform = false, kMinimum = false;
    static constexpr double kFlops = 2;

    HALFTONE_HD static GridPoint point(const std::uint8_t* block, int) { return {loadHalf(block), 0, 0.0f}; }
    HALFTONE_HD static std::int32_t code(const std::uint8_t* block, int j)
    {
        return block[2 + j / 8] >> (j % 8) & 1;
    }
    HALFTONE_HD static float valueOf(std::int32_t code) { return code != 0 ? 1.0f : -1.0f; }
};

/// Two bits a weight, low bits first: -d, 0, d or 2 d.
struct Q2_0Block {
    static constexpr int kElements = 64, kPart = 64, kBits = 2, kCodeBytes = 16, kBytes = 18;
    static constexpr int kLowest = 0, kHighest = 3;
    static constexpr bool kUniform = true, kMinimum = false;
    static constexpr double kFlops = 5;

    HALFTONE_HD static GridPoint point(const std::uint8_t* block, int) { return {loadHalf(block), 1, 0.0f}; }
    HALFTONE_HD static std::int32_t code(const std::uint8_t* block, int j)
    {
        return block[2 + j / 4] >> (j % 4 * 2) & 3;
    }
};

} // namespace halftone
