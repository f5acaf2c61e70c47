// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/numeric/block_format.h"
#include "core/numeric/dtype.h"

#include <cstddef>
#include <cstdint>

namespace halftone::cpu {

// Vector forms of core/numeric/gguf_blocks.h, chosen for this machine at run time.

/// Encodes `blocks` blocks of 32 elements (F32, F16 or BF16 at any alignment). False when a value is not
/// finite or a scale overflows: the reference then finds the place and the words.
bool quantizeGgufSpan(FormatDesc::Family family, DType dtype, const std::byte* in, std::int64_t blocks,
                      std::uint8_t* out, bool aroundCaches);
void decodeGgufSpan(FormatDesc::Family family, const std::uint8_t* in, std::int64_t blocks, float* out,
                    bool aroundCaches);

} // namespace halftone::cpu
