// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/device/cpu/simd_int_grid.h"

// The fallback target is left out by default for a miscompiled 16-bit multiplication; none is used here.
#define HWY_BROKEN_EMU128 0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/device/cpu/simd_int_grid.cpp"
#include "hwy/foreach_target.h" // IWYU pragma: keep

#include "core/device/cpu/simd_convert-inl.h"
#include "core/device/cpu/simd_pack-inl.h"
#include "core/device/cpu/simd_source-inl.h"

#include "hwy/highway.h"

#include <algorithm>
#include <type_traits>

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// A batch of groups is read twice while it lies in the first cache: for its range, then for its codes.
inline constexpr std::int64_t kBatchColumns = 4096;
inline constexpr std::int64_t kBatchGroups = 256;

/// x * inverse + magic: the low bits of the sum are the rounded product plus an even offset, ties to even
/// (see roundEven). The clamp comes later, on integers: no product gets near the 16 bits kept, since the
/// scale follows from the range.
struct Rounded {
    hn::Vec<Tag<float>> inverse, magic;
    HWY_INLINE hn::Vec<Tag<std::int32_t>> operator()(hn::Vec<Tag<float>> x) const
    {
        return hn::BitCast(Tag<std::int32_t>(), hn::Add(hn::Mul(x, inverse), magic));
    }
};

/// Codes of n elements under one scale, one byte each, as stored (offset to be unsigned).
template <class Source, bool kAsym>
HWY_INLINE void encode(const typename Source::Bits* in, std::int64_t n, float inverse, std::int32_t zero,
                       const GridJob& job, std::uint8_t* out)
{
    const Tag<float> df;
    const Tag<std::int16_t> d16;
    const hn::Rebind<std::uint8_t, Tag<std::int16_t>> d8;
    const std::int32_t offset = kAsym ? 0 : 1 << (job.bits - 1);
    const std::int32_t low = gridLow(job.rule, job.bits), high = gridHigh(job.rule, job.bits);
    const Rounded rounded{hn::Set(df, inverse), hn::Set(df, 12582912.0f + static_cast<float>(offset))};
    const auto zeros = hn::Set(d16, static_cast<std::int16_t>(zero));
    const auto lowest = hn::Set(d8, static_cast<std::uint8_t>(low + offset));
    const auto highest = hn::Set(d8, static_cast<std::uint8_t>(high + offset));
    const auto step = [&](std::int64_t i) HWY_ATTR {
        auto codes = Source::codes16(in + i, rounded);
        if constexpr (kAsym) codes = hn::Add(codes, zeros);
        const auto clamped = hn::Min(hn::Max(hn::DemoteTo(d8, codes), lowest), highest);
        hn::StoreU(Source::ordered(d8, clamped), d8, out + i);
    };
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d16));
    std::int64_t i = 0;
    for (; i + 2 * lanes <= n; i += 2 * lanes) {
        prefetchNext(in + i);
        step(i);
        step(i + lanes);
    }
    if (i + lanes <= n) {
        step(i);
        i += lanes;
    }
    if (i == n) return;
    if (n >= lanes) return step(n - lanes); // some codes once more
    for (; i < n; ++i) {
        typename Source::Bits bits;
        std::memcpy(&bits, in + i, sizeof bits);
        out[i] = static_cast<std::uint8_t>(gridCode(Source::value(bits), inverse, zero, low, high) + offset);
    }
}

/// Collects codes and writes them packed, whole 32-bit words at a time.
class CodeSink {
public:
    CodeSink(const GridJob& job, std::uint8_t* out) : m_job(job), m_out(out) {}
    /// Room for kBatchColumns codes.
    HWY_INLINE std::uint8_t* room() { return m_stage + m_staged; }
    HWY_INLINE void commit(std::int64_t n)
    {
        m_staged += n;
        if (m_staged < kBatchColumns) return;
        const std::int64_t rest = m_staged % 32;
        write(m_staged - rest);
        std::memmove(m_stage, m_stage + (m_staged - rest), 32);
        m_staged = rest;
    }
    void finish()
    {
        std::memset(m_stage + m_staged, 0, 32);
        if (m_staged != 0) write(m_staged);
    }

private:
    HWY_INLINE void write(std::int64_t n)
    {
        const std::int64_t bytes = (n * m_job.bits + 31) / 32 * 4;
        if (m_job.bits != 8) pack(m_stage, n, m_job.bits, m_packed);
        streamOut(m_out, m_job.bits == 8 ? m_stage : m_packed, bytes, m_job.aroundCaches);
        m_out += bytes;
    }

