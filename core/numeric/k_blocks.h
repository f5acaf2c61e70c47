// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/numeric/gguf_blocks.h"
#include "core/numeric/scale_search.h"

#include <cmath>
#include <cstdint>
#include <cstring>

namespace halftone {

// The K types of ggml: super-blocks of 256 weights whose parts of 16 or 32 have small integer scales (and
// minima) under one F16 d (and dmin). The encoders are the reference ones: the parts are searched in float,
// their scales rounded to integers, and the codes made again with what was stored.

inline constexpr int kSuperBlock = 256;

/// Codes made again with the stored points. A part whose scale is 0 keeps those of its search.
template <class Block> HALFTONE_HD void recode(const float* x, const std::uint8_t* block, std::uint8_t* codes)
{
    for (int part = 0; part < Block::kElements / Block::kPart; ++part) {
        const GridPoint p = Block::point(block, part);
        if (p.scale == 0) continue;
        for (int j = part * Block::kPart; j < (part + 1) * Block::kPart; ++j)
            codes[j] =
                static_cast<std::uint8_t>(clampCode(roundEven((x[j] - p.offset) / p.scale),
                                                    Block::kLowest - p.zero, Block::kHighest - p.zero) +
                                          p.zero);
    }
}

/// 256 codes of 2 bits: byte 32 n + l has weights 128 n + l, + 32, + 64 and + 96, low bits first.
HALFTONE_HD std::int32_t twoBitsAt(const std::uint8_t* qs, int j)
{
    return qs[j / 128 * 32 + j % 32] >> (j / 32 % 4 * 2) & 3;
}

HALFTONE_HD void storeTwoBits(std::uint8_t* qs, const std::uint8_t* codes)
{
    std::uint8_t packed[kSuperBlock / 4];
    for (int n = 0; n < 2; ++n)
        for (int l = 0; l < 32; ++l) {
            const std::uint8_t* c = codes + 128 * n + l;
            packed[32 * n + l] = static_cast<std::uint8_t>((c[0] & 3) | (c[32] & 3) << 2 | (c[64] & 3) << 4 |
                                                           (c[96] & 3) << 6);
        }
    memcpy(qs, packed, sizeof packed);
}

/// One bit of each of 256 codes, bit `kBit`: byte l has those of weights l, l + 32, ..., low bits first.
template <int kBit> HALFTONE_HD void storeHighBits(std::uint8_t* bits, const std::uint8_t* codes)
{
    std::uint8_t packed[32];
    for (int l = 0; l < 32; ++l) {
        const std::uint8_t* c = codes + l;
        packed[l] = static_cast<std::uint8_t>((c[0] >> kBit & 1) | (c[32] >> kBit & 1) << 1 |
                                              (c[64] >> kBit & 1) << 2 | (c[96] >> kBit & 1) << 3 |
                                              (c[128] >> kBit & 1) << 4 | (c[160] >> kBit & 1) << 5 |
                                              (c[192] >> kBit & 1) << 6 | (c[224] >> kBit & 1) << 7);
    }
    memcpy(bits, packed, sizeof packed);
}

/// The low four bits of 256 codes: those of weights i and i + kApart of each 2 kApart share a byte.
template <int kApart> HALFTONE_HD void storeLowNibbles(std::uint8_t* qs, const std::uint8_t* codes)
{
    std::uint8_t packed[kSuperBlock / 2];
    for (int n = 0; n < kSuperBlock / 2 / kApart; ++n)
        for (int l = 0; l < kApart; ++l) {
            const std::uint8_t* c = codes + 2 * kApart * n + l;
            packed[kApart * n + l] = static_cast<std::uint8_t>((c[0] & 15) | (c[kApart] & 15) << 4);
        }
    memcpy(qs, packed, sizeof packed);
}

/// Integer scales and minima of the parts of a super-block against their maxima, and d and dmin.
template <int kParts, int kTop> struct SuperScales {
    std::int32_t scale[kParts], minimum[kParts];

    HALFTONE_HD bool make(const ScaleAndMinimum* parts, std::uint8_t* d, std::uint8_t* dmin)
    {
        float maxScale = 0, maxMin = 0;
        for (int i = 0; i < kParts; ++i) {
            maxScale = parts[i].scale > maxScale ? parts[i].scale : maxScale;
            maxMin = parts[i].minusMinimum > maxMin ? parts[i].minusMinimum : maxMin;
        }
        const auto top = static_cast<float>(kTop);
        const float inverseScale = maxScale > 0 ? top / maxScale : 0.0f;
        const float inverseMin = maxMin > 0 ? top / maxMin : 0.0f;
        for (int i = 0; i < kParts; ++i) {
            scale[i] = roundEven(inverseScale * parts[i].scale);
            minimum[i] = roundEven(inverseMin * parts[i].minusMinimum);
        }
        const bool scaleFits = storeHalf(d, maxScale / top), minimumFits = storeHalf(dmin, maxMin / top);
        return scaleFits && minimumFits;
    }
};

struct Q2_KBlock {
    static constexpr int kElements = kSuperBlock, kPart = 16, kBits = 2, kCodeBytes = 64, kBytes = 84;
    static constexpr int kLowest = 0, kHighest = 3, kParts = kElements / kPart;
    static constexpr bool kUniform = true, kMinimum = true;
    static constexpr double kFlops = 190, kBestFlops = 50;
    static constexpr int kCodesAt = 16, kDAt = 80, kDMinAt = 82;
    static constexpr int kTopScale = 15;
    using Super = SuperScales<kParts, kTopScale>;
    static constexpr TrialGrids kTrials{-0.5f, 0.1f, 15, false};

