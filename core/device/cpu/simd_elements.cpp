// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/device/cpu/simd_elements.h"

// The fallback target is left out by default for a miscompiled 16-bit multiplication; none is used here.
#define HWY_BROKEN_EMU128 0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/device/cpu/simd_elements.cpp"
#include "hwy/foreach_target.h" // IWYU pragma: keep

#include "core/device/cpu/simd_convert-inl.h"
#include "core/device/cpu/simd_decode_groups-inl.h"
#include "core/device/cpu/simd_element_scales-inl.h"
#include "core/device/cpu/simd_encode_groups-inl.h"
#include "core/device/cpu/simd_source-inl.h"

#include "hwy/highway.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// The values of a group over their scale, divided or multiplied as the family does.
template <bool kDivide> struct Scaling {
    VF factor;

    HWY_INLINE explicit Scaling(float by) : factor(hn::Set(Tag<float>(), by)) {}
    HWY_INLINE void choose(const ElementBatch& batch, std::int64_t group)
    {
        factor = hn::Set(Tag<float>(), batch.factor[group]);
    }
    HWY_INLINE VF apply(VF x) const { return kDivide ? hn::Div(x, factor) : hn::Mul(x, factor); }
    HWY_INLINE VBytes bytes(VWords a, VWords b) const { return unsignedBytes(a, b); }
};

template <bool kDivide> struct FloatCoder : Scaling<kDivide> {
    FloatSteps steps;
    int signDrop;
    VI sign;

    HWY_INLINE FloatCoder(const ElementJob& job, float by)
        : Scaling<kDivide>(by), steps(smallFloatOf(job.element)), signDrop(32 - job.bits),
          sign(hn::Set(Tag<std::int32_t>(), 1 << (job.bits - 1)))
    {
    }
    HWY_INLINE VI code(VF x) const
    {
        const Tag<std::int32_t> di;
        const auto negative = hn::And(hn::ShiftRightSame(hn::BitCast(di, x), signDrop), sign);
        return hn::Or(magnitudeCodes(hn::Abs(this->apply(x)), steps), negative);
    }
};

template <bool kDivide> struct IntCoder : Scaling<kDivide> {
    VWords middle;
    VBytes lowest, highest;

    HWY_INLINE IntCoder(const ElementJob& job, float by)
        : Scaling<kDivide>(by),
          middle(hn::Set(Tag<std::int16_t>(), static_cast<std::int16_t>(1 << (job.bits - 1)))),
          lowest(hn::Set(Tag<std::uint8_t>(), std::uint8_t{1})),
          highest(hn::Set(Tag<std::uint8_t>(), static_cast<std::uint8_t>((1 << job.bits) - 1)))
    {
    }
    // Scales follow from the values, so that no quotient gets near the ends of 16 bits.
    HWY_INLINE VI code(VF x) const { return nearest(this->apply(x)); }
    HWY_INLINE VBytes bytes(VWords a, VWords b) const
    {
        return hn::Min(hn::Max(unsignedBytes(hn::Add(a, middle), hn::Add(b, middle)), lowest), highest);
    }
};

/// Bisection over the thresholds of NF4.
struct Nf4Coder : Scaling<false> {
    VF quarter[2], eighths, sixteenths;
    alignas(32) float all[16];

