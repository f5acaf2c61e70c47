// SPDX-License-Identifier: GPL-3.0-or-later
// The better encoder of blocks whose parts have scales of their own, stored as small floats: candidates from
// the reference's rule, a search and its refits are measured, and each part keeps its best. Included once for
// each vector target, hence no #pragma once.
#if defined(HALFTONE_BEST_PLAIN_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFTONE_BEST_PLAIN_INL_H_
#undef HALFTONE_BEST_PLAIN_INL_H_
#else
#define HALFTONE_BEST_PLAIN_INL_H_
#endif

#include "core/device/cpu/best_lanes-inl.h"
#include "core/device/cpu/best_reference-inl.h"
#include "core/device/cpu/simd_convert-inl.h"
#include "core/numeric/fp4_blocks.h"
#include "core/numeric/gguf_blocks.h"
#include "core/numeric/iq4_blocks.h"

#include <cstring>
#include <type_traits>

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {

/// Points of kSide parts as they are stored, the best so far of each.
template <class Levels, bool kOffset, bool kWeighted, int kPart> class PartChoice {
public:
    explicit PartChoice(const Parts<kPart>& parts) : m_parts(parts)
    {
        for (int part = 0; part < kSide; ++part)
            m_least.at[part] = 3.402823466e38f;
    }

    /// Measures points that are rounded to their type, and keeps them where they are better. The first are
    /// the reference's.
    void offer(const Side& scale, const Side& offset)
    {
        const F margin = all(m_first ? kSure : 1.0f);
        m_first = false;
        evaluate<Levels, kOffset, kWeighted>(m_parts, scale, offset, sums);
        for (int v = 0; v < kSide; v += laneCount()) {
            const F error = load(sums.error.at + v), least = load(m_least.at + v);
            const auto better = hn::Lt(error, least);
            store(pick(better, hn::Mul(error, margin), least), m_least.at + v);
            store(pick(better, load(scale.at + v), load(bestScale.at + v)), bestScale.at + v);
            if constexpr (kOffset)
                store(pick(better, load(offset.at + v), load(bestOffset.at + v)), bestOffset.at + v);
        }
    }

    PartSums sums;                        ///< of the last offer
    Side bestScale = {}, bestOffset = {}; ///< of all offers

private:
    const Parts<kPart>& m_parts;
    Side m_least;
    bool m_first = true;
};

/// Every value as F16 reads it back; what overflows becomes infinite, and is never better.
HWY_INLINE void roundToHalf(Side& side)
{
    const Floats df;
    for (int v = 0; v < kSide; v += laneCount())
        store(halfToFloats(df, numbersToHalf(df, load(side.at + v))), side.at + v);
}

/// The best scale (and offset) of one part's codes so far, as far as there is one.
template <bool kOffset>
HWY_INLINE void refit(const PartRange& range, const PartSums& sums, Side& scale, Side& offset)
{
    for (int v = 0; v < kSide; v += laneCount()) {
        const F xl = load(sums.xl.at + v), l2 = load(sums.l2.at + v);
        if constexpr (kOffset) {
            const F l = load(sums.l.at + v), w = load(range.w.at + v), x = load(range.x.at + v);
            const F det = hn::Sub(hn::Mul(w, l2), hn::Mul(l, l)), inverse = hn::Div(all(1.0f), det);
            const F s = hn::Mul(hn::Sub(hn::Mul(w, xl), hn::Mul(x, l)), inverse);
            const F m = hn::Mul(hn::Sub(hn::Mul(l2, x), hn::Mul(l, xl)), inverse);
            const auto some = hn::Gt(det, zeros());
            store(pick(some, s, load(scale.at + v)), scale.at + v);
            store(pick(some, m, load(offset.at + v)), offset.at + v);
        } else {
            store(pick(hn::Gt(l2, zeros()), hn::Div(xl, l2), load(scale.at + v)), scale.at + v);
        }
    }
    roundToHalf(scale);
    if constexpr (kOffset) roundToHalf(offset);
}

/// The search of a type. first(): the reference's points, rounded; wider(): those of a search, not rounded.
template <class Block, bool kWeighted> struct PlainSearch;

template <int kBits, bool kWeighted> struct PlainSearch<AroundZeroBlock<kBits>, kWeighted> {
    static constexpr int kHalf = 1 << (kBits - 1), kRefits = 2;
    using Levels = WholeLevels<-kHalf, kHalf - 1>;
    template <int kPart> static void first(const Parts<kPart>&, const PartRange& range, Side& scale, Side&)
    {
        for (int v = 0; v < kSide; v += laneCount())
            store(hn::Div(load(range.peak.at + v), all(static_cast<float>(-kHalf))), scale.at + v);
    }
    template <int kPart>
    static void wider(const Parts<kPart>& parts, const PartRange& range, Side& scale, Side&)
    {
        // The peak may be cut off, and may stand on either side.
        constexpr TrialSteps kTrials = kBits == 4 ? TrialSteps{1.0f, -0.2f, 9} : TrialSteps{1.0f, -0.2f, 10};
        searchScale<Levels, kBits == 4, kWeighted>(parts, range, static_cast<float>(-kHalf), kTrials, scale);
    }
};

template <int kBits, bool kWeighted> struct PlainSearch<FromMinimumBlock<kBits>, kWeighted> {
    static constexpr int kTop = (1 << kBits) - 1, kRefits = 3;
    using Levels = WholeLevels<0, kTop>;
    template <int kPart>
    static void first(const Parts<kPart>&, const PartRange& range, Side& scale, Side& offset)
    {
        for (int v = 0; v < kSide; v += laneCount()) {
            const F min = load(range.min.at + v), span = hn::Sub(load(range.max.at + v), min);
            store(hn::Div(span, all(static_cast<float>(kTop))), scale.at + v);
            store(min, offset.at + v);
        }
    }
    template <int kPart>
    static void wider(const Parts<kPart>& parts, const PartRange& range, Side& scale, Side& offset)
    {
        searchAffine<kTop, false, kWeighted>(parts, range, {-1.4f, 0.15f, 16}, scale, offset);
        for (int v = 0; v < kSide; v += laneCount())
            store(hn::Neg(load(offset.at + v)), offset.at + v);
    }
};

template <bool kWeighted> struct PlainSearch<Q8_0Block, kWeighted> {
    static constexpr int kRefits = 2;
    using Levels = WholeLevels<-127, 127>;
    template <int kPart> static void first(const Parts<kPart>&, const PartRange& range, Side& scale, Side&)
    {
        for (int v = 0; v < kSide; v += laneCount())
            store(hn::Div(hn::Abs(load(range.peak.at + v)), all(127.0f)), scale.at + v);
    }
    template <int kPart>
    static void wider(const Parts<kPart>& parts, const PartRange& range, Side& scale, Side&)
    {
        searchScale<Levels, false, kWeighted>(parts, range, 127.0f, {-0.4f, 0.2f, 4}, scale);
    }
};

template <bool kWeighted> struct PlainSearch<Iq4NlBlock, kWeighted> {
    static constexpr int kRefits = 2;
    using Levels = Iq4Levels;
    template <int kPart>
    static void first(const Parts<kPart>& parts, const PartRange& range, Side& scale, Side&)
    {
        referenceIq4<0>(parts, range, scale);
    }
    template <int kPart>
    static void wider(const Parts<kPart>& parts, const PartRange& range, Side& scale, Side&)
    {
        searchScale<Levels, true, kWeighted>(parts, range, -127.0f, {9.0f, -2.0f, 12}, scale);
    }
};

/// Codes of a finished part, in the block's own order of weights.
template <class Block>
HWY_INLINE void codesOfPart(const float* x, float scale, float offset, std::uint8_t* codes)
{
    if constexpr (Block::kUniform) {
        constexpr bool kAround = Block::kBits < 8 && !Block::kMinimum;
        constexpr int kZero = kAround ? (Block::kHighest + 1) / 2 : 0;
        using Levels = WholeLevels<Block::kLowest - kZero, Block::kHighest - kZero>;
        const hn::Rebind<std::uint8_t, Floats> bytes;
        const F inverse = all(inverseOf(scale)), low = all(offset);
        const auto zero = hn::Set(Ints(), kZero);
        const auto mask = hn::Set(Ints(), 255);
        for (int j = 0; j < Block::kPart; j += laneCount()) {
            const F t = hn::Mul(hn::Sub(hn::LoadU(Floats(), x + j), low), inverse);
            const auto code = hn::And(hn::Add(hn::ConvertTo(Ints(), Levels::nearest(t)), zero), mask);
            hn::StoreU(hn::DemoteTo(bytes, code), bytes, codes + j);
        }
    } else {
        const float inverse = inverseOf(scale);
        for (int j = 0; j < Block::kPart; ++j)
            codes[j] = static_cast<std::uint8_t>(iq4Code(inverse * x[j]));
    }
}

/// Writes a block of 32 with F16 scale (and minimum).
template <class Block>
HWY_INLINE bool storePlain(const float* x, float scale, float offset, std::uint8_t* out)
{
    std::uint8_t codes[Block::kElements];
    codesOfPart<Block>(x, scale, offset, codes);
    bool good = storeHalf(out, scale);
    std::uint8_t* at = out + 2;
    if constexpr (Block::kMinimum) {
        good = storeHalf(at, offset) && good;
        at += 2;
    }
    if constexpr (Block::kBits == 8) {
        std::memcpy(at, codes, sizeof codes);
    } else if constexpr (!Block::kUniform) {
        storeNibbles(at, codes);
    } else {
        Block::Codes::store(at, codes);
    }
    return good;
}

/// Encodes at most kSide blocks of 32. False when a scale overflows.
template <class Block, bool kWeighted>
bool encodePlainBlocks(const float* x, const float* weights, int blocks, std::uint8_t* out)
{
    using Search = PlainSearch<Block, kWeighted>;
    Parts<Block::kPart> parts;
    parts.read(x, weights, blocks);
    PartRange range;
    rangesOf<kWeighted>(parts, range);
    PartChoice<typename Search::Levels, Block::kMinimum, kWeighted, Block::kPart> choice(parts);
    Side scale = {}, offset = {};
    Search::first(parts, range, scale, offset);
    roundToHalf(scale);
    if constexpr (Block::kMinimum) roundToHalf(offset);
    // What overflows in the reference is an error here too.
    bool good = true;
    for (int i = 0; i < blocks; ++i)
        good = good && std::isfinite(scale.at[i]) && std::isfinite(offset.at[i]);
    choice.offer(scale, offset);
    Search::wider(parts, range, scale, offset);
    roundToHalf(scale);
    if constexpr (Block::kMinimum) roundToHalf(offset);
    choice.offer(scale, offset);
    for (int round = 0; round < Search::kRefits; ++round) {
        refit<Block::kMinimum>(range, choice.sums, scale, offset);
        choice.offer(scale, offset);
    }
    for (int i = 0; i < blocks; ++i, x += Block::kElements, out += Block::kBytes)
        good = storePlain<Block>(x, choice.bestScale.at[i], choice.bestOffset.at[i], out) && good;
    return good;
}

/// E2M1 codes of a part of `count` weights under a scale, one a byte; never that of -0.
HWY_INLINE void codesOfE2m1(const float* x, int count, float scale, std::uint8_t* codes)
{
    const hn::Rebind<std::uint8_t, Floats> bytes;
    const F inverse = all(inverseOf(scale));
    for (int j = 0; j < count; j += laneCount()) {
        const F level = E2m1Levels::nearest(hn::Mul(hn::LoadU(Floats(), x + j), inverse)),
                size = hn::Abs(level);
        // From 1 on, the low bit of the exponent and the top one of the mantissa count the values.
        const auto upper = hn::Sub(hn::ShiftRight<22>(hn::BitCast(Ints(), size)), hn::Set(Ints(), 252));
        const auto lower = hn::ConvertTo(Ints(), hn::Add(size, size));
        const auto small = hn::RebindMask(Ints(), hn::Lt(size, all(1.0f)));
        const auto sign =
            hn::IfThenElseZero(hn::RebindMask(Ints(), hn::Lt(level, zeros())), hn::Set(Ints(), 8));
        const auto code = hn::Or(hn::IfThenElse(small, lower, upper), sign);
        hn::StoreU(hn::DemoteTo(bytes, code), bytes, codes + j);
    }
}

/// FP4 blocks: scales are few, so those around the reference's are all measured.
template <bool kWeighted>
bool encodeMxFp4(const float* x, const float* weights, int blocks, std::uint8_t* out)
{
    using Block = MxFp4Block;
    Parts<Block::kPart> parts;
    parts.read(x, weights, blocks);
    PartRange range;
    rangesOf<kWeighted>(parts, range);
    PartChoice<E2m1Levels, false, kWeighted, Block::kPart> choice(parts);
    Side scale, none;
    for (const int step : {0, 1, -1}) {
        for (int i = 0; i < kSide; ++i)
            scale.at[i] = e8m0Value(
                static_cast<std::uint8_t>(clampCode(Block::exponentOf(range.peak.at[i]) + step, 0, 254)));
        choice.offer(scale, none);
    }
    for (int i = 0; i < blocks; ++i, x += Block::kElements, out += Block::kBytes) {
        // The subnormal scale 2^-127 has code 0, as its exponent has.
        out[0] = static_cast<std::uint8_t>(floatBits(choice.bestScale.at[i]) >> 23);
        std::uint8_t codes[Block::kElements];
        codesOfE2m1(x, Block::kElements, choice.bestScale.at[i], codes);
        storeNibbles(out + 1, codes);
    }
    return true;
}

template <bool kWeighted>
bool encodeNvFp4(const float* x, const float* weights, int blocks, std::uint8_t* out)
{
    using Block = NvFp4Block;
    constexpr int kBlocks = kSide / Block::kParts;
    static_assert(kBlocks > 0);
    Parts<Block::kPart> parts;
    parts.read(x, weights, blocks * Block::kParts);
    PartRange range;
    rangesOf<kWeighted>(parts, range);
    PartChoice<E2m1Levels, false, kWeighted, Block::kPart> choice(parts);
    int codeOf[kSide];
    bool good = true;
    for (int i = 0; i < kSide; ++i) {
        const float wanted = fabsf(range.peak.at[i]) / 6.0f;
        good = good && wanted <= Block::kScaleEnd;
        codeOf[i] = ue4m3Code(wanted);
    }
    Side scale, none;
    // Up to where the peak stands on 4 instead of 6, and beyond.
    for (const int step : {0, -1, 1, 2, 3, 4, 5}) {
        for (int i = 0; i < kSide; ++i)
            scale.at[i] = ue4m3Value(static_cast<std::uint8_t>(clampCode(codeOf[i] + step, 0, 0x7E)));
        choice.offer(scale, none);
    }
    for (int block = 0; block < blocks; ++block, x += Block::kElements, out += Block::kBytes)
        for (int part = 0; part < Block::kParts; ++part) {
            const float best = choice.bestScale.at[block * Block::kParts + part];
            out[part] = ue4m3Code(best); // exact
            std::uint8_t codes[Block::kPart];
            codesOfE2m1(x + part * Block::kPart, Block::kPart, best, codes);
            for (int j = 0; j < 8; ++j)
                out[Block::kParts + part * 8 + j] = static_cast<std::uint8_t>(codes[j] | codes[j + 8] << 4);
        }
    return good;
}

} // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
