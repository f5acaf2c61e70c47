// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/numeric/k_blocks.h"

#include <cmath>
#include <cstdint>

namespace halftone {

// ggml's ternary types: 256 weights of -d, 0 or d. d is the largest magnitude, so they hold weights that are
// ternary already without loss; others lose much.

/// d as F16 at kDAt, and the 256 trits 0, 1, 2.
template <int kDAt> struct TernaryBlock {
    static constexpr int kElements = kSuperBlock, kPart = kSuperBlock, kBits = 2;
    static constexpr int kCodeBytes = kDAt, kBytes = kDAt + 2, kLowest = 0, kHighest = 2;
    static constexpr bool kUniform = true, kMinimum = false;
    static constexpr double kFlops = 5;

    HALFTONE_HD static GridPoint point(const std::uint8_t* block, int)
    {
        return {loadHalf(block + kDAt), 1, 0.0f};
    }

protected:
    HALFTONE_HD static bool toTrits(const float* x, std::uint8_t* block, std::uint8_t* trits)
    {
        const float d = fabsf(signedPeak<kElements>(x));
        const float inverse = inverseOf(d);
        for (int j = 0; j < kElements; ++j)
            trits[j] = static_cast<std::uint8_t>(roundAway(x[j] * inverse) + 1);
        return storeHalf(block + kDAt, d);
    }
};

/// Five trits a byte as a fraction of 256: trit n is the integer part of 3 times what is left after n
/// multiplications by 3. Bytes 0 to 31 hold weights 32 apart, 32 to 47 those 16 apart, the last four those 4
/// apart (four trits each).
struct Tq1_0Block : TernaryBlock<52> {
    struct Place {
        int byte, trit;
    };
    HALFTONE_HD static Place placeOf(int j)
    {
        if (j < 160) return {j % 32, j / 32};
        if (j < 240) return {32 + (j - 160) % 16, (j - 160) / 16};
        return {48 + j % 4, (j - 240) / 4};
    }
    HALFTONE_HD static std::int32_t code(const std::uint8_t* block, int j)
    {
        const Place place = placeOf(j);
        std::uint32_t rest = block[place.byte];
        for (int n = 0; n < place.trit; ++n)
            rest = rest * 3u & 255u;
        return static_cast<std::int32_t>(rest * 3u >> 8);
    }
    HALFTONE_HD static bool encode(const float* x, std::uint8_t* block)
    {
        std::uint8_t trits[kElements];
        if (!toTrits(x, block, trits)) return false;
        std::uint32_t sums[kCodeBytes] = {};
        for (int j = 0; j < kElements; ++j) {
            const Place place = placeOf(j);
            sums[place.byte] = sums[place.byte] * 3u + trits[j];
        }
        for (int i = 0; i < kCodeBytes; ++i) {
            const std::uint32_t five = i < 48 ? sums[i] : sums[i] * 3u;
            block[i] = static_cast<std::uint8_t>((five * 256u + 242u) / 243u);
        }
        return true;
    }
};

struct Tq2_0Block : TernaryBlock<64> {
    HALFTONE_HD static std::int32_t code(const std::uint8_t* block, int j) { return twoBitsAt(block, j); }
    HALFTONE_HD static bool encode(const float* x, std::uint8_t* block)
    {
        std::uint8_t trits[kElements];
        if (!toTrits(x, block, trits)) return false;
        storeTwoBits(block, trits);
        return true;
    }
};

} // namespace halftone
