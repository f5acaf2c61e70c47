// SPDX-License-Identifier: GPL-3.0-or-later
// The better encoder of ggml's super-blocks: points of the reference search and of a wider one, refitted
// until integer scales, d and codes fit each other; what has the least weighted squared error is kept.
// Included once for each vector target, hence no #pragma once.
#if defined(HALFTONE_BEST_SUPER_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFTONE_BEST_SUPER_INL_H_
#undef HALFTONE_BEST_SUPER_INL_H_
#else
#define HALFTONE_BEST_SUPER_INL_H_
#endif

#include "core/device/cpu/best_lanes-inl.h"
#include "core/device/cpu/best_reference-inl.h"
#include "core/numeric/iq4_blocks.h"
#include "core/numeric/k_blocks.h"

#include <cstring>
#include <type_traits>

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {

/// Levels of a block type: its codes as they are before the scale.
template <class Block> struct LevelsOf {
    static constexpr int kZero = Block::kUniform && !Block::kMinimum ? (Block::kHighest + 1) / 2 : 0;
    using Type = std::conditional_t<Block::kUniform,
                                    WholeLevels<Block::kLowest - kZero, Block::kHighest - kZero>, Iq4Levels>;
};

/// Stored points of all parts: what becomes the bytes of their blocks, and its errors.
template <class Block> struct Points {
    static constexpr int kParts = Block::kParts, kBlocks = kSide / kParts;
    std::uint8_t d[kBlocks][2], dmin[kBlocks][2];
    Side scale, minimum; ///< the integers
    Side step, low;      ///< what they read as: scale and offset of a part
    PartSums sums;

    float dOf(int block) const { return loadHalf(d[block]); }
    float dminOf(int block) const { return Block::kMinimum ? loadHalf(dmin[block]) : 0.0f; }

    /// From scales (and minus minima) of the reference's or another search, as the reference stores them.
    void make(const Side& scales, const Side& minusMins)
    {
        for (int block = 0; block < kBlocks; ++block) {
            const int first = block * kParts;
            if constexpr (Block::kMinimum) {
                ScaleAndMinimum parts[kParts];
                for (int i = 0; i < kParts; ++i)
                    parts[i] = {scales.at[first + i], minusMins.at[first + i]};
                typename Block::Super super;
                super.make(parts, d[block], dmin[block]);
                for (int i = 0; i < kParts; ++i) {
                    scale.at[first + i] = static_cast<float>(super.scale[i] < 0 ? 0 : super.scale[i]);
                    minimum.at[first + i] = static_cast<float>(super.minimum[i]);
                }
            } else {
                std::int32_t whole[kParts] = {};
                const float* from = scales.at + first;
                if constexpr (!Block::kUniform)
                    storeHalf(d[block], Block::makeScales(from, whole));
                else if (fabsf(peakScale<kParts>(from)) < kNoMagnitude)
                    storeHalfBits(d[block], 0);
                else
                    Block::makeScales(from, whole, d[block]);
                for (int i = 0; i < kParts; ++i)
                    scale.at[first + i] = static_cast<float>(whole[i]);
            }
        }
    }

    template <bool kWeighted> void measure(const halftone::cpu::HWY_NAMESPACE::Parts<Block::kPart>& parts)
    {
        for (int part = 0; part < kSide; ++part) {
            step.at[part] = dOf(part / kParts) * scale.at[part];
            if constexpr (Block::kMinimum) low.at[part] = -(dminOf(part / kParts) * minimum.at[part]);
        }
        evaluate<typename LevelsOf<Block>::Type, Block::kMinimum, kWeighted>(parts, step, low, sums);
    }

    double error(int block) const
    {
        double sum = 0;
        for (int i = 0; i < kParts; ++i)
            sum += static_cast<double>(sums.error.at[block * kParts + i]);
        return sum;
    }

    void take(const Points& other, int block)
    {
        std::memcpy(d[block], other.d[block], sizeof d[block]);
        std::memcpy(dmin[block], other.dmin[block], sizeof dmin[block]);
        for (int part = block * kParts; part < (block + 1) * kParts; ++part) {
            scale.at[part] = other.scale.at[part];
            minimum.at[part] = other.minimum.at[part];
            sums.error.at[part] = other.sums.error.at[part];
        }
    }

    /// The integers that suit the codes best under d and dmin, and then d and dmin that suit codes and
    /// integers.
    void refit(const PartRange& range)
    {
        Side ds, dmins;
        for (int part = 0; part < kSide; ++part) {
            ds.at[part] = dOf(part / kParts);
            dmins.at[part] = dminOf(part / kParts);
        }
        for (int v = 0; v < kSide; v += laneCount()) {
            if constexpr (Block::kMinimum)
                refitIntegers(range, v, load(ds.at + v), load(dmins.at + v));
            else
                refitIntegers(v, load(ds.at + v));
        }
        for (int block = 0; block < kBlocks; ++block)
            refitD(range, block);
    }

private:
    void refitIntegers(int v, F unit)
    {
        const F l2 = load(sums.l2.at + v);
        const F wanted = hn::Mul(hn::Div(load(sums.xl.at + v), l2), inverses(unit));
        const F whole = hn::Round(
            clamped(wanted, all(static_cast<float>(lowScale())), all(static_cast<float>(highScale()))));
        store(pick(hn::Gt(l2, zeros()), whole, load(scale.at + v)), scale.at + v);
    }

    void refitIntegers(const PartRange& range, int v, F unit, F minUnit)
    {
        const F sumW = load(range.w.at + v), sumX = load(range.x.at + v);
        const F xl = load(sums.xl.at + v), l = load(sums.l.at + v), l2 = load(sums.l2.at + v);
        const F top = all(static_cast<float>(highScale()));
        const F det = hn::Sub(hn::Mul(sumW, l2), hn::Mul(l, l));
        const F wanted = hn::Div(hn::Sub(hn::Mul(sumW, xl), hn::Mul(sumX, l)), det);
        const F middle = hn::Round(clamped(hn::Mul(wanted, inverses(unit)), zeros(), top));
        const F perW = hn::Div(all(1.0f), sumW), perMinUnit = inverses(minUnit);
        F best = all(3.402823466e38f), bestScale = load(scale.at + v), bestMin = load(minimum.at + v);
        for (int k = -1; k <= 1; ++k) {
            const F q = clamped(hn::Add(middle, all(static_cast<float>(k))), zeros(), top);
            const F s = hn::Mul(q, unit);
            const F m = hn::Mul(hn::Sub(hn::Mul(s, l), sumX), perW);
            const F whole = hn::Round(clamped(hn::Mul(m, perMinUnit), zeros(), top));
            const F u = hn::Mul(whole, minUnit);
            // Error up to the squares of x: s^2 l2 - 2 s xl + u (u w + 2 (x - s l)).
            const F ofScale = hn::Mul(s, hn::Sub(hn::Mul(s, l2), hn::Add(xl, xl)));
            const F rest = hn::Sub(sumX, hn::Mul(s, l));
            const F error = hn::Add(ofScale, hn::Mul(u, hn::Add(hn::Mul(u, sumW), hn::Add(rest, rest))));
            const auto better = hn::And(hn::Lt(error, best), hn::Gt(det, zeros()));
            best = pick(better, error, best);
            bestScale = pick(better, q, bestScale);
            bestMin = pick(better, whole, bestMin);
        }
        store(bestScale, scale.at + v);
        store(bestMin, minimum.at + v);
    }

    void refitD(const PartRange& range, int block)
    {
        double ss = 0, sm = 0, mm = 0, sx = 0, mx = 0;
        for (int part = block * kParts; part < (block + 1) * kParts; ++part) {
            const double s = scale.at[part];
            ss += s * s * static_cast<double>(sums.l2.at[part]);
            sx += s * static_cast<double>(sums.xl.at[part]);
            if constexpr (Block::kMinimum) {
                const double m = minimum.at[part];
                sm += s * m * static_cast<double>(sums.l.at[part]);
                mm += m * m * static_cast<double>(range.w.at[part]);
                mx += m * static_cast<double>(range.x.at[part]);
            }
        }
        if constexpr (Block::kMinimum) {
            const double det = ss * mm - sm * sm;
            if (mm > 0) {
                if (!(det > 0)) return;
                // x = d s l - dmin m
                const double newD = (mm * sx - sm * mx) / det, newMin = (sm * sx - ss * mx) / det;
                if (!(newD > 0) || !(newMin > 0)) return;
                storeHalf(d[block], static_cast<float>(newD));
                storeHalf(dmin[block], static_cast<float>(newMin));
                return;
            }
        }
        if (ss > 0) storeHalf(d[block], static_cast<float>(sx / ss));
    }

    static constexpr int lowScale()
    {
        if constexpr (Block::kMinimum)
            return 0;
        else
            return Block::kLowScale;
    }
    static constexpr int highScale()
    {
        if constexpr (Block::kMinimum)
            return Block::kTopScale;
        else
            return Block::kHighScale;
    }
};

/// Codes of a finished block, in its own order of weights, by the reference's division.
template <class Block>
HWY_INLINE void codesOfBlock(const float* x, const std::uint8_t* block, std::uint8_t* codes)
{
    using Levels = typename LevelsOf<Block>::Type;
    constexpr int kZero = LevelsOf<Block>::kZero;
    for (int part = 0; part < Block::kElements / Block::kPart; ++part) {
        const GridPoint p = Block::point(block, part);
        const int first = part * Block::kPart;
        if constexpr (Block::kUniform) {
            const hn::Rebind<std::uint8_t, Floats> bytes;
            const F scale = all(p.scale), offset = all(p.offset);
            const auto zero = hn::Set(Ints(), kZero);
            for (int j = first; j < first + Block::kPart; j += laneCount()) {
                const F t = hn::Div(hn::Sub(hn::LoadU(Floats(), x + j), offset), scale);
                const auto code = hn::Add(hn::ConvertTo(Ints(), Levels::nearest(t)), zero);
                hn::StoreU(hn::DemoteTo(bytes, code), bytes, codes + j);
            }
            if (p.scale == 0) std::memset(codes + first, kZero, Block::kPart);
        } else {
            const float inverse = inverseOf(p.scale);
            for (int j = first; j < first + Block::kPart; ++j)
                codes[j] = static_cast<std::uint8_t>(iq4Code(inverse * x[j]));
        }
    }
}

/// How each type is searched: the reference, and the trials of the wider search.
template <class Block, bool kWeighted> struct SuperSearch;

template <int kBits, bool kWeighted> struct SuperSearch<ScaledMinimumBlock<kBits>, kWeighted> {
    using Block = ScaledMinimumBlock<kBits>;
    static void reference(const Parts<Block::kPart>& parts, const PartRange&, Side& scales, Side& minusMins)
    {
        referenceAffine<Block::kHighest, true>(parts, Block::kTrials, scales, minusMins);
    }
    static void wider(const Parts<Block::kPart>& parts, const PartRange& range, Side& scales, Side& minusMins)
    {
        searchAffine<Block::kHighest, true, kWeighted>(parts, range, {-1.4f, 0.15f, 16}, scales, minusMins);
    }
};

template <bool kWeighted> struct SuperSearch<Q2_KBlock, kWeighted> {
    using Block = Q2_KBlock;
    static void reference(const Parts<Block::kPart>& parts, const PartRange&, Side& scales, Side& minusMins)
    {
        referenceAffine<Block::kHighest, false>(parts, Block::kTrials, scales, minusMins);
    }
    static void wider(const Parts<Block::kPart>& parts, const PartRange& range, Side& scales, Side& minusMins)
    {
        searchAffine<Block::kHighest, true, kWeighted>(parts, range, {-0.9f, 0.1f, 24}, scales, minusMins);
    }
};

template <bool kWeighted> struct SuperSearch<Q3_KBlock, kWeighted> {
    using Block = Q3_KBlock;
    static void reference(const Parts<Block::kPart>& parts, const PartRange& range, Side& scales, Side&)
    {
        referenceDescent<Block::kZero>(parts, range, scales);
    }
    static void wider(const Parts<Block::kPart>& parts, const PartRange& range, Side& scales, Side&)
    {
        searchScale<LevelsOf<Block>::Type, false, kWeighted>(parts, range, -4.0f, {0.9f, -0.2f, 9}, scales);
    }
};

template <bool kWeighted> struct SuperSearch<Q6_KBlock, kWeighted> {
    using Block = Q6_KBlock;
    // One pass over the trials serves both.
    static void reference(const Parts<Block::kPart>& parts, const PartRange& range, Side& scales, Side& plain)
    {
        referenceScale<Block::kZero, kWeighted>(parts, range, scales, plain);
    }
    static void wider(const Parts<Block::kPart>&, const PartRange&, Side& scales, Side& plain)
    {
        scales = plain;
    }
};

template <bool kWeighted> struct SuperSearch<Iq4XsBlock, kWeighted> {
    using Block = Iq4XsBlock;
    static void reference(const Parts<Block::kPart>& parts, const PartRange& range, Side& scales, Side&)
    {
        referenceIq4<7>(parts, range, scales);
    }
    static void wider(const Parts<Block::kPart>& parts, const PartRange& range, Side& scales, Side&)
    {
        searchScale<Iq4Levels, true, kWeighted>(parts, range, -127.0f, {8.0f, -4.0f, 8}, scales);
    }
};

/// Encodes at most Points<Block>::kBlocks blocks. False when a scale overflows.
template <class Block, bool kWeighted>
bool encodeSuperBlocks(const float* x, const float* weights, int blocks, std::uint8_t* out)
{
    using Search = SuperSearch<Block, kWeighted>;
    constexpr int kBlocks = Points<Block>::kBlocks, kRounds = 3;
    Parts<Block::kPart> parts;
    parts.read(x, weights, blocks * Block::kParts);
    PartRange range;
    rangesOf<kWeighted>(parts, range);
    Side scales, minusMins;
    Points<Block> best, trial;
    Search::reference(parts, range, scales, minusMins);
    best.make(scales, minusMins);
    best.template measure<kWeighted>(parts);
    double least[kBlocks];
    for (int block = 0; block < kBlocks; ++block)
        least[block] = best.error(block) * static_cast<double>(kSure);
    Search::wider(parts, range, scales, minusMins);
    trial.make(scales, minusMins);
    for (int round = 0; round < kRounds; ++round) {
        if (round > 0) trial.refit(range);
        trial.template measure<kWeighted>(parts);
        for (int block = 0; block < kBlocks; ++block)
            if (trial.error(block) < least[block]) {
                best.take(trial, block);
                least[block] = trial.error(block);
            }
    }
    bool good = true;
    for (int block = 0; block < blocks; ++block, x += Block::kElements, out += Block::kBytes) {
        std::int32_t scale[Block::kParts], minimum[Block::kParts] = {};
        for (int i = 0; i < Block::kParts; ++i) {
            scale[i] = static_cast<std::int32_t>(best.scale.at[block * Block::kParts + i]);
            if constexpr (Block::kMinimum)
                minimum[i] = static_cast<std::int32_t>(best.minimum.at[block * Block::kParts + i]);
        }
        if constexpr (Block::kMinimum)
            Block::storeScales(out, scale, minimum);
        else
            Block::storeScales(out, scale);
        std::memcpy(out + Block::kDAt, best.d[block], 2);
        good = good && isFiniteHalf(loadHalfBits(best.d[block]));
        if constexpr (Block::kMinimum) {
            std::memcpy(out + Block::kDMinAt, best.dmin[block], 2);
            good = good && isFiniteHalf(loadHalfBits(best.dmin[block]));
        }
        std::uint8_t codes[Block::kElements];
        codesOfBlock<Block>(x, out, codes);
        Block::storeCodes(out, codes);
    }
    return good;
}

} // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
