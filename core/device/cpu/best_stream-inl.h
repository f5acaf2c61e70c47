// SPDX-License-Identifier: GPL-3.0-or-later
// The better encoders over whole rows: importance, batches and the choice by family. Included once for each
// vector target, hence no #pragma once.
#if defined(HALFTONE_BEST_STREAM_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFTONE_BEST_STREAM_INL_H_
#undef HALFTONE_BEST_STREAM_INL_H_
#else
#define HALFTONE_BEST_STREAM_INL_H_
#endif

#include "core/device/cpu/best_blocks.h"
#include "core/device/cpu/best_plain-inl.h"
#include "core/device/cpu/best_super-inl.h"

#include <algorithm>
#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {

using Family = FormatDesc::Family;

/// How the importance q of a column becomes the weight of an element, as in ggml's quantizers with a matrix:
/// q sqrt(sigma2 + x^2), where sigma2 is a multiple of the mean square of the row or of the block; or q
/// alone.
enum class Spread : std::uint8_t { None, Row, Block, TwoBlocks };

/// One type: blocks of a batch, the rule of its weights, and the encoder of a batch.
template <class Block> struct BatchOf {
    static constexpr int kBlocks = Points<Block>::kBlocks;
    static constexpr Spread kSpread = std::is_same_v<Block, Q2_KBlock>   ? Spread::Block
                                      : std::is_same_v<Block, Q6_KBlock> ? Spread::None
                                                                         : Spread::TwoBlocks;
    template <bool kWeighted>
    static bool encode(const float* x, const float* weights, int blocks, std::uint8_t* out)
    {
        return encodeSuperBlocks<Block, kWeighted>(x, weights, blocks, out);
    }
};

template <class Block, Spread kRule> struct PlainBatch {
    static constexpr int kBlocks = kSide;
    static constexpr Spread kSpread = kRule;
    template <bool kWeighted>
    static bool encode(const float* x, const float* weights, int blocks, std::uint8_t* out)
    {
        return encodePlainBlocks<Block, kWeighted>(x, weights, blocks, out);
    }
};
template <> struct BatchOf<Q4_0Block> : PlainBatch<Q4_0Block, Spread::Row> {
};
template <> struct BatchOf<Q4_1Block> : PlainBatch<Q4_1Block, Spread::Row> {
};
template <> struct BatchOf<Q5_0Block> : PlainBatch<Q5_0Block, Spread::Row> {
};
template <> struct BatchOf<Q5_1Block> : PlainBatch<Q5_1Block, Spread::Row> {
};
template <> struct BatchOf<Q8_0Block> : PlainBatch<Q8_0Block, Spread::None> {
};
template <> struct BatchOf<Iq4NlBlock> : PlainBatch<Iq4NlBlock, Spread::TwoBlocks> {
};
template <> struct BatchOf<MxFp4Block> {
    static constexpr int kBlocks = kSide;
    static constexpr Spread kSpread = Spread::None;
    template <bool kWeighted>
    static bool encode(const float* x, const float* weights, int blocks, std::uint8_t* out)
    {
        return encodeMxFp4<kWeighted>(x, weights, blocks, out);
    }
};
template <> struct BatchOf<NvFp4Block> {
    static constexpr int kBlocks = kSide / NvFp4Block::kParts;
    static constexpr Spread kSpread = Spread::None;
    template <bool kWeighted>
    static bool encode(const float* x, const float* weights, int blocks, std::uint8_t* out)
    {
        return encodeNvFp4<kWeighted>(x, weights, blocks, out);
    }
};

/// Sum of squares in the order of the values.
HWY_INLINE double squaresOf(const float* x, std::int64_t count)
{
    double sum = 0;
    for (std::int64_t i = 0; i < count; ++i)
        sum += static_cast<double>(x[i]) * static_cast<double>(x[i]);
    return sum;
}

/// Weights of one block; `importance` starts at its first column.
template <class Block>
HWY_INLINE void weightsOf(const float* x, const float* importance, double rowMean, float* weights)
{
    constexpr Spread kSpread = BatchOf<Block>::kSpread;
    if constexpr (kSpread == Spread::None) {
        std::copy(importance, importance + Block::kElements, weights);
        return;
    }
    const double sigma2 = kSpread == Spread::Row ? rowMean
                                                 : squaresOf(x, Block::kElements) / Block::kElements *
                                                       (kSpread == Spread::TwoBlocks ? 2 : 1);
    const F spread = all(static_cast<float>(sigma2));
    for (int j = 0; j < Block::kElements; j += laneCount()) {
        const F v = hn::LoadU(Floats(), x + j);
        const F size = hn::Sqrt(hn::Add(spread, hn::Mul(v, v)));
        hn::StoreU(hn::Mul(hn::LoadU(Floats(), importance + j), size), Floats(), weights + j);
    }
}

template <class Block> bool encodeRows(const BestRows& rows, std::uint8_t* out)
{
    using Batch = BatchOf<Block>;
    const std::int64_t perRow = rows.cols / Block::kElements, blocks = rows.rows * perRow;
    alignas(64) float weights[Batch::kBlocks * Block::kElements];
    bool good = true;
    double rowMean = 0;
    for (std::int64_t done = 0; done < blocks; done += Batch::kBlocks) {
        const auto count = static_cast<int>(std::min<std::int64_t>(Batch::kBlocks, blocks - done));
        const float* x = rows.x + done * Block::kElements;
        std::uint8_t* to = out + done * Block::kBytes;
        if (rows.importance == nullptr) {
            good = Batch::template encode<false>(x, nullptr, count, to) && good;
            continue;
        }
        for (int i = 0; i < count; ++i) {
            const std::int64_t inRow = (done + i) % perRow;
            const float* block = x + i * Block::kElements;
            if (Batch::kSpread == Spread::Row && inRow == 0)
                rowMean = squaresOf(block, rows.cols) / static_cast<double>(rows.cols);
            weightsOf<Block>(block, rows.importance + inRow * Block::kElements, rowMean,
                             weights + i * Block::kElements);
        }
        good = Batch::template encode<true>(x, weights, count, to) && good;
    }
    return good;
}

bool encodeBestRows(Family family, const BestRows& rows, std::uint8_t* out)
{
    switch (family) {
    case Family::Q4_0:
        return encodeRows<Q4_0Block>(rows, out);
    case Family::Q4_1:
        return encodeRows<Q4_1Block>(rows, out);
    case Family::Q5_0:
        return encodeRows<Q5_0Block>(rows, out);
    case Family::Q5_1:
        return encodeRows<Q5_1Block>(rows, out);
    case Family::Q8_0:
        return encodeRows<Q8_0Block>(rows, out);
    case Family::Q2_K:
        return encodeRows<Q2_KBlock>(rows, out);
    case Family::Q3_K:
        return encodeRows<Q3_KBlock>(rows, out);
    case Family::Q4_K:
        return encodeRows<Q4_KBlock>(rows, out);
    case Family::Q5_K:
        return encodeRows<Q5_KBlock>(rows, out);
    case Family::Q6_K:
        return encodeRows<Q6_KBlock>(rows, out);
    case Family::IQ4_NL:
        return encodeRows<Iq4NlBlock>(rows, out);
    case Family::IQ4_XS:
        return encodeRows<Iq4XsBlock>(rows, out);
    case Family::MXFP4:
        return encodeRows<MxFp4Block>(rows, out);
    case Family::NVFP4:
        return encodeRows<NvFp4Block>(rows, out);
    default:
        break;
    }
    return false;
}

} // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
