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
#include "core/device/cpu/simd_source-inl.h"

#include "hwy/highway.h"

#include <algorithm>
#include <type_traits>

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Family = FormatDesc::Family;
using VF = hn::Vec<Tag<float>>;
using VI = hn::Vec<Tag<std::int32_t>>;

inline constexpr std::int64_t kBatchBlocks = 128; // at most; 8192 bytes of input, as prefetchNext() takes it

/// What tells the families apart: bytes before the codes, bits, and whether a minimum is stored.
template <Family> struct Traits;
template <> struct Traits<Family::Q4_0> {
    static constexpr int kBytes = kQ4_0Bytes, kBits = 4;
    static constexpr bool kMinimum = false;
};
template <> struct Traits<Family::Q4_1> {
    static constexpr int kBytes = kQ4_1Bytes, kBits = 4;
    static constexpr bool kMinimum = true;
};
template <> struct Traits<Family::Q5_0> {
    static constexpr int kBytes = kQ5_0Bytes, kBits = 5;
    static constexpr bool kMinimum = false;
};
template <> struct Traits<Family::Q5_1> {
    static constexpr int kBytes = kQ5_1Bytes, kBits = 5;
    static constexpr bool kMinimum = true;
};
template <> struct Traits<Family::Q8_0> {
    static constexpr int kBytes = kQ8_0Bytes, kBits = 8;
    static constexpr bool kMinimum = false;
};

/// Truncates; no value here is near the ends of 32 bits, so the portable form's care for them is not needed.
HWY_INLINE VI truncated(VF x)
{
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2
    return VI{_mm256_cvttps_epi32(x.raw)};
#else
    return hn::ConvertTo(Tag<std::int32_t>(), x);
#endif
}

// Code arithmetic of one block, each as in gguf_blocks.h.
struct FromPeak {
    VF inverse, middle;
    HWY_INLINE VI operator()(VF x) const { return truncated(hn::Add(hn::Mul(x, inverse), middle)); }
};
struct FromMinimum {
    VF inverse, min;
    HWY_INLINE VI operator()(VF x) const
    {
        const auto t = hn::Mul(hn::Sub(x, min), inverse);
        return truncated(hn::Add(t, hn::Set(Tag<float>(), 0.5f)));
    }
};
/// roundAway(): adding the float below one half and truncating is exact for every |t| < 2^22.
struct Nearest {
    VF inverse;
    HWY_INLINE VI operator()(VF x) const
    {
        const Tag<float> df;
        const auto t = hn::Mul(x, inverse);
        return truncated(hn::Add(t, hn::CopySign(hn::Set(df, 0.49999997f), t)));
    }
};

/// Bits of the first element whose magnitude is `magnitude`: the scalar code lets the first of equals win.
template <class Bits> Bits firstOfMagnitude(const Bits* p, Bits magnitude)
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
        constexpr Bits kSign = static_cast<Bits>(Bits{1} << (8 * sizeof(Bits) - 1));
        constexpr Bits kMagnitude = static_cast<Bits>(kSign - 1);
        if constexpr (T::kMinimum) {
            for (std::int64_t b = 0; b < blocks; ++b)
                if (low[b] == kSign) low[b] = firstOfMagnitude(in + b * kGgufBlock, Bits{0});
        } else if constexpr (kFamily != Family::Q8_0) {
            for (std::int64_t b = 0; b < blocks; ++b)
                if ((low[b] & kMagnitude) == high[b] && high[b] != 0) {
                    high[b] = firstOfMagnitude(in + b * kGgufBlock, high[b]);
                    low[b] = 0;
                }
            // Apart from the rare case above, without branches.
            for (std::int64_t b = 0; b < blocks; ++b) {
                const Bits below = low[b] & kMagnitude, above = high[b] & kMagnitude;
                high[b] = below > above ? low[b] : high[b];
            }
        }
    }

    HWY_INLINE bool compute(const Bits* in, std::int64_t blocks)
    {
        groupExtremes<Kind>(in, kGgufBlock, kGgufBlock, blocks, high, low);
        if (!allFinite<Source>(high, blocks)) return false;
        if (kFamily != Family::Q8_0 && !allFinite<Source>(low, blocks)) return false;
        resolveSigns(in, blocks);
        const Tag<float> df;
        const Bits16<Tag<float>> d16;
        std::uint16_t worst = 0;
        for (std::int64_t b = 0; b < blocks; b += static_cast<std::int64_t>(hn::Lanes(df))) {
            const auto hi = Source::floats(df, high + b);
            auto d = hi;
            if constexpr (T::kMinimum) {
                const auto lo = Source::floats(df, low + b);
                d = hn::Div(hn::Sub(hi, lo), hn::Set(df, T::kBits == 4 ? 15.0f : 31.0f));
                hn::StoreU(lo, df, min + b);
                hn::StoreU(floatsToHalf(df, lo), d16, minimum + b);
            } else {
                d = hn::Div(hi, hn::Set(df, T::kBits == 4 ? -8.0f : T::kBits == 5 ? -16.0f : 127.0f));
            }
            hn::StoreU(inversesOf(df, d), df, inverse + b);
            hn::StoreU(floatsToHalf(df, d), d16, scale + b);
        }
        for (std::int64_t b = 0; b < blocks; ++b) {
            worst = std::max(worst, static_cast<std::uint16_t>(scale[b] & 0x7fffu));
            if constexpr (T::kMinimum)
                worst = std::max(worst, static_cast<std::uint16_t>(minimum[b] & 0x7fffu));
        }
        return worst < 0x7c00u;
    }
};

