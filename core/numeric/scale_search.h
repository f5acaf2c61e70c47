// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/numeric/block_code.h"

#include <cmath>
#include <cstdint>

namespace halftone {

// The searches for good scales of ggml's K types, float for float in ggml's order of operations: the bytes of
// a file depend on every rounding. Each is the reference without an importance matrix.

/// Below this magnitude a part counts as zeros.
inline constexpr float kNoMagnitude = 1e-15f;

/// Scale of a part and minus its minimum, which is never above zero.
struct ScaleAndMinimum {
    float scale, minusMinimum;
};

/// Trial grids: scale 1 / ((first + step k + top) / range) for k = 0 .. last.
struct TrialGrids {
    float first, step;
    int last;
    bool squared; ///< errors count squared, not by magnitude
};

/// Codes 0 .. kTop, scale and minimum (<= 0) of kCount values: each trial grid is refitted by weighted least
/// squares, the one of least weighted error is kept.
template <int kCount, int kTop>
HALFTONE_HD ScaleAndMinimum fitScaleAndMinimum(const float* x, const float* weights, TrialGrids trials,
                                               std::uint8_t* codes)
{
    float min = x[0], max = x[0];
    float sumW = weights[0];
    float sumX = sumW * x[0];
    for (int i = 1; i < kCount; ++i) {
        if (x[i] < min) min = x[i];
        if (x[i] > max) max = x[i];
        sumW += weights[i];
        sumX += weights[i] * x[i];
    }
    if (min > 0) min = 0;
    if (max == min) {
        for (int i = 0; i < kCount; ++i)
            codes[i] = 0;
        return {0.0f, -min};
    }
    std::uint8_t trial[kCount];
    // From the minimum found so far, which a better trial moves.
    const auto assign = [&](float inverse) {
        for (int i = 0; i < kCount; ++i)
            trial[i] = static_cast<std::uint8_t>(clampCode(roundEven(inverse * (x[i] - min)), 0, kTop));
    };
    const auto errorOf = [&](float scale, float minimum) {
        float error = 0;
        for (int i = 0; i < kCount; ++i) {
            const float diff = scale * static_cast<float>(trial[i]) + minimum - x[i];
            error += weights[i] * (trials.squared ? diff * diff : fabsf(diff));
        }
        return error;
    };
    const auto keep = [&] {
        for (int i = 0; i < kCount; ++i)
            codes[i] = trial[i];
    };
    const float start = static_cast<float>(kTop) / (max - min);
    float scale = 1.0f / start;
    assign(start);
    keep();
    float best = errorOf(scale, min);
    for (int k = 0; k <= trials.last; ++k) {
        assign((trials.first + trials.step * static_cast<float>(k) + static_cast<float>(kTop)) / (max - min));
        float sumL = 0, sumL2 = 0, sumXL = 0;
        for (int i = 0; i < kCount; ++i) {
            const auto l = static_cast<float>(trial[i]);
            const float wl = weights[i] * l;
            sumL += wl;
            sumL2 += wl * l;
            sumXL += wl * x[i];
        }
        const float det = sumW * sumL2 - sumL * sumL;
        if (!(det > 0)) continue;
        float newScale = (sumW * sumXL - sumX * sumL) / det;
        float newMin = (sumL2 * sumX - sumL * sumXL) / det;
        if (newMin > 0) {
            newMin = 0;
            newScale = sumXL / sumL2;
        }
        const float error = errorOf(newScale, newMin);
        if (error < best) {
            best = error;
            scale = newScale;
            min = newMin;
            keep();
        }
    }
    return {scale, -min};
}

/// The scale of largest magnitude among those of the parts; NaN when a search overflowed in one of them.
template <int kParts> HALFTONE_HD float peakScale(const float* scales)
{
    float sum = 0;
    for (int i = 0; i < kParts; ++i)
        sum += scales[i] * 0.0f;
    return sum == 0 ? signedPeak<kParts>(scales) : bitsFloat(0x7fc00000u);
}

/// Least squares of x against integer codes, weighted with x^2.
struct CodeFit {
    float xl = 0, l2 = 0; ///< sums of w x l and w l^2

