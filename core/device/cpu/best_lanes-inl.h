// SPDX-License-Identifier: GPL-3.0-or-later
// Searching for scales with many parts of blocks side by side: each lane of a vector has a part of its own,
// and goes through its weights in order. So no sum depends on the number of lanes, and every vector target
// gives the same bytes. Included once for each vector target, hence no #pragma once.
#if defined(HALFTONE_BEST_LANES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFTONE_BEST_LANES_INL_H_
#undef HALFTONE_BEST_LANES_INL_H_
#else
#define HALFTONE_BEST_LANES_INL_H_
#endif

#include "core/numeric/iq4_blocks.h"

#include "hwy/highway.h"

#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::CappedTag<float, 8>;
using F = hn::Vec<Floats>;
using Ints = hn::RebindToSigned<Floats>;

/// Parts that are searched together.
inline constexpr int kSide = 32;

/// What is better than the reference must be so by more than the rounding of an error sum.
inline constexpr float kSure = 1.0f - 0x1p-14f;

HWY_INLINE int laneCount() { return static_cast<int>(hn::Lanes(Floats())); }
HWY_INLINE F load(const float* p) { return hn::Load(Floats(), p); }
HWY_INLINE void store(F v, float* p) { hn::Store(v, Floats(), p); }
HWY_INLINE F all(float x) { return hn::Set(Floats(), x); }
HWY_INLINE F zeros() { return hn::Zero(Floats()); }
HWY_INLINE F clamped(F x, F low, F high) { return hn::Min(hn::Max(x, low), high); }
template <class Mask> HWY_INLINE F pick(Mask where, F yes, F no) { return hn::IfThenElse(where, yes, no); }
/// inverseOf(): 0 where there is no finite one.
HWY_INLINE F inverses(F scale)
{
    const F inverse = hn::Div(all(1.0f), scale);
    return hn::IfThenElseZero(hn::Le(hn::Abs(inverse), all(3.402823466e38f)), inverse);
}

/// One number a part.
struct Side {
    alignas(64) float at[kSide];
};

#if HWY_TARGET != HWY_SCALAR // which has no lanes to interleave
/// Eight rows of eight, `step` apart, to eight columns kSide apart.
HWY_INLINE void transpose(const float* from, int step, float* to)
{
    const Floats df;
    const hn::Repartition<double, Floats> dd;
    F a[8], b[8];
    for (int i = 0; i < 8; ++i)
        a[i] = hn::LoadU(df, from + i * step);
    // Within the halves of a vector: pairs of floats, then pairs of pairs; then the halves.
    for (int i = 0; i < 8; i += 2) {
        b[i] = hn::InterleaveLower(df, a[i], a[i + 1]);
        b[i + 1] = hn::InterleaveUpper(df, a[i], a[i + 1]);
    }
    for (int i = 0; i < 8; i += 4)
        for (int k = 0; k < 2; ++k) {
            const auto low = hn::BitCast(dd, b[i + k]), high = hn::BitCast(dd, b[i + k + 2]);
            a[i + 2 * k] = hn::BitCast(df, hn::InterleaveLower(dd, low, high));
            a[i + 2 * k + 1] = hn::BitCast(df, hn::InterleaveUpper(dd, low, high));
        }
    for (int i = 0; i < 4; ++i) {
        store(hn::ConcatLowerLower(df, a[i + 4], a[i]), to + i * kSide);
        store(hn::ConcatUpperUpper(df, a[i + 4], a[i]), to + (i + 4) * kSide);
    }
}

#endif

/// kSide parts of kPart weights, weight j of all parts together. `w` is their importance.
template <int kPart> struct Parts {
    alignas(64) float x[kPart * kSide];
    alignas(64) float w[kPart * kSide];

    /// `count` parts from consecutive memory; the rest are zeros. `weights` may be null.
    void read(const float* values, const float* weights, int count)
    {
        put(x, values, count);
        if (weights != nullptr) put(w, weights, count);
    }

private:
    static void put(float* to, const float* from, int count)
    {
        int part = 0;
#if HWY_TARGET != HWY_SCALAR
        if constexpr (hn::MaxLanes(Floats()) == 8)
            for (; part + 8 <= count; part += 8)
                for (int j = 0; j < kPart; j += 8)
                    transpose(from + part * kPart + j, kPart, to + j * kSide + part);
#endif
        for (; part < kSide; ++part)
            for (int j = 0; j < kPart; ++j)
                to[j * kSide + part] = part < count ? from[part * kPart + j] : 0.0f;
    }
};

