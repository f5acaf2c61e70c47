// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/io/stored_weight.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace halftone {

/// Tensors that hold the planes of a planar format as they are: codes row by row without padding, scales,
/// and what all rows share.
struct PlanarParts {
    const TensorInfo* codes = nullptr;
    const TensorInfo* scales = nullptr;
    const BlockFormat* format = nullptr;
    std::int64_t rows = 0, cols = 0;
    std::vector<std::byte> shared; ///< the format's plane of that name
};

/// Codes and scales stay in the mapped file where the rows need no padding. Unsupported when the tensors
/// don't have the sizes of the format's planes.
Result<std::shared_ptr<const StoredWeight>> planarWeight(const std::shared_ptr<const Checkpoint>& checkpoint,
                                                         PlanarParts parts);

/// Bytes of the codes of one row without padding; nothing when they don't fill whole bytes.
std::optional<std::uint64_t> bareRowBytes(const FormatDesc& desc, std::int64_t cols);

/// The one float of a scale that a whole tensor shares. Unsupported for other sizes and types, and for
/// values that are not finite or not above 0.
Result<float> readTensorScale(const Checkpoint& checkpoint, const TensorInfo& scale);
std::vector<std::byte> sharedOf(float value);

} // namespace halftone