    HALFTONE_HD static GridPoint point(const std::uint8_t* block, int part)
    {
        const float d = loadHalf(block + kDAt), dmin = loadHalf(block + kDMinAt);
        return {d * static_cast<float>(block[part] & 15), 0, -(dmin * static_cast<float>(block[part] >> 4))};
    }
    HALFTONE_HD static std::int32_t code(const std::uint8_t* block, int j)
    {
        return twoBitsAt(block + kCodesAt, j);
    }
    HALFTONE_HD static bool encode(const float* x, std::uint8_t* block)
    {
        std::uint8_t codes[kElements];
        ScaleAndMinimum parts[kParts];
        for (int part = 0; part < kParts; ++part) {
            float weights[kPart];
            for (int i = 0; i < kPart; ++i)
                weights[i] = fabsf(x[part * kPart + i]);
            parts[part] =
                fitScaleAndMinimum<kPart, kHighest>(x + part * kPart, weights, kTrials, codes + part * kPart);
        }
        Super super;
        if (!super.make(parts, block + kDAt, block + kDMinAt)) return false;
        storeScales(block, super.scale, super.minimum);
        recode<Q2_KBlock>(x, block, codes);
        storeCodes(block, codes);
        return true;
    }
    HALFTONE_HD static void storeScales(std::uint8_t* block, const std::int32_t* scales,
                                        const std::int32_t* minima)
    {
        for (int part = 0; part < kParts; ++part)
            block[part] = static_cast<std::uint8_t>(scales[part] | minima[part] * 16);
    }
    HALFTONE_HD static void storeCodes(std::uint8_t* block, const std::uint8_t* codes)
    {
        storeTwoBits(block + kCodesAt, codes);
    }
};

struct Q3_KBlock {
    static constexpr int kElements = kSuperBlock, kPart = 16, kBits = 3, kCodeBytes = 96, kBytes = 110;
    static constexpr int kLowest = 0, kHighest = 7, kZero = 4, kParts = kElements / kPart;
    static constexpr bool kUniform = true, kMinimum = false;
    static constexpr double kFlops = 60, kBestFlops = 25;
    static constexpr int kHighAt = 0, kCodesAt = 32, kScalesAt = 96, kDAt = 108;
    static constexpr int kLowScale = -32, kHighScale = 31;

