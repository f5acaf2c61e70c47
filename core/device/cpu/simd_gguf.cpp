// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/device/cpu/simd_gguf.h"

#include "core/numeric/gguf_blocks.h"

// The fallback target is left out by default for a miscompiled 16-bit multiplication; none is used here.
#define HWY_BROKEN_EMU128 0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/device/cpu/simd_gguf.cpp"
#include "hwy/foreach_target.h" // IWYU pragma: keep

#include "core/device/cpu/simd_convert-inl.h"
#include "core/device/cpu/simd_pack-inl.h"
#include "core/device/cpu/simd_range-inl.h"
#include "core/device/cpu/simd_source-inl.h"

#include "hwy/highway.h"

#include <algorithm>
#include <type_traits>

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Family = FormatDesc::Family;

inline constexpr std::int64_t kBatchBlocks = 128; // at most

/// What tells the families apart: bytes before the codes, bits, and whether a minimum is stored.
template <Family> struct Traits;
template <> struct Traits<Family::Q4_0> {
    static constexpr int kBytes = Q4_0Block::kBytes, kBits = 4;
    static constexpr bool kMinimum = false;
};
template <> struct Traits<Family::Q4_1> {
    static constexpr int kBytes = Q4_1Block::kBytes, kBits = 4;
    static constexpr bool kMinimum = true;
};
template <> struct Traits<Family::Q5_0> {
    static constexpr int kBytes = Q5_0Block::kBytes, kBits = 5;
    static constexpr bool kMinimum = false;
};
template <> struct Traits<Family::Q5_1> {
    static constexpr int kBytes = Q5_1Block::kBytes, kBits = 5;
    static constexpr bool kMinimum = true;
};
template <> struct Traits<Family::Q8_0> {
    static constexpr int kBytes = Q8_0Block::kBytes, kBits = 8;
    static constexpr bool kMinimum = false;
};

/// The lesser of a byte and the largest code; a code below 0 has become 0 before.
template <int kBits> HWY_INLINE VBytes codeBytes(VWords a, VWords b)
{
    return hn::Min(unsignedBytes(a, b), hn::Set(Tag<std::uint8_t>(), std::uint8_t{(1 << kBits) - 1}));
}

// Code arithmetic of one block, each as in gguf_blocks.h.
template <int kBits> struct FromPeak {
    VF inverse;
    HWY_INLINE VI code(VF x) const
    {
        const auto middle = hn::Set(Tag<float>(), kBits == 4 ? 8.5f : 16.5f);
        return truncated(hn::Add(hn::Mul(x, inverse), middle));
    }
    HWY_INLINE VBytes bytes(VWords a, VWords b) const { return codeBytes<kBits>(a, b); }
};
template <int kBits> struct FromMinimum {
    VF inverse, min;
    HWY_INLINE VI code(VF x) const
    {
        const auto t = hn::Mul(hn::Sub(x, min), inverse);
        return truncated(hn::Add(t, hn::Set(Tag<float>(), 0.5f)));
    }
    HWY_INLINE VBytes bytes(VWords a, VWords b) const { return codeBytes<kBits>(a, b); }
};
/// roundAway(): adding the float below one half and truncating is exact for every |t| < 2^22.
struct Nearest {
    VF inverse;
    HWY_INLINE VI code(VF x) const
    {
        const Tag<float> df;
        const auto t = hn::Mul(x, inverse);
        const auto half = hn::Or(hn::And(t, hn::Set(df, -0.0f)), hn::Set(df, 0.49999997f));
        return truncated(hn::Add(t, half));
    }
    HWY_INLINE VBytes bytes(VWords a, VWords b) const { return signedBytes(a, b); }
};

/// Bits of the first element whose magnitude is `magnitude`: the scalar code lets the first of equals win.
template <class Bits> HWY_NOINLINE Bits firstOfMagnitude(const Bits* p, Bits magnitude)
{
    constexpr Bits kMask = static_cast<Bits>(Bits(~Bits{0}) >> 1);
    for (int j = 0; j < kGgufBlock; ++j) {
        Bits bits;
        std::memcpy(&bits, p + j, sizeof bits);
        if ((bits & kMask) == magnitude) return bits;
    }
    return magnitude;
}

