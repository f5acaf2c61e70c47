// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/device/ops.h"

namespace halftone::cpu {

// Matrix products by oneDNN, which chooses its kernels for this machine at run time.
bool onednnSupportsMatmul(DType dtype, const BlockFormat* format);
Status onednnMatmul(const MatmulOp& op);

} // namespace halftone::cpu
