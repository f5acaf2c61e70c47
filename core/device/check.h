// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/base/export.h"
#include "core/base/result.h"
#include "core/device/ops.h"

namespace halftone {

// Shapes, dtypes and plane sizes of an op, checked once for all devices before any kernel runs:
// InvalidArgument names both sides. Dtypes that are merely not implemented are left to supports().
#define X(name) HALFTONE_API Status checkOp(const name##Op& op);
HALFTONE_OPS(X)
#undef X

/// InvalidArgument unless the host can read all of the tensors' bytes.
HALFTONE_API Status checkHost(const Tensor& tensor);
/// The element type by which Device::supports() is asked for the op, and its format or null.
#define X(name)                                                                                              \
    HALFTONE_API DType dtypeOf(const name##Op& op);                                                          \
    HALFTONE_API const BlockFormat* formatOf(const name##Op& op);
HALFTONE_OPS(X)
#undef X

} // namespace halftone