    // 16 scales of 6 bits: low halves in bytes 0 to 7, high parts in bytes 8 to 11.
    HALFTONE_HD static std::int32_t scaleOf(const std::uint8_t* block, int part)
    {
        const std::uint8_t* s = block + kScalesAt;
        const int low = part < 8 ? s[part] & 15 : s[part - 8] >> 4;
        return (low | (s[8 + part % 4] >> (part / 4 * 2) & 3) << 4) - 32;
    }
    HALFTONE_HD static GridPoint point(const std::uint8_t* block, int part)
    {
        return {loadHalf(block + kDAt) * static_cast<float>(scaleOf(block, part)), kZero, 0.0f};
    }
    HALFTONE_HD static std::int32_t code(const std::uint8_t* block, int j)
    {
        return twoBitsAt(block + kCodesAt, j) | (block[kHighAt + j % 32] >> (j / 32) & 1) << 2;
    }
    HALFTONE_HD static bool encode(const float* x, std::uint8_t* block)
    {
        std::uint8_t codes[kElements];
        float scales[kParts];
        for (int part = 0; part < kParts; ++part)
            scales[part] = descendToScale<kPart, kZero>(x + part * kPart, codes + part * kPart);
        std::int32_t whole[kParts];
        if (!makeScales(scales, whole, block + kDAt)) return false;
        storeScales(block, whole);
        recode<Q3_KBlock>(x, block, codes);
        storeCodes(block, codes);
        return true;
    }
    HALFTONE_HD static bool makeScales(const float* scales, std::int32_t* whole, std::uint8_t* d)
    {
        const float peak = peakScale<kParts>(scales);
        const float inverse = peak != 0 ? static_cast<float>(kLowScale) / peak : 0.0f;
        // A block of zeros has the lowest scales, whose bits are 0.
        for (int part = 0; part < kParts; ++part)
            whole[part] =
                peak != 0 ? clampCode(roundEven(inverse * scales[part]), kLowScale, kHighScale) : kLowScale;
        return storeHalf(d, peak != 0 ? 1.0f / inverse : 0.0f);
    }
    HALFTONE_HD static void storeScales(std::uint8_t* block, const std::int32_t* whole)
    {
        std::uint8_t* s = block + kScalesAt;
        for (int i = 0; i < 12; ++i)
            s[i] = 0;
        for (int part = 0; part < kParts; ++part) {
            const auto q = static_cast<std::uint32_t>(whole[part] - kLowScale);
            s[part % 8] = static_cast<std::uint8_t>(s[part % 8] | (q & 15u) << (part / 8 * 4));
            s[8 + part % 4] = static_cast<std::uint8_t>(s[8 + part % 4] | (q >> 4) << (part / 4 * 2));
        }
    }
    HALFTONE_HD static void storeCodes(std::uint8_t* block, const std::uint8_t* codes)
    {
        storeHighBits<2>(block + kHighAt, codes);
        storeTwoBits(block + kCodesAt, codes);
    }
};

/// Q4_K and Q5_K: parts of 32, scales and minima of 6 bits.
template <int kCodeBits> struct ScaledMinimumBlock {
    static constexpr int kElements = kSuperBlock, kPart = 32, kBits = kCodeBits;
    static constexpr int kHighBytes = kBits == 5 ? 32 : 0, kCodeBytes = kHighBytes + 128;
    static constexpr int kBytes = 16 + kCodeBytes;
    static constexpr int kLowest = 0, kHighest = (1 << kBits) - 1, kParts = kElements / kPart;
    static constexpr bool kUniform = true, kMinimum = true;
    static constexpr double kFlops = kBits == 5 ? 190 : 250, kBestFlops = 40;
    static constexpr int kDAt = 0, kDMinAt = 2, kScalesAt = 4, kHighAt = 16, kCodesAt = kHighAt + kHighBytes;
    static constexpr int kTopScale = 63;
    using Super = SuperScales<kParts, kTopScale>;
    static constexpr TrialGrids kTrials =
        kBits == 5 ? TrialGrids{-0.5f, 0.1f, 15, true} : TrialGrids{-1.0f, 0.1f, 20, true};

    // Six bits each: those of parts 0 to 3 low in bytes 0 to 7, the others in bytes 8 to 11 and the top bits.
    HALFTONE_HD static GridPoint point(const std::uint8_t* block, int part)
    {
        const std::uint8_t* s = block + kScalesAt;
        const int scale = part < 4 ? s[part] & 63 : (s[part + 4] & 15) | s[part - 4] >> 6 << 4;
        const int minimum = part < 4 ? s[part + 4] & 63 : s[part + 4] >> 4 | s[part] >> 6 << 4;
        return {loadHalf(block) * static_cast<float>(scale), 0,
                -(loadHalf(block + 2) * static_cast<float>(minimum))};
    }
    HALFTONE_HD static std::int32_t code(const std::uint8_t* block, int j)
    {
        const std::int32_t low = block[kCodesAt + j / 64 * 32 + j % 32] >> (j / 32 % 2 * 4) & 15;
        if constexpr (kBits == 5) return low | (block[kHighAt + j % 32] >> (j / 32) & 1) << 4;
        return low;
    }
    HALFTONE_HD static bool encode(const float* x, std::uint8_t* block)
    {
        std::uint8_t codes[kElements];
        ScaleAndMinimum parts[kParts];
        for (int part = 0; part < kParts; ++part) {
            const float* values = x + part * kPart;
            float squares = 0;
            for (int i = 0; i < kPart; ++i)
                squares += values[i] * values[i];
            const float rms = sqrtf(squares / static_cast<float>(kPart));
            float weights[kPart];
            for (int i = 0; i < kPart; ++i)
                weights[i] = rms + fabsf(values[i]);
            parts[part] = fitScaleAndMinimum<kPart, kHighest>(values, weights, kTrials, codes + part * kPart);
        }
        Super super;
        if (!super.make(parts, block + kDAt, block + kDMinAt)) return false;
        storeScales(block, super.scale, super.minimum);
        recode<ScaledMinimumBlock>(x, block, codes);
        storeCodes(block, codes);
        return true;
    }
    HALFTONE_HD static void storeScales(std::uint8_t* block, const std::int32_t* scales,
                                        const std::int32_t* minima)
    {
        std::uint8_t* s = block + kScalesAt;
        for (int part = 0; part < kParts; ++part) {
            const std::uint32_t scale = sixBits(scales[part]), minimum = sixBits(minima[part]);
            if (part < 4) {
                s[part] = static_cast<std::uint8_t>(scale);
                s[part + 4] = static_cast<std::uint8_t>(minimum);
            } else {
                s[part + 4] = static_cast<std::uint8_t>((scale & 15u) | (minimum & 15u) << 4);
                s[part - 4] = static_cast<std::uint8_t>(s[part - 4] | scale >> 4 << 6);
                s[part] = static_cast<std::uint8_t>(s[part] | minimum >> 4 << 6);
            }
        }
    }
    HALFTONE_HD static void storeCodes(std::uint8_t* block, const std::uint8_t* codes)
    {
        if constexpr (kBits == 5) storeHighBits<4>(block + kHighAt, codes);
        storeLowNibbles<32>(block + kCodesAt, codes);
    }

private:
    // A negative scale, which only rounding could make, wraps around as in ggml.
    HALFTONE_HD static std::uint32_t sixBits(std::int32_t value)
    {
        const std::uint32_t wrapped = static_cast<std::uint32_t>(value) & 255u;
        return wrapped < 63u ? wrapped : 63u;
    }
};
using Q4_KBlock = ScaledMinimumBlock<4>;
using Q5_KBlock = ScaledMinimumBlock<5>;

struct Q6_KBlock {
    static constexpr int kElements = kSuperBlock, kPart = 16, kBits = 6, kCodeBytes = 192, kBytes = 210;
    static constexpr int kLowest = 0, kHighest = 63, kZero = 32, kParts = kElements / kPart;
    static constexpr bool kUniform = true, kMinimum = false;
    static constexpr double kFlops = 190, kBestFlops = 25;
    static constexpr int kLowAt = 0, kHighAt = 128, kScalesAt = 192, kDAt = 208;
    static constexpr int kLowScale = -128, kHighScale = 127;

