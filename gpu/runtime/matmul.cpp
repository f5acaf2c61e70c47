// SPDX-License-Identifier: GPL-3.0-or-later
#include "gpu/ops/ops.h"

namespace halftone::cuda {

cublasStatus_t matmul(cublasHandle_t handle, const float* a, const float* b, float* c, std::int64_t m,
                      std::int64_t n, std::int64_t k, bool transB)
{
    // cuBLAS counts columns first: a row-major product is the product of the transposes, swapped.
    const float one = 1.0f, nothing = 0.0f;
    return cublasSgemm_64(handle, transB ? CUBLAS_OP_T : CUBLAS_OP_N, CUBLAS_OP_N, n, m, k, &one, b,
                          transB ? k : n, a, k, &nothing, c, n);
}

} // namespace halftone::cuda
