// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/base/export.h"
#include "core/numeric/dtype.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace halftone {

/// True for element types whose every value is a float: toFloats() reads them exactly.
HALFTONE_API bool fitsFloat(DType dtype);
/// Reads out.size() elements from element `first` on; any alignment. Element i of a sub-byte type lies at
/// bits [i b, i b + b) of the little-endian bit stream. Exact for fitsFloat() types, rounded to nearest
/// even for wider ones. The dtype must be real.
HALFTONE_API void toFloats(DType dtype, std::span<const std::byte> in, std::uint64_t first,
                           std::span<float> out);
/// Reads elements as doubles so that a further rounding to `float` or less is the same as one from the
/// exact value: 64-bit integers that a double can't hold are rounded to odd.
HALFTONE_API void toDoubles(DType dtype, std::span<const std::byte> in, std::uint64_t first,
                            std::span<double> out);
/// Nearest float, F16 or BF16 of a double, ties to even, in one rounding; overflow gives infinity.
HALFTONE_API float doubleToFloat(double x);
HALFTONE_API std::uint16_t doubleToHalf(double x);
HALFTONE_API std::uint16_t doubleToBfloat(double x);

} // namespace halftone
