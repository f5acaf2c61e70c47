// SPDX-License-Identifier: GPL-3.0-or-later
// Reading F32, F16 and BF16 for the block kernels: as float vectors, and from there to codes of one byte.
// Included once for each vector target, hence no #pragma once.
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

using VF = hn::Vec<Tag<float>>;
using VI = hn::Vec<Tag<std::int32_t>>;
using VWords = hn::Vec<Tag<std::int16_t>>;
using VBytes = hn::Vec<Tag<std::uint8_t>>;

/// Elements whose codes fill a vector of bytes.
inline constexpr std::int64_t kStep = hn::MaxLanes(Tag<std::uint8_t>());

/// kStep elements as floats.
struct FourFloats {
    VF a, b, c, d;
};

// Narrowing to bytes joins the four vectors block by block; this brings the 4-byte runs back in order.
// `kHalves`: a vector holds the low or the high half of each block of its elements.
template <bool kHalves> HWY_INLINE VBytes inOrder(VBytes codes)
{
    if constexpr (kStep == 32) {
        alignas(32) static constexpr std::int32_t kByHalves[8]{0, 1, 4, 5, 2, 3, 6, 7};
        alignas(32) static constexpr std::int32_t kByVectors[8]{0, 4, 1, 5, 2, 6, 3, 7};
        const Tag<std::int32_t> di;
        const auto from = hn::SetTableIndices(di, kHalves ? kByHalves : kByVectors);
        return hn::BitCast(Tag<std::uint8_t>(), hn::TableLookupLanes(hn::BitCast(di, codes), from));
    } else {
        return codes;
    }
}

// A source says how wide an element's bits are, gives Lanes(df) elements as floats, and gives kStep of them
// in the order that is cheapest; ordered() turns the order of their codes into that of the elements.
struct FloatSource {
    using Bits = std::uint32_t;
    static HWY_INLINE float value(Bits bits) { return bitsFloat(bits); }
    template <class DF> static HWY_INLINE hn::Vec<DF> floats(DF df, const Bits* p)
    {
        return hn::BitCast(df, hn::LoadU(hn::RebindToUnsigned<DF>(), p));
    }
    static HWY_INLINE FourFloats four(const Bits* p)
    {
        const Tag<float> df;
        return {floats(df, p), floats(df, p + kStep / 4), floats(df, p + kStep / 2),
                floats(df, p + kStep / 4 * 3)};
    }
    static HWY_INLINE VBytes ordered(VBytes codes) { return inOrder<false>(codes); }
};

struct HalfSource {
    using Bits = std::uint16_t;
    static HWY_INLINE float value(Bits bits) { return halfToFloat(bits); }
    template <class DF> static HWY_INLINE hn::Vec<DF> floats(DF df, const Bits* p)
    {
        return halfToFloats(df, hn::LoadU(Bits16<DF>(), p));
    }
    static HWY_INLINE FourFloats four(const Bits* p)
    {
        const Tag<float> df;
        return {floats(df, p), floats(df, p + kStep / 4), floats(df, p + kStep / 2),
                floats(df, p + kStep / 4 * 3)};
    }
    static HWY_INLINE VBytes ordered(VBytes codes) { return inOrder<false>(codes); }
};

struct BfloatSource {
    using Bits = std::uint16_t;
    static HWY_INLINE float value(Bits bits) { return bfloatToFloat(bits); }
    template <class DF> static HWY_INLINE hn::Vec<DF> floats(DF df, const Bits* p)
    {
        return bfloatToFloats(df, hn::LoadU(Bits16<DF>(), p));
    }
    static HWY_INLINE FourFloats four(const Bits* p)
    {
        // Zeros below each element make a float of it: one shuffle a vector, which narrowing undoes.
        const Tag<float> df;
        const Tag<std::uint16_t> du;
        const auto zero = hn::Zero(du);
        const auto first = hn::LoadU(du, p), second = hn::LoadU(du, p + kStep / 2);
        return {hn::BitCast(df, hn::InterleaveLower(du, zero, first)),
                hn::BitCast(df, hn::InterleaveUpper(du, zero, first)),
                hn::BitCast(df, hn::InterleaveLower(du, zero, second)),
                hn::BitCast(df, hn::InterleaveUpper(du, zero, second))};
    }
    static HWY_INLINE VBytes ordered(VBytes codes) { return inOrder<true>(codes); }
};

