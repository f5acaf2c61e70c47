// SPDX-License-Identifier: GPL-3.0-or-later
#include "gpu/ops/element.cuh"
#include "gpu/ops/ops.h"

namespace halftone::cuda {

namespace {

__global__ void fillKernel(std::uint8_t* dst, std::int64_t count, std::uint64_t pattern, int bytes)
{
    for (std::int64_t i = firstItem(); i < count; i += itemStride())
        storeBytes(dst + i * bytes, pattern, bytes);
}

} // namespace

cudaError_t fill(void* dst, std::uint64_t count, std::uint64_t pattern, int patternBytes, cudaStream_t stream)
{
    const auto n = static_cast<std::int64_t>(count);
    fillKernel<<<blocksFor(n), kThreads, 0, stream>>>(static_cast<std::uint8_t*>(dst), n, pattern,
                                                      patternBytes);
    return cudaGetLastError();
}

} // namespace halftone::cuda
