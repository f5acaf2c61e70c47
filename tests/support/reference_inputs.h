// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "tests/support/samples.h"

#include <cstddef>
#include <vector>

namespace halftone::test {

/// The four inputs of the tables of reference numbers, 2^20 values each, made once: normal, Laplace, normal
/// with outliers, and those rotated.
inline constexpr std::size_t kReferenceCount = std::size_t{1} << 20;

inline const std::vector<float>& referenceInput(int which)
{
    static const std::vector<float> normal = gaussian(kReferenceCount, 12345);
    static const std::vector<float> laplacian = laplace(kReferenceCount, 12346);
    static const std::vector<float> outliers = withOutliers(kReferenceCount, 12347);
    static const std::vector<float> rotated = [] {
        auto values = outliers;
        rotateBlocksOf16(values);
        return values;
    }();
    const std::vector<float>* const all[]{&normal, &laplacian, &outliers, &rotated};
    return *all[which];
}

} // namespace halftone::test
