// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

namespace halftone {

/// AutoAWQ's "gemm" words hold eight 4-bit codes of neighbouring outputs in the order 0 2 4 6 1 3 5 7.
inline constexpr int kAwqPerWord = 8;
/// The bit at which output `index` (0..7) of a word starts.
constexpr int awqShift(int index) { return 4 * (index % 2 == 0 ? index / 2 : 4 + index / 2); }

} // namespace halftone
