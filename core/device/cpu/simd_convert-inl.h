// SPDX-License-Identifier: GPL-3.0-or-later
// Vector forms of core/numeric/small_float.h, the same bits for every input. Included once for each
// vector target, hence no #pragma once.
#if defined(HALFTONE_SIMD_CONVERT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFTONE_SIMD_CONVERT_INL_H_
#undef HALFTONE_SIMD_CONVERT_INL_H_
#else
#define HALFTONE_SIMD_CONVERT_INL_H_
#endif

#include "hwy/highway.h"

#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Vectors of at most 32 bytes: these loops wait for memory, not for arithmetic, and the shuffles are
// written for one or two blocks of 128 bits.
template <class T> using Tag = hn::CappedTag<T, 32 / sizeof(T)>;
/// As many 16-bit lanes as there are float lanes.
template <class DF> using Bits16 = hn::Rebind<std::uint16_t, DF>;

/// halfToFloat(), NaN payloads kept.
template <class DF> HWY_INLINE hn::Vec<DF> halfToFloatsExact(DF df, hn::Vec<Bits16<DF>> bits)
{
    const hn::RebindToSigned<DF> di;
    const hn::RebindToUnsigned<DF> du;
    const auto wide = hn::PromoteTo(du, bits);
    const auto magnitude = hn::And(wide, hn::Set(du, 0x7fffu));
    const auto sign = hn::ShiftLeft<16>(hn::Xor(wide, magnitude));
    const auto shifted = hn::ShiftLeft<13>(magnitude);
    const auto rebias = hn::Set(du, 112u << 23);
    const auto special = hn::Gt(hn::BitCast(di, magnitude), hn::Set(di, 0x7bff));
    auto value = hn::Add(hn::Add(shifted, rebias), hn::IfThenElseZero(hn::RebindMask(du, special), rebias));
    // Subnormal: the mantissa under the exponent of 2^-14, and 2^-14 taken away again.
    const auto unit = hn::Set(du, 113u << 23);
    const auto small = hn::Sub(hn::BitCast(df, hn::Add(shifted, unit)), hn::BitCast(df, unit));
    const auto isSmall = hn::Lt(hn::BitCast(di, magnitude), hn::Set(di, 0x400));
    value = hn::IfThenElse(hn::RebindMask(du, isSmall), hn::BitCast(du, small), value);
    return hn::BitCast(df, hn::Or(value, sign));
}

/// halfToFloat() for numbers; a signalling NaN may become quiet.
template <class DF> HWY_INLINE hn::Vec<DF> halfToFloats(DF df, hn::Vec<Bits16<DF>> bits)
{
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2
    return hn::PromoteTo(df, hn::BitCast(hn::Rebind<hwy::float16_t, DF>(), bits));
#else
    return halfToFloatsExact(df, bits);
#endif
}

template <class DF> HWY_INLINE hn::Vec<DF> bfloatToFloats(DF df, hn::Vec<Bits16<DF>> bits)
{
    return hn::BitCast(df, hn::ShiftLeft<16>(hn::PromoteTo(hn::RebindToUnsigned<DF>(), bits)));
}

/// The low 16 bits of each 32-bit lane, which must be all there is.
template <class DF> HWY_INLINE hn::Vec<Bits16<DF>> narrow(DF, hn::Vec<hn::RebindToUnsigned<DF>> v)
{
    return hn::DemoteTo(Bits16<DF>(), hn::BitCast(hn::RebindToSigned<DF>(), v));
}

/// floatToHalf().
template <class DF> HWY_INLINE hn::Vec<Bits16<DF>> floatsToHalf(DF df, hn::Vec<DF> x)
{
    const hn::RebindToSigned<DF> di;
    const hn::RebindToUnsigned<DF> du;
    const auto u = hn::BitCast(du, x);
    const auto a = hn::And(u, hn::Set(du, 0x7fffffffu));
    const auto sign = hn::And(hn::ShiftRight<16>(u), hn::Set(du, 0x8000u));
    // Below the smallest normal: float addition rounds at 2^-24.
    const auto small =
        hn::Sub(hn::BitCast(du, hn::Add(hn::BitCast(df, a), hn::Set(df, 0.5f))), hn::Set(du, 0x3f000000u));
    const auto odd = hn::And(hn::ShiftRight<13>(a), hn::Set(du, 1u));
    const auto rounded = hn::Add(hn::Add(a, hn::Set(du, 0xfffu)), odd);
    const auto normal = hn::ShiftRight<13>(hn::Sub(rounded, hn::Set(du, 0x38000000u)));
    const auto ai = hn::BitCast(di, a);
    auto r = hn::IfThenElse(hn::RebindMask(du, hn::Lt(ai, hn::Set(di, 0x38800000))), small, normal);
    r = hn::IfThenElse(hn::RebindMask(du, hn::Gt(ai, hn::Set(di, 0x477fefff))), hn::Set(du, 0x7c00u), r);
    r = hn::IfThenElse(hn::RebindMask(du, hn::Gt(ai, hn::Set(di, 0x7f800000))), hn::Set(du, 0x7e00u), r);
    return narrow(df, hn::Or(r, sign));
}

/// floatToHalf() for numbers; a NaN stays one.
template <class DF> HWY_INLINE hn::Vec<Bits16<DF>> numbersToHalf([[maybe_unused]] DF df, hn::Vec<DF> x)
{
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2
    return hn::BitCast(Bits16<DF>(), hn::DemoteTo(hn::Rebind<hwy::float16_t, DF>(), x));
#else
    return floatsToHalf(df, x);
#endif
}

/// floatToBfloat().
template <class DF> HWY_INLINE hn::Vec<Bits16<DF>> floatsToBfloat(DF df, hn::Vec<DF> x)
{
    const hn::RebindToSigned<DF> di;
    const hn::RebindToUnsigned<DF> du;
    const auto u = hn::BitCast(du, x);
    const auto top = hn::ShiftRight<16>(u);
    const auto odd = hn::And(top, hn::Set(du, 1u));
    const auto rounded = hn::ShiftRight<16>(hn::Add(hn::Add(u, hn::Set(du, 0x7fffu)), odd));
    const auto magnitude = hn::BitCast(di, hn::And(u, hn::Set(du, 0x7fffffffu)));
    const auto nan = hn::RebindMask(du, hn::Gt(magnitude, hn::Set(di, 0x7f800000)));
    return narrow(df, hn::IfThenElse(nan, hn::Or(top, hn::Set(du, 0x40u)), rounded));
}

/// inverseOf(): 0 where the scale is 0 or the inverse overflows.
template <class DF> HWY_INLINE hn::Vec<DF> inversesOf(DF df, hn::Vec<DF> scale)
{
    const auto inverse = hn::Div(hn::Set(df, 1.0f), scale);
    return hn::IfThenElseZero(hn::Le(hn::Abs(inverse), hn::Set(df, 3.402823466e38f)), inverse);
}

} // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
