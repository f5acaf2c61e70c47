// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/numeric/gguf_blocks.h"

#include <cmath>
#include <cstdint>

namespace halftone {

// ggml's blocks of E2M1 floats. ggml counts in doubled values and halved scales; here they are those of OCP
// MX, which multiply to the same floats.

/// ggml reads the code of -0 as 0.
HALFTONE_HD float e2m1Value(std::int32_t code)
{
    static constexpr float kValues[16]{0.0f, 0.5f,  1.0f,  1.5f,  2.0f,  3.0f,  4.0f,  6.0f,
                                       0.0f, -0.5f, -1.0f, -1.5f, -2.0f, -3.0f, -4.0f, -6.0f};
    return kValues[code];
}

/// Code of the nearest value times `scale`; the smaller magnitude on a tie, never -0. It is ggml's search,
/// where only codes of the value's own sign can win.
HALFTONE_HD std::uint8_t e2m1CodeBySearch(float x, float scale)
{
    int best = 0;
    float error = fabsf(x);
    const int sign = x < 0 ? 8 : 0;
    for (int k = 1; k < 8; ++k) {
        const float e = fabsf(e2m1Value(sign + k) * scale - x);
        if (e < error) {
            error = e;
            best = sign + k;
        }
    }
    return static_cast<std::uint8_t>(best);
}

/// floor(log2f(x)) for normal x > 0, where log2f rounds its result to nearest: just below a power of two it
/// may round up to the next integer, and ggml's scales follow it there.
HALFTONE_HD int floorLog2(float x)
{
    const std::uint32_t bits = floatBits(x);
    const int next = static_cast<int>(bits >> 23) - 126;
    // x = 2^next (1 - gap 2^-24), so that log2 is gap / ln 2 units of 2^-24 below `next`.
    const std::uint32_t gap = 0x800000u - (bits & 0x7fffffu);
    // Floats around `next` are 2^-23 2^k apart on the side of zero, where 2^k <= |log2| < 2^(k+1).
    std::uint32_t magnitude =
        next > 0 ? static_cast<std::uint32_t>(next - 1) : static_cast<std::uint32_t>(-next);
    std::uint32_t halfUnit = 1;
    for (; magnitude > 1; magnitude >>= 1)
        halfUnit *= 2;
    return static_cast<float>(gap) * 1.44269504f < static_cast<float>(halfUnit) ? next : next - 1;
}

struct MxFp4Block {
    static constexpr int kElements = kGgufBlock, kPart = kGgufBlock, kBits = 4, kCodeBytes = 16, kBytes = 17;
    static constexpr int kLowest = 0, kHighest = 15;
    static constexpr bool kUniform = false, kMinimum = false;
    static constexpr double kFlops = 24, kBestFlops = 9;

    HALFTONE_HD static GridPoint point(const std::uint8_t* block, int)
    {
        return {e8m0Value(block[0]), 0, 0.0f};
    }
    HALFTONE_HD static std::int32_t code(const std::uint8_t* block, int j) { return nibbleAt(block + 1, j); }
    HALFTONE_HD static float valueOf(std::int32_t code) { return e2m1Value(code); }
    HALFTONE_HD static bool encode(const float* x, std::uint8_t* block)
    {
        block[0] = static_cast<std::uint8_t>(exponentOf(signedPeak<kElements>(x)));
        const float scale = e8m0Value(block[0]);
        std::uint8_t codes[kElements];
        for (int j = 0; j < kElements; ++j)
            codes[j] = e2m1CodeBySearch(x[j], scale);
        storeNibbles(block + 1, codes);
        return true;
    }
    /// Code of the scale for a peak: 2 is the exponent of the largest E2M1 value. Smaller blocks than E8M0
    /// reaches take its least scale.
    HALFTONE_HD static int exponentOf(float peak)
    {
        const float size = fabsf(peak);
        return size >= 0x1p-125f ? floorLog2(size) - 2 + 127 : 0;
    }
};

/// Unsigned E4M3 as ggml makes it: halves round up, and what would need the largest exponent becomes 448.
HALFTONE_HD std::uint8_t ue4m3Code(float x)
{
    if (!(x > 0)) return 0;
    if (x >= 256.0f) return 0x7E;
    // Subnormal: eighths of the smallest normal.
    if (x < 0x1p-6f) return static_cast<std::uint8_t>(codeUpTo(x * 512.0f + 0.5f, 7));
    const std::uint32_t rounded = floatBits(x) + 0x80000u;
    const std::uint32_t code = (rounded >> 20) - ((127u - 7u) << 3);
    return static_cast<std::uint8_t>(code < 0x78u ? code : 0x7Eu);
}

/// 0 for the NaN code, as ggml reads it.
HALFTONE_HD float ue4m3Value(std::uint8_t code)
{
    return (code & 0x7f) == 0x7f ? 0.0f : smallFloatValue(code & 0x7fu, kE4M3);
}

/// Four parts of 16 with scales of their own. A scale of the whole tensor, which other programs keep beside
/// it, is not part of the block.
struct NvFp4Block {
    static constexpr int kElements = 64, kPart = 16, kBits = 4, kCodeBytes = 32, kBytes = 36;
    static constexpr int kLowest = 0, kHighest = 15, kParts = kElements / kPart;
    static constexpr bool kUniform = false, kMinimum = false;
    static constexpr double kFlops = 24, kBestFlops = 13;
    /// From here on the nearest scale would be one that E4M3 lacks.
    static constexpr float kScaleEnd = 464.0f;

    HALFTONE_HD static GridPoint point(const std::uint8_t* block, int part)
    {
        return {ue4m3Value(block[part]), 0, 0.0f};
    }
    HALFTONE_HD static std::int32_t code(const std::uint8_t* block, int j)
    {
        return block[kParts + j / 16 * 8 + j % 8] >> (j / 8 % 2 * 4) & 15;
    }
    HALFTONE_HD static float valueOf(std::int32_t code) { return e2m1Value(code); }
    HALFTONE_HD static bool encode(const float* x, std::uint8_t* block)
    {
        for (int part = 0; part < kParts; ++part) {
            const float* values = x + part * kPart;
            const float wanted = fabsf(signedPeak<kPart>(values)) / 6.0f;
            if (wanted > kScaleEnd) return false;
            block[part] = ue4m3Code(wanted);
            const float scale = ue4m3Value(block[part]);
            for (int j = 0; j < 8; ++j)
                block[kParts + part * 8 + j] = static_cast<std::uint8_t>(
                    e2m1CodeBySearch(values[j], scale) | e2m1CodeBySearch(values[j + 8], scale) << 4);
        }
        return true;
    }
};

} // namespace halftone