    HWY_INLINE Nf4Coder(const ElementJob&, float by)
        : Scaling<false>(by), quarter{hn::Set(Tag<float>(), nf4Threshold(3)),
                                      hn::Set(Tag<float>(), nf4Threshold(11))}
    {
        for (std::int32_t k = 0; k < 15; ++k)
            all[k] = nf4Threshold(k);
        all[15] = 2.0f;
        alignas(32) float third[8], fourth[8];
        for (std::int32_t k = 0; k < 8; ++k) {
            third[k] = nf4Threshold(k % 4 * 4 + 1);
            fourth[k] = nf4Threshold(2 * k);
        }
        eighths = hn::LoadU(Tag<float>(), third);
        sixteenths = hn::LoadU(Tag<float>(), fourth);
    }
    HWY_INLINE VI code(VF x) const
    {
        const Tag<float> df;
        const Tag<std::int32_t> di;
        const auto t = apply(x);
        const auto above = [&](VF threshold, std::int32_t step) HWY_ATTR {
            return hn::IfThenElseZero(hn::RebindMask(di, hn::Gt(t, threshold)), hn::Set(di, step));
        };
        if constexpr (hn::MaxLanes(df) == 8) {
            const auto upper = hn::Gt(t, hn::Set(df, all[7]));
            auto c = hn::IfThenElseZero(hn::RebindMask(di, upper), hn::Set(di, 8));
            c = hn::Add(c, above(hn::IfThenElse(upper, quarter[1], quarter[0]), 4));
            c = hn::Add(c, above(at(eighths, hn::ShiftRight<2>(c)), 2));
            return hn::Add(c, above(at(sixteenths, hn::ShiftRight<1>(c)), 1));
        } else {
            auto c = hn::Zero(di);
            for (int k = 0; k < 15; ++k)
                c = hn::Add(c, above(hn::Set(df, all[k]), 1));
            return c;
        }
    }
    static HWY_INLINE VF at(VF table, VI index)
    {
        const Tag<float> df;
        return hn::TableLookupLanes(table, hn::IndicesFromVec(df, index));
    }
};

/// Counts the thresholds of bitsandbytes' FP4 below a magnitude; a table of bytes makes codes of that.
struct BnbFp4Coder : Scaling<false> {
    alignas(16) std::uint8_t codes[16];
    float thresholds[7];

    HWY_INLINE BnbFp4Coder(const ElementJob&, float by) : Scaling<false>(by)
    {
        for (std::int32_t k = 0; k < 16; ++k)
            codes[k] = static_cast<std::uint8_t>(bnbFp4CodeAt(k % 8) + k / 8 * 8);
        for (std::int32_t k = 0; k < 7; ++k)
            thresholds[k] = bnbFp4Threshold(k);
    }
    HWY_INLINE VI code(VF x) const
    {
        const Tag<float> df;
        const Tag<std::int32_t> di;
        const auto t = apply(x);
        const auto a = hn::Abs(t);
        auto c = hn::IfThenElseZero(hn::RebindMask(di, hn::Lt(t, hn::Zero(df))), hn::Set(di, 8));
        for (const float threshold : thresholds)
            c = hn::Sub(c, hn::VecFromMask(di, hn::RebindMask(di, hn::Gt(a, hn::Set(df, threshold)))));
        return c;
    }
    HWY_INLINE VBytes bytes(VWords a, VWords b) const
    {
        return hn::TableLookupBytes(hn::LoadDup128(Tag<std::uint8_t>(), codes), unsignedBytes(a, b));
    }
};

/// Written out for the block sizes of the standards, where vectors are wide.
template <class Source, class Coder, std::int64_t kUsual>
bool quantizeUsual(const ElementJob& job, const typename Source::Bits* in, std::int64_t n, std::int64_t group,
                   GridPlanes out)
{
    const Coder coder(job, 1.0f);
    if constexpr (kStep == 32)
        if (group == kUsual)
            return quantizeGroups<Source, ElementBatch, kUsual>(job, coder, in, n, group, out);
    return quantizeGroups<Source, ElementBatch, 0>(job, coder, in, n, group, out);
}

