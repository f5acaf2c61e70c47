// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/ui/reduce.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace halftone {

std::vector<std::uint32_t> reduceM4(std::span<const double> x, std::span<const double> y, double xMin,
                                    double xMax, int columns)
{
    std::vector<std::uint32_t> out;
    if (x.empty() || columns < 1 || !(xMax > xMin)) return out;
    const auto at = [](auto it, auto begin) { return static_cast<std::size_t>(it - begin); };
    std::size_t first = at(std::lower_bound(x.begin(), x.end(), xMin), x.begin());
    std::size_t last = at(std::upper_bound(x.begin(), x.end(), xMax), x.begin());
    // The line must run on to both edges.
    if (first > 0) out.push_back(static_cast<std::uint32_t>(first - 1));
    const std::size_t behind = last;
    const double scale = columns / (xMax - xMin);
    const auto columnOf = [&](std::size_t i) {
        return std::clamp(static_cast<int>((x[i] - xMin) * scale), 0, columns - 1);
    };
    while (first < last) {
        const int column = columnOf(first);
        std::size_t low = first;
        std::size_t high = first;
        std::size_t end = first;
        while (end < last && columnOf(end) == column) {
            if (y[end] < y[low]) low = end;
            if (y[end] > y[high]) high = end;
            ++end;
        }
        std::size_t picks[4] = {first, low, high, end - 1};
        std::sort(std::begin(picks), std::end(picks));
        for (std::size_t k = 0; k < 4; ++k)
            if (k == 0 || picks[k] != picks[k - 1]) out.push_back(static_cast<std::uint32_t>(picks[k]));
        first = end;
    }
    if (behind < x.size()) out.push_back(static_cast<std::uint32_t>(behind));
    return out;
}

std::vector<Bar> reduceBars(std::span<const double> x, std::span<const double> y, double width, double xMin,
                            double xMax, int columns)
{
    std::vector<Bar> out;
    if (columns < 1 || !(xMax > xMin)) return out;
    const double pixel = (xMax - xMin) / columns;
    int lastColumn = -1;
    for (std::size_t i = 0; i < x.size(); ++i) {
        const double left = std::max(x[i] - width / 2, xMin);
        const double right = std::min(x[i] + width / 2, xMax);
        if (right <= left) continue;
        if (width >= pixel) {
            out.push_back({left, right, y[i]});
            continue;
        }
        // Bars thinner than a pixel: the largest magnitude survives, so that no peak is lost.
        const int column = std::clamp(static_cast<int>((x[i] - xMin) / pixel), 0, columns - 1);
        if (column != lastColumn) {
            out.push_back({xMin + column * pixel, xMin + (column + 1) * pixel, y[i]});
            lastColumn = column;
        } else if (std::abs(y[i]) > std::abs(out.back().height)) {
            out.back().height = y[i];
        }
    }
    return out;
}

} // namespace halftone