// The values that codes stand for, before the scale. nearest() gives the nearest of them.

/// Whole numbers.
template <int kLow, int kHigh> struct WholeLevels {
    static constexpr bool kWhole = true;
    static HWY_INLINE F nearest(F t)
    {
        return hn::Round(clamped(t, all(static_cast<float>(kLow)), all(static_cast<float>(kHigh))));
    }
};

alignas(32) inline constexpr float kIq4Values[16]{HALFTONE_IQ4_VALUES};
/// From here on value k or a later one is the nearest.
constexpr float iq4Middle(int k) { return (kIq4Values[k] + kIq4Values[k - 1]) * 0.5f; }

/// The uneven values of IQ4: the upper one on a tie.
struct Iq4Levels {
    static constexpr bool kWhole = false;
    static HWY_INLINE F nearest(F t)
    {
        if constexpr (hn::MaxLanes(Floats()) == 8) {
            // Three halvings of the sixteen, each with its own threshold, and the last with one of eight.
            const auto high = hn::Ge(t, all(iq4Middle(8)));
            const F half = pick(high, all(iq4Middle(12)), all(iq4Middle(4)));
            auto at = hn::Sub(hn::IfThenElseZero(hn::RebindMask(Ints(), high), hn::Set(Ints(), 2)),
                              hn::VecFromMask(Ints(), hn::RebindMask(Ints(), hn::Ge(t, half))));
            alignas(32) static constexpr float kQuarters[8]{iq4Middle(2),  iq4Middle(6), iq4Middle(10),
                                                            iq4Middle(14), iq4Middle(2), iq4Middle(6),
                                                            iq4Middle(10), iq4Middle(14)};
            at = next(at, t, kQuarters);
            alignas(32) static constexpr float kEighths[8]{iq4Middle(1),  iq4Middle(3), iq4Middle(5),
                                                           iq4Middle(7),  iq4Middle(9), iq4Middle(11),
                                                           iq4Middle(13), iq4Middle(15)};
            at = next(at, t, kEighths);
            // The tables count modulo 8.
            const auto index = hn::IndicesFromVec(Floats(), hn::And(at, hn::Set(Ints(), 7)));
            return pick(high, hn::TableLookupLanes(hn::Load(Floats(), kIq4Values + 8), index),
                        hn::TableLookupLanes(hn::Load(Floats(), kIq4Values), index));
        }
        F level = all(kIq4Values[0]);
        for (int k = 1; k < 16; ++k)
            level = hn::Add(level, hn::IfThenElseZero(hn::Ge(t, all(iq4Middle(k))),
                                                      all(kIq4Values[k] - kIq4Values[k - 1])));
        return level;
    }

private:
    /// One bit more of the code: whether t reaches the threshold that the bits so far name.
    static HWY_INLINE hn::Vec<Ints> next(hn::Vec<Ints> at, F t, const float* thresholds)
    {
        const F threshold =
            hn::TableLookupLanes(hn::Load(Floats(), thresholds), hn::IndicesFromVec(Floats(), at));
        return hn::Sub(hn::Add(at, at),
                       hn::VecFromMask(Ints(), hn::RebindMask(Ints(), hn::Ge(t, threshold))));
    }
};

/// E2M1.
struct E2m1Levels {
    static constexpr bool kWhole = false;
    static HWY_INLINE F nearest(F t)
    {
        const F size = hn::Min(hn::Abs(t), all(6.0f));
        const F unit =
            pick(hn::Lt(size, all(2.0f)), all(0.5f), pick(hn::Lt(size, all(4.0f)), all(1.0f), all(2.0f)));
        const F perUnit =
            pick(hn::Lt(size, all(2.0f)), all(2.0f), pick(hn::Lt(size, all(4.0f)), all(1.0f), all(0.5f)));
        return hn::CopySignToAbs(hn::Mul(hn::Round(hn::Mul(size, perUnit)), unit), t);
    }
};

/// Weighted sums over a part: of x l, l and l^2 for the levels l of its codes, and its squared error.
struct PartSums {
    Side xl, l, l2, error;
};

/// The importance of weight j, or nothing where all count the same.
template <bool kWeighted, int kPart> HWY_INLINE F weighed(const Parts<kPart>& parts, int at, F x)
{
    if constexpr (kWeighted)
        return hn::Mul(load(parts.w + at), x);
    else
        return x;
}

