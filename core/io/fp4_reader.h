// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/io/stored_weight.h"

namespace halftone {

/// Two E2M1 codes a byte, the even column in the low half, under E4M3 scales a group of 16 and a tensor
/// scale (NVFP4) or under E8M0 scales a group of 32 (MXFP4).
struct Fp4Parts {
    const TensorInfo* codes = nullptr;       ///< U8 [.., rows, cols / 2]
    const TensorInfo* scales = nullptr;      ///< F8_E4M3 [.., cols / 16], or U8 or F8_E8M0 [.., cols / 32]
    const TensorInfo* tensorScale = nullptr; ///< F32 [1]; null for MXFP4
    bool inverse = false;                    ///< the tensor scale divides (compressed-tensors)
};
Result<ReadableWeight> readFp4(const StoredGroups& groups, const Fp4Parts& parts, const Shape& shape);

} // namespace halftone
