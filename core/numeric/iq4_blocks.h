// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/numeric/k_blocks.h"

#include <cmath>
#include <cstdint>

namespace halftone {

// ggml's four-bit types with sixteen values of unequal distance, denser around zero.

/// The sixteen, for tables: device code can't read a global one.
#define HALFTONE_IQ4_VALUES -127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113

HALFTONE_HD float iq4Value(std::int32_t code)
{
    static constexpr float kValues[16]{HALFTONE_IQ4_VALUES};
    return kValues[code];
}

/// Code of the nearest value; the upper one on a tie.
HALFTONE_HD std::int32_t iq4Code(float x)
{
    if (x <= iq4Value(0)) return 0;
    if (x >= iq4Value(15)) return 15;
    std::int32_t low = 0; // of the values at or below x the largest
    for (std::int32_t step = 8; step > 0; step /= 2)
        low += step * static_cast<std::int32_t>(x >= iq4Value(low + step));
    return x - iq4Value(low) < iq4Value(low + 1) - x ? low : low + 1;
}

/// Scale of 32 values by least squares with weights x^2, for codes of a first scale that puts the peak on the
/// outermost value. kTries > 0 also tries that many first scales on both sides; 0 leaves `codes`, those of
/// the first scale, to be used.
template <int kTries> HALFTONE_HD float fitIq4(const float* x, std::uint8_t* codes)
{
    const float peak = signedPeak<kGgufBlock>(x);
    for (int j = 0; j < kGgufBlock; ++j)
        codes[j] = 8; // ggml leaves the codes of zeros unset in the plain type
    if (fabsf(peak) < kNoMagnitude) return 0.0f;
    float scale = 0, best = 0;
    const auto fit = [&](float inverse, float& xq, float& q2) {
        xq = q2 = 0;
        for (int j = 0; j < kGgufBlock; ++j) {
            const std::int32_t code = iq4Code(inverse * x[j]);
            const float w = x[j] * x[j], q = iq4Value(code);
            if constexpr (kTries == 0) codes[j] = static_cast<std::uint8_t>(code);
            xq += w * q * x[j];
            q2 += w * q * q;
        }
    };
    float xq, q2;
    const float first = (kTries > 0 ? -peak : peak) / iq4Value(0);
    fit(1.0f / first, xq, q2);
    scale = q2 > 0 ? xq / q2 : 0.0f;
    best = scale * xq;
    if constexpr (kTries > 0)
        for (int k = -kTries; k <= kTries; ++k) {
            fit((static_cast<float>(k) + iq4Value(0)) / peak, xq, q2);
            if (q2 > 0 && xq * xq > best * q2) {
                scale = xq / q2;
                best = scale * xq;
            }
        }
    return scale;
}

/// The plain type. kTries = 0 is ggml's reference encoder; its quantizing tool tries 7 scales on both sides.
template <int kTries> struct Iq4NlBlockOf {
    static constexpr int kElements = kGgufBlock, kPart = kGgufBlock, kBits = 4, kCodeBytes = 16, kBytes = 18;
    static constexpr int kLowest = 0, kHighest = 15;
    static constexpr bool kUniform = false, kMinimum = false;
    static constexpr double kFlops = 20 * (2 * kTries + 1), kBestFlops = 55;

    HALFTONE_HD static GridPoint point(const std::uint8_t* block, int) { return {loadHalf(block), 0, 0.0f}; }
    HALFTONE_HD static std::int32_t code(const std::uint8_t* block, int j) { return nibbleAt(block + 2, j); }
    HALFTONE_HD static float valueOf(std::int32_t code) { return iq4Value(code); }
    HALFTONE_HD static bool encode(const float* x, std::uint8_t* block)
    {
        std::uint8_t codes[kElements];
        const float scale = fitIq4<kTries>(x, codes);
        if (!storeHalf(block, scale)) return false;
        if constexpr (kTries > 0) {
            const float inverse = scale != 0 ? 1.0f / scale : 0.0f;
            for (int j = 0; j < kElements; ++j)
                codes[j] = static_cast<std::uint8_t>(iq4Code(inverse * x[j]));
        }
        storeNibbles(block + 2, codes);
        return true;
    }
};
using Iq4NlBlock = Iq4NlBlockOf<0>;

/// Super-blocks of 256: parts of 32 with scales of 6 bits under one d.
struct Iq4XsBlock {
    static constexpr int kElements = kSuperBlock, kPart = kGgufBlock, kBits = 4, kCodeBytes = 128;
    static constexpr int kBytes = 136, kLowest = 0, kHighest = 15, kParts = kElements / kPart;
    static constexpr bool kUniform = false, kMinimum = false;
    static constexpr double kFlops = 320, kBestFlops = 65;
    static constexpr int kDAt = 0, kHighAt = 2, kLowAt = 4, kCodesAt = 8;
    static constexpr int kLowScale = -32, kHighScale = 31;

