// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/base/result.h"
#include "core/device/device.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace halftone {

/// Columns [begin, end) of a matrix [rows, cols] of elements of `width` bytes (1, 2 or 4) as rows: the plane
/// [end - begin, rows * width] as U8. What lies [in, out] on the disk becomes [out, in] this way.
Result<Tensor> turnedColumns(std::span<const std::byte> matrix, std::int64_t rows, std::int64_t cols,
                             int width, std::int64_t begin, std::int64_t end);

/// The whole of the other direction: a plane [rows, cols] into [cols, rows].
inline Result<Tensor> turned(std::span<const std::byte> matrix, std::int64_t rows, std::int64_t cols,
                             int width)
{
    return turnedColumns(matrix, rows, cols, width, 0, cols);
}

} // namespace halftone
