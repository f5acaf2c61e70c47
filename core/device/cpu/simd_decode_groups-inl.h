// SPDX-License-Identifier: GPL-3.0-or-later
// Decoding groups under scales of their own, whatever their elements are. Included once for each vector
// target, hence no #pragma once.
#if defined(HALFTONE_SIMD_DECODE_GROUPS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFTONE_SIMD_DECODE_GROUPS_INL_H_
#undef HALFTONE_SIMD_DECODE_GROUPS_INL_H_
#else
#define HALFTONE_SIMD_DECODE_GROUPS_INL_H_
#endif

#include "core/device/cpu/simd_convert-inl.h"
#include "core/device/cpu/simd_encode_groups-inl.h"
#include "core/device/cpu/simd_pack-inl.h"
#include "core/numeric/group_scale.h"

#include "hwy/highway.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Writes values(i), a vector of floats, for all i whose vector lies within n; returns how many floats that
/// is.
template <class Values>
HWY_INLINE std::int64_t writeVectors(std::int64_t n, float* out, bool aroundCaches, const Values& values)
{
    const Tag<float> df;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(df));
    std::int64_t i = 0;
    if (aroundCaches && reinterpret_cast<std::uintptr_t>(out) % 32 == 0) {
        for (; i + lanes <= n; i += lanes)
            hn::Stream(values(i), df, out + i);
    } else {
        for (; i + lanes <= n; i += lanes)
            hn::StoreU(values(i), df, out + i);
    }
    return i;
}

/// `n` scales of any type as floats; reads and writes no more than that.
HWY_INLINE void loadScales(const std::uint8_t* in, std::int64_t n, ScaleType type, float* out)
{
    const Tag<float> df;
    if (type == ScaleType::F32) {
        std::memcpy(out, in, static_cast<std::size_t>(n) * 4);
        return;
    }
    if (bytesOfScale(type) == 1) {
        for (std::int64_t i = 0; i < n; ++i)
            out[i] = scaleOfBits(in[i], type);
        return;
    }
    alignas(32) std::uint16_t bits[kBatchRoom];
    std::memcpy(bits, in, static_cast<std::size_t>(n) * 2);
    for (std::int64_t i = 0; i < n; i += static_cast<std::int64_t>(hn::Lanes(df))) {
        const auto v = hn::LoadU(Bits16<Tag<float>>(), bits + i);
        hn::StoreU(type == ScaleType::F16 ? halfToFloats(df, v) : bfloatToFloats(df, v), df, out + i);
    }
}

/// Values of a span that begins with a group; decoder(codes, n, scale, zero, out) makes those of a run under
/// one scale.
template <class Job, class Decoder>
void decodeGroups(const Job& job, ConstGridPlanes in, std::int64_t n, std::int64_t group,
                  const Decoder& decoder, float* out)
{
    const std::int64_t scaleBytes = bytesOfScale(job.scale);
    alignas(64) std::uint8_t packed[kBatchColumns + kPackSlack], codes[kBatchColumns + kPackSlack];
    alignas(32) float scales[kBatchRoom];
    std::int64_t group0 = 0, loaded = 0; // scales[k] is that of group group0 + k, for k < loaded
    const std::int64_t groups = n == 0 ? 0 : (n - 1) / group + 1;
    for (std::int64_t c = 0; c < n; c += kBatchColumns) {
        const std::int64_t columns = std::min(n - c, kBatchColumns);
        const std::int64_t bytes = (columns * job.bits + 7) / 8;
        std::memcpy(packed, in.codes + c / 8 * job.bits, static_cast<std::size_t>(bytes));
        if (job.highNibbleFirst) swapNibbles(packed, bytes);
        if (job.bits != 8) unpack(packed, columns, job.bits, codes);
        for (std::int64_t i = c; i < c + columns;) {
            const std::int64_t g = i / group;
            if (g >= group0 + loaded) {
                group0 = g;
                loaded = std::min(groups - g, kBatchGroups);
                loadScales(in.scales + g * scaleBytes, loaded, job.scale, scales);
            }
            const std::int64_t end = std::min((g + 1) * group, c + columns);
            decoder((job.bits == 8 ? packed : codes) + (i - c), end - i, scales[g - group0],
                    in.zeros != nullptr ? in.zeros[g] : 0, out + i);
            i = end;
        }
    }
}

} // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
