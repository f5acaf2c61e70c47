// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/device/cpu/simd_int_grid.h"

// The fallback target is left out by default for a miscompiled 16-bit multiplication; none is used here.
#define HWY_BROKEN_EMU128 0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/device/cpu/simd_int_grid.cpp"
#include "hwy/foreach_target.h" // IWYU pragma: keep

#include "core/device/cpu/simd_convert-inl.h"
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

// A batch of groups is read twice while it lies in the first cache: for its range, then for its codes.
inline constexpr std::int64_t kBatchColumns = 4096;

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
    template <bool kAsym> HWY_INLINE void choose(const BatchGrids& grids, std::int64_t group)
    {
        inverse = hn::Set(Tag<float>(), grids.inverse[group]);
        if constexpr (kAsym) zero = hn::Set(Tag<std::int16_t>(), grids.zero[group]);
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

/// Codes of n elements, one byte each, n a multiple of kStep.
template <class Source, class Ahead>
HWY_INLINE void encodeSteps(const typename Source::Bits* in, std::int64_t n, const GridCoder& coder,
                            Ahead ahead, std::uint8_t* out)
{
    constexpr auto kSize = static_cast<std::int64_t>(sizeof(typename Source::Bits));
    HWY_UNROLL(4)
    for (std::int64_t i = 0; i < n; i += kStep) {
        ahead.ask(i * kSize, kStep * kSize);
        hn::StoreU(codesOf<Source>(in + i, coder), Tag<std::uint8_t>(), out + i);
    }
}

/// Codes of any number of elements. Not written out at each call: little time passes here.
template <class Source, class Ahead>
HWY_NOINLINE void encodeAny(const typename Source::Bits* in, std::int64_t n, const GridCoder coder,
                            Ahead ahead, std::uint8_t* out)
{
    const std::int64_t whole = n / kStep * kStep, rest = n - whole;
    encodeSteps<Source>(in, whole, coder, ahead, out);
    if (rest == 0) return;
    typename Source::Bits bits[kStep] = {};
    alignas(kStep) std::uint8_t codes[kStep];
    std::memcpy(bits, in + whole, static_cast<std::size_t>(rest) * sizeof bits[0]);
    hn::Store(codesOf<Source>(bits, coder), Tag<std::uint8_t>(), codes);
    std::memcpy(out + whole, codes, static_cast<std::size_t>(rest));
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

/// kGroup is the size of the groups where it is one of the usual ones, else 0.
template <class Source, bool kAsym, std::int64_t kGroup>
bool quantizeGroups(const GridJob& job, const typename Source::Bits* in, std::int64_t n, std::int64_t group,
                    GridPlanes out)
{
    using Bits = typename Source::Bits;
    using Kind = std::conditional_t<kAsym, AroundZero, Magnitude>;
    constexpr auto kSize = static_cast<std::int64_t>(sizeof(Bits));
    if constexpr (kGroup != 0) group = kGroup;
    BatchGrids grids;
    alignas(32) Bits high[BatchGrids::kRoom] = {}, low[BatchGrids::kRoom] = {};
    CodeSink sink(job, out.codes);
    GridCoder coder(job, 0.0f, offsetOf(job));
    const auto scaleBytes = static_cast<std::size_t>(bytesOfScale(job.scale));
    constexpr std::int64_t kColumns = kBatchBytes / kSize;
    const std::int64_t most = std::clamp<std::int64_t>(kColumns / group, 1, kBatchGroups);
    // One batch on where a lone group makes a large one.
    const std::int64_t distance = std::max(kAheadBytes, most * group * kSize);
    while (n > 0) {
        const std::int64_t groups = std::min((n - 1) / group + 1, most);
        const std::int64_t columns = groups > n / group ? n : groups * group;
        const std::int64_t last = columns - (groups - 1) * group;
        const auto first = lookahead<2>(in, distance);
        auto second = first.after(columns * kSize);
        groupExtremes<Kind, kGroup>(in, group, last, groups, first, high, low);
        if (!grids.compute<Source, kAsym>(job, high, low, groups)) return false;
        std::memcpy(out.scales, grids.scales, static_cast<std::size_t>(groups) * scaleBytes);
        out.scales += static_cast<std::size_t>(groups) * scaleBytes;
        if constexpr (kAsym) {
            std::memcpy(out.zeros, grids.zeros, static_cast<std::size_t>(groups));
            out.zeros += groups;
        }
        if (columns <= kBatchColumns) {
            std::uint8_t* codes = sink.room();
            const Bits* from = in;
            const std::int64_t whole = kGroup != 0 && last == kGroup ? groups : groups - 1;
            for (std::int64_t g = 0; g < whole; ++g, from += group, codes += group) {
                coder.choose<kAsym>(grids, g);
                if constexpr (kGroup != 0)
                    encodeSteps<Source>(from, kGroup, coder, second, codes);
                else
                    encodeAny<Source>(from, group, coder, second, codes);
                second = second.after(group * kSize);
            }
            if (whole < groups) {
                coder.choose<kAsym>(grids, whole);
                encodeAny<Source>(from, last, coder, second, codes);
            }
            sink.commit(columns);
        } else { // one large group
            coder.choose<kAsym>(grids, 0);
            for (std::int64_t from = 0; from < columns; from += kBatchColumns) {
                const std::int64_t piece = std::min(columns - from, kBatchColumns);
                encodeAny<Source>(in + from, piece, coder, second, sink.room());
                second = second.after(piece * kSize);
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
bool quantizeAny(const GridJob& job, const typename Source::Bits* in, std::int64_t n, std::int64_t group,
                 GridPlanes out)
{
    if constexpr (kStep == 32) {
        if (group == 32) return quantizeGroups<Source, kAsym, 32>(job, in, n, group, out);
        if (group == 64) return quantizeGroups<Source, kAsym, 64>(job, in, n, group, out);
        if (group == 128) return quantizeGroups<Source, kAsym, 128>(job, in, n, group, out);
    }
    return quantizeGroups<Source, kAsym, 0>(job, in, n, group, out);
}

template <class Source>
void encodeOne(const GridJob& job, const typename Source::Bits* in, std::int64_t n, GridPoint point,
               std::uint8_t* out)
{
    CodeSink sink(job, out);
    const GridCoder coder(job, inverseOf(point.scale), point.zero + offsetOf(job));
    for (; n > 0; n -= kBatchColumns, in += kBatchColumns) {
        const std::int64_t piece = std::min(n, kBatchColumns);
        encodeAny<Source>(in, piece, coder, lookahead<1>(in, kAheadBytes), sink.room());
        sink.commit(piece);
    }
    sink.finish();
}

template <class Source> bool rangeOf(const typename Source::Bits* in, std::int64_t n, float& min, float& max)
{
    typename Source::Bits high[16], low[16];
    groupExtremes<AroundZero, 0>(in, n, n, 1, lookahead<1>(in, kAheadBytes), high, low);
    min = Source::value(low[0]);
    max = Source::value(high[0]);
    return std::isfinite(min) && std::isfinite(max);
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
    withSource(dtype, in,
               [&](auto source, const auto* p) { encodeOne<decltype(source)>(job, p, n, point, codes); });
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
