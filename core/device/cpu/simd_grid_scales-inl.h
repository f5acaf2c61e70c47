// SPDX-License-Identifier: GPL-3.0-or-later
// Scales and zero points of many groups at once. Included once for each vector target, hence no #pragma
// once.
#if defined(HALFTONE_SIMD_GRID_SCALES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFTONE_SIMD_GRID_SCALES_INL_H_
#undef HALFTONE_SIMD_GRID_SCALES_INL_H_
#else
#define HALFTONE_SIMD_GRID_SCALES_INL_H_
#endif

#include "core/device/cpu/simd_convert-inl.h"
#include "core/device/cpu/simd_encode_groups-inl.h"
#include "core/device/cpu/simd_int_grid.h"

#include "hwy/highway.h"

#include <cstdint>
#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Scales, inverses and zero points of a batch: gridOf() for a vector of groups.
struct BatchGrids {
    static constexpr std::size_t kRoom = kBatchRoom;
    alignas(32) float inverse[kRoom];
    alignas(32) std::int16_t zero[kRoom];
    alignas(32) std::uint8_t zeros[kRoom];      // as stored
    alignas(32) std::uint8_t scales[4 * kRoom]; // as stored

    template <class DF> HWY_INLINE hn::Vec<DF> round(DF df, hn::Vec<DF> scale, ScaleType type, std::int64_t i)
    {
        if (type == ScaleType::F32) {
            const hn::RebindToUnsigned<DF> du;
            hn::StoreU(hn::BitCast(du, scale), du, reinterpret_cast<std::uint32_t*>(scales) + i);
            return scale;
        }
        const auto bits = type == ScaleType::F16 ? numbersToHalf(df, scale) : floatsToBfloat(df, scale);
        hn::StoreU(bits, Bits16<DF>(), reinterpret_cast<std::uint16_t*>(scales) + i);
        return type == ScaleType::F16 ? halfToFloats(df, bits) : bfloatToFloats(df, bits);
    }

    /// From the bits of the largest and, for asymmetric grids, the smallest value of each group. False when
    /// one of them is not finite, or a scale overflows its type.
    template <class Source, bool kAsym>
    HWY_INLINE bool compute(const GridJob& job, const typename Source::Bits* high,
                            const typename Source::Bits* low, std::int64_t groups)
    {
        const Tag<float> df;
        const Tag<std::int32_t> di;
        const hn::Rebind<std::int16_t, Tag<float>> d16;
        const hn::Rebind<std::uint8_t, Tag<float>> d8;
        const auto one = hn::Set(df, 1.0f), nothing = hn::Zero(df), largest = hn::Set(df, 3.402823466e38f);
        const auto levels = static_cast<float>((1 << job.bits) - 1);
        const bool restricted = job.rule == GridRule::SymRestricted;
        const auto steps =
            hn::Set(df, restricted ? static_cast<float>((1 << (job.bits - 1)) - 1) : levels * 0.5f);
        const auto top = hn::Set(df, levels), half = hn::Set(df, 0.5f);
        // An infinity or a NaN in the range makes one of the scale.
        auto good = hn::Eq(one, one);
        for (std::int64_t i = 0; i < groups; i += static_cast<std::int64_t>(hn::Lanes(df))) {
            const auto hi = Source::floats(df, high + i);
            const auto lo = kAsym ? Source::floats(df, low + i) : nothing;
            auto span = hi;
            if constexpr (kAsym) span = hn::Sub(hn::Mul(hi, half), hn::Mul(lo, half));
            // A group of zeros has scale 1, which every type holds.
            const auto flat = hn::Eq(span, nothing);
            const auto scale = round(df, hn::IfThenElse(flat, one, hn::Div(span, steps)), job.scale, i);
            good = hn::And(good, hn::Le(scale, largest));
            hn::StoreU(inversesOf(df, scale), df, inverse + i);
            if constexpr (kAsym) {
                const auto none = hn::Or(flat, hn::Eq(scale, nothing));
                auto z = hn::Div(hn::Neg(lo), scale);
                z = hn::Min(hn::IfThenElse(hn::Gt(z, nothing), z, nothing), top);
                const auto shifted = hn::Add(hn::IfThenZeroElse(none, z), hn::Set(df, 12582912.0f));
                const auto zeroPoint = hn::Sub(hn::BitCast(di, shifted), hn::Set(di, 0x4b400000));
                hn::StoreU(hn::DemoteTo(d16, zeroPoint), d16, zero + i);
                hn::StoreU(hn::DemoteTo(d8, zeroPoint), d8, zeros + i);
            }
        }
        return hn::AllTrue(df, good);
    }
};

} // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
