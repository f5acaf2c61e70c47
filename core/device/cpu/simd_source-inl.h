// SPDX-License-Identifier: GPL-3.0-or-later
// Reading F32, F16 and BF16 for the block kernels: ranges of groups from the raw bits, and elements as
// float vectors. Included once for each vector target, hence no #pragma once.
#if defined(HALFTONE_SIMD_SOURCE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFTONE_SIMD_SOURCE_INL_H_
#undef HALFTONE_SIMD_SOURCE_INL_H_
#else
#define HALFTONE_SIMD_SOURCE_INL_H_
#endif

#include "core/device/cpu/simd_convert-inl.h"
#include "core/numeric/small_float.h"

#include "hwy/cache_control.h"
#include "hwy/highway.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// The low halves of two vectors of 32-bit lanes, taken in turn: what lies above bit 15 is lost.
template <class V> HWY_INLINE hn::Vec<Tag<std::int16_t>> interleaveLow(V even, V odd)
{
    const Tag<std::int16_t> d16;
    return hn::OddEven(hn::BitCast(d16, hn::ShiftLeft<16>(odd)), hn::BitCast(d16, even));
}

// A source says how wide an element's bits are and gives Lanes(df) elements as floats. codes16() gives
// Lanes(d16) results of `f` (float vector -> 32-bit integers of which 16 bits count), in an order that
// ordered() turns into that of the elements once they are bytes, when it is cheapest.
struct FloatSource {
    using Bits = std::uint32_t;
    static HWY_INLINE float value(Bits bits) { return bitsFloat(bits); }
    template <class DF> static HWY_INLINE hn::Vec<DF> floats(DF df, const Bits* p)
    {
        return hn::BitCast(df, hn::LoadU(hn::RebindToUnsigned<DF>(), p));
    }
    template <class F> static HWY_INLINE hn::Vec<Tag<std::int16_t>> codes16(const Bits* p, const F& f)
    {
        const Tag<float> df;
        return interleaveLow(f(floats(df, p)), f(floats(df, p + hn::Lanes(df))));
    }
    /// First the even bytes, then the odd ones.
    template <class D8> static HWY_INLINE hn::Vec<D8> ordered(D8 d8, hn::Vec<D8> codes)
    {
        constexpr std::size_t kLanes = hn::MaxLanes(D8());
        alignas(16) static constexpr std::uint8_t kFrom16[16]{0, 2, 4, 6, 8, 10, 12, 14,
                                                              1, 3, 5, 7, 9, 11, 13, 15};
        alignas(16) static constexpr std::uint8_t kFrom8[16]{0, 2, 4, 6, 1, 3, 5, 7};
        const hn::RebindToUnsigned<D8> du;
        return hn::BitCast(
            d8, hn::TableLookupBytes(hn::BitCast(du, codes), hn::Load(du, kLanes == 16 ? kFrom16 : kFrom8)));
    }
};

struct HalfSource {
    using Bits = std::uint16_t;
    static HWY_INLINE float value(Bits bits) { return halfToFloat(bits); }
    template <class DF> static HWY_INLINE hn::Vec<DF> floats(DF df, const Bits* p)
    {
        return halfToFloats(df, hn::LoadU(Bits16<DF>(), p));
    }
    template <class F> static HWY_INLINE hn::Vec<Tag<std::int16_t>> codes16(const Bits* p, const F& f)
    {
        const Tag<float> df;
        return interleaveLow(f(floats(df, p)), f(floats(df, p + hn::Lanes(df))));
    }
    template <class D8> static HWY_INLINE hn::Vec<D8> ordered(D8 d8, hn::Vec<D8> codes)
    {
        return FloatSource::ordered(d8, codes);
    }
};

struct BfloatSource {
    using Bits = std::uint16_t;
    static HWY_INLINE float value(Bits bits) { return bfloatToFloat(bits); }
    template <class DF> static HWY_INLINE hn::Vec<DF> floats(DF df, const Bits* p)
    {
        return bfloatToFloats(df, hn::LoadU(Bits16<DF>(), p));
    }
    template <class F> static HWY_INLINE hn::Vec<Tag<std::int16_t>> codes16(const Bits* p, const F& f)
    {
        // Even and odd elements apart need a shift and a mask only, and interleave to the old order.
        const Tag<float> df;
        const Tag<std::uint32_t> du;
        const auto pairs = hn::BitCast(du, hn::LoadU(Tag<std::uint16_t>(), p));
        const auto even = f(hn::BitCast(df, hn::ShiftLeft<16>(pairs)));
        return interleaveLow(even, f(hn::BitCast(df, hn::And(pairs, hn::Set(du, 0xffff0000u)))));
    }
    template <class D8> static HWY_INLINE hn::Vec<D8> ordered(D8, hn::Vec<D8> codes) { return codes; }
};

