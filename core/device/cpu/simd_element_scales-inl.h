// SPDX-License-Identifier: GPL-3.0-or-later
// Scales of many groups of elements at once: core/numeric/group_scale.h for vectors. Included once for each
// vector target, hence no #pragma once.
#if defined(HALFTONE_SIMD_ELEMENT_SCALES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFTONE_SIMD_ELEMENT_SCALES_INL_H_
#undef HALFTONE_SIMD_ELEMENT_SCALES_INL_H_
#else
#define HALFTONE_SIMD_ELEMENT_SCALES_INL_H_
#endif

#include "core/device/cpu/simd_convert-inl.h"
#include "core/device/cpu/simd_elements.h"
#include "core/device/cpu/simd_encode_groups-inl.h"
#include "core/numeric/group_scale.h"

#include "hwy/highway.h"

#include <cstdint>
#include <cstring>
#include <limits>

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// A small float in the numbers that rounding to it takes.
struct FloatSteps {
    float largest;
    std::int32_t leastBits; ///< of the smallest normal value, as float bits
    int drop;               ///< bits of a float's mantissa that go
    explicit FloatSteps(SmallFloat f)
        : largest(smallFloatValue(f.maxCode, f)), leastBits((128 - f.bias) << 23), drop(23 - f.mantissaBits)
    {
    }
};

/// smallFloatCode() of finite or infinite magnitudes, without a sign.
HWY_INLINE VI magnitudeCodes(VF magnitude, const FloatSteps& steps)
{
    const Tag<float> df;
    const Tag<std::int32_t> di;
    const auto least = hn::Set(di, steps.leastBits);
    const auto a = hn::Min(magnitude, hn::Set(df, steps.largest));
    const auto exponent = hn::Max(hn::And(hn::BitCast(di, a), hn::Set(di, 0x7f800000)), least);
    // A power of two so large that adding it rounds to the steps of this exponent.
    const auto power = hn::Add(exponent, hn::Set(di, steps.drop << 23));
    const auto sum = hn::Add(a, hn::BitCast(df, power));
    const auto whole = hn::Sub(hn::BitCast(di, sum), power);
    return hn::Add(whole, hn::ShiftRightSame(hn::Sub(exponent, least), steps.drop));
}

/// smallFloatValue() of codes of E4M3 from 0 to 0x7E.
HWY_INLINE VF e4m3Values(VI code)
{
    const Tag<float> df;
    const Tag<std::int32_t> di;
    const auto normal = hn::BitCast(df, hn::Add(hn::ShiftLeft<20>(code), hn::Set(di, (127 - 7) << 23)));
    const auto small = hn::Mul(hn::ConvertTo(df, code), hn::Set(df, 0x1p-9f));
    return hn::IfThenElse(hn::RebindMask(df, hn::Lt(code, hn::Set(di, 8))), small, normal);
}

/// Of a batch of groups: what their elements are divided by, or multiplied with, and the scales as stored.
struct ElementBatch {
    using Kind = Magnitude;
    alignas(32) float factor[kBatchRoom];
    alignas(32) std::uint8_t scales[4 * kBatchRoom];

