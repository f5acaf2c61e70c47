// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/numeric/element_group.h"
#include "core/numeric/int_grid.h"
#include "gpu/ops/element.cuh"
#include "gpu/ops/ops.h"
#include "gpu/ops/packed.cuh"

namespace halftone::cuda {

namespace {

/// Uniform integer grids.
struct GridCoder {
    FormatDesc desc;
    std::int32_t low, high, bias;
    GridPoint point;
    float inverse = 0;

    explicit GridCoder(const FormatDesc& d)
        : desc(d), low(gridLow(d.rule, d.bits)), high(gridHigh(d.rule, d.bits)),
          bias(d.rule == GridRule::Asym ? 0 : 1 << (d.bits - 1))
    {
    }
    /// Makes and stores the scale and zero point of a group; false when the scale overflows.
    __device__ bool make(Range range, PlanesView out, std::int64_t row, std::int64_t group) const
    {
        const GridPoint made = gridOf(range.min, range.max, desc.rule, desc.bits, desc.scale);
        storeBytes(scaleAt(desc, out, row, group), scaleBits(made.scale, desc.scale),
                   bytesOfScale(desc.scale));
        if (out.zeros != nullptr) *zeroAt(out, row, group) = static_cast<std::uint8_t>(made.zero);
        return isFiniteFloat(made.scale);
    }
    __device__ void choose(PlanesView out, std::int64_t row, std::int64_t group)
    {
        point.scale = scaleOfBits(scaleBitsAt(desc, out, row, group), desc.scale);
        if (out.zeros != nullptr) point.zero = *zeroAt(out, row, group);
        inverse = inverseOf(point.scale);
    }
    __device__ std::uint32_t code(float x) const
    {
        return static_cast<std::uint32_t>(gridCode(x, inverse, point.zero, low, high) + bias);
    }

private:
    __device__ static std::uint8_t* zeroAt(PlanesView out, std::int64_t row, std::int64_t group)
    {
        return out.zeros + static_cast<std::uint64_t>(row) * out.zeroRowBytes +
               static_cast<std::uint64_t>(group);
    }
};

/// Small floats, whole numbers and table entries under scales of many kinds.
struct ElementCoder {
    FormatDesc desc;
    std::int32_t bias;
    GroupScale scale;

    explicit ElementCoder(const FormatDesc& d) : desc(d), bias(elementBias(d)) {}
    __device__ bool make(Range range, PlanesView out, std::int64_t row, std::int64_t group) const
    {
        const float shared = tensorScale(out);
        const std::uint32_t bits = groupScaleBits(desc, range.peak(), shared);
        storeBytes(scaleAt(desc, out, row, group), bits, bytesOfScale(desc.scale));
        return isFiniteFloat(groupScaleOf(desc, bits, shared).scale);
    }
    __device__ void choose(PlanesView out, std::int64_t row, std::int64_t group)
    {
        scale = groupScaleOf(desc, scaleBitsAt(desc, out, row, group), tensorScale(out));
    }
    __device__ std::uint32_t code(float x) const
    {
        return static_cast<std::uint32_t>(codeInGroup(desc, x, scale) + bias);
    }

private:
    __device__ float tensorScale(PlanesView out) const
    {
        return desc.shared == FormatDesc::Shared::TensorScale ? bitsFloat(load32(out.shared)) : 1.0f;
    }
};

// One warp a group: its range, then its scale.
template <class Coder>
__global__ void groupKernel(Coder coder, WeightView in, PlanesView out, std::int64_t groups,
                            QuantizeState* state)
{
    const std::int64_t total = in.rows * groups;
    for (std::int64_t i = firstItem() / kWarp; i < total; i += itemStride() / kWarp) {
        const std::int64_t row = i / groups, group = i % groups, begin = group * out.group;
        const std::int64_t end = begin + out.group < in.cols ? begin + out.group : in.cols;
        const Range range = warpRange(in, row, begin, end);
        if (threadIdx.x % kWarp != 0) continue;
        const bool fits = coder.make(range, out, row, group);
        if (!range.finite || !fits) reportRow(state, row);
    }
}

// The range of a tensor: one warp a row, joined by atomics, whose order does not matter to a minimum.
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

__device__ Range rangeOf(const QuantizeState* state)
{
    Range range;
    range.min = unordered(state->min);
    range.max = unordered(state->max);
    return range;
}

template <class Coder> __global__ void oneScaleKernel(Coder coder, PlanesView out, QuantizeState* state)
{
    if (!coder.make(rangeOf(state), out, 0, 0)) reportRow(state, 0);
}

__global__ void tensorScaleKernel(FormatDesc desc, PlanesView out, const QuantizeState* state)
{
    const float scale = tensorScaleOf(rangeOf(state).peak(), largestOf(desc.element, desc.bits));
    storeBytes(out.shared, floatBits(scale), 4);
}

template <class Coder>
void launch(const Coder& coder, WeightView in, PlanesView out, QuantizeState* state, cudaStream_t stream)
{
    const FormatDesc& desc = coder.desc;
    if (desc.needsWholeTensor())
        tensorRangeKernel<<<blocksFor(in.rows * kWarp), kThreads, 0, stream>>>(in, state);
    if (desc.shared == FormatDesc::Shared::TensorScale)
        tensorScaleKernel<<<1, 1, 0, stream>>>(desc, out, state);
    if (desc.blockSize == FormatDesc::kWholeTensor) {
        oneScaleKernel<<<1, 1, 0, stream>>>(coder, out, state);
    } else {
        const std::int64_t groups = (in.cols - 1) / out.group + 1;
        groupKernel<<<blocksFor(in.rows * groups * kWarp), kThreads, 0, stream>>>(coder, in, out, groups,
                                                                                  state);
    }
    launchCodes(coder, in, out, stream);
}

} // namespace

cudaError_t quantizeBlocks(const FormatDesc& desc, WeightView in, PlanesView out, QuantizeState* state,
                           cudaStream_t stream)
{
    // The range of a tensor always holds 0, as every format does.
    const QuantizeState fresh{kNoRow, 0, 0};
    if (const auto e = cudaMemcpyAsync(state, &fresh, sizeof fresh, cudaMemcpyHostToDevice, stream);
        e != cudaSuccess)
        return e;
    if (desc.layout == FormatDesc::Layout::Interleaved)
        return quantizeInterleaved(desc, in, out.codes, state, stream);
    if (desc.family == FormatDesc::Family::IntGrid)
        launch(GridCoder(desc), in, out, state, stream);
    else
        launch(ElementCoder(desc), in, out, state, stream);
    return cudaGetLastError();
}

} // namespace halftone::cuda
