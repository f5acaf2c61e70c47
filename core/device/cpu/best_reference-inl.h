// SPDX-License-Identifier: GPL-3.0-or-later
// The reference searches of core/numeric/scale_search.h and iq4_blocks.h in lanes: the same operations in the
// same order, hence the same floats. Included once for each vector target, hence no #pragma once.
#if defined(HALFTONE_BEST_REFERENCE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFTONE_BEST_REFERENCE_INL_H_
#undef HALFTONE_BEST_REFERENCE_INL_H_
#else
#define HALFTONE_BEST_REFERENCE_INL_H_
#endif

#include "core/device/cpu/best_lanes-inl.h"
#include "core/numeric/scale_search.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {

/// fitScaleAndMinimum(). kRms: the importance is rms + |x|, as in Q4_K; else |x|.
template <int kTop, bool kRms, int kPart>
HWY_INLINE void referenceAffine(const Parts<kPart>& parts, TrialGrids trials, Side& scales, Side& minusMins)
{
    using Levels = WholeLevels<0, kTop>;
    const F top = all(static_cast<float>(kTop));
    for (int v = 0; v < kSide; v += laneCount()) {
        F codes[kPart], weights[kPart];
        F rms = zeros();
        if constexpr (kRms) {
            for (int j = 0; j < kPart; ++j) {
                const F x = load(parts.x + j * kSide + v);
                rms = hn::Add(rms, hn::Mul(x, x));
            }
            rms = hn::Sqrt(hn::Div(rms, all(static_cast<float>(kPart))));
        }
        F min = load(parts.x + v), max = min, sumW = zeros(), sumX = zeros();
        for (int j = 0; j < kPart; ++j) {
            const F x = load(parts.x + j * kSide + v), a = hn::Abs(x);
            weights[j] = kRms ? hn::Add(rms, a) : a;
            min = hn::Min(min, x);
            max = hn::Max(max, x);
            sumW = hn::Add(sumW, weights[j]);
            sumX = hn::Add(sumX, hn::Mul(weights[j], x));
        }
        min = hn::Min(min, zeros());
        const auto flat = hn::Eq(max, min);
        const auto assign = [&](F inverse) {
            for (int j = 0; j < kPart; ++j)
                codes[j] = Levels::nearest(hn::Mul(inverse, hn::Sub(load(parts.x + j * kSide + v), min)));
        };
        const auto errorOf = [&](F scale, F minimum) {
            F error = zeros();
            for (int j = 0; j < kPart; ++j) {
                const F value = hn::Add(hn::Mul(scale, codes[j]), minimum);
                const F gap = hn::Sub(value, load(parts.x + j * kSide + v));
                error =
                    hn::Add(error, hn::Mul(weights[j], trials.squared ? hn::Mul(gap, gap) : hn::Abs(gap)));
            }
            return error;
        };
        const F start = hn::Div(top, hn::Sub(max, min));
        F scale = hn::Div(all(1.0f), start);
        assign(start);
        F best = errorOf(scale, min);
        for (int k = 0; k <= trials.last; ++k) {
            const float steps = trials.first + trials.step * static_cast<float>(k) + static_cast<float>(kTop);
            const F inverse = hn::Div(all(steps), hn::Sub(max, min));
            F sumL = zeros(), sumL2 = zeros(), sumXL = zeros();
            for (int j = 0; j < kPart; ++j) {
                const F x = load(parts.x + j * kSide + v);
                const F l = Levels::nearest(hn::Mul(inverse, hn::Sub(x, min)));
                codes[j] = l;
                const F wl = hn::Mul(weights[j], l);
                sumL = hn::Add(sumL, wl);
                sumL2 = hn::Add(sumL2, hn::Mul(wl, l));
                sumXL = hn::Add(sumXL, hn::Mul(wl, x));
            }
            const F det = hn::Sub(hn::Mul(sumW, sumL2), hn::Mul(sumL, sumL));
            F newScale = hn::Div(hn::Sub(hn::Mul(sumW, sumXL), hn::Mul(sumX, sumL)), det);
            F newMin = hn::Div(hn::Sub(hn::Mul(sumL2, sumX), hn::Mul(sumL, sumXL)), det);
            const auto above = hn::Gt(newMin, zeros());
            newScale = pick(above, hn::Div(sumXL, sumL2), newScale);
            newMin = pick(above, zeros(), newMin);
            const F error = errorOf(newScale, newMin);
            const auto better = hn::And(hn::Gt(det, zeros()), hn::Lt(error, best));
            best = pick(better, error, best);
            scale = pick(better, newScale, scale);
            min = pick(better, newMin, min);
        }
        store(pick(flat, zeros(), scale), scales.at + v);
        store(hn::Neg(min), minusMins.at + v);
    }
}

