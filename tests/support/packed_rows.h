// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/numeric/block_format.h"
#include "tests/support/main.h"

#include <algorithm>
#include <vector>

namespace halftone::test {

/// Planes of one packed matrix in plain memory.
struct Planes {
    std::vector<std::byte> codes, scales;
    std::vector<std::uint8_t> zeros;
    std::vector<std::byte> shared;
    explicit Planes(const PackedLayout& layout)
        : codes(layout.codeBytes), scales(layout.scaleBytes), zeros(layout.zeroBytes),
          shared(layout.sharedBytes)
    {
    }
    PackedRows rows() { return {codes, scales, zeros, shared}; }
    friend bool operator==(const Planes&, const Planes&) = default;
};

inline ValueRange rangeOf(const std::vector<float>& values) { return rangeOfRow(values); }

inline Result<Planes> encode(const BlockFormat& format, const std::vector<float>& values, std::int64_t cols)
{
    const auto rows = cols == 0 ? 0 : static_cast<std::int64_t>(values.size()) / cols;
    HALFTONE_TRY(layout, format.layout(rows, cols));
    Planes planes(layout);
    HALFTONE_CHECK(format.encodeRows(values, cols, rangeOf(values), planes.rows()));
    return planes;
}

inline std::vector<float> decode(const BlockFormat& format, Planes& planes, std::size_t count,
                                 std::int64_t cols)
{
    std::vector<float> values(count);
    format.decodeRows(planes.rows(), cols, values);
    return values;
}

} // namespace halftone::test