// Conversions for values that are nowhere near the ends of 32 bits; the portable forms' care for those is
// not needed.

/// roundEven().
HWY_INLINE VI nearest(VF x)
{
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2
    return VI{_mm256_cvtps_epi32(x.raw)};
#elif HWY_ARCH_X86 && HWY_TARGET <= HWY_SSE2
    return VI{_mm_cvtps_epi32(x.raw)};
#else
    const Tag<std::int32_t> di;
    const auto shifted = hn::Add(x, hn::Set(Tag<float>(), 12582912.0f));
    return hn::Sub(hn::BitCast(di, shifted), hn::Set(di, 0x4b400000));
#endif
}

HWY_INLINE VI truncated(VF x)
{
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2
    return VI{_mm256_cvttps_epi32(x.raw)};
#elif HWY_ARCH_X86 && HWY_TARGET <= HWY_SSE2
    return VI{_mm_cvttps_epi32(x.raw)};
#else
    return hn::ConvertTo(Tag<std::int32_t>(), x);
#endif
}

/// Words to bytes of 0..255, block by block: what lies outside goes to the nearer end.
HWY_INLINE VBytes unsignedBytes(VWords a, VWords b)
{
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2
    return VBytes{_mm256_packus_epi16(a.raw, b.raw)};
#elif HWY_ARCH_X86 && HWY_TARGET <= HWY_SSE2
    return VBytes{_mm_packus_epi16(a.raw, b.raw)};
#else
    const hn::Half<Tag<std::uint8_t>> half;
    return hn::Combine(Tag<std::uint8_t>(), hn::DemoteTo(half, b), hn::DemoteTo(half, a));
#endif
}

/// The same to -128..127.
HWY_INLINE VBytes signedBytes(VWords a, VWords b)
{
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2
    return VBytes{_mm256_packs_epi16(a.raw, b.raw)};
#elif HWY_ARCH_X86 && HWY_TARGET <= HWY_SSE2
    return VBytes{_mm_packs_epi16(a.raw, b.raw)};
#else
    const Tag<std::int8_t> d8;
    const hn::Half<Tag<std::int8_t>> half;
    return hn::BitCast(Tag<std::uint8_t>(), hn::Combine(d8, hn::DemoteTo(half, b), hn::DemoteTo(half, a)));
#endif
}

/// Codes of kStep elements, in order. A coder turns floats into 32-bit codes and joins 16-bit ones to bytes.
template <class Source, class Coder>
HWY_INLINE VBytes codesOf(const typename Source::Bits* p, const Coder& coder)
{
    const Tag<std::int16_t> d16;
    const FourFloats x = Source::four(p);
    const auto low = hn::ReorderDemote2To(d16, coder.code(x.a), coder.code(x.b));
    const auto high = hn::ReorderDemote2To(d16, coder.code(x.c), coder.code(x.d));
    return Source::ordered(coder.bytes(low, high));
}

/// Bytes of input that the block kernels read twice in a row. Small, so that reading for the first time,
/// which waits for memory, and for the second, which does not, alternate faster than the memory answers.
inline constexpr std::int64_t kBatchBytes = 2048;

/// How far ahead memory is asked for: two batches.
inline constexpr std::int64_t kAheadBytes = 2 * kBatchBytes;

/// Memory that is asked for while a run of elements is read. The processor's own prefetching stops while a
/// batch is read for the second time; without this the memory would rest during half of the work. Of kPasses
/// passes over the same elements each asks for its share of those to come, so that it never rests.
template <int kPasses> struct Lookahead {
    const char* from = nullptr; ///< asked for with the first element

    HWY_INLINE Lookahead after(std::int64_t bytes) const { return {from + bytes / kPasses}; }
    /// While `size` bytes are read at `offset`.
    HWY_INLINE void ask(std::int64_t offset, std::int64_t size) const
    {
        for (std::int64_t end = offset + size; offset < end; offset += 64)
            if (offset % (64 * kPasses) == 0) hwy::Prefetch(from + offset / kPasses);
    }
};
/// For a pass that leaves the asking to another.
struct NoLookahead {
    HWY_INLINE NoLookahead after(std::int64_t) const { return {}; }
    HWY_INLINE void ask(std::int64_t, std::int64_t) const {}
};
template <int kPasses, class Bits> HWY_INLINE Lookahead<kPasses> lookahead(const Bits* p, std::int64_t bytes)
{
    return {reinterpret_cast<const char*>(p) + bytes};
}

} // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
