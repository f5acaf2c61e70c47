// SPDX-License-Identifier: GPL-3.0-or-later
// Codes of 2..8 bits between one byte each and a little-endian bit stream. Included once for each vector
// target, hence no #pragma once.
#if defined(HALFTONE_SIMD_PACK_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFTONE_SIMD_PACK_INL_H_
#undef HALFTONE_SIMD_PACK_INL_H_
#else
#define HALFTONE_SIMD_PACK_INL_H_
#endif

#include "core/device/cpu/simd_source-inl.h"

#include "hwy/cache_control.h"
#include "hwy/highway.h"

#include <cstddef>
#include <cstdint>
#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Bytes that pack() and unpack() may touch behind the ends of their buffers.
inline constexpr std::size_t kPackSlack = 64;

/// Which bytes of a block of 16 pack() keeps: `bits` of each half. unpack() puts them back.
struct PackTable {
    alignas(16) std::uint8_t gather[16], spread[16];
    constexpr explicit PackTable(int bits) : gather{}, spread{}
    {
        for (int i = 0; i < 16; ++i) {
            const int half = i / bits, rest = i % bits;
            gather[i] = static_cast<std::uint8_t>(half < 2 ? 8 * half + rest : 0x80);
            const int place = i % 8;
            spread[i] = static_cast<std::uint8_t>(place < bits ? i / 8 * bits + place : 0x80);
        }
    }
};

/// 64-bit lanes of eight codes, joined in the low bits: neighbours move together, 2 codes in 16 bits, 4 in
/// 32, then all.
template <int kBits> HWY_INLINE hn::Vec<Tag<std::uint64_t>> joinedEight(VBytes codes)
{
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2
    // A code and its shifted neighbour are one sum of products.
    const auto two = _mm256_maddubs_epi16(_mm256_set1_epi16(1 | 1 << (8 + kBits)), codes.raw);
    const auto four = _mm256_madd_epi16(two, _mm256_set1_epi32(1 | 1 << (16 + 2 * kBits)));
    const auto touching = _mm256_sllv_epi32(four, _mm256_set1_epi64x(32 - 4 * kBits));
    return hn::Vec<Tag<std::uint64_t>>{_mm256_srli_epi64(touching, 32 - 4 * kBits)};
#else
    const Tag<std::uint16_t> d16;
    const Tag<std::uint32_t> d32;
    const Tag<std::uint64_t> d64;
    constexpr std::uint32_t one = (1u << kBits) - 1, two = (1u << 2 * kBits) - 1;
    constexpr std::uint64_t four = (std::uint64_t{1} << 4 * kBits) - 1;
    const auto low16 = hn::Set(d16, static_cast<std::uint16_t>(one));
    const auto high16 = hn::Set(d16, static_cast<std::uint16_t>(one << kBits));
    const auto low32 = hn::Set(d32, two), high32 = hn::Set(d32, two << 2 * kBits);
    const auto low64 = hn::Set(d64, four), high64 = hn::Set(d64, four << 4 * kBits);
    const auto c16 = hn::BitCast(d16, codes);
    const auto c32 =
        hn::BitCast(d32, hn::Or(hn::And(c16, low16), hn::And(hn::ShiftRight<8 - kBits>(c16), high16)));
    const auto c64 =
        hn::BitCast(d64, hn::Or(hn::And(c32, low32), hn::And(hn::ShiftRight<16 - 2 * kBits>(c32), high32)));
    return hn::Or(hn::And(c64, low64), hn::And(hn::ShiftRight<32 - 4 * kBits>(c64), high64));
#endif
}

template <int kBits> inline void packOdd(const std::uint8_t* codes, std::int64_t n, std::uint8_t* out)
{
    static constexpr PackTable kTable(kBits);
    const Tag<std::uint8_t> d8;
    const auto gather = hn::LoadDup128(d8, kTable.gather);
    for (std::int64_t i = 0; i < n; i += kStep) {
        const auto joined = joinedEight<kBits>(hn::LoadU(d8, codes + i));
        // The empty bytes go.
        const auto packed = hn::TableLookupBytesOr0(hn::BitCast(d8, joined), gather);
        if constexpr (kStep > 16) {
            const hn::Half<Tag<std::uint8_t>> half;
            hn::StoreU(hn::LowerHalf(half, packed), half, out);
            hn::StoreU(hn::UpperHalf(half, packed), half, out + 2 * kBits);
            out += 4 * kBits;
        } else {
            hn::StoreU(packed, d8, out);
            out += 2 * kBits;
        }
    }
}

/// 16-bit lanes of two codes of 4 bits, joined in the low byte.
HWY_INLINE VWords joinedNibbles(VBytes codes)
{
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2
    return VWords{_mm256_maddubs_epi16(codes.raw, _mm256_set1_epi16(0x1001))}; // first + 16 * second
#else
    const Tag<std::int16_t> di16;
    const Tag<std::uint16_t> d16;
    const auto pairs = hn::BitCast(d16, codes);
    const auto joined = hn::Or(pairs, hn::ShiftRight<4>(pairs));
    return hn::BitCast(di16, hn::And(joined, hn::Set(d16, std::uint16_t{0xff})));
#endif
}

inline void packNibbles(const std::uint8_t* codes, std::int64_t n, std::uint8_t* out)
{
    const Tag<std::uint8_t> d8;
    for (std::int64_t i = 0; i < n; i += 2 * kStep) {
        const auto first = joinedNibbles(hn::LoadU(d8, codes + i));
        const auto second = joinedNibbles(hn::LoadU(d8, codes + i + kStep));
        hn::StoreU(inOrder<true>(unsignedBytes(first, second)), d8, out + i / 2);
    }
}

