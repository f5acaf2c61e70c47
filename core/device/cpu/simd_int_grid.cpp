// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/device/cpu/simd_int_grid.h"

// The fallback target is left out by default for a miscompiled 16-bit multiplication; none is used here.
#define HWY_BROKEN_EMU128 0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/device/cpu/simd_int_grid.cpp"
#include "hwy/foreach_target.h" // IWYU pragma: keep

#include "core/device/cpu/simd_convert-inl.h"
#include "core/device/cpu/simd_decode_groups-inl.h"
#include "core/device/cpu/simd_encode_groups-inl.h"
#include "core/device/cpu/simd_grid_scales-inl.h"
#include "core/device/cpu/simd_pack-inl.h"
#include "core/device/cpu/simd_range-inl.h"
#include "core/device/cpu/simd_source-inl.h"

#include "hwy/highway.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// clip(round(x * inverse) + zero) as stored: for the symmetric rules `zero` is what makes codes unsigned.
/// Clamping comes last, on bytes: no product gets near the ends of 16 bits, since the scale follows from
/// the range.
struct GridCoder {
    VF inverse;
    VWords zero;
    VBytes lowest, highest;

    HWY_INLINE GridCoder(const GridJob& job, float by, std::int32_t offset)
        : inverse(hn::Set(Tag<float>(), by)),
          zero(hn::Set(Tag<std::int16_t>(), static_cast<std::int16_t>(offset))),
          lowest(
              hn::Set(Tag<std::uint8_t>(), static_cast<std::uint8_t>(job.rule == GridRule::SymRestricted))),
          highest(hn::Set(Tag<std::uint8_t>(), static_cast<std::uint8_t>((1 << job.bits) - 1)))
    {
    }
    template <class Batch> HWY_INLINE void choose(const Batch& batch, std::int64_t group)
    {
        inverse = hn::Set(Tag<float>(), batch.grids.inverse[group]);
        if constexpr (Batch::kAsym) zero = hn::Set(Tag<std::int16_t>(), batch.grids.zero[group]);
    }
    HWY_INLINE VI code(VF x) const { return nearest(hn::Mul(x, inverse)); }
    HWY_INLINE VBytes bytes(VWords a, VWords b) const
    {
        const auto codes = unsignedBytes(hn::Add(a, zero), hn::Add(b, zero));
        return hn::Min(hn::Max(codes, lowest), highest);
    }
};

/// What stored codes have added: half of the range under the symmetric rules.
HWY_INLINE std::int32_t offsetOf(const GridJob& job)
{
    return job.rule == GridRule::Asym ? 0 : 1 << (job.bits - 1);
}

/// The grids of a batch of groups, as quantizeGroups() uses them.
template <bool kZeroPoints> struct GridBatch {
    static constexpr bool kAsym = kZeroPoints;
    using Kind = std::conditional_t<kAsym, AroundZero, Magnitude>;
    BatchGrids grids;

    template <class Source>
    HWY_INLINE bool compute(const GridJob& job, const typename Source::Bits* high,
                            const typename Source::Bits* low, std::int64_t groups)
    {
        return grids.compute<Source, kAsym>(job, high, low, groups);
    }
    HWY_INLINE void emit(const GridJob& job, GridPlanes& out, std::int64_t groups) const
    {
        const auto bytes = static_cast<std::size_t>(groups * bytesOfScale(job.scale));
        std::memcpy(out.scales, grids.scales, bytes);
        out.scales += bytes;
        if constexpr (kAsym) {
            std::memcpy(out.zeros, grids.zeros, static_cast<std::size_t>(groups));
            out.zeros += groups;
        }
    }
};

template <class Source, bool kAsym, std::int64_t kGroup>
bool quantizeKnown(const GridJob& job, const typename Source::Bits* in, std::int64_t n, std::int64_t group,
                   GridPlanes out)
{
    return quantizeGroups<Source, GridBatch<kAsym>, kGroup>(job, GridCoder(job, 0.0f, offsetOf(job)), in, n,
                                                            group, out);
}

template <class Source, bool kAsym>
bool quantizeAny(const GridJob& job, const typename Source::Bits* in, std::int64_t n, std::int64_t group,
                 GridPlanes out)
{
    if constexpr (kStep == 32) {
        if (group == 32) return quantizeKnown<Source, kAsym, 32>(job, in, n, group, out);
        if (group == 64) return quantizeKnown<Source, kAsym, 64>(job, in, n, group, out);
        if (group == 128) return quantizeKnown<Source, kAsym, 128>(job, in, n, group, out);
    }
    return quantizeKnown<Source, kAsym, 0>(job, in, n, group, out);
}

