// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/numeric/gguf_blocks.h"
#include "core/numeric/int_grid.h"
#include "gpu/ops/element.cuh"
#include "gpu/ops/ops.h"

namespace halftone::cuda {

namespace {

// One thread an element: its code lies in one or two bytes of the row's bit stream.
__global__ void gridKernel(FormatDesc desc, PlanesView in, std::int64_t rows, std::int64_t cols, float* out)
{
    const std::int32_t bias = desc.rule == GridRule::Asym ? 0 : 1 << (desc.bits - 1);
    const auto scaleBytes = static_cast<std::uint64_t>(bytesOfScale(desc.scale));
    for (std::int64_t i = firstItem(); i < rows * cols; i += itemStride()) {
        const auto row = static_cast<std::uint64_t>(i / cols), k = static_cast<std::uint64_t>(i % cols);
        const std::uint64_t group = k / static_cast<std::uint64_t>(in.group), bit = k * desc.bits;
        const std::uint8_t* code = in.codes + row * in.codeRowBytes + bit / 8;
        const auto shift = static_cast<unsigned>(bit % 8);
        std::uint32_t word = code[0];
        if (shift + desc.bits > 8) word |= static_cast<std::uint32_t>(code[1]) << 8;
        const auto stored = static_cast<std::int32_t>(word >> shift & ((1u << desc.bits) - 1u));
        const std::uint8_t* scale = in.scales + row * in.scaleRowBytes + group * scaleBytes;
        GridPoint point;
        point.scale = desc.scale == ScaleType::F32 ? bitsFloat(load32(scale))
                      : desc.scale == ScaleType::F16
                          ? halfToFloat(static_cast<std::uint16_t>(load16(scale)))
                          : bfloatToFloat(static_cast<std::uint16_t>(load16(scale)));
        if (in.zeros != nullptr) point.zero = in.zeros[row * in.zeroRowBytes + group];
        out[i] = gridValue(stored - bias, point);
    }
}

__device__ void decodeBlock(FormatDesc::Family family, const std::uint8_t* block, float* y)
{
    switch (family) {
    case FormatDesc::Family::Q4_0:
        return decodeBlockOf<Q4_0Block>(block, y);
    case FormatDesc::Family::Q4_1:
        return decodeBlockOf<Q4_1Block>(block, y);
    case FormatDesc::Family::Q5_0:
        return decodeBlockOf<Q5_0Block>(block, y);
    case FormatDesc::Family::Q5_1:
        return decodeBlockOf<Q5_1Block>(block, y);
    case FormatDesc::Family::Q8_0:
        return decodeBlockOf<Q8_0Block>(block, y);
    default:
        break;
    }
}

// One thread a block of 32.
__global__ void blockKernel(FormatDesc desc, const std::uint8_t* blocks, std::int64_t count, float* out)
{
    for (std::int64_t i = firstItem(); i < count; i += itemStride()) {
        float y[kGgufBlock];
        decodeBlock(desc.family, blocks + i * desc.blockBytes, y);
        for (int j = 0; j < kGgufBlock; ++j)
            out[i * kGgufBlock + j] = y[j];
    }
}

} // namespace

cudaError_t dequantizeBlocks(const FormatDesc& desc, PlanesView in, std::int64_t rows, std::int64_t cols,
                             float* out, cudaStream_t stream)
{
    if (desc.family != FormatDesc::Family::IntGrid) {
        const std::int64_t count = rows * (cols / kGgufBlock);
        blockKernel<<<blocksFor(count), kThreads, 0, stream>>>(desc, in.codes, count, out);
    } else {
        gridKernel<<<blocksFor(rows * cols), kThreads, 0, stream>>>(desc, in, rows, cols, out);
    }
    return cudaGetLastError();
}

} // namespace halftone::cuda