    const GridJob m_job;
    std::uint8_t* m_out;
    std::int64_t m_staged = 0;
    alignas(64) std::uint8_t m_stage[2 * kBatchColumns + kPackSlack];
    alignas(64) std::uint8_t m_packed[2 * kBatchColumns + kPackSlack];
};

/// Scales, inverses and zero points of a batch: gridOf() for a vector of groups.
struct BatchGrids {
    static constexpr std::size_t kRoom = kBatchGroups + 16;
    alignas(32) float inverse[kRoom];
    alignas(32) std::int32_t zero[kRoom];
    alignas(32) std::uint8_t scales[4 * kRoom]; // as stored

    template <class DF> HWY_INLINE hn::Vec<DF> round(DF df, hn::Vec<DF> scale, ScaleType type, std::int64_t i)
    {
        if (type == ScaleType::F32) {
            hn::StoreU(hn::BitCast(hn::Rebind<std::uint32_t, DF>(), scale), hn::Rebind<std::uint32_t, DF>(),
                       reinterpret_cast<std::uint32_t*>(scales) + i);
            return scale;
        }
        const auto bits = type == ScaleType::F16 ? floatsToHalf(df, scale) : floatsToBfloat(df, scale);
        hn::StoreU(bits, Bits16<DF>(), reinterpret_cast<std::uint16_t*>(scales) + i);
        return type == ScaleType::F16 ? halfToFloats(df, bits) : bfloatToFloats(df, bits);
    }

    /// False when a scale overflows its type.
    template <class Source, bool kAsym>
    HWY_INLINE bool compute(const GridJob& job, const typename Source::Bits* high,
                            const typename Source::Bits* low, std::int64_t groups)
    {
        const Tag<float> df;
        const Tag<std::int32_t> di;
        const auto one = hn::Set(df, 1.0f), nothing = hn::Zero(df);
        const auto levels = static_cast<float>((1 << job.bits) - 1);
        const float top = kAsym ? levels
                          : job.rule == GridRule::SymRestricted
                              ? static_cast<float>((1 << (job.bits - 1)) - 1)
                              : levels * 0.5f;
        auto largest = nothing;
        for (std::int64_t i = 0; i < groups; i += static_cast<std::int64_t>(hn::Lanes(df))) {
            const auto hi = Source::floats(df, high + i);
            if constexpr (kAsym) {
                const auto lo = Source::floats(df, low + i), half05 = hn::Set(df, 0.5f);
                const auto half = hn::Sub(hn::Mul(hi, half05), hn::Mul(lo, half05));
                const auto flat = hn::Eq(half, nothing);
                // A group of zeros has scale 1, which every type holds.
                const auto raw = hn::IfThenElse(flat, one, hn::Div(half, hn::Set(df, top * 0.5f)));
                const auto scale = round(df, raw, job.scale, i);
                const auto none = hn::Or(flat, hn::Eq(scale, nothing));
                auto z = hn::Div(hn::Neg(lo), scale);
                z = hn::Min(hn::IfThenElse(hn::Gt(z, nothing), z, nothing), hn::Set(df, top));
                const auto zeroPoint = hn::IfThenZeroElse(none, z);
                const auto shifted = hn::BitCast(di, hn::Add(zeroPoint, hn::Set(df, 12582912.0f)));
                hn::StoreU(hn::Sub(shifted, hn::Set(di, 0x4b400000)), di, zero + i);
                hn::StoreU(inversesOf(df, scale), df, inverse + i);
                largest = hn::Max(largest, scale);
            } else {
                const auto flat = hn::Eq(hi, nothing);
                const auto raw = hn::IfThenElse(flat, one, hn::Div(hi, hn::Set(df, top)));
                const auto scale = round(df, raw, job.scale, i);
                hn::StoreU(inversesOf(df, scale), df, inverse + i);
                largest = hn::Max(largest, scale);
            }
        }
        alignas(32) float seen[32 / sizeof(float)];
        hn::StoreU(largest, df, seen);
        for (std::size_t k = 0; k < hn::Lanes(df); ++k)
            if (!(seen[k] <= 3.402823466e38f)) return false;
        return true;
    }
};

