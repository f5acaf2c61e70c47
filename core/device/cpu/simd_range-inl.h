// SPDX-License-Identifier: GPL-3.0-or-later
// Ranges of groups, found by integer maxima over the raw bits of their elements. Included once for each
// vector target, hence no #pragma once.
#if defined(HALFTONE_SIMD_RANGE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFTONE_SIMD_RANGE_INL_H_
#undef HALFTONE_SIMD_RANGE_INL_H_
#else
#define HALFTONE_SIMD_RANGE_INL_H_
#endif

#include "core/device/cpu/simd_source-inl.h"

#include "hwy/highway.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// What is kept of a group: IEEE magnitudes order as integers, and an infinity or a NaN is larger than any
// finite value. key() is what the maxima are taken of, highOf() and lowOf() turn them back into the bits of
// a value.
struct MaxUnsigned {
    template <class DU, class V> HWY_INLINE V operator()(DU, V a, V b) const { return hn::Max(a, b); }
};
struct MaxSigned {
    template <class DU, class V> HWY_INLINE V operator()(DU du, V a, V b) const
    {
        const hn::RebindToSigned<DU> di;
        return hn::BitCast(du, hn::Max(hn::BitCast(di, a), hn::BitCast(di, b)));
    }
};
struct MinSigned {
    template <class DU, class V> HWY_INLINE V operator()(DU du, V a, V b) const
    {
        const hn::RebindToSigned<DU> di;
        return hn::BitCast(du, hn::Min(hn::BitCast(di, a), hn::BitCast(di, b)));
    }
};

/// All bits of a lane but the sign.
template <class DU> HWY_INLINE hn::Vec<DU> magnitudeMask(DU du)
{
    using U = hn::TFromD<DU>;
    return hn::Set(du, static_cast<U>(U(~U{0}) >> 1));
}

/// All bits of a lane set where the sign is.
template <class DU, class V> HWY_INLINE V signs(DU du, V bits)
{
    const hn::RebindToSigned<DU> di;
    return hn::BitCast(du, hn::ShiftRight<8 * sizeof(hn::TFromD<DU>) - 1>(hn::BitCast(di, bits)));
}

/// Largest magnitude, as the high result.
struct Magnitude {
    using High = MaxSigned;
    using Low = MaxSigned;
    static constexpr bool kOne = true;
    template <class DU, class V> static HWY_INLINE V key(DU du, V bits)
    {
        return hn::And(bits, magnitudeMask(du));
    }
    template <class DU, class V> static HWY_INLINE V highOf(DU, V key) { return key; }
    template <class DU, class V> static HWY_INLINE V lowOf(DU, V key) { return key; }
};

/// Largest value, at least 0, and smallest value, at most 0.
struct AroundZero {
    using High = MaxSigned;
    using Low = MaxUnsigned;
    static constexpr bool kOne = false;
    template <class DU, class V> static HWY_INLINE V key(DU, V bits) { return bits; }
    template <class DU, class V> static HWY_INLINE V highOf(DU du, V key)
    {
        return MaxSigned()(du, key, hn::Zero(du));
    }
    template <class DU, class V> static HWY_INLINE V lowOf(DU du, V key)
    {
        return hn::And(key, signs(du, key));
    }
};

/// Largest and smallest value: bits turned so that signed integers order as the floats do, -0 below 0.
struct Ordered {
    using High = MaxSigned;
    using Low = MinSigned;
    static constexpr bool kOne = false;
    template <class DU, class V> static HWY_INLINE V key(DU du, V bits)
    {
        return hn::Xor(bits, hn::And(signs(du, bits), magnitudeMask(du)));
    }
    template <class DU, class V> static HWY_INLINE V highOf(DU du, V k) { return key(du, k); }
    template <class DU, class V> static HWY_INLINE V lowOf(DU du, V k) { return key(du, k); }
};

template <class V> struct Extremes {
    V high, low;
};

template <class Kind, class DU, class V> HWY_INLINE void widen(DU du, Extremes<V>& e, const hn::TFromD<DU>* p)
{
    const auto k = Kind::key(du, hn::LoadU(du, p));
    e.high = typename Kind::High()(du, e.high, k);
    if constexpr (!Kind::kOne) e.low = typename Kind::Low()(du, e.low, k);
}

template <class Kind, class DU, class V>
HWY_INLINE Extremes<V> joined(DU du, const Extremes<V>& a, const Extremes<V>& b)
{
    Extremes<V> e = a;
    e.high = typename Kind::High()(du, a.high, b.high);
    if constexpr (!Kind::kOne) e.low = typename Kind::Low()(du, a.low, b.low);
    return e;
}