/// Bytes of input that the block kernels read twice in a row, from the first cache.
inline constexpr std::int64_t kBatchBytes = 8192;

/// Asks for the elements one batch ahead. The processor's own prefetching stops while a batch is read for
/// the second time; without this the memory would rest during half of the work.
template <class Bits> HWY_INLINE void prefetchNext(const Bits* p)
{
    hwy::Prefetch(reinterpret_cast<const char*>(p) + kBatchBytes);
    if constexpr (sizeof(Bits) == 4) hwy::Prefetch(reinterpret_cast<const char*>(p) + kBatchBytes + 64);
}

// What is kept of a group, found by integer maxima over the raw bits (IEEE magnitudes order as integers,
// and an infinity or a NaN is larger than any finite value). `Key` is how the two results read.
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

/// Largest magnitude, in both results.
struct Magnitude {
    using High = MaxUnsigned;
    using Low = MaxUnsigned;
    static constexpr bool kOne = true;
    template <class U> static HWY_INLINE U highBits(U key) { return key; }
    template <class U> static HWY_INLINE U lowBits(U key) { return key; }
    template <class DU, class V> static HWY_INLINE V key(DU du, V bits)
    {
        using U = hn::TFromD<DU>;
        return hn::And(bits, hn::Set(du, static_cast<U>(U(~U{0}) >> 1)));
    }
};

/// Largest value, at least a zero, and smallest value (when it is negative; else a positive one).
struct AroundZero {
    using High = MaxSigned;
    using Low = MaxUnsigned;
    static constexpr bool kOne = false;
    template <class U> static HWY_INLINE U signBit() { return static_cast<U>(U{1} << (8 * sizeof(U) - 1)); }
    template <class U> static HWY_INLINE U highBits(U key) { return (key & signBit<U>()) ? U{0} : key; }
    template <class U> static HWY_INLINE U lowBits(U key) { return (key & signBit<U>()) ? key : U{0}; }
    template <class DU, class V> static HWY_INLINE V key(DU, V bits) { return bits; }
};

/// Largest and smallest value: bits turned so that signed integers order as the floats do, -0 below 0.
struct Ordered {
    using High = MaxSigned;
    using Low = MinSigned;
    static constexpr bool kOne = false;
    template <class U> static HWY_INLINE U highBits(U key)
    {
        const U low = static_cast<U>(U(~U{0}) >> 1);
        return key > low ? static_cast<U>(key ^ low) : key;
    }
    template <class U> static HWY_INLINE U lowBits(U key) { return highBits(key); }
    template <class DU, class V> static HWY_INLINE V key(DU du, V bits)
    {
        using U = hn::TFromD<DU>;
        const hn::RebindToSigned<DU> di;
        const auto sign = hn::BitCast(du, hn::ShiftRight<8 * sizeof(U) - 1>(hn::BitCast(di, bits)));
        return hn::Xor(bits, hn::And(sign, hn::Set(du, static_cast<U>(U(~U{0}) >> 1))));
    }
};

template <class V> struct Extremes {
    V high, low;
};

template <class Kind, class DU, class V>
HWY_INLINE void widen(DU du, Extremes<V>& e, const typename hn::TFromD<DU>* p)
{
    const auto k = Kind::key(du, hn::LoadU(du, p));
    e.high = typename Kind::High()(du, e.high, k);
    if constexpr (!Kind::kOne) e.low = typename Kind::Low()(du, e.low, k);
}

/// The extremes of `n` elements, one a lane. Re-reading elements at the end does no harm to a maximum.
template <class Kind, class DU>
HWY_INLINE Extremes<hn::Vec<DU>> extremesOf(DU du, const hn::TFromD<DU>* p, std::int64_t n)
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
    Extremes<hn::Vec<DU>> a{first, first}, b = a;
    std::int64_t i = lanes;
    for (; i + 3 * lanes <= n; i += 2 * lanes) {
        widen<Kind>(du, a, p + i);
        widen<Kind>(du, b, p + i + lanes);
    }
    for (; i + lanes <= n; i += lanes)
        widen<Kind>(du, a, p + i);
    if (i < n) widen<Kind>(du, b, p + n - lanes);
    a.high = typename Kind::High()(du, a.high, b.high);
    if constexpr (!Kind::kOne) a.low = typename Kind::Low()(du, a.low, b.low);
    return a;
}

