// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/base/result.h"
#include "core/tensor/shape.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace halftone {

/// What bitsandbytes writes as JSON into X.weight.quant_state.bitsandbytes__nf4 (or __fp4).
struct BnbState {
    std::string type = "nf4";    ///< "nf4" or "fp4"
    std::int64_t blockSize = 64; ///< elements under one absmax, over all of the weight
    std::string dtype = "bfloat16";
    Shape shape;
    std::int64_t nestedBlock = 0; ///< absmax values under one nested absmax; 0: absmax are floats
    float nestedOffset = 0;
};

/// Unsupported for what is no such JSON, and for numbers that can't be.
Result<BnbState> readBnbState(std::string_view json);
/// The JSON text, padded with blanks to `size` bytes (a text of 0 bytes asked for is as long as it needs to
/// be): the offset is known only after the size of the file.
std::string bnbStateText(const BnbState& state, std::size_t size);
/// Bytes that any state of this shape fits in.
std::size_t bnbStateSize(const BnbState& state);

} // namespace halftone
