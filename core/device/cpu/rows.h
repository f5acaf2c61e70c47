// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/numeric/convert.h"
#include "core/tensor/tensor.h"

#include <cstdint>
#include <span>

namespace halftone::cpu {

/// The types whose rows floatRow() reads, and so the inputs of the block ops.
inline bool isWeightType(DType dtype)
{
    return dtype == DType::F32 || dtype == DType::F16 || dtype == DType::BF16;
}

/// Row of a matrix as floats: in place when it is aligned F32, else converted into `scratch` (one row).
inline std::span<const float> floatRow(const Tensor& in, std::int64_t row, float* scratch)
{
    const std::int64_t cols = in.shape().cols();
    const auto bytes = in.bytes();
    const auto width = static_cast<std::size_t>(cols);
    const auto first = static_cast<std::uint64_t>(row) * width;
    const std::byte* at = bytes.data() + first * sizeof(float);
    if (in.dtype() == DType::F32 && reinterpret_cast<std::uintptr_t>(at) % alignof(float) == 0)
        return {reinterpret_cast<const float*>(at), width};
    toFloats(in.dtype(), bytes, first, {scratch, width});
    return {scratch, width};
}

} // namespace halftone::cpu
