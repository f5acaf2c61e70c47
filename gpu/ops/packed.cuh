// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/numeric/bit_stream.h"
#include "gpu/ops/element.cuh"
#include "gpu/ops/ops.h"

#include <cstdint>

namespace halftone::cuda {

// What the kernels of packed matrices share: ranges over the lanes of a warp, and words of codes.

inline constexpr int kWarp = 32;

__device__ inline void reportRow(QuantizeState* state, std::int64_t row)
{
    atomicMin(&state->badRow, static_cast<unsigned long long>(row));
}

// Floats as integers that order the same way, for atomic minima. -0 and 0 differ, which no format sees.
__device__ inline std::int32_t ordered(float x)
{
    const auto bits = static_cast<std::int32_t>(floatBits(x));
    return bits < 0 ? bits ^ 0x7fffffff : bits;
}
__device__ inline float unordered(std::int32_t key)
{
    return bitsFloat(static_cast<std::uint32_t>(key < 0 ? key ^ 0x7fffffff : key));
}

struct Range {
    float min = 0, max = 0;
    bool finite = true;
    __device__ float peak() const { return -min > max ? -min : max; }
};

/// The range of columns [begin, end) of a row, and 0, over the lanes of one warp.
__device__ inline Range warpRange(WeightView in, std::int64_t row, std::int64_t begin, std::int64_t end)
{
    Range r;
    for (std::int64_t k = begin + threadIdx.x % kWarp; k < end; k += kWarp) {
        const float x = loadFloat(in.data, in.dtype, row * in.cols + k);
        r.finite = r.finite && isFiniteFloat(x);
        r.min = x < r.min ? x : r.min;
        r.max = x > r.max ? x : r.max;
    }
    for (int step = kWarp / 2; step > 0; step /= 2) {
        const float low = __shfl_xor_sync(0xffffffffu, r.min, step);
        const float high = __shfl_xor_sync(0xffffffffu, r.max, step);
        r.min = low < r.min ? low : r.min;
        r.max = high > r.max ? high : r.max;
    }
    r.finite = __all_sync(0xffffffffu, r.finite) != 0;
    return r;
}

/// Bits of the scale of a group, and where they lie.
__device__ inline std::uint8_t* scaleAt(const FormatDesc& desc, PlanesView planes, std::int64_t row,
                                        std::int64_t group)
{
    return planes.scales + static_cast<std::uint64_t>(row) * planes.scaleRowBytes +
           static_cast<std::uint64_t>(group * bytesOfScale(desc.scale));
}
__device__ inline std::uint32_t scaleBitsAt(const FormatDesc& desc, PlanesView planes, std::int64_t row,
                                            std::int64_t group)
{
    const std::uint8_t* at = scaleAt(desc, planes, row, group);
    const int bytes = bytesOfScale(desc.scale);
    return bytes == 4 ? load32(at) : bytes == 2 ? load16(at) : *at;
}

/// The stored code of an element.
__device__ inline std::uint32_t storedCode(const FormatDesc& desc, PlanesView planes, std::int64_t row,
                                           std::int64_t column)
{
    const auto bit = static_cast<std::uint64_t>(column) * desc.bits;
    const std::uint8_t* at = planes.codes + static_cast<std::uint64_t>(row) * planes.codeRowBytes + bit / 8;
    auto shift = static_cast<unsigned>(bit % 8);
    if (desc.highNibbleFirst) shift ^= 4u;
    std::uint32_t word = at[0];
    if (shift + desc.bits > 8) word |= static_cast<std::uint32_t>(at[1]) << 8;
    return word >> shift & ((1u << desc.bits) - 1u);
}

/// One thread a 32-bit word of codes: it makes each code that has a bit in the word. Coder: choose() takes a
/// group of a row, code() gives what is stored for a value.
template <class Coder>
__global__ void codeKernel(Coder coder, WeightView in, PlanesView out, std::int64_t words)
{
    const int bits = coder.desc.bits;
    const std::int64_t total = in.rows * words;
    for (std::int64_t i = firstItem(); i < total; i += itemStride()) {
        const std::int64_t row = i / words, firstBit = i % words * 32;
        std::int64_t group = -1;
        std::uint32_t word = 0;
        for (std::int64_t k = firstBit / bits; k < in.cols && k * bits < firstBit + 32; ++k) {
            if (k / out.group != group) {
                group = k / out.group;
                coder.choose(out, row, group);
            }
            const std::uint32_t code = coder.code(loadFloat(in.data, in.dtype, row * in.cols + k));
            const int shift = static_cast<int>(k * bits - firstBit);
            word |= shift >= 0 ? code << shift : code >> -shift;
        }
        if (coder.desc.highNibbleFirst) word = swapNibbles(word);
        storeBytes(out.codes + static_cast<std::uint64_t>(row) * out.codeRowBytes +
                       static_cast<std::uint64_t>(firstBit / 8),
                   word, 4);
    }
}

template <class Coder>
void launchCodes(const Coder& coder, WeightView in, PlanesView out, cudaStream_t stream)
{
    const auto words = static_cast<std::int64_t>(out.codeRowBytes / 4);
    codeKernel<<<blocksFor(in.rows * words), kThreads, 0, stream>>>(coder, in, out, words);
}

} // namespace halftone::cuda