/// The extremes of kSize elements, one a lane; kSize is a small multiple of the lanes.
template <class Kind, std::int64_t kSize, class DU, class Ahead>
HWY_INLINE Extremes<hn::Vec<DU>> extremesOf(DU du, const hn::TFromD<DU>* p, Ahead ahead)
{
    constexpr auto kLanes = static_cast<std::int64_t>(hn::MaxLanes(DU()));
    ahead.ask(0, kSize * static_cast<std::int64_t>(sizeof *p));
    static_assert(kSize % kLanes == 0);
    const auto first = Kind::key(du, hn::LoadU(du, p));
    Extremes<hn::Vec<DU>> a{first, first}, b = a;
    if constexpr (kSize > kLanes) {
        const auto second = Kind::key(du, hn::LoadU(du, p + kLanes));
        b = {second, second};
    }
    HWY_UNROLL(8)
    for (std::int64_t i = 2 * kLanes; i < kSize; i += 2 * kLanes) {
        widen<Kind>(du, a, p + i);
        widen<Kind>(du, b, p + i + kLanes);
    }
    return joined<Kind>(du, a, b);
}

/// The extremes of any number of elements. Re-reading some at the end does no harm to a maximum.
template <class Kind, class DU, class Ahead>
HWY_INLINE Extremes<hn::Vec<DU>> extremesOf(DU du, const hn::TFromD<DU>* p, std::int64_t n, Ahead ahead)
{
    using U = hn::TFromD<DU>;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(du));
    if (n < lanes) {
        alignas(32) U padded[32 / sizeof(U)];
        for (std::int64_t i = 0; i < lanes; i += n)
            std::memcpy(padded + i, p, static_cast<std::size_t>(std::min(n, lanes - i)) * sizeof(U));
        const auto k = Kind::key(du, hn::Load(du, padded));
        return {k, k};
    }
    const auto first = Kind::key(du, hn::LoadU(du, p));
    Extremes<hn::Vec<DU>> a{first, first}, b = a, c = a, d = a;
    std::int64_t i = lanes;
    constexpr auto kSize = static_cast<std::int64_t>(sizeof(U)), kRun = 4 * kSize * hn::MaxLanes(DU());
    for (; i + 4 * lanes <= n; i += 4 * lanes) {
        ahead.ask((i - lanes) * kSize, kRun);
        widen<Kind>(du, a, p + i);
        widen<Kind>(du, b, p + i + lanes);
        widen<Kind>(du, c, p + i + 2 * lanes);
        widen<Kind>(du, d, p + i + 3 * lanes);
    }
    for (; i + lanes <= n; i += lanes)
        widen<Kind>(du, a, p + i);
    if (i < n) widen<Kind>(du, b, p + n - lanes);
    return joined<Kind>(du, joined<Kind>(du, a, b), joined<Kind>(du, c, d));
}

// Reduces 4 vectors of 32-bit or 8 of 16-bit lanes to one value each, in order, by transposing while
// halving: three operations a vector. Neighbours are joined as soon as both are known, which keeps all in
// registers.
template <class Wide, class Op, class DU, class V> HWY_INLINE V fold(DU du, Op op, V a, V b)
{
    const hn::Repartition<Wide, DU> dw;
    const auto wa = hn::BitCast(dw, a), wb = hn::BitCast(dw, b);
    return op(du, hn::BitCast(du, hn::InterleaveLower(dw, wa, wb)),
              hn::BitCast(du, hn::InterleaveUpper(dw, wa, wb)));
}
template <class Kind, class Wide, class DU, class V>
HWY_INLINE Extremes<V> fold(DU du, const Extremes<V>& a, const Extremes<V>& b)
{
    Extremes<V> e;
    e.high = fold<Wide>(du, typename Kind::High(), a.high, b.high);
    if constexpr (!Kind::kOne) e.low = fold<Wide>(du, typename Kind::Low(), a.low, b.low);
    return e;
}

/// Groups that are folded at once: what a block of 128 bits holds.
template <class U> constexpr std::int64_t kFold = 16 / sizeof(U);