/// Scales of a batch: what is stored, and what the codes are made with.
template <class Source, Family kFamily> struct BatchScales {
    using Bits = typename Source::Bits;
    using T = Traits<kFamily>;
    using Kind = std::conditional_t<T::kMinimum, Ordered,
                                    std::conditional_t<kFamily == Family::Q8_0, Magnitude, AroundZero>>;
    static constexpr std::size_t kRoom = kBatchBlocks + 16;
    alignas(32) Bits high[kRoom] = {}, low[kRoom] = {};
    alignas(32) std::uint16_t scale[kRoom], minimum[kRoom];
    alignas(32) float inverse[kRoom], min[kRoom];

    // Leaves the minimum in `low`, or the value of largest magnitude in `high`. The first of equals wins,
    // which shows where both signs have the same magnitude and where zeros of both signs meet.
    HWY_INLINE void resolveSigns(const Bits* in, std::int64_t blocks)
    {
        const Tag<Bits> du;
        const auto magnitudes = magnitudeMask(du), zero = hn::Zero(du);
        for (std::int64_t b = 0; b < blocks; b += static_cast<std::int64_t>(hn::Lanes(du))) {
            const auto below = hn::Load(du, low + b);
            const std::int64_t end = std::min(blocks, b + static_cast<std::int64_t>(hn::Lanes(du)));
            if constexpr (T::kMinimum) {
                const auto negativeZero = hn::Xor(magnitudes, hn::Set(du, static_cast<Bits>(~Bits{0})));
                if (hn::AllFalse(du, hn::Eq(below, negativeZero))) continue;
                for (std::int64_t k = b; k < end; ++k)
                    if ((low[k] & kMagnitude) == 0) low[k] = firstOfMagnitude(in + k * kGgufBlock, Bits{0});
            } else {
                const hn::RebindToSigned<Tag<Bits>> di;
                const auto above = hn::Load(du, high + b), size = hn::And(below, magnitudes);
                const auto less = hn::Lt(hn::BitCast(di, above), hn::BitCast(di, size));
                hn::Store(hn::IfThenElse(hn::RebindMask(du, less), below, above), du, high + b);
                const auto both = hn::AndNot(hn::VecFromMask(du, hn::Eq(above, zero)),
                                             hn::VecFromMask(du, hn::Eq(above, size)));
                if (hn::AllFalse(du, hn::MaskFromVec(both))) continue;
                for (std::int64_t k = b; k < end; ++k)
                    if ((low[k] & kMagnitude) == high[k] && high[k] != 0)
                        high[k] = firstOfMagnitude(in + k * kGgufBlock, high[k]);
            }
        }
    }

    template <class Ahead> HWY_INLINE bool compute(const Bits* in, std::int64_t blocks, Ahead ahead)
    {
        groupExtremes<Kind, kGgufBlock>(in, kGgufBlock, kGgufBlock, blocks, ahead, high, low);
        if constexpr (kFamily != Family::Q8_0) resolveSigns(in, blocks);
        const Tag<float> df;
        const Bits16<Tag<float>> d16;
        const auto steps = hn::Set(df, T::kMinimum               ? (T::kBits == 4 ? 15.0f : 31.0f)
                                       : kFamily == Family::Q8_0 ? 127.0f
                                       : T::kBits == 4           ? -8.0f
                                                                 : -16.0f);
        // An infinity or a NaN among the elements makes one of the scale, in F16 too.
        auto worst = hn::Zero(d16);
        const auto magnitudes = magnitudeMask(d16);
        for (std::int64_t b = 0; b < blocks; b += static_cast<std::int64_t>(hn::Lanes(df))) {
            auto span = Source::floats(df, high + b);
            if constexpr (T::kMinimum) {
                const auto lo = Source::floats(df, low + b);
                span = hn::Sub(span, lo);
                hn::Store(lo, df, min + b);
                const auto stored = numbersToHalf(df, lo);
                hn::Store(stored, d16, minimum + b);
                worst = MaxSigned()(d16, worst, hn::And(stored, magnitudes));
            }
            const auto d = hn::Div(span, steps);
            hn::Store(inversesOf(df, d), df, inverse + b);
            const auto stored = numbersToHalf(df, d);
            hn::Store(stored, d16, scale + b);
            worst = MaxSigned()(d16, worst, hn::And(stored, magnitudes));
        }
        const hn::RebindToSigned<decltype(d16)> di16;
        return hn::AllTrue(di16, hn::Lt(hn::BitCast(di16, worst), hn::Set(di16, std::int16_t{0x7c00})));
    }

private:
    static constexpr Bits kMagnitude = static_cast<Bits>(Bits(~Bits{0}) >> 1);
};

