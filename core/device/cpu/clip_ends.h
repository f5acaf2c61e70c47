// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/numeric/block_format.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace halftone::cpu {

/// Values beyond these are cut off by more than half a step.
struct ClipEnds {
    double low = -std::numeric_limits<double>::infinity(), high = std::numeric_limits<double>::infinity();
};

/// The ends at scale 1 and zero point 0: half a step beyond the outermost codes.
inline ClipEnds codeEnds(const BlockFormat& format)
{
    const FormatDesc& d = format.desc();
    if (d.uniform) return {d.lowest - 0.5, d.highest + 0.5};
    auto values = format.codeValues(0);
    std::erase_if(values, [](float value) { return !std::isfinite(value); });
    std::ranges::sort(values);
    const std::size_t last = values.size() - 1;
    return {values[0] - (values[1] - values[0]) * 0.5,
            values[last] + (values[last] - values[last - 1]) * 0.5};
}

/// The ends of one grid. A scale of 0 has no grid to fall off: its values count as underflowed.
inline ClipEnds clipEnds(const GridPoint& g, const ClipEnds& ofCodes)
{
    if (g.scale == 0) return {};
    const double scale = g.scale, offset = g.offset;
    const double a = (ofCodes.low - g.zero) * scale + offset, b = (ofCodes.high - g.zero) * scale + offset;
    return {std::min(a, b), std::max(a, b)};
}

} // namespace halftone::cpu
