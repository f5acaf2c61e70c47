// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/numeric/error_stats.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <limits>

namespace halftone {

double ErrorStats::normalisedMse() const
{
    if (signal == 0) return noise == 0 ? 0 : std::numeric_limits<double>::infinity();
    return noise / signal;
}

double ErrorStats::sqnr() const
{
    if (noise == 0)
        return signal == 0 ? std::numeric_limits<double>::quiet_NaN()
                           : std::numeric_limits<double>::infinity();
    return -10.0 * std::log10(normalisedMse());
}

double ErrorStats::crestFactor() const
{
    if (count == 0 || signal == 0) return 0;
    return maxValue / std::sqrt(signal / static_cast<double>(count));
}

void ErrorStats::merge(const ErrorStats& other)
{
    count += other.count;
    signal += other.signal;
    noise += other.noise;
    maxError = std::max(maxError, other.maxError);
    maxValue = std::max(maxValue, other.maxValue);
    clipped += other.clipped;
    underflowed += other.underflowed;
}

ErrorStats compare(std::span<const float> original, std::span<const float> decoded)
{
    assert(original.size() == decoded.size());
    ErrorStats stats;
    stats.count = static_cast<std::int64_t>(original.size());
    std::array<double, kErrorLanes> signal{}, noise{};
    for (std::size_t i = 0; i < original.size(); ++i) {
        const double x = original[i];
        const double error = x - static_cast<double>(decoded[i]);
        signal[i % kErrorLanes] += x * x;
        noise[i % kErrorLanes] += error * error;
        stats.maxError = std::max(stats.maxError, std::fabs(error));
        stats.maxValue = std::max(stats.maxValue, std::fabs(x));
        if (original[i] != 0 && decoded[i] == 0) ++stats.underflowed;
    }
    stats.signal = sumOfLanes(signal);
    stats.noise = sumOfLanes(noise);
    return stats;
}

} // namespace halftone
