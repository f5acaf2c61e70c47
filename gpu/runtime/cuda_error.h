// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/base/result.h"

#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <string_view>

namespace halftone::cuda {

/// "cuda:0: quantize: out of memory". OutOfMemory where CUDA says so, else Device.
Error cudaFailure(cudaError_t code, std::string_view device, std::string_view what);
Error cublasFailure(cublasStatus_t code, std::string_view device, std::string_view what);
/// Why no device can be used, for a person: CUDA's words and the remedy.
std::string whyNoDevice(cudaError_t code);

} // namespace halftone::cuda
