// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/io/stored_weight.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace halftone {

/// A grid whose columns choose their group by an index ("activation order"): group i of a row no longer
/// holds neighbours, so no block format describes it. `grid` gives planes of `format`, groups of
/// format.blockSize; `group` has one entry a column, each below the count of groups.
std::shared_ptr<const StoredWeight> indexedGrid(std::shared_ptr<const StoredWeight> grid,
                                                const BlockFormat& format, std::vector<std::int32_t> group);

/// Reads g_idx, one I32 a column. Unsupported when it has another size or an entry outside 0 .. groups - 1,
/// which is named. An empty list when the groups are runs of `block` columns: the index says nothing then.
Result<std::vector<std::int32_t>> readGroupIndex(const Checkpoint& checkpoint, const TensorInfo& index,
                                                 std::int64_t cols, std::int64_t groups, std::int64_t block);

} // namespace halftone