/// Keeps a scale whose codes fit better, as all reference searches for one scale compare.
HWY_INLINE void keepReferenceFit(F xl, F l2, F& scale, F& best)
{
    const auto better = hn::And(hn::Gt(l2, zeros()), hn::Gt(hn::Mul(xl, xl), hn::Mul(best, l2)));
    const F fit = hn::Div(xl, l2);
    scale = pick(better, fit, scale);
    best = pick(better, hn::Mul(fit, xl), best);
}

/// Weighted sums of the codes of one trial scale, with weights x^2.
template <class Levels, int kPart>
HWY_INLINE void referenceSums(const Parts<kPart>& parts, int v, F inverse, F& xl, F& l2)
{
    xl = l2 = zeros();
    for (int j = 0; j < kPart; ++j) {
        const F x = load(parts.x + j * kSide + v);
        const F l = Levels::nearest(hn::Mul(inverse, x));
        const F w = hn::Mul(x, x), wl = hn::Mul(w, l);
        // The types differ in which factor comes first.
        xl = hn::Add(xl, Levels::kWhole ? hn::Mul(hn::Mul(w, x), l) : hn::Mul(wl, x));
        l2 = hn::Add(l2, hn::Mul(wl, l));
    }
}

/// fitScale(); `plain` gets the best scale of some of the trials when squared errors count as they are.
template <int kHalf, bool kWeighted, int kPart>
HWY_INLINE void referenceScale(const Parts<kPart>& parts, const PartRange& range, Side& scales, Side& plain)
{
    using Levels = WholeLevels<-kHalf, kHalf - 1>;
    for (int v = 0; v < kSide; v += laneCount()) {
        const F peak = load(range.peak.at + v);
        F squares[kPart], cubes[kPart];
        for (int j = 0; j < kPart; ++j) {
            const F x = load(parts.x + j * kSide + v);
            squares[j] = hn::Mul(x, x);
            cubes[j] = hn::Mul(squares[j], x);
        }
        const auto inverseOfTrial = [&](int k) {
            return hn::Div(all(-(static_cast<float>(kHalf) + 0.1f * static_cast<float>(k))), peak);
        };
        F xl, l2, own = zeros(), gain = zeros();
        referenceSums<Levels>(parts, v, inverseOfTrial(0), xl, l2);
        F scale = pick(hn::Eq(l2, zeros()), zeros(), hn::Div(xl, l2));
        F best = hn::Mul(scale, xl);
        // The trials of the reference in its order, two at a time; kPlain: the first is one of `plain`, too.
        const auto twoTrials = [&]<bool kPlain>(int i) {
            const F inverse = inverseOfTrial(i < 9 ? i - 9 : i - 8);
            const F second = inverseOfTrial(i < 8 ? i - 8 : i - 7);
            F yl = zeros(), m2 = zeros(), zl = zeros(), n2 = zeros();
            xl = l2 = zeros();
            for (int j = 0; j < kPart; ++j) {
                const int at = j * kSide + v;
                const F x = load(parts.x + at);
                const F l = Levels::nearest(hn::Mul(inverse, x)), m = Levels::nearest(hn::Mul(second, x));
                xl = hn::Add(xl, hn::Mul(cubes[j], l));
                l2 = hn::Add(l2, hn::Mul(hn::Mul(squares[j], l), l));
                yl = hn::Add(yl, hn::Mul(cubes[j], m));
                m2 = hn::Add(m2, hn::Mul(hn::Mul(squares[j], m), m));
                if constexpr (kPlain) {
                    const F wl = weighed<kWeighted>(parts, at, l);
                    zl = hn::Add(zl, hn::Mul(wl, x));
                    n2 = hn::Add(n2, hn::Mul(wl, l));
                }
            }
            keepReferenceFit(xl, l2, scale, best);
            keepReferenceFit(yl, m2, scale, best);
            if constexpr (kPlain) keepReferenceFit(zl, n2, own, gain);
        };
        for (int i = 0; i < 16; i += 4) {
            twoTrials.template operator()<true>(i);
            twoTrials.template operator()<false>(i + 2);
        }
        twoTrials.template operator()<true>(16);
        const auto none = hn::Lt(hn::Abs(peak), all(kNoMagnitude));
        store(pick(none, zeros(), scale), scales.at + v);
        store(pick(none, zeros(), own), plain.at + v);
    }
}

