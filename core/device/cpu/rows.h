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

/// Rows [begin, end) of a matrix as floats: in place when they are aligned F32, else converted into
/// `scratch`.
inline std::span<const float> floatRows(const Tensor& in, std::int64_t begin, std::int64_t end,
                                        float* scratch)
{
    const std::int64_t cols = in.shape().cols();
    const auto bytes = in.bytes();
    const auto count = static_cast<std::size_t>((end - begin) * cols);
    const auto first = static_cast<std::uint64_t>(begin) * static_cast<std::uint64_t>(cols);
    const std::byte* at = bytes.data() + first * sizeof(float);
    if (in.dtype() == DType::F32 && reinterpret_cast<std::uintptr_t>(at) % alignof(float) == 0)
        return {reinterpret_cast<const float*>(at), count};
    toFloats(in.dtype(), bytes, first, {scratch, count});
    return {scratch, count};
}

inline std::span<const float> floatRow(const Tensor& in, std::int64_t row, float* scratch)
{
    return floatRows(in, row, row + 1, scratch);
}

} // namespace halftone::cpu
