// SPDX-License-Identifier: GPL-3.0-or-later
// Encoding groups under scales of their own, whatever their elements are. Included once for each vector
// target, hence no #pragma once.
#if defined(HALFTONE_SIMD_ENCODE_GROUPS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFTONE_SIMD_ENCODE_GROUPS_INL_H_
#undef HALFTONE_SIMD_ENCODE_GROUPS_INL_H_
#else
#define HALFTONE_SIMD_ENCODE_GROUPS_INL_H_
#endif

#include "core/device/cpu/simd_int_grid.h"
#include "core/device/cpu/simd_pack-inl.h"
#include "core/device/cpu/simd_range-inl.h"
#include "core/device/cpu/simd_source-inl.h"

#include "hwy/highway.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// A batch of groups is read twice while it lies in the first cache: for its range, then for its codes.
inline constexpr std::int64_t kBatchColumns = 4096;

/// Groups of a batch at most, and room for what vectors write behind them.
inline constexpr std::int64_t kBatchGroups = 256;
inline constexpr std::size_t kBatchRoom = kBatchGroups + 16;

/// Codes of n elements, one byte each, n a multiple of kStep.
template <class Source, class Coder, class Ahead>
HWY_INLINE void encodeSteps(const typename Source::Bits* in, std::int64_t n, const Coder& coder, Ahead ahead,
                            std::uint8_t* out)
{
    constexpr auto kSize = static_cast<std::int64_t>(sizeof(typename Source::Bits));
    HWY_UNROLL(4)
    for (std::int64_t i = 0; i < n; i += kStep) {
        ahead.ask(i * kSize, kStep * kSize);
        hn::StoreU(codesOf<Source>(in + i, coder), Tag<std::uint8_t>(), out + i);
    }
}

/// Codes of any number of elements. Not written out at each call: little time passes here.
template <class Source, class Coder, class Ahead>
HWY_NOINLINE void encodeAny(const typename Source::Bits* in, std::int64_t n, const Coder coder, Ahead ahead,
                            std::uint8_t* out)
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
    template <class Job>
    CodeSink(const Job& job, std::uint8_t* out)
        : m_bits(job.bits), m_highFirst(job.highNibbleFirst), m_aroundCaches(job.aroundCaches), m_out(out)
    {
    }
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
        const std::int64_t bytes = (n * m_bits + 31) / 32 * 4;
        if (m_bits != 8) pack(m_stage, n, m_bits, m_packed);
        if (m_highFirst) swapNibbles(m_packed, bytes);
        streamOut(m_out, m_bits == 8 ? m_stage : m_packed, bytes, m_aroundCaches);
        m_out += bytes;
    }

    const int m_bits;
    const bool m_highFirst, m_aroundCaches;
    std::uint8_t* m_out;
    std::int64_t m_staged = 0;
    alignas(64) std::uint8_t m_stage[2 * kBatchColumns + kPackSlack];
    alignas(64) std::uint8_t m_packed[2 * kBatchColumns + kPackSlack];
};

/// Codes of kStep elements of which each half has a coder of its own.
template <class Source, class Coder>
HWY_INLINE VBytes codesOfTwo(const typename Source::Bits* p, const Coder& first, const Coder& second)
{
    const Tag<std::int16_t> d16;
    const FourFloats x = Source::four(p);
    const auto low = hn::ReorderDemote2To(d16, first.code(x.a), first.code(x.b));
    const auto high = hn::ReorderDemote2To(d16, second.code(x.c), second.code(x.d));
    return Source::ordered(first.bytes(low, high));
}

/// kGroup is the size of the groups where it is one of the usual ones, else 0.
/// Batch makes the scales of many groups at once and stores them; `coder` takes those of one and makes codes.
template <class Source, class Batch, std::int64_t kGroup, class Job, class Coder>
bool quantizeGroups(const Job& job, Coder coder, const typename Source::Bits* in, std::int64_t n,
                    std::int64_t group, GridPlanes out)
{
    using Bits = typename Source::Bits;
    constexpr auto kSize = static_cast<std::int64_t>(sizeof(Bits));
    if constexpr (kGroup != 0) group = kGroup;
    Batch batch;
    alignas(32) Bits high[kBatchRoom] = {}, low[kBatchRoom] = {};
    CodeSink sink(job, out.codes);
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
        groupExtremes<typename Batch::Kind, kGroup>(in, group, last, groups, first, high, low);
        if (!batch.template compute<Source>(job, high, low, groups)) return false;
        batch.emit(job, out, groups);
        if (columns <= kBatchColumns) {
            std::uint8_t* codes = sink.room();
            const Bits* from = in;
            const std::int64_t whole = kGroup != 0 && last == kGroup ? groups : groups - 1;
            std::int64_t g = 0;
            if constexpr (2 * kGroup == kStep)
                for (; g + 2 <= whole; g += 2, from += kStep, codes += kStep) {
                    second.ask(0, kStep * kSize);
                    coder.choose(batch, g);
                    Coder next = coder;
                    next.choose(batch, g + 1);
                    hn::StoreU(codesOfTwo<Source>(from, coder, next), Tag<std::uint8_t>(), codes);
                    second = second.after(kStep * kSize);
                }
            for (; g < whole; ++g, from += group, codes += group) {
                coder.choose(batch, g);
                if constexpr (kGroup != 0 && kGroup % kStep == 0)
                    encodeSteps<Source>(from, kGroup, coder, second, codes);
                else
                    encodeAny<Source>(from, group, coder, second, codes);
                second = second.after(group * kSize);
            }
            if (whole < groups) {
                coder.choose(batch, whole);
                encodeAny<Source>(from, last, coder, second, codes);
            }
            sink.commit(columns);
        } else { // one large group
            coder.choose(batch, 0);
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

/// Codes of a span under the one scale that the coder has.
template <class Source, class Job, class Coder>
void encodeOne(const Job& job, const Coder& coder, const typename Source::Bits* in, std::int64_t n,
               std::uint8_t* out)
{
    CodeSink sink(job, out);
    for (; n > 0; n -= kBatchColumns, in += kBatchColumns) {
        const std::int64_t piece = std::min(n, kBatchColumns);
        encodeAny<Source>(in, piece, coder, lookahead<1>(in, kAheadBytes), sink.room());
        sink.commit(piece);
    }
    sink.finish();
}

// `in` may be misaligned: elements are only read through LoadU and
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

} // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
