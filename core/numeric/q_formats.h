// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/numeric/block_format.h"

#include <memory>
#include <vector>

namespace halftone {

/// Q4_0, Q4_1, Q5_0, Q5_1, Q8_0 over the block functions of gguf_blocks.h.
std::vector<std::unique_ptr<const BlockFormat>> makeQFormats();

} // namespace halftone
