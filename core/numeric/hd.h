// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

// Element and block arithmetic is written once, for the CPU reference loops, the tests and the CUDA
// kernels alike. Such functions use no library, no allocation and no exceptions.
#if defined(__CUDACC__)
#define HALFTONE_HD __host__ __device__ __forceinline__
#else
#define HALFTONE_HD inline
#endif
