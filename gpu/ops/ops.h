// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/numeric/block_format.h"
#include "core/numeric/dtype.h"

#include <cstddef>
#include <cstdint>
#include <cublas_v2.h>
#include <cuda_runtime_api.h>

namespace halftone::cuda {

// Launches of the kernels: pointers are device addresses, sizes are 64 bits, work is queued on the stream.
// The element and block arithmetic is that of core/numeric, so the bytes are those of the CPU.

/// A matrix of weights as it lies in device memory: F32, F16 or BF16 at any alignment.
struct WeightView {
    const std::uint8_t* data = nullptr;
    DType dtype = DType::F32;
    std::int64_t rows = 0, cols = 0;
};

/// Planes of a packed matrix, with the bytes of one row of each.
struct PlanesView {
    std::uint8_t *codes = nullptr, *scales = nullptr, *zeros = nullptr, *shared = nullptr;
    std::uint64_t codeRowBytes = 0, scaleRowBytes = 0, zeroRowBytes = 0;
    std::int64_t group = 1;    ///< columns under one scale
    std::int64_t firstRow = 0; ///< place of the rows in the matrix that `shared` belongs to
};

/// Device memory of a quantization besides its tensors: the lowest row that can't be quantized, and the
/// range of a tensor with one scale (as ordered integers).
struct QuantizeState {
    unsigned long long badRow;
    std::int32_t min, max;
};
inline constexpr unsigned long long kNoRow = ~0ull;

cudaError_t fill(void* dst, std::uint64_t count, std::uint64_t pattern, int patternBytes,
                 cudaStream_t stream);
/// From F32, F16 or BF16 to those and F64; source and target at any alignment.
cudaError_t cast(const void* src, DType from, void* dst, DType to, std::int64_t count, cudaStream_t stream);
/// Operations a weight from which on an encoder of interleaved blocks searches. Those have no kernel: one
/// thread would do a whole block, and the vectors of a CPU are as quick.
inline constexpr double kSearchFlops = 50;

/// `state` (device memory) says afterwards whether a row was bad.
cudaError_t quantizeBlocks(const FormatDesc& desc, WeightView in, PlanesView out, QuantizeState* state,
                           cudaStream_t stream);
cudaError_t dequantizeBlocks(const FormatDesc& desc, PlanesView in, std::int64_t rows, std::int64_t cols,
                             float* out, cudaStream_t stream);
// The same for interleaved blocks; `count` elements.
cudaError_t quantizeInterleaved(const FormatDesc& desc, WeightView in, std::uint8_t* blocks,
                                QuantizeState* state, cudaStream_t stream);
cudaError_t dequantizeInterleaved(const FormatDesc& desc, const std::uint8_t* blocks, std::int64_t count,
                                  float* out, cudaStream_t stream);
/// c [m, n] = a [m, k] * b, row-major F32; transB: b is [n, k]. All extents at least 1.
cublasStatus_t matmul(cublasHandle_t handle, const float* a, const float* b, float* c, std::int64_t m,
                      std::int64_t n, std::int64_t k, bool transB);

} // namespace halftone::cuda