bool quantizeElements(const ElementJob& job, DType dtype, const std::byte* in, std::int64_t n,
                      std::int64_t group, GridPlanes out)
{
    return withSource(dtype, in, [&](auto source, const auto* p) {
        using Source = decltype(source);
        if (job.element == Element::NF4) return quantizeUsual<Source, Nf4Coder, 64>(job, p, n, group, out);
        if (job.element == Element::BnbFP4)
            return quantizeUsual<Source, BnbFp4Coder, 64>(job, p, n, group, out);
        const bool whole = job.element == Element::Int;
        if (job.family == FormatDesc::Family::Mx)
            return whole ? quantizeUsual<Source, IntCoder<false>, 32>(job, p, n, group, out)
                         : quantizeUsual<Source, FloatCoder<false>, 32>(job, p, n, group, out);
        if (whole) return quantizeUsual<Source, IntCoder<true>, 16>(job, p, n, group, out);
        if (job.family == FormatDesc::Family::Nv)
            return quantizeUsual<Source, FloatCoder<true>, 16>(job, p, n, group, out);
        return quantizeUsual<Source, FloatCoder<true>, 128>(job, p, n, group, out);
    });
}

// Only the family Scaled has groups that are large enough to be shared among threads.
void encodeElements(const ElementJob& job, DType dtype, const std::byte* in, std::int64_t n, GridPoint point,
                    std::uint8_t* codes)
{
    const float scale = point.scale == 0.0f ? std::numeric_limits<float>::infinity() : point.scale;
    const FloatCoder<true> coder(job, scale);
    withSource(dtype, in,
               [&](auto source, const auto* p) { encodeOne<decltype(source)>(job, coder, p, n, codes); });
}

/// Floats of up to 5 bits of exponent and 10 of mantissa, by way of F16: its bits with the exponent in the
/// low part of the field, and the biases' difference as a factor.
struct FloatDecoder {
    ElementJob job;

    HWY_INLINE void operator()(const std::uint8_t* codes, std::int64_t n, float scale, std::int32_t,
                               float* out) const
    {
        const Tag<float> df;
        const Bits16<Tag<float>> d16;
        const hn::Rebind<std::uint8_t, Tag<float>> d8;
        const SmallFloat f = smallFloatOf(job.element);
        const int width = f.exponentBits + f.mantissaBits;
        const auto magnitudes = hn::Set(d16, static_cast<std::uint16_t>((1 << width) - 1));
        const auto nan = hn::Set(d16, std::uint16_t{0x7f}), quiet = hn::Set(d16, std::uint16_t{0x7e00});
        const auto unit = hn::Set(df, bitsFloat(static_cast<std::uint32_t>(127 + 15 - f.bias) << 23));
        const auto scales = hn::Set(df, scale);
        const bool hasNan = job.element == Element::E4M3;
        const std::int64_t done = writeVectors(n, out, job.aroundCaches, [&](std::int64_t i) HWY_ATTR {
            const auto code = hn::PromoteTo(d16, hn::LoadU(d8, codes + i));
            const auto magnitude = hn::And(code, magnitudes);
            auto half = hn::Or(hn::ShiftLeftSame(magnitude, 10 - f.mantissaBits),
                               hn::ShiftLeftSame(hn::AndNot(magnitudes, code), 15 - width));
            if (hasNan) half = hn::Or(half, hn::IfThenElseZero(hn::Eq(magnitude, nan), quiet));
            return hn::Mul(hn::Mul(halfToFloats(df, half), unit), scales);
        });
        for (std::int64_t i = done; i < n; ++i)
            out[i] = elementValue(codes[i], job.element) * scale;
    }
};

/// Codes of 4 bits, by a table of their values.
struct TableDecoder {
    bool aroundCaches;
    alignas(64) float values[16];