template <class Source, bool kAsym>
bool quantizeGroups(const GridJob& job, const typename Source::Bits* in, std::int64_t n, std::int64_t group,
                    GridPlanes out)
{
    using Bits = typename Source::Bits;
    using Kind = std::conditional_t<kAsym, AroundZero, Magnitude>;
    BatchGrids grids;
    alignas(32) Bits high[BatchGrids::kRoom] = {}, low[BatchGrids::kRoom] = {};
    CodeSink sink(job, out.codes);
    const auto scaleBytes = static_cast<std::size_t>(bytesOfScale(job.scale));
    constexpr std::int64_t kColumns = kBatchBytes / static_cast<std::int64_t>(sizeof(Bits));
    const std::int64_t most = std::clamp<std::int64_t>(kColumns / group, 1, kBatchGroups);
    while (n > 0) {
        const std::int64_t groups = std::min((n - 1) / group + 1, most);
        const std::int64_t columns = groups > n / group ? n : groups * group;
        const std::int64_t last = columns - (groups - 1) * group;
        groupExtremes<Kind>(in, group, last, groups, high, low);
        if (!allFinite<Source>(high, groups) || (kAsym && !allFinite<Source>(low, groups))) return false;
        if (!grids.compute<Source, kAsym>(job, high, low, groups)) return false;
        std::memcpy(out.scales, grids.scales, static_cast<std::size_t>(groups) * scaleBytes);
        out.scales += static_cast<std::size_t>(groups) * scaleBytes;
        if constexpr (kAsym)
            for (std::int64_t g = 0; g < groups; ++g)
                *out.zeros++ = static_cast<std::uint8_t>(grids.zero[g]);
        const auto encodeGroup = [&](std::int64_t g, std::int64_t from, std::int64_t size,
                                     std::uint8_t* codes) HWY_ATTR {
            encode<Source, kAsym>(in + g * group + from, size, grids.inverse[g], kAsym ? grids.zero[g] : 0,
                                  job, codes);
        };
        if (columns <= kBatchColumns) {
            std::uint8_t* const codes = sink.room();
            // The size of most groups as a constant: their loops vanish.
            const std::int64_t whole = group == 32 ? columns / 32 : 0;
            for (std::int64_t g = 0; g < whole; ++g)
                encodeGroup(g, 0, 32, codes + g * 32);
            for (std::int64_t g = whole; g < groups; ++g)
                encodeGroup(g, 0, g == groups - 1 ? last : group, codes + g * group);
            sink.commit(columns);
        } else { // one large group
            for (std::int64_t from = 0; from < columns; from += kBatchColumns) {
                const std::int64_t piece = std::min(columns - from, kBatchColumns);
                encodeGroup(0, from, piece, sink.room());
                sink.commit(piece);
            }
        }
        in += columns;
        n -= columns;
    }
    sink.finish();
    return true;
}

template <class Source, bool kAsym>
void encodeOne(const GridJob& job, const typename Source::Bits* in, std::int64_t n, GridPoint point,
               std::uint8_t* out)
{
    CodeSink sink(job, out);
    const float inverse = inverseOf(point.scale);
    for (; n > 0; n -= kBatchColumns, in += kBatchColumns) {
        const std::int64_t piece = std::min(n, kBatchColumns);
        encode<Source, kAsym>(in, piece, inverse, point.zero, job, sink.room());
        sink.commit(piece);
    }
    sink.finish();
}

template <class Source> bool rangeOf(const typename Source::Bits* in, std::int64_t n, float& min, float& max)
{
    typename Source::Bits high[16], low[16];
    groupExtremes<AroundZero>(in, n, n, 1, high, low);
    if (!allFinite<Source>(high, 1) || !allFinite<Source>(low, 1)) return false;
    min = Source::value(low[0]);
    max = Source::value(high[0]);
    return true;
}

// The public functions, for one target. `in` may be misaligned: elements are only read through LoadU and
// memcpy.
template <class F> HWY_INLINE auto withSource(DType dtype, const std::byte* in, F f)
{
    switch (dtype) {
    case DType::F16:
        return f(HalfSource(), reinterpret_cast<const std::uint16_t*>(in));
    case DType::BF16:
        return f(BfloatSource(), reinterpret_cast<const std::uint16_t*>(in));
    default:
        return f(FloatSource(), reinterpret_cast<const std::uint32_t*>(in));
    }
}

