// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/device/cpu/simd_errors.h"

#include "core/numeric/convert.h"

// The fallback target is left out by default for a miscompiled 16-bit multiplication; none is used here.
#define HWY_BROKEN_EMU128 0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/device/cpu/simd_errors.cpp"
#include "hwy/foreach_target.h" // IWYU pragma: keep

#include "core/device/cpu/simd_source-inl.h"

#include "hwy/highway.h"

#include <algorithm>
#include <cmath>
#include <limits>

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Doubles = hn::Repartition<double, Tag<float>>;
using VD = hn::Vec<Doubles>;

inline constexpr auto kFloats = static_cast<std::int64_t>(hn::MaxLanes(Tag<float>()));
/// Vectors of floats in one round of the lanes of compare().
inline constexpr auto kVectors = static_cast<std::int64_t>(kErrorLanes) / kFloats;

template <class Source> void convert(const typename Source::Bits* in, std::int64_t n, float* out)
{
    const Tag<float> df;
    std::int64_t i = 0;
    for (; i + kFloats <= n; i += kFloats)
        hn::StoreU(Source::floats(df, in + i), df, out + i);
    for (; i < n; ++i) {
        typename Source::Bits bits;
        std::memcpy(&bits, in + i, sizeof bits);
        out[i] = Source::value(bits);
    }
}

void floatsOf(DType dtype, const std::byte* in, std::int64_t n, float* out)
{
    if (dtype == DType::F16)
        convert<HalfSource>(reinterpret_cast<const std::uint16_t*>(in), n, out);
    else if (dtype == DType::BF16)
        convert<BfloatSource>(reinterpret_cast<const std::uint16_t*>(in), n, out);
    else
        std::memcpy(out, in, static_cast<std::size_t>(n) * sizeof(float));
}

/// Keeps the larger; a NaN is passed over, as std::max does with its second argument.
template <class V> HWY_INLINE V larger(V kept, V next)
{
    return hn::IfThenElse(hn::Gt(next, kept), next, kept);
}

/// Sums and maxima of the elements that one vector of floats holds of each round.
struct ErrorSums {
    VD signal[2], noise[2], maxError;
    VF maxValue;
    VI underflowed; ///< counted down

    HWY_INLINE ErrorSums()
        : signal{hn::Zero(Doubles()), hn::Zero(Doubles())}, noise{hn::Zero(Doubles()), hn::Zero(Doubles())},
          maxError(hn::Zero(Doubles())), maxValue(hn::Zero(Tag<float>())),
          underflowed(hn::Zero(Tag<std::int32_t>()))
    {
    }
    HWY_INLINE void addDoubles(int half, VD x, VD y)
    {
        const auto error = hn::Sub(x, y);
        signal[half] = hn::Add(signal[half], hn::Mul(x, x));
        noise[half] = hn::Add(noise[half], hn::Mul(error, error));
        maxError = larger(maxError, hn::Abs(error));
    }
    HWY_INLINE void add(VF x, VF y)
    {
        const Doubles dd;
        const hn::Half<Tag<float>> half;
        const Tag<float> df;
        const Tag<std::int32_t> di;
        addDoubles(0, hn::PromoteTo(dd, hn::LowerHalf(half, x)), hn::PromoteTo(dd, hn::LowerHalf(half, y)));
        addDoubles(1, hn::PromoteTo(dd, hn::UpperHalf(half, x)), hn::PromoteTo(dd, hn::UpperHalf(half, y)));
        maxValue = larger(maxValue, hn::Abs(x));
        const auto zero = hn::Zero(df);
        const auto lost =
            hn::AndNot(hn::VecFromMask(df, hn::Eq(x, zero)), hn::VecFromMask(df, hn::Eq(y, zero)));
        underflowed = hn::Add(underflowed, hn::BitCast(di, lost));
    }
    /// Adds the lanes of this vector to those of all; `signalLanes` and `noiseLanes` are its own.
    HWY_INLINE void finish(double* signalLanes, double* noiseLanes, ErrorStats& stats) const
    {
        const Doubles dd;
        constexpr auto kHalf = kFloats / 2;
        double errors[kHalf];
        float values[kFloats];
        std::int32_t counts[kFloats];
        for (int half = 0; half < 2; ++half) {
            hn::StoreU(signal[half], dd, signalLanes + half * kHalf);
            hn::StoreU(noise[half], dd, noiseLanes + half * kHalf);
        }
        hn::StoreU(maxError, dd, errors);
        hn::StoreU(maxValue, Tag<float>(), values);
        hn::StoreU(underflowed, Tag<std::int32_t>(), counts);
        for (const double error : errors)
            stats.maxError = std::max(stats.maxError, error);
        for (std::int64_t i = 0; i < kFloats; ++i) {
            stats.maxValue = std::max(stats.maxValue, static_cast<double>(values[i]));
            stats.underflowed -= counts[i];
        }
    }
};