/// descendToScale(), for four vectors at once: each waits for its own divisions.
template <int kHalf, int kPart>
HWY_INLINE void referenceDescent(const Parts<kPart>& parts, const PartRange& range, Side& scales)
{
    constexpr int kTogether = 4;
    const F low = all(static_cast<float>(-kHalf)), high = all(static_cast<float>(kHalf - 1));
    alignas(64) float codes[kPart * kSide];
    for (int v = 0; v < kSide; v += kTogether * laneCount()) {
        F xl[kTogether], l2[kTogether];
        for (int u = 0; u < kTogether; ++u) {
            const int at = v + u * laneCount();
            const F inverse = hn::Div(low, load(range.peak.at + at));
            xl[u] = l2[u] = zeros();
            for (int j = 0; j < kPart; ++j) {
                const F x = load(parts.x + j * kSide + at), w = hn::Mul(x, x);
                const F l = WholeLevels<-kHalf, kHalf - 1>::nearest(hn::Mul(inverse, x));
                store(l, codes + j * kSide + at);
                xl[u] = hn::Add(xl[u], hn::Mul(hn::Mul(w, x), l));
                l2[u] = hn::Add(l2[u], hn::Mul(hn::Mul(w, l), l));
            }
        }
        for (int pass = 0; pass < 5; ++pass) {
            auto changed = hn::Lt(zeros(), zeros());
            for (int j = 0; j < kPart; ++j)
                for (int u = 0; u < kTogether; ++u) {
                    const int at = j * kSide + v + u * laneCount();
                    const F x = load(parts.x + at), old = load(codes + at);
                    const F w = hn::Mul(x, x), wx = hn::Mul(w, x);
                    const F restXl = hn::Sub(xl[u], hn::Mul(wx, old));
                    const F restL2 = hn::Sub(l2[u], hn::Mul(hn::Mul(w, old), old));
                    // roundEven() bit for bit: the quotient may be beyond its range.
                    const F wanted = hn::Add(hn::Div(hn::Mul(x, restL2), restXl), all(12582912.0f));
                    const auto whole =
                        hn::Sub(hn::And(hn::BitCast(Ints(), wanted), hn::Set(Ints(), 0x007fffff)),
                                hn::Set(Ints(), 0x00400000));
                    const F next = clamped(hn::ConvertTo(Floats(), whole), low, high);
                    const F newXl = hn::Add(restXl, hn::Mul(wx, next));
                    const F newL2 = hn::Add(restL2, hn::Mul(hn::Mul(w, next), next));
                    const auto moves = hn::And(hn::Gt(restXl, zeros()), hn::Ne(next, old));
                    const auto gains =
                        hn::And(hn::Gt(newL2, zeros()), hn::Gt(hn::Mul(hn::Mul(newXl, newXl), l2[u]),
                                                               hn::Mul(hn::Mul(xl[u], xl[u]), newL2)));
                    const auto better = hn::And(moves, gains);
                    store(pick(better, next, old), codes + at);
                    xl[u] = pick(better, newXl, xl[u]);
                    l2[u] = pick(better, newL2, l2[u]);
                    changed = hn::Or(changed, better);
                }
            if (hn::AllFalse(Floats(), changed)) break;
        }
        for (int u = 0; u < kTogether; ++u) {
            const int at = v + u * laneCount();
            const auto none = hn::Lt(hn::Abs(load(range.peak.at + at)), all(kNoMagnitude));
            const auto some = hn::AndNot(none, hn::Gt(l2[u], zeros()));
            store(pick(some, hn::Div(xl[u], l2[u]), zeros()), scales.at + at);
        }
    }
}

/// fitIq4().
template <int kTries, int kPart>
HWY_INLINE void referenceIq4(const Parts<kPart>& parts, const PartRange& range, Side& scales)
{
    constexpr float kFirst = -127.0f;
    for (int v = 0; v < kSide; v += laneCount()) {
        const F peak = load(range.peak.at + v);
        const F first = hn::Div(kTries > 0 ? hn::Neg(peak) : peak, all(kFirst));
        F xq, q2;
        referenceSums<Iq4Levels>(parts, v, hn::Div(all(1.0f), first), xq, q2);
        F scale = pick(hn::Gt(q2, zeros()), hn::Div(xq, q2), zeros());
        F best = hn::Mul(scale, xq);
        if constexpr (kTries > 0)
            for (int k = -kTries; k <= kTries; ++k) {
                referenceSums<Iq4Levels>(parts, v, hn::Div(all(static_cast<float>(k) + kFirst), peak), xq,
                                         q2);
                keepReferenceFit(xq, q2, scale, best);
            }
        store(pick(hn::Lt(hn::Abs(peak), all(kNoMagnitude)), zeros(), scale), scales.at + v);
    }
}

} // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
