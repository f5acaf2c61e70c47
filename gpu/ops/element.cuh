// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/numeric/dtype.h"
#include "core/numeric/small_float.h"

#include <cstdint>

namespace halftone::cuda {

inline constexpr int kThreads = 256;

/// Blocks for `count` items of one thread each; kernels stride over what is left, as the grid has an end.
inline unsigned blocksFor(std::int64_t count)
{
    const std::int64_t blocks = (count + kThreads - 1) / kThreads;
    return static_cast<unsigned>(blocks < 1 ? 1 : blocks > (1 << 20) ? 1 << 20 : blocks);
}

__device__ inline std::int64_t firstItem()
{
    return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ inline std::int64_t itemStride() { return static_cast<std::int64_t>(gridDim.x) * blockDim.x; }

// Checkpoints may place tensors at odd addresses, which a GPU can't load words from.
__device__ inline std::uint32_t load16(const std::uint8_t* p)
{
    if (reinterpret_cast<std::uintptr_t>(p) % 2 == 0) return *reinterpret_cast<const std::uint16_t*>(p);
    return p[0] | static_cast<std::uint32_t>(p[1]) << 8;
}
__device__ inline std::uint32_t load32(const std::uint8_t* p)
{
    if (reinterpret_cast<std::uintptr_t>(p) % 4 == 0) return *reinterpret_cast<const std::uint32_t*>(p);
    return p[0] | static_cast<std::uint32_t>(p[1]) << 8 | static_cast<std::uint32_t>(p[2]) << 16 |
           static_cast<std::uint32_t>(p[3]) << 24;
}
__device__ inline void storeBytes(std::uint8_t* p, std::uint64_t bits, int count)
{
    for (int k = 0; k < count; ++k)
        p[k] = static_cast<std::uint8_t>(bits >> (8 * k));
}

/// Element i of F32, F16 or BF16.
__device__ inline float loadFloat(const std::uint8_t* data, DType dtype, std::int64_t i)
{
    if (dtype == DType::F32) return bitsFloat(load32(data + 4 * i));
    const auto bits = static_cast<std::uint16_t>(load16(data + 2 * i));
    return dtype == DType::F16 ? halfToFloat(bits) : bfloatToFloat(bits);
}

__device__ inline bool isFiniteFloat(float x) { return (floatBits(x) & 0x7fffffffu) < 0x7f800000u; }

} // namespace halftone::cuda