/// Swaps the halves of `n` bytes; touches up to kPackSlack bytes too many.
inline void swapNibbles(std::uint8_t* bytes, std::int64_t n)
{
    const Tag<std::uint8_t> d8;
    const Tag<std::uint16_t> d16;
    const auto low = hn::Set(d16, std::uint16_t{0x0f0f});
    for (std::int64_t i = 0; i < n; i += kStep) {
        const auto v = hn::BitCast(d16, hn::LoadU(d8, bytes + i));
        const auto swapped = hn::Or(hn::ShiftLeft<4>(hn::And(v, low)), hn::And(hn::ShiftRight<4>(v), low));
        hn::StoreU(hn::BitCast(d8, swapped), d8, bytes + i);
    }
}

/// Packs `n` codes; reads up to a multiple of 64 and writes up to kPackSlack bytes too many.
inline void pack(const std::uint8_t* codes, std::int64_t n, int bits, std::uint8_t* out)
{
    switch (bits) {
    case 2:
        return packOdd<2>(codes, n, out);
    case 3:
        return packOdd<3>(codes, n, out);
    case 4:
        return packNibbles(codes, n, out);
    case 5:
        return packOdd<5>(codes, n, out);
    case 6:
        return packOdd<6>(codes, n, out);
    case 7:
        return packOdd<7>(codes, n, out);
    default:
        std::memcpy(out, codes, static_cast<std::size_t>(n));
    }
}

template <int kBits> inline void unpackOdd(const std::uint8_t* in, std::int64_t n, std::uint8_t* codes)
{
    static constexpr PackTable kTable(kBits);
    const hn::FixedTag<std::uint8_t, 16> d8;
    const hn::Repartition<std::uint16_t, decltype(d8)> d16;
    const hn::Repartition<std::uint32_t, decltype(d8)> d32;
    const hn::Repartition<std::uint64_t, decltype(d8)> d64;
    constexpr std::uint32_t one = (1u << kBits) - 1, two = (1u << 2 * kBits) - 1;
    constexpr std::uint64_t four = (std::uint64_t{1} << 4 * kBits) - 1;
    const auto spread = hn::Load(d8, kTable.spread);
    const auto low16 = hn::Set(d16, static_cast<std::uint16_t>(one));
    const auto high16 = hn::Set(d16, static_cast<std::uint16_t>(one << 8));
    const auto low32 = hn::Set(d32, two), high32 = hn::Set(d32, two << 16);
    const auto low64 = hn::Set(d64, four), high64 = hn::Set(d64, four << 32);
    for (std::int64_t i = 0; i < n; i += 16, in += 2 * kBits) {
        const auto v = hn::BitCast(d64, hn::TableLookupBytesOr0(hn::LoadU(d8, in), spread));
        const auto c32 =
            hn::BitCast(d32, hn::Or(hn::And(v, low64), hn::And(hn::ShiftLeft<32 - 4 * kBits>(v), high64)));
        const auto c16 = hn::BitCast(
            d16, hn::Or(hn::And(c32, low32), hn::And(hn::ShiftLeft<16 - 2 * kBits>(c32), high32)));
        const auto c8 = hn::Or(hn::And(c16, low16), hn::And(hn::ShiftLeft<8 - kBits>(c16), high16));
        hn::StoreU(hn::BitCast(d8, c8), d8, codes + i);
    }
}

inline void unpackNibbles(const std::uint8_t* in, std::int64_t n, std::uint8_t* codes)
{
    const hn::FixedTag<std::uint8_t, 16> d8;
    const auto mask = hn::Set(d8, std::uint8_t{15});
    const hn::Repartition<std::uint16_t, decltype(d8)> d16;
    for (std::int64_t i = 0; i < n; i += 32) {
        const auto v = hn::LoadU(d8, in + i / 2);
        const auto low = hn::And(v, mask);
        const auto high = hn::And(hn::BitCast(d8, hn::ShiftRight<4>(hn::BitCast(d16, v))), mask);
        hn::StoreU(hn::InterleaveLower(d8, low, high), d8, codes + i);
        hn::StoreU(hn::InterleaveUpper(d8, low, high), d8, codes + i + 16);
    }
}

/// The inverse of pack(); reads and writes up to kPackSlack bytes too many.
inline void unpack(const std::uint8_t* in, std::int64_t n, int bits, std::uint8_t* codes)
{
    switch (bits) {
    case 2:
        return unpackOdd<2>(in, n, codes);
    case 3:
        return unpackOdd<3>(in, n, codes);
    case 4:
        return unpackNibbles(in, n, codes);
    case 5:
        return unpackOdd<5>(in, n, codes);
    case 6:
        return unpackOdd<6>(in, n, codes);
    case 7:
        return unpackOdd<7>(in, n, codes);
    default:
        std::memcpy(codes, in, static_cast<std::size_t>(n));
    }
}

/// Copies around the caches, for outputs that are larger than them: a plain store would first read the
/// line that it overwrites. The caller ends with hwy::FlushStream().
inline void streamOut(std::uint8_t* dst, const std::uint8_t* src, std::int64_t n, bool aroundCaches)
{
    const Tag<std::uint8_t> d8;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d8));
    if (!aroundCaches || n < 8 * lanes) {
        std::memcpy(dst, src, static_cast<std::size_t>(n));
        return;
    }
    const auto address = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(dst) % 64);
    std::int64_t i = address == 0 ? 0 : 64 - address;
    std::memcpy(dst, src, static_cast<std::size_t>(i));
    for (; i + 2 * lanes <= n; i += 2 * lanes) {
        hn::Stream(hn::LoadU(d8, src + i), d8, dst + i);
        hn::Stream(hn::LoadU(d8, src + i + lanes), d8, dst + i + lanes);
    }
    std::memcpy(dst + i, src + i, static_cast<std::size_t>(n - i));
}

} // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