template <class Source> bool rangeOf(const typename Source::Bits* in, std::int64_t n, float& min, float& max)
{
    typename Source::Bits high[16], low[16];
    groupExtremes<AroundZero, 0>(in, n, n, 1, lookahead<1>(in, kAheadBytes), high, low);
    min = Source::value(low[0]);
    max = Source::value(high[0]);
    return std::isfinite(min) && std::isfinite(max);
}

bool quantizeSpan(const GridJob& job, DType dtype, const std::byte* in, std::int64_t n, std::int64_t group,
                  GridPlanes out)
{
    return withSource(dtype, in, [&](auto source, const auto* p) {
        using Source = decltype(source);
        return job.rule == GridRule::Asym ? quantizeAny<Source, true>(job, p, n, group, out)
                                          : quantizeAny<Source, false>(job, p, n, group, out);
    });
}

bool rangeSpan(DType dtype, const std::byte* in, std::int64_t n, float& min, float& max)
{
    return withSource(dtype, in,
                      [&](auto source, const auto* p) { return rangeOf<decltype(source)>(p, n, min, max); });
}

void encodeSpan(const GridJob& job, DType dtype, const std::byte* in, std::int64_t n, GridPoint point,
                std::uint8_t* codes)
{
    const GridCoder coder(job, inverseOf(point.scale), point.zero + offsetOf(job));
    withSource(dtype, in,
               [&](auto source, const auto* p) { encodeOne<decltype(source)>(job, coder, p, n, codes); });
}

/// Values of n codes (one byte each) under one scale.
struct GridDecoder {
    std::int32_t offset;
    bool aroundCaches;

    HWY_INLINE void operator()(const std::uint8_t* codes, std::int64_t n, float scale, std::int32_t zero,
                               float* out) const
    {
        const Tag<float> df;
        const Tag<std::int32_t> di;
        const hn::Rebind<std::uint8_t, Tag<std::int32_t>> d8;
        const std::int32_t bias = offset + zero;
        const auto biases = hn::Set(di, bias);
        const auto scales = hn::Set(df, scale);
        const std::int64_t done = writeVectors(n, out, aroundCaches, [&](std::int64_t i) HWY_ATTR {
            const auto code = hn::Sub(hn::PromoteTo(di, hn::LoadU(d8, codes + i)), biases);
            return hn::Mul(hn::ConvertTo(df, code), scales);
        });
        for (std::int64_t i = done; i < n; ++i)
            out[i] = static_cast<float>(codes[i] - bias) * scale;
    }
};

void decodeSpan(const GridJob& job, ConstGridPlanes in, std::int64_t n, std::int64_t group, float* out)
{
    const GridDecoder decoder{job.rule == GridRule::Asym ? 0 : 1 << (job.bits - 1), job.aroundCaches};
    decodeGroups(job, in, n, group, decoder, out);
}

} // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::cpu {

HWY_EXPORT(quantizeSpan);
HWY_EXPORT(rangeSpan);
HWY_EXPORT(encodeSpan);
HWY_EXPORT(decodeSpan);

bool quantizeGridSpan(const GridJob& job, DType dtype, const std::byte* in, std::int64_t n,
                      std::int64_t group, GridPlanes out)
{
    const bool good = HWY_DYNAMIC_DISPATCH(quantizeSpan)(job, dtype, in, n, group, out);
    if (job.aroundCaches) hwy::FlushStream();
    return good;
}

bool rangeOfSpan(DType dtype, const std::byte* in, std::int64_t n, float& min, float& max)
{
    return HWY_DYNAMIC_DISPATCH(rangeSpan)(dtype, in, n, min, max);
}

void encodeGridSpan(const GridJob& job, DType dtype, const std::byte* in, std::int64_t n, GridPoint point,
                    std::uint8_t* codes)
{
    HWY_DYNAMIC_DISPATCH(encodeSpan)(job, dtype, in, n, point, codes);
    if (job.aroundCaches) hwy::FlushStream();
}

void decodeGridSpan(const GridJob& job, ConstGridPlanes in, std::int64_t n, std::int64_t group, float* out)
{
    HWY_DYNAMIC_DISPATCH(decodeSpan)(job, in, n, group, out);
    if (job.aroundCaches) hwy::FlushStream();
}

} // namespace halftone::cpu
#endif