/// Elements after which the counts of underflows, 32 bits wide, are emptied.
inline constexpr std::int64_t kCountedAtOnce = std::int64_t{1} << 30;

ErrorStats compareAll(const float* original, const float* decoded, std::int64_t n)
{
    const Tag<float> df;
    ErrorStats stats;
    stats.count = n;
    double signal[kErrorLanes] = {}, noise[kErrorLanes] = {};
    constexpr auto kRound = static_cast<std::int64_t>(kErrorLanes);
    ErrorSums sums[kVectors];
    std::int64_t i = 0;
    while (i + kRound <= n) {
        const std::int64_t end = i + std::min(n - i, kCountedAtOnce) / kRound * kRound;
        for (; i < end; i += kRound)
            for (std::int64_t k = 0; k < kVectors; ++k)
                sums[k].add(hn::LoadU(df, original + i + k * kFloats),
                            hn::LoadU(df, decoded + i + k * kFloats));
        for (std::int64_t k = 0; k < kVectors; ++k) {
            sums[k].finish(signal + k * kFloats, noise + k * kFloats, stats);
            sums[k].underflowed = hn::Zero(Tag<std::int32_t>());
        }
    }
    // The lanes of a short last round go on where the vectors ended.
    for (std::size_t lane = 0; i < n; ++i, ++lane) {
        const double x = original[i];
        const double error = x - static_cast<double>(decoded[i]);
        signal[lane] += x * x;
        noise[lane] += error * error;
        stats.maxError = std::max(stats.maxError, std::fabs(error));
        stats.maxValue = std::max(stats.maxValue, std::fabs(x));
        if (original[i] != 0 && decoded[i] == 0) ++stats.underflowed;
    }
    stats.signal = sumOfLanes(signal);
    stats.noise = sumOfLanes(noise);
    return stats;
}

/// The least float from `low` on: for a float x, x < low and x < leastFrom(low) are the same question.
HWY_INLINE float leastFrom(double low)
{
    const auto f = doubleToFloat(low);
    return static_cast<double>(f) < low ? std::nextafter(f, std::numeric_limits<float>::infinity()) : f;
}

std::int64_t outside(const float* x, std::int64_t n, double low, double high)
{
    const Tag<float> df;
    const Tag<std::int32_t> di;
    const float least = leastFrom(low), most = -leastFrom(-high);
    const auto lows = hn::Set(df, least), highs = hn::Set(df, most);
    std::int64_t count = 0, i = 0;
    while (i + kFloats <= n) {
        const std::int64_t end = i + std::min(n - i, kCountedAtOnce) / kFloats * kFloats;
        auto found = hn::Zero(di);
        for (; i < end; i += kFloats) {
            const auto v = hn::LoadU(df, x + i);
            const auto out =
                hn::Or(hn::VecFromMask(df, hn::Lt(v, lows)), hn::VecFromMask(df, hn::Gt(v, highs)));
            found = hn::Add(found, hn::BitCast(di, out));
        }
        std::int32_t counts[kFloats];
        hn::StoreU(found, di, counts);
        for (const std::int32_t c : counts)
            count -= c;
    }
    for (; i < n; ++i)
        count += x[i] < least || x[i] > most ? 1 : 0;
    return count;
}

} // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::cpu {

HWY_EXPORT(floatsOf);
HWY_EXPORT(compareAll);
HWY_EXPORT(outside);

void floatsOfSpan(DType dtype, const std::byte* in, std::int64_t n, float* out)
{
    HWY_DYNAMIC_DISPATCH(floatsOf)(dtype, in, n, out);
}

ErrorStats compareSpan(const float* original, const float* decoded, std::int64_t n)
{
    return HWY_DYNAMIC_DISPATCH(compareAll)(original, decoded, n);
}

std::int64_t countOutside(const float* x, std::int64_t n, double low, double high)
{
    return HWY_DYNAMIC_DISPATCH(outside)(x, n, low, high);
}

} // namespace halftone::cpu
#endif