    // Divisors of 0 read as zeros.
    static HWY_INLINE VF divisor(VF scale)
    {
        const Tag<float> df;
        const auto infinity = hn::Set(df, std::numeric_limits<float>::infinity());
        return hn::IfThenElse(hn::Eq(scale, hn::Zero(df)), infinity, scale);
    }
    HWY_INLINE void storeBytes(VI codes, std::int64_t i)
    {
        const hn::Rebind<std::uint8_t, Tag<std::int32_t>> d8;
        hn::StoreU(hn::DemoteTo(d8, codes), d8, scales + i);
    }
    HWY_INLINE VF rounded(VF scale, ScaleType type, std::int64_t i)
    {
        const Tag<float> df;
        if (type == ScaleType::F32) {
            const Tag<std::uint32_t> du;
            hn::StoreU(hn::BitCast(du, scale), du, reinterpret_cast<std::uint32_t*>(scales) + i);
            return scale;
        }
        const auto bits = type == ScaleType::F16 ? numbersToHalf(df, scale) : floatsToBfloat(df, scale);
        hn::StoreU(bits, Bits16<Tag<float>>(), reinterpret_cast<std::uint16_t*>(scales) + i);
        return type == ScaleType::F16 ? halfToFloats(df, bits) : bfloatToFloats(df, bits);
    }
    // mxScaleCode() and mxInverse().
    HWY_INLINE VF powers(const ElementJob& job, float largest, VF peak, std::int64_t i)
    {
        const Tag<float> df;
        const Tag<std::int32_t> di;
        const auto top = static_cast<std::int32_t>(floatBits(largest));
        const auto bits = hn::BitCast(di, peak);
        auto code = hn::Sub(hn::ShiftRight<23>(bits), hn::Set(di, (top >> 23) - 127));
        const auto significand = hn::And(bits, hn::Set(di, 0x7fffff));
        // Comparing gives -1 where it is true.
        if (job.rule == ScaleRule::Ceil || job.rule == ScaleRule::RoundedUp) {
            const std::int32_t limit = job.rule == ScaleRule::Ceil ? top & 0x7fffff : 0x5fffff;
            code = hn::Sub(code, hn::VecFromMask(di, hn::Gt(significand, hn::Set(di, limit))));
        }
        if (job.rule == ScaleRule::Ggml) {
            alignas(32) float peaks[16];
            alignas(32) std::int32_t codes[16];
            hn::Store(peak, df, peaks);
            for (std::size_t k = 0; k < hn::Lanes(df); ++k)
                codes[k] = mxScaleCode(peaks[k], job.rule, largest);
            code = hn::Load(di, codes);
        }
        const auto normal = hn::Gt(bits, hn::Set(di, 0x7fffff));
        code = hn::IfThenElseZero(normal, hn::Max(code, hn::Zero(di)));
        storeBytes(code, i);
        return hn::BitCast(df, hn::ShiftLeft<23>(hn::Sub(hn::Set(di, 254), code)));
    }
    // nvScaleCode().
    HWY_INLINE VF underTensor(const ElementJob& job, float largest, VF peak, std::int64_t i)
    {
        const Tag<float> df;
        const Tag<std::int32_t> di;
        const auto wanted = hn::Div(peak, hn::Set(df, largest * job.tensorScale));
        auto code = magnitudeCodes(wanted, FloatSteps(kE4M3));
        if (job.rule == ScaleRule::Up) {
            const auto below = hn::RebindMask(di, hn::Lt(e4m3Values(code), wanted));
            code = hn::Min(hn::Sub(code, hn::VecFromMask(di, below)), hn::Set(di, 0x7E));
        }
        code = hn::Max(code, hn::Set(di, 1));
        storeBytes(code, i);
        return divisor(hn::Mul(e4m3Values(code), hn::Set(df, job.tensorScale)));
    }

    /// From the bits of the largest magnitude of each group. False when one is not finite, or a scale
    /// overflows.
    template <class Source>
    HWY_INLINE bool compute(const ElementJob& job, const typename Source::Bits* high,
                            const typename Source::Bits*, std::int64_t groups)
    {
        const Tag<float> df;
        const auto most = hn::Set(df, std::numeric_limits<float>::max());
        const float largest = largestOf(job.element, job.bits);
        auto good = hn::Eq(most, most);
        for (std::int64_t i = 0; i < groups; i += static_cast<std::int64_t>(hn::Lanes(df))) {
            const auto peak = Source::floats(df, high + i);
            good = hn::And(good, hn::Le(peak, most));
            auto made = peak;
            switch (job.family) {
            case FormatDesc::Family::Mx:
                made = powers(job, largest, peak, i);
                break;
            case FormatDesc::Family::Nv:
                made = underTensor(job, largest, peak, i);
                break;
            case FormatDesc::Family::Lookup:
                made = inversesOf(df, rounded(peak, ScaleType::F32, i));
                break;
            default: {
                const auto zero = hn::Eq(peak, hn::Zero(df));
                const auto exact =
                    hn::IfThenElse(zero, hn::Set(df, 1.0f), hn::Div(peak, hn::Set(df, largest)));
                const auto scale = rounded(exact, job.scale, i);
                good = hn::And(good, hn::Le(scale, most));
                made = divisor(scale);
            }
            }
            hn::StoreU(made, df, factor + i);
        }
        return hn::AllTrue(df, good);
    }
    HWY_INLINE void emit(const ElementJob& job, GridPlanes& out, std::int64_t groups) const
    {
        const auto bytes = static_cast<std::size_t>(groups * bytesOfScale(job.scale));
        std::memcpy(out.scales, scales, bytes);
        out.scales += bytes;
    }
};

} // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