    HALFTONE_HD static GridPoint point(const std::uint8_t* block, int part)
    {
        const int low = block[kLowAt + part / 2] >> (part % 2 * 4) & 15;
        const int high = block[kHighAt + part / 4] >> (part % 4 * 2) & 3;
        return {loadHalf(block) * static_cast<float>((low | high << 4) - 32), 0, 0.0f};
    }
    HALFTONE_HD static std::int32_t code(const std::uint8_t* block, int j)
    {
        return nibbleAt(block + kCodesAt + j / kPart * 16, j % kPart);
    }
    HALFTONE_HD static float valueOf(std::int32_t code) { return iq4Value(code); }
    HALFTONE_HD static bool encode(const float* x, std::uint8_t* block)
    {
        std::uint8_t codes[kPart];
        float scales[kParts];
        for (int part = 0; part < kParts; ++part)
            scales[part] = fitIq4<7>(x + part * kPart, codes);
        std::int32_t whole[kParts];
        const float d = makeScales(scales, whole);
        if (!storeHalf(block + kDAt, d)) return false;
        storeScales(block, whole);
        for (int part = 0; part < kParts; ++part) {
            // The float d here, not the stored one: as ggml does.
            const float step = d * static_cast<float>(whole[part]);
            const float inverseStep = step != 0 ? 1.0f / step : 0.0f;
            for (int j = 0; j < kPart; ++j)
                codes[j] = static_cast<std::uint8_t>(iq4Code(inverseStep * x[part * kPart + j]));
            storeNibbles(block + kCodesAt + part * 16, codes);
        }
        return true;
    }
    /// The d before it is stored; NaN when a search overflowed.
    HALFTONE_HD static float makeScales(const float* scales, std::int32_t* whole)
    {
        const float d = -peakScale<kParts>(scales) / 32.0f;
        const float inverse = d != 0 ? 1.0f / d : 0.0f;
        for (int part = 0; part < kParts; ++part)
            whole[part] = clampCode(roundEven(inverse * scales[part]), kLowScale, kHighScale);
        return d;
    }
    HALFTONE_HD static void storeScales(std::uint8_t* block, const std::int32_t* whole)
    {
        for (int i = kHighAt; i < kCodesAt; ++i)
            block[i] = 0;
        for (int part = 0; part < kParts; ++part) {
            const auto q = static_cast<std::uint32_t>(whole[part] - kLowScale);
            std::uint8_t& low = block[kLowAt + part / 2];
            std::uint8_t& high = block[kHighAt + part / 4];
            low = static_cast<std::uint8_t>(low | (q & 15u) << (part % 2 * 4));
            high = static_cast<std::uint8_t>(high | q >> 4 << (part % 4 * 2));
        }
    }
    HALFTONE_HD static void storeCodes(std::uint8_t* block, const std::uint8_t* codes)
    {
        for (int part = 0; part < kParts; ++part)
            storeNibbles(block + kCodesAt + part * 16, codes + part * kPart);
    }
};

} // namespace halftone
