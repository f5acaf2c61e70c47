// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/numeric/gguf_blocks.h"
#include "core/numeric/int_grid.h"
#include "gpu/ops/element.cuh"
#include "gpu/ops/ops.h"

namespace halftone::cuda {

namespace {

constexpr int kWarp = 32;

__device__ void reportRow(QuantizeState* state, std::int64_t row)
{
    atomicMin(&state->badRow, static_cast<unsigned long long>(row));
}

// Floats as integers that order the same way, for atomic minima. -0 and 0 differ, which no grid sees.
__device__ std::int32_t ordered(float x)
{
    const auto bits = static_cast<std::int32_t>(floatBits(x));
    return bits < 0 ? bits ^ 0x7fffffff : bits;
}
__device__ float unordered(std::int32_t key)
{
    return bitsFloat(static_cast<std::uint32_t>(key < 0 ? key ^ 0x7fffffff : key));
}

struct Range {
    float min = 0, max = 0;
    bool finite = true;
};

// The range of columns [begin, end) of a row, and 0, over the lanes of one warp.
__device__ Range warpRange(WeightView in, std::int64_t row, std::int64_t begin, std::int64_t end)
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

__device__ void storeGrid(const FormatDesc& desc, PlanesView out, std::int64_t row, std::int64_t group,
                          GridPoint point)
{
    std::uint8_t* at = out.scales + static_cast<std::uint64_t>(row) * out.scaleRowBytes;
    if (desc.scale == ScaleType::F32) {
        storeBytes(at + 4 * group, floatBits(point.scale), 4);
    } else {
        const std::uint16_t bits =
            desc.scale == ScaleType::F16 ? floatToHalf(point.scale) : floatToBfloat(point.scale);
        storeBytes(at + 2 * group, bits, 2);
    }
    if (out.zeros != nullptr)
        out.zeros[static_cast<std::uint64_t>(row) * out.zeroRowBytes + static_cast<std::uint64_t>(group)] =
            static_cast<std::uint8_t>(point.zero);
}

__device__ GridPoint loadGrid(const FormatDesc& desc, PlanesView in, std::int64_t row, std::int64_t group)
{
    const std::uint8_t* at = in.scales + static_cast<std::uint64_t>(row) * in.scaleRowBytes;
    GridPoint point;
    if (desc.scale == ScaleType::F32) {
        point.scale = bitsFloat(load32(at + 4 * group));
    } else {
        const auto bits = static_cast<std::uint16_t>(load16(at + 2 * group));
        point.scale = desc.scale == ScaleType::F16 ? halfToFloat(bits) : bfloatToFloat(bits);
    }
    if (in.zeros != nullptr)
        point.zero =
            in.zeros[static_cast<std::uint64_t>(row) * in.zeroRowBytes + static_cast<std::uint64_t>(group)];
    return point;
}

// One warp a group: its range, then its scale and zero point.
__global__ void gridKernel(FormatDesc desc, WeightView in, PlanesView out, std::int64_t groups,
                           QuantizeState* state)
{
    const std::int64_t total = in.rows * groups;
    for (std::int64_t i = firstItem() / kWarp; i < total; i += itemStride() / kWarp) {
        const std::int64_t row = i / groups, group = i % groups, begin = group * out.group;
        const std::int64_t end = begin + out.group < in.cols ? begin + out.group : in.cols;
        const Range range = warpRange(in, row, begin, end);
        if (threadIdx.x % kWarp != 0) continue;
        const GridPoint point = gridOf(range.min, range.max, desc.rule, desc.bits, desc.scale);
        if (!range.finite || !isFiniteFloat(point.scale)) reportRow(state, row);
        storeGrid(desc, out, row, group, point);
    }
}

// One scale a tensor: one warp a row, joined by atomics, whose order does not matter to a minimum.
__global__ void tensorRangeKernel(WeightView in, QuantizeState* state)
{
    for (std::int64_t row = firstItem() / kWarp; row < in.rows; row += itemStride() / kWarp) {
        const Range range = warpRange(in, row, 0, in.cols);
        if (threadIdx.x % kWarp != 0) continue;
        if (!range.finite) reportRow(state, row);
        atomicMin(&state->min, ordered(range.min));
        atomicMax(&state->max, ordered(range.max));
    }
}

__global__ void tensorGridKernel(FormatDesc desc, PlanesView out, QuantizeState* state)
{
    const GridPoint point =
        gridOf(unordered(state->min), unordered(state->max), desc.rule, desc.bits, desc.scale);
    if (!isFiniteFloat(point.scale)) reportRow(state, 0);
    storeGrid(desc, out, 0, 0, point);
}

// One thread a 32-bit word of codes: it makes each code that has a bit in the word.
__global__ void codeKernel(FormatDesc desc, WeightView in, PlanesView out, std::int64_t words)
{
    const std::int32_t low = gridLow(desc.rule, desc.bits), high = gridHigh(desc.rule, desc.bits);
    const std::int32_t bias = desc.rule == GridRule::Asym ? 0 : 1 << (desc.bits - 1);
    const int bits = desc.bits;
    const std::int64_t total = in.rows * words;
    for (std::int64_t i = firstItem(); i < total; i += itemStride()) {
        const std::int64_t row = i / words, firstBit = i % words * 32;
        std::int64_t group = -1;
        GridPoint point;
        float inverse = 0;
        std::uint32_t word = 0;
        for (std::int64_t k = firstBit / bits; k < in.cols && k * bits < firstBit + 32; ++k) {
            if (k / out.group != group) {
                group = k / out.group;
                point = loadGrid(desc, out, row, group);
                inverse = inverseOf(point.scale);
            }
            const float x = loadFloat(in.data, in.dtype, row * in.cols + k);
            const auto code = static_cast<std::uint32_t>(gridCode(x, inverse, point.zero, low, high) + bias);
            const int shift = static_cast<int>(k * bits - firstBit);
            word |= shift >= 0 ? code << shift : code >> -shift;
        }
        storeBytes(out.codes + static_cast<std::uint64_t>(row) * out.codeRowBytes +
                       static_cast<std::uint64_t>(firstBit / 8),
                   word, 4);
    }
}

__device__ bool encodeBlock(FormatDesc::Family family, const float* x, std::uint8_t* block)
{
    switch (family) {
    case FormatDesc::Family::Q4_0:
        return Q4_0Block::encode(x, block);
    case FormatDesc::Family::Q4_1:
        return Q4_1Block::encode(x, block);
    case FormatDesc::Family::Q5_0:
        return Q5_0Block::encode(x, block);
    case FormatDesc::Family::Q5_1:
        return Q5_1Block::encode(x, block);
    case FormatDesc::Family::Q8_0:
        return Q8_0Block::encode(x, block);
    default:
        break;
    }
    return false;
}

// One thread a block of 32.
__global__ void blockKernel(FormatDesc desc, WeightView in, PlanesView out, QuantizeState* state)
{
    const std::int64_t perRow = in.cols / kGgufBlock, total = in.rows * perRow;
    for (std::int64_t i = firstItem(); i < total; i += itemStride()) {
        float x[kGgufBlock];
        bool good = true;
        for (int j = 0; j < kGgufBlock; ++j) {
            x[j] = loadFloat(in.data, in.dtype, i * kGgufBlock + j);
            good = good && isFiniteFloat(x[j]);
        }
        good = good && encodeBlock(desc.family, x, out.codes + i * desc.blockBytes);
        if (!good) reportRow(state, i / perRow);
    }
}

} // namespace

cudaError_t quantizeBlocks(const FormatDesc& desc, WeightView in, PlanesView out, QuantizeState* state,
                           cudaStream_t stream)
{
    // The range of a tensor always holds 0, as every grid does.
    const QuantizeState fresh{kNoRow, 0, 0};
    if (const auto e = cudaMemcpyAsync(state, &fresh, sizeof fresh, cudaMemcpyHostToDevice, stream);
        e != cudaSuccess)
        return e;
    if (desc.family != FormatDesc::Family::IntGrid) {
        blockKernel<<<blocksFor(in.rows * (in.cols / kGgufBlock)), kThreads, 0, stream>>>(desc, in, out,
                                                                                          state);
        return cudaGetLastError();
    }
    if (desc.blockSize == FormatDesc::kWholeTensor) {
        tensorRangeKernel<<<blocksFor(in.rows * kWarp), kThreads, 0, stream>>>(in, state);
        tensorGridKernel<<<1, 1, 0, stream>>>(desc, out, state);
    } else {
        const std::int64_t groups = (in.cols - 1) / out.group + 1;
        gridKernel<<<blocksFor(in.rows * groups * kWarp), kThreads, 0, stream>>>(desc, in, out, groups,
                                                                                 state);
    }
    const auto words = static_cast<std::int64_t>(out.codeRowBytes / 4);
    codeKernel<<<blocksFor(in.rows * words), kThreads, 0, stream>>>(desc, in, out, words);
    return cudaGetLastError();
}

} // namespace halftone::cuda