bool quantizeSpan(const GridJob& job, DType dtype, const std::byte* in, std::int64_t n, std::int64_t group,
                  GridPlanes out)
{
    return withSource(dtype, in, [&](auto source, const auto* p) {
        using Source = decltype(source);
        return job.rule == GridRule::Asym ? quantizeGroups<Source, true>(job, p, n, group, out)
                                          : quantizeGroups<Source, false>(job, p, n, group, out);
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
    withSource(dtype, in, [&](auto source, const auto* p) {
        using Source = decltype(source);
        job.rule == GridRule::Asym ? encodeOne<Source, true>(job, p, n, point, codes)
                                   : encodeOne<Source, false>(job, p, n, point, codes);
    });
}

/// Values of n codes (one byte each) under one scale.
HWY_INLINE void decode(const std::uint8_t* codes, std::int64_t n, std::int32_t bias, float scale,
                       bool aroundCaches, float* out)
{
    const Tag<float> df;
    const Tag<std::int32_t> di;
    const hn::Rebind<std::uint8_t, Tag<std::int32_t>> d8;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(df));
    const auto biases = hn::Set(di, bias);
    const auto scales = hn::Set(df, scale);
    const auto values = [&](std::int64_t i) HWY_ATTR {
        const auto code = hn::Sub(hn::PromoteTo(di, hn::LoadU(d8, codes + i)), biases);
        return hn::Mul(hn::ConvertTo(df, code), scales);
    };
    std::int64_t i = 0;
    if (aroundCaches && reinterpret_cast<std::uintptr_t>(out) % 32 == 0) {
        for (; i + lanes <= n; i += lanes)
            hn::Stream(values(i), df, out + i);
    } else {
        for (; i + lanes <= n; i += lanes)
            hn::StoreU(values(i), df, out + i);
    }
    for (; i < n; ++i)
        out[i] = static_cast<float>(codes[i] - bias) * scale;
}

/// `n` scales of any type as floats; reads and writes no more than that.
HWY_INLINE void loadScales(const std::uint8_t* in, std::int64_t n, ScaleType type, float* out)
{
    const Tag<float> df;
    if (type == ScaleType::F32) {
        std::memcpy(out, in, static_cast<std::size_t>(n) * 4);
        return;
    }
    alignas(32) std::uint16_t bits[BatchGrids::kRoom];
    std::memcpy(bits, in, static_cast<std::size_t>(n) * 2);
    for (std::int64_t i = 0; i < n; i += static_cast<std::int64_t>(hn::Lanes(df))) {
        const auto v = hn::LoadU(Bits16<Tag<float>>(), bits + i);
        hn::StoreU(type == ScaleType::F16 ? halfToFloats(df, v) : bfloatToFloats(df, v), df, out + i);
    }
}

void decodeSpan(const GridJob& job, ConstGridPlanes in, std::int64_t n, std::int64_t group, float* out)
{
    const std::int32_t offset = job.rule == GridRule::Asym ? 0 : 1 << (job.bits - 1);
    const std::int64_t scaleBytes = bytesOfScale(job.scale);
    alignas(64) std::uint8_t packed[kBatchColumns + kPackSlack], codes[kBatchColumns + kPackSlack];
    alignas(32) float scales[BatchGrids::kRoom];
    std::int64_t group0 = 0, loaded = 0; // scales[k] is that of group group0 + k, for k < loaded
    const std::int64_t groups = n == 0 ? 0 : (n - 1) / group + 1;
    for (std::int64_t c = 0; c < n; c += kBatchColumns) {
        const std::int64_t columns = std::min(n - c, kBatchColumns);
        std::memcpy(packed, in.codes + c / 8 * job.bits,
                    static_cast<std::size_t>((columns * job.bits + 7) / 8));
        if (job.bits != 8) unpack(packed, columns, job.bits, codes);
        for (std::int64_t i = c; i < c + columns;) {
            const std::int64_t g = i / group;
            if (g >= group0 + loaded) {
                group0 = g;
                loaded = std::min(groups - g, kBatchGroups);
                loadScales(in.scales + g * scaleBytes, loaded, job.scale, scales);
            }
            const std::int64_t end = std::min((g + 1) * group, c + columns);
            const std::int32_t bias = offset + (in.zeros != nullptr ? in.zeros[g] : 0);
            decode((job.bits == 8 ? packed : codes) + (i - c), end - i, bias, scales[g - group0],
                   job.aroundCaches, out + i);
            i = end;
        }
    }
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
