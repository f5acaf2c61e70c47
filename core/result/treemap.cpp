// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/result/picture.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace halftone {

namespace {

/// Worst ratio of the sides of a row of `total` area along `side`, whose areas lie in [least, most].
double worstRatio(double total, double least, double most, double side)
{
    const double square = side * side, area = total * total;
    return std::max(square * most / area, area / (square * least));
}

} // namespace

std::vector<TreemapCell> treemap(std::span<const double> sizes, double width, double height)
{
    std::vector<TreemapCell> cells(sizes.size(), TreemapCell{0, 0, 0, 0});
    const auto counts = [&](std::size_t i) { return std::isfinite(sizes[i]) && sizes[i] > 0; };
    std::vector<std::size_t> order;
    double largest = 0;
    for (std::size_t i = 0; i < sizes.size(); ++i)
        if (counts(i)) {
            order.push_back(i);
            largest = std::max(largest, sizes[i]);
        }
    if (order.empty() || !(width > 0) || !(height > 0)) return cells;
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return sizes[a] > sizes[b]; });
    // Relative to the largest, so that a sum of huge sizes stays finite.
    double sum = 0;
    for (std::size_t i : order)
        sum += sizes[i] / largest;
    const double scale = width * height / sum;
    const auto area = [&](std::size_t k) { return sizes[order[k]] / largest * scale; };

    double x = 0, y = 0, w = width, h = height;
    for (std::size_t start = 0; start < order.size();) {
        const double side = std::min(w, h);
        double total = area(start);
        std::size_t end = start + 1;
        // The row takes cells as long as that makes the worst of them squarer.
        while (end < order.size()) {
            const double more = area(end);
            if (worstRatio(total + more, more, area(start), side) >
                worstRatio(total, area(end - 1), area(start), side))
                break;
            total += more;
            ++end;
        }
        const bool last = end == order.size();
        const bool upright = w >= h; // the row is a column of cells on the left
        // The last row fills what is left, so that rounding leaves no gap.
        const double thick = last ? (upright ? w : h) : total / side;
        double along = upright ? y : x;
        const double finish = upright ? y + h : x + w;
        for (std::size_t k = start; k < end; ++k) {
            const double length = k + 1 == end ? std::max(finish - along, 0.0) : area(k) / total * side;
            cells[order[k]] =
                upright ? TreemapCell{x, along, thick, length} : TreemapCell{along, y, length, thick};
            along += length;
        }
        if (upright) {
            x += thick;
            w = std::max(w - thick, 0.0);
        } else {
            y += thick;
            h = std::max(h - thick, 0.0);
        }
        start = end;
    }
    return cells;
}

} // namespace halftone
