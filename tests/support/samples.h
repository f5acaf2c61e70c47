// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/base/rng.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <string>
#include <string_view>
#include <vector>

namespace halftone::test {

/// Standard normal values by pairs of Box and Muller, as the reference tables were made.
inline std::vector<float> gaussian(std::size_t count, std::uint64_t seed)
{
    SplitMix64 rng(seed);
    std::vector<float> values(count);
    for (std::size_t i = 0; i < count; i += 2) {
        const double u = rng.uniform(), v = rng.uniform();
        const double r = std::sqrt(-2.0 * std::log(u)), angle = 2.0 * std::numbers::pi * v;
        values[i] = static_cast<float>(r * std::cos(angle));
        if (i + 1 < count) values[i + 1] = static_cast<float>(r * std::sin(angle));
    }
    return values;
}

/// Density 0.5 exp(-|x|).
inline std::vector<float> laplace(std::size_t count, std::uint64_t seed)
{
    SplitMix64 rng(seed);
    std::vector<float> values(count);
    for (float& x : values) {
        const double u = rng.uniform();
        x = static_cast<float>(u < 0.5 ? std::log(2.0 * u) : -std::log(2.0 * (1.0 - u)));
    }
    return values;
}

/// Standard normal values of which one in a hundred is ten times as large.
inline std::vector<float> withOutliers(std::size_t count, std::uint64_t seed)
{
    std::vector<float> values(count);
    SplitMix64 rng(seed);
    for (std::size_t i = 0; i < count; i += 2) {
        const double u = rng.uniform(), v = rng.uniform();
        const double r = std::sqrt(-2.0 * std::log(u)), angle = 2.0 * std::numbers::pi * v;
        values[i] = static_cast<float>(r * std::cos(angle));
        if (i + 1 < count) values[i + 1] = static_cast<float>(r * std::sin(angle));
    }
    for (float& x : values)
        if (rng.uniform() < 0.01) x *= 10.0f;
    return values;
}

/// Signs of one stream, then a Walsh-Hadamard transform of each 16 values: flattens outliers.
inline void rotateBlocksOf16(std::vector<float>& values)
{
    SplitMix64 rng(777);
    std::array<float, 16> signs{};
    for (float& s : signs)
        s = rng.next() >> 63 != 0 ? -1.0f : 1.0f;
    for (std::size_t begin = 0; begin + 16 <= values.size(); begin += 16) {
        std::array<double, 16> x{};
        for (std::size_t i = 0; i < 16; ++i)
            x[i] = static_cast<double>(values[begin + i] * signs[i]);
        for (std::size_t step = 1; step < 16; step *= 2)
            for (std::size_t i = 0; i < 16; ++i)
                if ((i & step) == 0) {
                    const double a = x[i], b = x[i + step];
                    x[i] = a + b;
                    x[i + step] = a - b;
                }
        for (std::size_t i = 0; i < 16; ++i)
            values[begin + i] = static_cast<float>(x[i] / 4.0);
    }
}

/// Student t with 3 degrees of freedom: heavy tails.
inline std::vector<float> studentT3(std::size_t count, std::uint64_t seed)
{
    const auto normal = gaussian(count * 4, seed);
    std::vector<float> values(count);
    for (std::size_t i = 0; i < count; ++i) {
        double chi = 0;
        for (std::size_t k = 1; k < 4; ++k)
            chi += static_cast<double>(normal[4 * i + k]) * static_cast<double>(normal[4 * i + k]);
        values[i] = static_cast<float>(static_cast<double>(normal[4 * i]) / std::sqrt(chi / 3.0));
    }
    return values;
}

inline std::string toHex(const void* data, std::size_t size)
{
    constexpr std::string_view kDigits = "0123456789abcdef";
    const auto* bytes = static_cast<const unsigned char*>(data);
    std::string text;
    for (std::size_t i = 0; i < size; ++i) {
        text += kDigits[bytes[i] >> 4];
        text += kDigits[bytes[i] & 15];
    }
    return text;
}

} // namespace halftone::test
