// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/base/export.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace halftone {

/// Error of a reconstruction against its original, over any number of values. Sums are exact to
/// double; merging in a fixed order gives the same bits for any thread count.
struct HALFTONE_API ErrorStats {
    std::int64_t count = 0;
    double signal = 0;            ///< sum of x^2
    double noise = 0;             ///< sum of (x - y)^2
    double maxError = 0;          ///< max |x - y|
    double maxValue = 0;          ///< max |x|
    std::int64_t clipped = 0;     ///< |x - y| > half a step at either end of the grid
    std::int64_t underflowed = 0; ///< x != 0 but y == 0
    double mse() const { return count == 0 ? 0 : noise / static_cast<double>(count); }
    /// noise / signal; 0 when both are 0, +inf when only the signal is 0.
    double normalisedMse() const;
    /// -10 log10(noise / signal), dB; +inf without noise, nan for a tensor of zeros without noise.
    double sqnr() const;
    /// max |x| / rms(x); 0 for zeros.
    double crestFactor() const;
    void merge(const ErrorStats& other);
};

/// Sums over the values of a block are taken in kErrorLanes parts, element i in part i % kErrorLanes, and
/// the parts are added by sumOfLanes(): one order for plain and vector code, hence the same bits.
inline constexpr std::size_t kErrorLanes = 8;
inline double sumOfLanes(std::span<const double, kErrorLanes> lanes)
{
    return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) + ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
}

/// Adds the error of `decoded` against `original` (same length). `clipLimit`: a value beyond
/// +-clipLimit[i]... is counted by the caller where a grid has ends; here clipped stays 0.
HALFTONE_API ErrorStats compare(std::span<const float> original, std::span<const float> decoded);

} // namespace halftone