    HALFTONE_HD static GridPoint point(const std::uint8_t* block, int part)
    {
        const auto scale = static_cast<std::int8_t>(block[kScalesAt + part]);
        return {loadHalf(block + kDAt) * static_cast<float>(scale), kZero, 0.0f};
    }
    HALFTONE_HD static std::int32_t code(const std::uint8_t* block, int j)
    {
        const int low = block[kLowAt + j / 128 * 64 + j % 64] >> (j / 64 % 2 * 4) & 15;
        return low | twoBitsAt(block + kHighAt, j) << 4;
    }
    HALFTONE_HD static bool encode(const float* x, std::uint8_t* block)
    {
        std::uint8_t codes[kElements];
        float scales[kParts];
        for (int part = 0; part < kParts; ++part)
            scales[part] = fitScale<kPart, kZero>(x + part * kPart, codes + part * kPart);
        if (fabsf(peakScale<kParts>(scales)) < kNoMagnitude) {
            for (int i = 0; i < kBytes; ++i)
                block[i] = 0;
            return true;
        }
        std::int32_t whole[kParts];
        if (!makeScales(scales, whole, block + kDAt)) return false;
        storeScales(block, whole);
        recode<Q6_KBlock>(x, block, codes);
        storeCodes(block, codes);
        return true;
    }
    /// Of scales that are not all zero.
    HALFTONE_HD static bool makeScales(const float* scales, std::int32_t* whole, std::uint8_t* d)
    {
        const float inverse = static_cast<float>(kLowScale) / peakScale<kParts>(scales);
        for (int part = 0; part < kParts; ++part)
            whole[part] = clampCode(roundEven(inverse * scales[part]), kLowScale, kHighScale);
        return storeHalf(d, 1.0f / inverse);
    }
    HALFTONE_HD static void storeScales(std::uint8_t* block, const std::int32_t* whole)
    {
        for (int part = 0; part < kParts; ++part)
            block[kScalesAt + part] = static_cast<std::uint8_t>(whole[part]);
    }
    HALFTONE_HD static void storeCodes(std::uint8_t* block, const std::uint8_t* codes)
    {
        storeLowNibbles<64>(block + kLowAt, codes);
        std::uint8_t high[kElements];
        for (int j = 0; j < kElements; ++j)
            high[j] = static_cast<std::uint8_t>(codes[j] >> 4);
        storeTwoBits(block + kHighAt, high);
    }
};

/// ggml's type for activations: d as F32, codes, and sums of codes that only its kernels need.
struct Q8_KBlock : BytesBlock<kSuperBlock, 4> {
    static constexpr int kBytes = 292;

    HALFTONE_HD static GridPoint point(const std::uint8_t* block, int)
    {
        std::uint32_t bits = 0;
        for (int i = 0; i < 4; ++i)
            bits |= static_cast<std::uint32_t>(block[i]) << (8 * i);
        return {bitsFloat(bits), 0, 0.0f};
    }
};

} // namespace halftone
