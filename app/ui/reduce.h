// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace halftone {

/// Indices of the points that a line needs at `columns` pixel columns of [xMin, xMax]: first, lowest,
/// highest and last of each column (M4, Jugel et al. 2014), and one neighbour outside on either side.
/// `x` ascends. Never more than 4 * columns + 2.
std::vector<std::uint32_t> reduceM4(std::span<const double> x, std::span<const double> y, double xMin,
                                    double xMax, int columns);

/// One bar of an outline: [left, right] with its height.
struct Bar {
    double left, right, height;
};
/// Bars of equal width around ascending `x`, cut to [xMin, xMax]; where several fall into one of
/// `columns`, the highest of them stands for all.
std::vector<Bar> reduceBars(std::span<const double> x, std::span<const double> y, double width, double xMin,
                            double xMax, int columns);

} // namespace halftone