/// Sums for the nearest codes under given scales and offsets, in the decoder's arithmetic.
template <class Levels, bool kOffset, bool kWeighted, int kPart>
HWY_INLINE void evaluate(const Parts<kPart>& parts, const Side& scales, const Side& offsets, PartSums& sums)
{
    for (int v = 0; v < kSide; v += laneCount()) {
        const F scale = load(scales.at + v), inverse = inverses(scale);
        const F offset = kOffset ? load(offsets.at + v) : zeros();
        F xl = zeros(), l1 = zeros(), l2 = zeros(), error = zeros();
        for (int j = 0; j < kPart; ++j) {
            const int at = j * kSide + v;
            const F x = load(parts.x + at);
            const F l = Levels::nearest(hn::Mul(kOffset ? hn::Sub(x, offset) : x, inverse));
            F value = hn::Mul(l, scale);
            if constexpr (kOffset) value = hn::Add(value, offset);
            const F gap = hn::Sub(value, x);
            const F wl = weighed<kWeighted>(parts, at, l);
            xl = hn::Add(xl, hn::Mul(wl, x));
            if constexpr (kOffset) l1 = hn::Add(l1, wl);
            l2 = hn::Add(l2, hn::Mul(wl, l));
            error = hn::Add(error, hn::Mul(weighed<kWeighted>(parts, at, gap), gap));
        }
        store(xl, sums.xl.at + v);
        store(l1, sums.l.at + v);
        store(l2, sums.l2.at + v);
        store(error, sums.error.at + v);
    }
}

/// Sums that do not depend on codes: of w and w x; and the extremes.
struct PartRange {
    Side w, x, min, max, peak; ///< peak: the value of largest magnitude, the first of equals
};

template <bool kWeighted, int kPart> HWY_INLINE void rangesOf(const Parts<kPart>& parts, PartRange& range)
{
    for (int v = 0; v < kSide; v += laneCount()) {
        F sumW = zeros(), sumX = zeros(), peak = zeros(), size = zeros();
        F min = load(parts.x + v), max = min;
        for (int j = 0; j < kPart; ++j) {
            const int at = j * kSide + v;
            const F x = load(parts.x + at), a = hn::Abs(x);
            sumW = hn::Add(sumW, weighed<kWeighted>(parts, at, all(1.0f)));
            sumX = hn::Add(sumX, weighed<kWeighted>(parts, at, x));
            min = hn::Min(min, x);
            max = hn::Max(max, x);
            const auto more = hn::Gt(a, size);
            peak = pick(more, x, peak);
            size = hn::Max(size, a);
        }
        store(sumW, range.w.at + v);
        store(sumX, range.x.at + v);
        store(min, range.min.at + v);
        store(max, range.max.at + v);
        store(peak, range.peak.at + v);
    }
}

/// Least squares scale and minus the minimum (at least 0 where kDown) for given sums; `gain` is by how much
/// the fit lowers the weighted squares. Nothing changes where a fit does not exist or gains less than `gain`.
template <bool kDown>
HWY_INLINE void keepBetterFit(F sumW, F sumX, F xl, F l, F l2, F& gain, F& scale, F& minusMin)
{
    const F det = hn::Sub(hn::Mul(sumW, l2), hn::Mul(l, l));
    const F top = hn::Sub(hn::Mul(sumW, xl), hn::Mul(sumX, l));
    const F inverse = hn::Div(all(1.0f), det);
    F s = hn::Mul(top, inverse);
    F m = hn::Mul(hn::Sub(hn::Mul(l, xl), hn::Mul(l2, sumX)), inverse);
    F g = hn::Div(hn::Mul(top, s), sumW);
    auto good = hn::And(hn::Gt(det, zeros()), hn::Gt(s, zeros()));
    if constexpr (kDown) {
        // The minimum would be above 0: the fit through 0 instead. Gains count from the fit of the mean.
        const auto above = hn::Lt(m, zeros());
        const F through = hn::Div(xl, l2);
        const F mean = hn::Div(hn::Mul(sumX, sumX), sumW);
        s = pick(above, through, s);
        m = pick(above, zeros(), m);
        g = pick(above, hn::Sub(hn::Mul(xl, through), mean), g);
    }
    good = hn::And(good, hn::Gt(g, gain));
    gain = pick(good, g, gain);
    scale = pick(good, s, scale);
    minusMin = pick(good, m, minusMin);
}

/// Trials of one search: inverse scales (top + first + step k) / range for k = 0 .. count - 1.
struct TrialSteps {
    float first, step;
    int count;
};

