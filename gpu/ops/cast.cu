// SPDX-License-Identifier: GPL-3.0-or-later
#include "gpu/ops/element.cuh"
#include "gpu/ops/ops.h"

namespace halftone::cuda {

namespace {

__device__ std::uint64_t doubleBits(float x)
{
    return static_cast<std::uint64_t>(__double_as_longlong(static_cast<double>(x)));
}

__global__ void castKernel(const std::uint8_t* src, DType from, std::uint8_t* dst, DType to,
                           std::int64_t count)
{
    for (std::int64_t i = firstItem(); i < count; i += itemStride()) {
        const float x = loadFloat(src, from, i);
        switch (to) {
        case DType::F64:
            storeBytes(dst + 8 * i, doubleBits(x), 8);
            break;
        case DType::F32:
            storeBytes(dst + 4 * i, floatBits(x), 4);
            break;
        case DType::F16:
            storeBytes(dst + 2 * i, floatToHalf(x), 2);
            break;
        default:
            storeBytes(dst + 2 * i, floatToBfloat(x), 2);
            break;
        }
    }
}

} // namespace

cudaError_t cast(const void* src, DType from, void* dst, DType to, std::int64_t count, cudaStream_t stream)
{
    castKernel<<<blocksFor(count), kThreads, 0, stream>>>(static_cast<const std::uint8_t*>(src), from,
                                                          static_cast<std::uint8_t*>(dst), to, count);
    return cudaGetLastError();
}

} // namespace halftone::cuda
