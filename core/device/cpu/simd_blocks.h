// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/device/ops.h"

namespace halftone::cpu {

// The block ops in vector code (simd_int_grid.h, simd_gguf.h), split among the threads. The same bytes as
// the reference for any number of threads.

/// Whether the family has vector code; the others run in the reference.
bool hasVectorCode(const BlockFormat* format);
bool simdSupportsQuantizeBlocks(DType dtype, const BlockFormat* format);
Status simdQuantizeBlocks(const QuantizeBlocksOp& op);
bool simdSupportsDequantizeBlocks(DType dtype, const BlockFormat* format);
Status simdDequantizeBlocks(const DequantizeBlocksOp& op);
/// The same bits as the reference, sums included.
bool simdSupportsBlockErrors(DType dtype, const BlockFormat* format);
Status simdBlockErrors(const BlockErrorsOp& op);

} // namespace halftone::cpu
