// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/numeric/double_quant.h"
#include "core/numeric/element_group.h"
#include "core/numeric/int_grid.h"
#include "gpu/ops/element.cuh"
#include "gpu/ops/ops.h"
#include "gpu/ops/packed.cuh"

#include <algorithm>

namespace halftone::cuda {

namespace {

// One thread an element: its code lies in one or two bytes of the row's bit stream.
__global__ void gridKernel(FormatDesc desc, PlanesView in, std::int64_t rows, std::int64_t cols, float* out)
{
    const std::int32_t bias = desc.rule == GridRule::Asym ? 0 : 1 << (desc.bits - 1);
    for (std::int64_t i = firstItem(); i < rows * cols; i += itemStride()) {
        const std::int64_t row = i / cols, k = i % cols, group = k / in.group;
        GridPoint point;
        point.scale = scaleOfBits(scaleBitsAt(desc, in, row, group), desc.scale);
        if (in.zeros != nullptr)
            point.zero = in.zeros[static_cast<std::uint64_t>(row) * in.zeroRowBytes +
                                  static_cast<std::uint64_t>(group)];
        out[i] = gridValue(static_cast<std::int32_t>(storedCode(desc, in, row, k)) - bias, point);
    }
}

/// dynamicMap() as an argument of a kernel.
struct MapView {
    float values[256];
};

// Scale of a group whose scales are nested: `groups` of them in a row.
__device__ float nestedScaleAt(const FormatDesc& desc, PlanesView in, const MapView& map, std::int64_t groups,
                               std::int64_t row, std::int64_t group)
{
    const std::int64_t run = ((in.firstRow + row) * groups + group) / kNestedBlock;
    return nestedValue(map.values[scaleBitsAt(desc, in, row, group)], bitsFloat(load32(in.shared)),
                       bitsFloat(load32(in.shared + 4 * (1 + run))));
}

template <bool kNested>
__global__ void elementKernel(FormatDesc desc, PlanesView in, MapView map, std::int64_t rows,
                              std::int64_t cols, float* out)
{
    const std::int32_t bias = elementBias(desc);
    const std::int64_t groups = (cols - 1) / in.group + 1;
    const float tensorScale =
        desc.shared == FormatDesc::Shared::TensorScale ? bitsFloat(load32(in.shared)) : 1.0f;
    for (std::int64_t i = firstItem(); i < rows * cols; i += itemStride()) {
        const std::int64_t row = i / cols, k = i % cols, group = k / in.group;
        float scale = 0;
        if constexpr (kNested)
            scale = nestedScaleAt(desc, in, map, groups, row, group);
        else
            scale = groupScaleOf(desc, scaleBitsAt(desc, in, row, group), tensorScale).scale;
        const auto code = static_cast<std::int32_t>(storedCode(desc, in, row, k)) - bias;
        out[i] = elementValue(code, desc.element) * scale;
    }
}

} // namespace

cudaError_t dequantizeBlocks(const FormatDesc& desc, PlanesView in, std::int64_t rows, std::int64_t cols,
                             float* out, cudaStream_t stream)
{
    if (desc.layout == FormatDesc::Layout::Interleaved)
        return dequantizeInterleaved(desc, in.codes, rows * cols, out, stream);
    const unsigned blocks = blocksFor(rows * cols);
    if (desc.family == FormatDesc::Family::IntGrid) {
        gridKernel<<<blocks, kThreads, 0, stream>>>(desc, in, rows, cols, out);
    } else if (desc.shared == FormatDesc::Shared::NestedScales) {
        MapView map;
        std::copy(dynamicMap().begin(), dynamicMap().end(), map.values);
        elementKernel<true><<<blocks, kThreads, 0, stream>>>(desc, in, map, rows, cols, out);
    } else {
        elementKernel<false><<<blocks, kThreads, 0, stream>>>(desc, in, MapView(), rows, cols, out);
    }
    return cudaGetLastError();
}

} // namespace halftone::cuda