/// The codes of a block of 32 as two halves of 16 bytes.
struct BlockCodes {
    hn::Vec128<std::uint8_t> first, second;
};
template <class Source, class Coder, class Ahead>
HWY_INLINE BlockCodes blockCodes(const typename Source::Bits* in, const Coder& coder, Ahead ahead)
{
    ahead.ask(0, kGgufBlock * static_cast<std::int64_t>(sizeof *in));
    const auto codes = codesOf<Source>(in, coder);
    if constexpr (kStep == kGgufBlock) {
        const hn::Half<Tag<std::uint8_t>> half;
        return {hn::LowerHalf(half, codes), hn::UpperHalf(half, codes)};
    } else {
        return {codes, codesOf<Source>(in + kStep, coder)};
    }
}

/// The fifth bits of the codes, in their order.
HWY_INLINE void storeHighBits(BlockCodes codes, std::uint8_t* out)
{
    const hn::FixedTag<std::int8_t, 16> d8;
    const auto fifteen = hn::Set(d8, std::int8_t{15});
    std::uint8_t bits[16];
    hn::StoreMaskBits(d8, hn::Gt(hn::BitCast(d8, codes.first), fifteen), bits);
    hn::StoreMaskBits(d8, hn::Gt(hn::BitCast(d8, codes.second), fifteen), bits + 2);
    std::memcpy(out, bits, 4);
}

template <class Source, Family kFamily, class Ahead>
HWY_INLINE void encodeBlock(const typename Source::Bits* in, const BatchScales<Source, kFamily>& s,
                            std::int64_t b, Ahead ahead, std::uint8_t* out)
{
    using T = Traits<kFamily>;
    const Tag<float> df;
    const hn::FixedTag<std::uint8_t, 16> d8;
    const hn::Repartition<std::uint16_t, decltype(d8)> d16;
    const auto inverse = hn::Set(df, s.inverse[b]);
    std::memcpy(out, s.scale + b, 2);
    if constexpr (kFamily == Family::Q8_0) {
        const auto codes = blockCodes<Source>(in, Nearest{inverse}, ahead);
        hn::StoreU(codes.first, d8, out + 2);
        hn::StoreU(codes.second, d8, out + 18);
    } else {
        BlockCodes codes;
        if constexpr (T::kMinimum) {
            std::memcpy(out + 2, s.minimum + b, 2);
            codes = blockCodes<Source>(in, FromMinimum<T::kBits>{inverse, hn::Set(df, s.min[b])}, ahead);
        } else {
            codes = blockCodes<Source>(in, FromPeak<T::kBits>{inverse}, ahead);
        }
        if constexpr (T::kBits == 5) {
            storeHighBits(codes, out + T::kBytes - 20);
            const auto mask = hn::Set(d8, std::uint8_t{15});
            codes = {hn::And(codes.first, mask), hn::And(codes.second, mask)};
        }
        const auto upper = hn::BitCast(d8, hn::ShiftLeft<4>(hn::BitCast(d16, codes.second)));
        hn::StoreU(hn::Or(codes.first, upper), d8, out + T::kBytes - 16);
    }
}