/// 32 codes, one byte each, at most `top`.
template <class Source, class F>
HWY_INLINE void codesOf(const typename Source::Bits* in, const F& f, std::int16_t top, std::uint8_t* codes)
{
    const Tag<std::int16_t> d16;
    const hn::Rebind<std::uint8_t, Tag<std::int16_t>> d8;
    const auto most = hn::Set(d16, top);
    prefetchNext(in);
    for (std::size_t i = 0; i < kGgufBlock; i += hn::Lanes(d16))
        hn::StoreU(Source::ordered(d8, hn::DemoteTo(d8, hn::Min(Source::codes16(in + i, f), most))), d8,
                   codes + i);
}

template <class Source, Family kFamily>
HWY_INLINE void encodeBlock(const typename Source::Bits* in, const BatchScales<Source, kFamily>& s,
                            std::int64_t b, std::uint8_t* out)
{
    using T = Traits<kFamily>;
    const Tag<float> df;
    const auto inverse = hn::Set(df, s.inverse[b]);
    storeHalfBits(out, s.scale[b]);
    if constexpr (kFamily == Family::Q8_0) {
        const Tag<std::int16_t> d16;
        const hn::Rebind<std::int8_t, Tag<std::int16_t>> d8;
        const Nearest f{inverse};
        prefetchNext(in);
        for (std::size_t i = 0; i < kGgufBlock; i += hn::Lanes(d16))
            hn::StoreU(Source::ordered(d8, hn::DemoteTo(d8, Source::codes16(in + i, f))), d8,
                       reinterpret_cast<std::int8_t*>(out + 2 + i));
        return;
    }
    alignas(32) std::uint8_t codes[kGgufBlock];
    constexpr std::int16_t kTop = (1 << T::kBits) - 1;
    if constexpr (T::kMinimum) {
        storeHalfBits(out + 2, s.minimum[b]);
        codesOf<Source>(in, FromMinimum{inverse, hn::Set(df, s.min[b])}, kTop, codes);
    } else {
        codesOf<Source>(in, FromPeak{inverse, hn::Set(df, T::kBits == 4 ? 8.5f : 16.5f)}, kTop, codes);
    }
    const hn::FixedTag<std::uint8_t, 16> d8;
    const hn::Repartition<std::uint16_t, decltype(d8)> d16;
    const auto first = hn::Load(d8, codes), second = hn::Load(d8, codes + 16);
    const auto mask = hn::Set(d8, std::uint8_t{15});
    const auto upper = hn::ShiftLeft<4>(hn::BitCast(d16, hn::And(second, mask)));
    hn::StoreU(hn::Or(hn::And(first, mask), hn::BitCast(d8, upper)), d8, out + T::kBytes - 16);
    if constexpr (T::kBits == 5) {
        std::uint8_t bits[16] = {};
        hn::StoreMaskBits(d8, hn::Gt(first, mask), bits);
        hn::StoreMaskBits(d8, hn::Gt(second, mask), bits + 8);
        std::memcpy(out + T::kBytes - 20, bits, 2);
        std::memcpy(out + T::kBytes - 18, bits + 8, 2);
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
    constexpr auto kStep = kBatchBytes / static_cast<std::int64_t>(kGgufBlock * sizeof(Bits));
    for (std::int64_t done = 0; done < blocks; done += kStep) {
        const std::int64_t batch = std::min(blocks - done, kStep);
        if (!scales.compute(in + done * kGgufBlock, batch)) return false;
        for (std::int64_t b = 0; b < batch; ++b)
            encodeBlock<Source, kFamily>(in + (done + b) * kGgufBlock, scales, b, stage + b * kBytes);
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
    case Family::IntGrid:
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
    case Family::IntGrid:
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
