// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/device/ops.h"

namespace halftone::cpu {

// The block ops in vector code (simd_int_grid.h, simd_gguf.h), split among the threads. The same bytes as
// the reference for any number of threads.

bool simdSupportsQuantizeBlocks(DType dtype, const BlockFormat* format);
Status simdQuantizeBlocks(const QuantizeBlocksOp& op);
bool simdSupportsDequantizeBlocks(DType dtype, const BlockFormat* format);
Status simdDequantizeBlocks(const DequantizeBlocksOp& op);

} // namespace halftone::cpu
