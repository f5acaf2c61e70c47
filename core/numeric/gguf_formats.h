// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/numeric/block_format.h"

#include <memory>
#include <vector>

namespace halftone {

/// The block types of ggml over the block functions of gguf_blocks.h, k_blocks.h, iq4_blocks.h,
/// ternary_blocks.h and fp4_blocks.h.
std::vector<std::unique_ptr<const BlockFormat>> makeGgufFormats();

} // namespace halftone
