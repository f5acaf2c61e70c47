// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/numeric/block_types.h"
#include "gpu/ops/element.cuh"
#include "gpu/ops/ops.h"
#include "gpu/ops/packed.cuh"

namespace halftone::cuda {

namespace {

// One thread an element, so that neighbours write neighbours; the few header bytes come from the cache.
template <class Block>
__global__ void decodeKernel(const std::uint8_t* blocks, std::int64_t count, float* out)
{
    for (std::int64_t i = firstItem(); i < count; i += itemStride()) {
        const std::uint8_t* block = blocks + i / Block::kElements * Block::kBytes;
        const auto j = static_cast<int>(i % Block::kElements);
        out[i] = blockValue<Block>(Block::code(block, j), Block::point(block, j / Block::kPart));
    }
}

// One thread a block.
template <class Block> __global__ void encodeKernel(WeightView in, std::uint8_t* blocks, QuantizeState* state)
{
    const std::int64_t perRow = in.cols / Block::kElements, total = in.rows * perRow;
    for (std::int64_t i = firstItem(); i < total; i += itemStride()) {
        float x[Block::kElements];
        bool good = true;
        for (int j = 0; j < Block::kElements; ++j) {
            x[j] = loadFloat(in.data, in.dtype, i * Block::kElements + j);
            good = good && isFiniteFloat(x[j]);
        }
        good = good && Block::encode(x, blocks + i * Block::kBytes);
        if (!good) reportRow(state, i / perRow);
    }
}

} // namespace

cudaError_t dequantizeInterleaved(const FormatDesc& desc, const std::uint8_t* blocks, std::int64_t count,
                                  float* out, cudaStream_t stream)
{
    withBlockType(desc.family, [&](auto type) {
        using Block = typename decltype(type)::Type;
        decodeKernel<Block><<<blocksFor(count), kThreads, 0, stream>>>(blocks, count, out);
    });
    return cudaGetLastError();
}

cudaError_t quantizeInterleaved(const FormatDesc& desc, WeightView in, std::uint8_t* blocks,
                                QuantizeState* state, cudaStream_t stream)
{
    withBlockType(desc.family, [&](auto type) {
        using Block = typename decltype(type)::Type;
        if constexpr (Encodes<Block>) {
            if constexpr (Block::kFlops < kSearchFlops) {
                const std::int64_t count = in.rows * (in.cols / Block::kElements);
                encodeKernel<Block><<<blocksFor(count), kThreads, 0, stream>>>(in, blocks, state);
            }
        }
    });
    return cudaGetLastError();
}

} // namespace halftone::cuda