template <class Source, Family kFamily>
bool encodeBlocks(const std::byte* at, std::int64_t blocks, std::uint8_t* out, bool aroundCaches)
{
    using Bits = typename Source::Bits;
    constexpr std::int64_t kBytes = Traits<kFamily>::kBytes;
    const auto* in = reinterpret_cast<const Bits*>(at); // may be misaligned: read through LoadU and memcpy
    BatchScales<Source, kFamily> scales;
    alignas(64) std::uint8_t stage[kBatchBlocks * kBytes + kPackSlack];
    constexpr auto kBlock = static_cast<std::int64_t>(kGgufBlock * sizeof(Bits)),
                   kBatch = kBatchBytes / kBlock;
    for (std::int64_t done = 0; done < blocks; done += kBatch) {
        const std::int64_t batch = std::min(blocks - done, kBatch);
        const Bits* from = in + done * kGgufBlock;
        // Of 16-bit elements there are so many a byte that the first pass has no time for it.
        constexpr int kPasses = sizeof(Bits) == 4 ? 2 : 1;
        auto ahead = lookahead<kPasses>(from, kAheadBytes);
        if constexpr (kPasses == 2) {
            if (!scales.compute(from, batch, ahead)) return false;
            ahead = ahead.after(batch * kBlock);
        } else {
            if (!scales.compute(from, batch, NoLookahead())) return false;
        }
        for (std::int64_t b = 0; b < batch; ++b, ahead = ahead.after(kBlock))
            encodeBlock<Source, kFamily>(from + b * kGgufBlock, scales, b, ahead, stage + b * kBytes);
        streamOut(out + done * kBytes, stage, batch * kBytes, aroundCaches);
    }
    return true;
}

template <Family kFamily>
bool encodeFrom(DType dtype, const std::byte* in, std::int64_t blocks, std::uint8_t* out, bool aroundCaches)
{
    switch (dtype) {
    case DType::F16:
        return encodeBlocks<HalfSource, kFamily>(in, blocks, out, aroundCaches);
    case DType::BF16:
        return encodeBlocks<BfloatSource, kFamily>(in, blocks, out, aroundCaches);
    default:
        return encodeBlocks<FloatSource, kFamily>(in, blocks, out, aroundCaches);
    }
}

bool encodeGguf(Family family, DType dtype, const std::byte* in, std::int64_t blocks, std::uint8_t* out,
                bool aroundCaches)
{
    switch (family) {
    case Family::Q4_0:
        return encodeFrom<Family::Q4_0>(dtype, in, blocks, out, aroundCaches);
    case Family::Q4_1:
        return encodeFrom<Family::Q4_1>(dtype, in, blocks, out, aroundCaches);
    case Family::Q5_0:
        return encodeFrom<Family::Q5_0>(dtype, in, blocks, out, aroundCaches);
    case Family::Q5_1:
        return encodeFrom<Family::Q5_1>(dtype, in, blocks, out, aroundCaches);
    case Family::Q8_0:
        return encodeFrom<Family::Q8_0>(dtype, in, blocks, out, aroundCaches);
    default:
        break;
    }
    return false;
}

/// Codes of one block as 32 bytes; signed for Q8_0.
template <Family kFamily> HWY_INLINE void unpackBlock(const std::uint8_t* block, std::uint8_t* codes)
{
    using T = Traits<kFamily>;
    if constexpr (kFamily == Family::Q8_0) {
        std::memcpy(codes, block + 2, kGgufBlock);
        return;
    }
    const hn::FixedTag<std::uint8_t, 16> d8;
    const hn::Repartition<std::uint16_t, decltype(d8)> d16;
    const auto mask = hn::Set(d8, std::uint8_t{15});
    const auto bytes = hn::LoadU(d8, block + T::kBytes - 16);
    auto low = hn::And(bytes, mask);
    auto high = hn::And(hn::BitCast(d8, hn::ShiftRight<4>(hn::BitCast(d16, bytes))), mask);
    if constexpr (T::kBits == 5) {
        std::uint8_t bits[16] = {};
        std::memcpy(bits, block + T::kBytes - 20, 2);
        std::memcpy(bits + 8, block + T::kBytes - 18, 2);
        const auto sixteen = hn::Set(d8, std::uint8_t{16});
        low = hn::Or(low, hn::IfThenElseZero(hn::LoadMaskBits(d8, bits), sixteen));
        high = hn::Or(high, hn::IfThenElseZero(hn::LoadMaskBits(d8, bits + 8), sixteen));
    }
    hn::Store(low, d8, codes);
    hn::Store(high, d8, codes + 16);
}