/// Scale and minus the minimum of each part: the best least-squares fit to the codes of some trial grids.
/// kDown: the minimum is at most 0.
template <int kTop, bool kDown, bool kWeighted, int kPart>
HWY_INLINE void searchAffine(const Parts<kPart>& parts, const PartRange& range, TrialSteps trials,
                             Side& scales, Side& minusMins)
{
    using Levels = WholeLevels<0, kTop>;
    for (int v = 0; v < kSide; v += laneCount()) {
        const F sumW = load(range.w.at + v), sumX = load(range.x.at + v);
        F min = load(range.min.at + v);
        if constexpr (kDown) min = hn::Min(min, zeros());
        const F span = hn::Sub(load(range.max.at + v), min), per = inverses(span);
        F gain = all(-3.402823466e38f), scale = hn::Div(span, all(static_cast<float>(kTop)));
        F minusMin = hn::Neg(min);
        for (int k = 0; k < trials.count; k += 2) {
            const float steps = static_cast<float>(kTop) + trials.first + trials.step * static_cast<float>(k);
            const F inverse = hn::Mul(all(steps), per), inverse2 = hn::Mul(all(steps + trials.step), per);
            F xl = zeros(), l1 = zeros(), l2 = zeros(), yl = zeros(), m1 = zeros(), m2 = zeros();
            for (int j = 0; j < kPart; ++j) {
                const int at = j * kSide + v;
                const F x = load(parts.x + at), y = hn::Sub(x, min);
                const F l = Levels::nearest(hn::Mul(y, inverse)), m = Levels::nearest(hn::Mul(y, inverse2));
                const F wl = weighed<kWeighted>(parts, at, l), wm = weighed<kWeighted>(parts, at, m);
                l1 = hn::Add(l1, wl);
                m1 = hn::Add(m1, wm);
                l2 = hn::Add(l2, hn::Mul(wl, l));
                m2 = hn::Add(m2, hn::Mul(wm, m));
                xl = hn::Add(xl, hn::Mul(wl, x));
                yl = hn::Add(yl, hn::Mul(wm, x));
            }
            keepBetterFit<kDown>(sumW, sumX, xl, l1, l2, gain, scale, minusMin);
            keepBetterFit<kDown>(sumW, sumX, yl, m1, m2, gain, scale, minusMin);
        }
        store(scale, scales.at + v);
        store(minusMin, minusMins.at + v);
    }
}

/// Scale of each part, of either sign: the best least-squares fit to the codes of trial scales that put the
/// peak near level `edge`, counted from there as in TrialSteps; `kBoth`: near -edge too.
template <class Levels, bool kBoth, bool kWeighted, int kPart>
HWY_INLINE void searchScale(const Parts<kPart>& parts, const PartRange& range, float edge, TrialSteps trials,
                            Side& scales)
{
    for (int v = 0; v < kSide; v += laneCount()) {
        const F per = inverses(load(range.peak.at + v));
        F scale = hn::Div(load(range.peak.at + v), all(edge)), best = zeros();
        for (int k = 0; k < trials.count; ++k) {
            const float steps = edge + trials.first + trials.step * static_cast<float>(k);
            const F inverse = hn::Mul(all(steps), per);
            F xl = zeros(), l2 = zeros(), yl = zeros(), m2 = zeros();
            for (int j = 0; j < kPart; ++j) {
                const int at = j * kSide + v;
                const F x = load(parts.x + at), t = hn::Mul(x, inverse), l = Levels::nearest(t);
                const F wl = weighed<kWeighted>(parts, at, l);
                xl = hn::Add(xl, hn::Mul(wl, x));
                l2 = hn::Add(l2, hn::Mul(wl, l));
                if constexpr (kBoth) {
                    const F m = Levels::nearest(hn::Neg(t)), wm = weighed<kWeighted>(parts, at, m);
                    yl = hn::Add(yl, hn::Mul(wm, x));
                    m2 = hn::Add(m2, hn::Mul(wm, m));
                }
            }
            const auto keep = [&](F sum, F squares) {
                const F fit = hn::Div(sum, squares), gain = hn::Mul(fit, sum);
                const auto better = hn::And(hn::Gt(squares, zeros()), hn::Gt(gain, best));
                best = pick(better, gain, best);
                scale = pick(better, fit, scale);
            };
            keep(xl, l2);
            if constexpr (kBoth) keep(yl, m2);
        }
        store(scale, scales.at + v);
    }
}

} // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