    explicit TableDecoder(const ElementJob& job) : aroundCaches(job.aroundCaches)
    {
        const std::int32_t bias = job.element == Element::Int ? 8 : 0;
        for (std::int32_t code = 0; code < 16; ++code)
            values[code] = elementValue(code - bias, job.element);
    }
    HWY_INLINE void operator()(const std::uint8_t* codes, std::int64_t n, float scale, std::int32_t,
                               float* out) const
    {
        const Tag<float> df;
        const Tag<std::int32_t> di;
        const hn::Rebind<std::uint8_t, Tag<std::int32_t>> d8;
        const auto scales = hn::Set(df, scale);
        const std::int64_t done = writeVectors(n, out, aroundCaches, [&](std::int64_t i) HWY_ATTR {
            const auto code = hn::PromoteTo(di, hn::LoadU(d8, codes + i));
            if constexpr (hn::MaxLanes(df) == 8) {
                const auto index = hn::IndicesFromVec(df, hn::And(code, hn::Set(di, 7)));
                const auto low = hn::TableLookupLanes(hn::Load(df, values), index);
                const auto high = hn::TableLookupLanes(hn::Load(df, values + 8), index);
                const auto upper = hn::RebindMask(df, hn::Gt(code, hn::Set(di, 7)));
                const auto value = hn::IfThenElse(upper, high, low);
                return hn::Mul(value, scales);
            } else {
                return hn::Mul(hn::GatherIndex(df, values, code), scales);
            }
        });
        for (std::int64_t i = done; i < n; ++i)
            out[i] = values[codes[i]] * scale;
    }
};

/// Whole numbers of more bits.
struct NumberDecoder {
    ElementJob job;

    HWY_INLINE void operator()(const std::uint8_t* codes, std::int64_t n, float scale, std::int32_t,
                               float* out) const
    {
        const Tag<float> df;
        const Tag<std::int32_t> di;
        const hn::Rebind<std::uint8_t, Tag<std::int32_t>> d8;
        const std::int32_t bias = 1 << (job.bits - 1);
        const auto biases = hn::Set(di, bias);
        const auto scales = hn::Set(df, scale);
        const std::int64_t done = writeVectors(n, out, job.aroundCaches, [&](std::int64_t i) HWY_ATTR {
            const auto code = hn::Sub(hn::PromoteTo(di, hn::LoadU(d8, codes + i)), biases);
            return hn::Mul(hn::ConvertTo(df, code), scales);
        });
        for (std::int64_t i = done; i < n; ++i)
            out[i] = static_cast<float>(codes[i] - bias) * scale;
    }
};

/// The scales that a decoder is given, under that of the tensor.
template <class Decoder> struct UnderTensor {
    Decoder decoder;
    float tensorScale;

    HWY_INLINE void operator()(const std::uint8_t* codes, std::int64_t n, float scale, std::int32_t zero,
                               float* out) const
    {
        decoder(codes, n, scale * tensorScale, zero, out);
    }
};

void decodeElements(const ElementJob& job, ConstGridPlanes in, std::int64_t n, std::int64_t group, float* out)
{
    if (job.bits == 4)
        decodeGroups(job, in, n, group, UnderTensor<TableDecoder>{TableDecoder(job), job.tensorScale}, out);
    else if (job.element == Element::Int)
        decodeGroups(job, in, n, group, UnderTensor<NumberDecoder>{{job}, job.tensorScale}, out);
    else
        decodeGroups(job, in, n, group, UnderTensor<FloatDecoder>{{job}, job.tensorScale}, out);
}

} // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::cpu {

HWY_EXPORT(quantizeElements);
HWY_EXPORT(encodeElements);
HWY_EXPORT(decodeElements);

bool quantizeGridSpan(const ElementJob& job, DType dtype, const std::byte* in, std::int64_t n,
                      std::int64_t group, GridPlanes out)
{
    const bool good = HWY_DYNAMIC_DISPATCH(quantizeElements)(job, dtype, in, n, group, out);
    if (job.aroundCaches) hwy::FlushStream();
    return good;
}

void encodeGridSpan(const ElementJob& job, DType dtype, const std::byte* in, std::int64_t n, GridPoint point,
                    std::uint8_t* codes)
{
    HWY_DYNAMIC_DISPATCH(encodeElements)(job, dtype, in, n, point, codes);
    if (job.aroundCaches) hwy::FlushStream();
}

void decodeGridSpan(const ElementJob& job, ConstGridPlanes in, std::int64_t n, std::int64_t group, float* out)
{
    HWY_DYNAMIC_DISPATCH(decodeElements)(job, in, n, group, out);
    if (job.aroundCaches) hwy::FlushStream();
}

} // namespace halftone::cpu
#endif