// Reduces 4 vectors of 32-bit or 8 of 16-bit lanes to one value each, in order, by transposing while
// halving: three operations a vector.
template <class Op, class DU, class V> HWY_INLINE V fold(DU du, Op op, V a, V b)
{
    return op(du, hn::InterleaveLower(du, a, b), hn::InterleaveUpper(du, a, b));
}
template <class Wide, class Op, class DU, class V> HWY_INLINE V foldWide(DU du, Op op, V a, V b)
{
    const hn::Repartition<Wide, DU> dw;
    const auto wa = hn::BitCast(dw, a), wb = hn::BitCast(dw, b);
    return op(du, hn::BitCast(du, hn::InterleaveLower(dw, wa, wb)),
              hn::BitCast(du, hn::InterleaveUpper(dw, wa, wb)));
}
template <class Op, class DU, class V> HWY_INLINE void storeFolded(DU du, Op op, V v, hn::TFromD<DU>* out)
{
    if constexpr (hn::MaxLanes(DU()) * sizeof(hn::TFromD<DU>) > 16) {
        const hn::Half<DU> half;
        hn::StoreU(op(half, hn::LowerHalf(half, v), hn::UpperHalf(half, v)), half, out);
    } else {
        hn::StoreU(v, du, out);
    }
}

/// Groups that are folded at once.
template <class U> constexpr std::int64_t kFold = 16 / sizeof(U);

/// Bits of the extremes of `groups` groups of `size` elements each (the last has `lastSize`). The outputs
/// need room for kFold - 1 values more.
template <class Kind, class U>
HWY_INLINE void groupExtremes(const U* in, std::int64_t size, std::int64_t lastSize, std::int64_t groups,
                              U* high, U* low)
{
    const Tag<U> du;
    using E = Extremes<hn::Vec<Tag<U>>>;
    const auto of = [&](std::int64_t g) HWY_ATTR {
        // The commonest size as a constant: its loops vanish.
        if (size == 32 && lastSize == 32) return extremesOf<Kind>(du, in + g * 32, 32);
        return extremesOf<Kind>(du, in + g * size, g == groups - 1 ? lastSize : size);
    };
    for (std::int64_t g = 0; g < groups; g += kFold<U>) {
        const E v0 = of(g);
        const auto next = [&](std::int64_t k) HWY_ATTR { return g + k < groups ? of(g + k) : v0; };
        const E v1 = next(1), v2 = next(2), v3 = next(3);
        const typename Kind::High up;
        const typename Kind::Low down;
        if constexpr (sizeof(U) == 4) {
            storeFolded(du, up,
                        foldWide<std::uint64_t>(du, up, fold(du, up, v0.high, v1.high),
                                                fold(du, up, v2.high, v3.high)),
                        high + g);
            if constexpr (!Kind::kOne)
                storeFolded(du, down,
                            foldWide<std::uint64_t>(du, down, fold(du, down, v0.low, v1.low),
                                                    fold(du, down, v2.low, v3.low)),
                            low + g);
        } else {
            const E v4 = next(4), v5 = next(5), v6 = next(6), v7 = next(7);
            const auto eight = [&](auto op, auto a, auto b, auto c, auto d, auto e, auto f, auto h,
                                   auto i) HWY_ATTR {
                const auto ad = foldWide<std::uint32_t>(du, op, fold(du, op, a, b), fold(du, op, c, d));
                const auto ei = foldWide<std::uint32_t>(du, op, fold(du, op, e, f), fold(du, op, h, i));
                return foldWide<std::uint64_t>(du, op, ad, ei);
            };
            storeFolded(du, up,
                        eight(up, v0.high, v1.high, v2.high, v3.high, v4.high, v5.high, v6.high, v7.high),
                        high + g);
            if constexpr (!Kind::kOne)
                storeFolded(du, down,
                            eight(down, v0.low, v1.low, v2.low, v3.low, v4.low, v5.low, v6.low, v7.low),
                            low + g);
        }
    }
    for (std::int64_t g = 0; g < groups; ++g) {
        if constexpr (!Kind::kOne) low[g] = Kind::lowBits(low[g]);
        high[g] = Kind::highBits(high[g]);
    }
}

/// True when all values (bits, any sign) are finite.
template <class Source> HWY_INLINE bool allFinite(const typename Source::Bits* bits, std::int64_t n)
{
    using U = typename Source::Bits;
    constexpr U infinity = sizeof(U) == 4                         ? U(0x7f800000u)
                           : std::is_same_v<Source, BfloatSource> ? U(0x7f80u)
                                                                  : U(0x7c00u);
    U largest = 0;
    for (std::int64_t i = 0; i < n; ++i)
        largest = std::max(largest, static_cast<U>(bits[i] & static_cast<U>(U(~U{0}) >> 1)));
    return largest < infinity;
}

} // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