    HALFTONE_HD void add(float x, std::int32_t code)
    {
        const float w = x * x, l = static_cast<float>(code);
        xl += w * x * l;
        l2 += w * l * l;
    }
};

/// Codes 0 .. 2 kHalf - 1 around kHalf, and their scale (of either sign): the best of 19 trial scales around
/// the one that puts the peak on the outermost code.
template <int kCount, int kHalf> HALFTONE_HD float fitScale(const float* x, std::uint8_t* codes)
{
    const float peak = signedPeak<kCount>(x);
    if (fabsf(peak) < kNoMagnitude) {
        for (int i = 0; i < kCount; ++i)
            codes[i] = 0;
        return 0.0f;
    }
    const auto codeOf = [&](float inverse, int i) {
        return clampCode(roundEven(inverse * x[i]), -kHalf, kHalf - 1);
    };
    const auto keep = [&](float inverse) {
        for (int i = 0; i < kCount; ++i)
            codes[i] = static_cast<std::uint8_t>(codeOf(inverse, i) + kHalf);
    };
    const auto fit = [&](float inverse) {
        CodeFit sums;
        for (int i = 0; i < kCount; ++i)
            sums.add(x[i], codeOf(inverse, i));
        return sums;
    };
    const float start = static_cast<float>(-kHalf) / peak;
    const CodeFit first = fit(start);
    keep(start);
    float scale = first.l2 != 0 ? first.xl / first.l2 : 0.0f;
    float best = scale * first.xl;
    for (int k = -9; k <= 9; ++k) {
        if (k == 0) continue;
        const float inverse = -(static_cast<float>(kHalf) + 0.1f * static_cast<float>(k)) / peak;
        const CodeFit sums = fit(inverse);
        if (sums.l2 > 0 && sums.xl * sums.xl > best * sums.l2) {
            keep(inverse);
            scale = sums.xl / sums.l2;
            best = scale * sums.xl;
        }
    }
    return scale;
}

/// As fitScale(), by moving one code at a time, in at most five passes.
template <int kCount, int kHalf> HALFTONE_HD float descendToScale(const float* x, std::uint8_t* codes)
{
    const float peak = signedPeak<kCount>(x);
    if (fabsf(peak) < kNoMagnitude) {
        for (int i = 0; i < kCount; ++i)
            codes[i] = 0;
        return 0.0f;
    }
    const float inverse = static_cast<float>(-kHalf) / peak;
    std::int32_t l[kCount];
    CodeFit sums;
    for (int i = 0; i < kCount; ++i) {
        l[i] = clampCode(roundEven(inverse * x[i]), -kHalf, kHalf - 1);
        sums.add(x[i], l[i]);
    }
    for (int pass = 0; pass < 5; ++pass) {
        bool changed = false;
        for (int i = 0; i < kCount; ++i) {
            const float w = x[i] * x[i], old = static_cast<float>(l[i]);
            CodeFit rest{sums.xl - w * x[i] * old, 0};
            if (!(rest.xl > 0)) continue;
            rest.l2 = sums.l2 - w * old * old;
            const std::int32_t next = clampCode(roundEven(x[i] * rest.l2 / rest.xl), -kHalf, kHalf - 1);
            if (next == l[i]) continue;
            rest.add(x[i], next);
            if (rest.l2 > 0 && rest.xl * rest.xl * sums.l2 > sums.xl * sums.xl * rest.l2) {
                l[i] = next;
                sums = rest;
                changed = true;
            }
        }
        if (!changed) break;
    }
    for (int i = 0; i < kCount; ++i)
        codes[i] = static_cast<std::uint8_t>(l[i] + kHalf);
    return sums.l2 > 0 ? sums.xl / sums.l2 : 0.0f;
}

} // namespace halftone