/// The extremes of kFold groups, folded; of(k) gives those of one.
template <class Kind, class DU, class Of> HWY_INLINE Extremes<hn::Vec<DU>> foldAll(DU du, const Of& of)
{
    using U = hn::TFromD<DU>;
    if constexpr (sizeof(U) == 4) {
        const auto ab = fold<Kind, std::uint32_t>(du, of(0), of(1));
        return fold<Kind, std::uint64_t>(du, ab, fold<Kind, std::uint32_t>(du, of(2), of(3)));
    } else {
        const auto ab = fold<Kind, std::uint16_t>(du, of(0), of(1));
        const auto ad = fold<Kind, std::uint32_t>(du, ab, fold<Kind, std::uint16_t>(du, of(2), of(3)));
        const auto ef = fold<Kind, std::uint16_t>(du, of(4), of(5));
        const auto eh = fold<Kind, std::uint32_t>(du, ef, fold<Kind, std::uint16_t>(du, of(6), of(7)));
        return fold<Kind, std::uint64_t>(du, ad, eh);
    }
}

/// The two blocks of a vector to one.
template <class Op, class DU, class V> HWY_INLINE auto oneBlock(DU du, Op op, V v)
{
    if constexpr (hn::MaxLanes(DU()) > kFold<hn::TFromD<DU>>) {
        const hn::Half<DU> half;
        return op(half, hn::LowerHalf(half, v), hn::UpperHalf(half, v));
    } else {
        (void)du, (void)op;
        return v;
    }
}

template <class Kind, class DU, class V>
HWY_INLINE void storeFolded(DU du, const Extremes<V>& e, hn::TFromD<DU>* high, hn::TFromD<DU>* low)
{
    const hn::CappedTag<hn::TFromD<DU>, kFold<hn::TFromD<DU>>> one;
    hn::StoreU(Kind::highOf(one, oneBlock(du, typename Kind::High(), e.high)), one, high);
    if constexpr (!Kind::kOne)
        hn::StoreU(Kind::lowOf(one, oneBlock(du, typename Kind::Low(), e.low)), one, low);
}

template <class Kind, std::int64_t kSize, class U, class Ahead> struct KnownGroups {
    const U* in;
    Ahead ahead;
    HWY_INLINE Extremes<hn::Vec<Tag<U>>> operator()(std::int64_t k) const
    {
        const std::int64_t bytes = k * kSize * static_cast<std::int64_t>(sizeof(U));
        return extremesOf<Kind, kSize>(Tag<U>(), in + k * kSize, ahead.after(bytes));
    }
};
template <class Kind, class U, class Ahead> struct AnyGroups {
    const U* in;
    std::int64_t size, lastSize, groups;
    Ahead ahead;
    HWY_INLINE Extremes<hn::Vec<Tag<U>>> operator()(std::int64_t k) const
    {
        // What is folded for groups that don't exist is not read.
        if (k >= groups) return few(in, std::min<std::int64_t>(lastSize, hn::MaxLanes(Tag<U>())), ahead);
        const std::int64_t bytes = k * size * static_cast<std::int64_t>(sizeof(U));
        return few(in + k * size, k == groups - 1 ? lastSize : size, ahead.after(bytes));
    }
    // Apart, since the calls of one fold would else all be written out.
    static HWY_NOINLINE Extremes<hn::Vec<Tag<U>>> few(const U* p, std::int64_t n, Ahead ahead)
    {
        return extremesOf<Kind>(Tag<U>(), p, n, ahead);
    }
};

/// Bits of the extremes of `groups` groups of `size` elements each (the last has `lastSize`); kSize is the
/// size where it is known, else 0. The outputs need room for kFold - 1 values more.
template <class Kind, std::int64_t kSize, class U, class Ahead>
HWY_INLINE void groupExtremes(const U* in, std::int64_t size, std::int64_t lastSize, std::int64_t groups,
                              Ahead ahead, U* high, U* low)
{
    const Tag<U> du;
    constexpr auto kBytes = static_cast<std::int64_t>(sizeof(U));
    std::int64_t g = 0;
    // Written out for each size only where vectors are wide: emulated maxima make much code of it.
    if constexpr (kSize != 0 && hn::MaxLanes(Tag<std::uint8_t>()) == 32) {
        const std::int64_t whole = lastSize == kSize ? groups : groups - 1;
        for (; g + kFold<U> <= whole; g += kFold<U>)
            storeFolded<Kind>(
                du,
                foldAll<Kind>(
                    du, KnownGroups<Kind, kSize, U, Ahead>{in + g * kSize, ahead.after(g * kSize * kBytes)}),
                high + g, low + g);
    }
    for (; g < groups; g += kFold<U>) {
        const AnyGroups<Kind, U, Ahead> rest{in + g * size, size, lastSize, groups - g,
                                             ahead.after(g * size * kBytes)};
        storeFolded<Kind>(du, foldAll<Kind>(du, rest), high + g, low + g);
    }
}

} // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
