// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/result/picture.h"

#include <algorithm>
#include <cmath>

namespace halftone {

namespace {

/// Power of two that brings the largest of `values` to about 1: scaling by it is exact, and differences of
/// what it scales can't overflow.
int exponentOf(std::span<const double> values, std::span<const std::uint32_t> which)
{
    double largest = 0;
    for (std::uint32_t i : which)
        largest = std::max(largest, std::fabs(values[i]));
    int exponent = 0;
    std::frexp(largest, &exponent);
    return exponent;
}

} // namespace

std::vector<std::uint32_t> upperLeftHull(std::span<const double> x, std::span<const double> y)
{
    std::vector<std::uint32_t> order;
    const std::size_t count = std::min(x.size(), y.size());
    for (std::size_t i = 0; i < count; ++i)
        if (std::isfinite(x[i]) && std::isfinite(y[i])) order.push_back(static_cast<std::uint32_t>(i));
    std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
        if (x[a] != x[b]) return x[a] < x[b];
        if (y[a] != y[b]) return y[a] > y[b];
        return a < b; // of equal points the first stands for all
    });
    // The Pareto set by x: each of its points has more y than all on its left.
    std::vector<std::uint32_t> front;
    for (std::uint32_t i : order)
        if (front.empty() || y[i] > y[front.back()]) front.push_back(i);

    // Andrew's monotone chain (1979), upper part: a point goes when it lies below the line of its neighbours.
    const int ex = exponentOf(x, front), ey = exponentOf(y, front);
    const auto below = [&](std::uint32_t a, std::uint32_t b, std::uint32_t c) {
        const auto dx = [&](std::uint32_t p, std::uint32_t q) {
            return static_cast<long double>(std::ldexp(x[q], -ex)) - std::ldexp(x[p], -ex);
        };
        const auto dy = [&](std::uint32_t p, std::uint32_t q) {
            return static_cast<long double>(std::ldexp(y[q], -ey)) - std::ldexp(y[p], -ey);
        };
        return dx(a, b) * dy(a, c) - dy(a, b) * dx(a, c) > 0;
    };
    std::vector<std::uint32_t> hull;
    for (std::uint32_t i : front) {
        while (hull.size() >= 2 && below(hull[hull.size() - 2], hull.back(), i))
            hull.pop_back();
        hull.push_back(i);
    }
    return hull;
}

} // namespace halftone
