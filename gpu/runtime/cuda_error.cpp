// SPDX-License-Identifier: GPL-3.0-or-later
#include "gpu/runtime/cuda_error.h"

#include <fmt/core.h>

namespace halftone::cuda {

Error cudaFailure(cudaError_t code, std::string_view device, std::string_view what)
{
    // Reading it clears an error that CUDA would else repeat on the next, innocent call.
    static_cast<void>(cudaGetLastError());
    return Error(code == cudaErrorMemoryAllocation ? Errc::OutOfMemory : Errc::Device,
                 fmt::format("{}: {}", what, cudaGetErrorString(code)))
        .in(std::string(device));
}

Error cublasFailure(cublasStatus_t code, std::string_view device, std::string_view what)
{
    return Error(code == CUBLAS_STATUS_ALLOC_FAILED ? Errc::OutOfMemory : Errc::Device,
                 fmt::format("{}: cuBLAS: {}", what, cublasGetStatusString(code)))
        .in(std::string(device));
}

std::string whyNoDevice(cudaError_t code)
{
    static_cast<void>(cudaGetLastError());
    const std::string_view words = cudaGetErrorString(code);
    const int major = CUDART_VERSION / 1000, minor = CUDART_VERSION % 1000 / 10;
    switch (code) {
    case cudaErrorInsufficientDriver:
        // Also what a machine without any driver gets.
        return fmt::format("{}: install an NVIDIA driver for CUDA {}.{} or newer", words, major, minor);
    case cudaErrorNoDevice:
        return fmt::format("{}: no NVIDIA GPU, or CUDA_VISIBLE_DEVICES hides it", words);
    default:
        return fmt::format("{}", words);
    }
}

} // namespace halftone::cuda