template <Family kFamily>
void decodeBlocks(const std::uint8_t* in, std::int64_t blocks, float* out, bool aroundCaches)
{
    using T = Traits<kFamily>;
    using Code = std::conditional_t<kFamily == Family::Q8_0, std::int8_t, std::uint8_t>;
    const Tag<float> df;
    const Tag<std::int32_t> di;
    const hn::Rebind<Code, Tag<std::int32_t>> dc;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(df));
    const auto middle = hn::Set(di, T::kMinimum || kFamily == Family::Q8_0 ? 0 : 1 << (T::kBits - 1));
    constexpr std::size_t kRoom = kBatchBlocks + 16;
    alignas(32) std::uint16_t scaleBits[kRoom] = {}, minBits[kRoom] = {};
    alignas(32) float scale[kRoom], min[kRoom];
    alignas(32) std::uint8_t codes[kGgufBlock];
    const bool stream = aroundCaches && reinterpret_cast<std::uintptr_t>(out) % 32 == 0;
    for (std::int64_t done = 0; done < blocks; done += kBatchBlocks) {
        const std::int64_t batch = std::min(blocks - done, kBatchBlocks);
        for (std::int64_t b = 0; b < batch; ++b) {
            scaleBits[b] = loadHalfBits(in + b * T::kBytes);
            if constexpr (T::kMinimum) minBits[b] = loadHalfBits(in + b * T::kBytes + 2);
        }
        for (std::int64_t b = 0; b < batch; b += lanes) {
            const Bits16<Tag<float>> d16;
            hn::Store(halfToFloats(df, hn::Load(d16, scaleBits + b)), df, scale + b);
            if constexpr (T::kMinimum) hn::Store(halfToFloats(df, hn::Load(d16, minBits + b)), df, min + b);
        }
        for (std::int64_t b = 0; b < batch; ++b, in += T::kBytes, out += kGgufBlock) {
            unpackBlock<kFamily>(in, codes);
            const auto d = hn::Set(df, scale[b]);
            for (std::int64_t i = 0; i < kGgufBlock; i += lanes) {
                const auto code = hn::PromoteTo(di, hn::LoadU(dc, reinterpret_cast<const Code*>(codes + i)));
                auto value = hn::Mul(hn::ConvertTo(df, hn::Sub(code, middle)), d);
                if constexpr (T::kMinimum) value = hn::Add(value, hn::Set(df, min[b]));
                if (stream)
                    hn::Stream(value, df, out + i);
                else
                    hn::StoreU(value, df, out + i);
            }
        }
    }
}

void decodeGguf(Family family, const std::uint8_t* in, std::int64_t blocks, float* out, bool aroundCaches)
{
    switch (family) {
    case Family::Q4_0:
        return decodeBlocks<Family::Q4_0>(in, blocks, out, aroundCaches);
    case Family::Q4_1:
        return decodeBlocks<Family::Q4_1>(in, blocks, out, aroundCaches);
    case Family::Q5_0:
        return decodeBlocks<Family::Q5_0>(in, blocks, out, aroundCaches);
    case Family::Q5_1:
        return decodeBlocks<Family::Q5_1>(in, blocks, out, aroundCaches);
    case Family::Q8_0:
        return decodeBlocks<Family::Q8_0>(in, blocks, out, aroundCaches);
    default:
        break;
    }
}

} // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::cpu {

HWY_EXPORT(encodeGguf);
HWY_EXPORT(decodeGguf);

bool quantizeGgufSpan(FormatDesc::Family family, DType dtype, const std::byte* in, std::int64_t blocks,
                      std::uint8_t* out, bool aroundCaches)
{
    const bool good = HWY_DYNAMIC_DISPATCH(encodeGguf)(family, dtype, in, blocks, out, aroundCaches);
    if (aroundCaches) hwy::FlushStream();
    return good;
}

void decodeGgufSpan(FormatDesc::Family family, const std::uint8_t* in, std::int64_t blocks, float* out,
                    bool aroundCaches)
{
    HWY_DYNAMIC_DISPATCH(decodeGguf)(family, in, blocks, out, aroundCaches);
    if (aroundCaches) hwy::FlushStream();
}

} // namespace halftone::cpu
#endif
