// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/io/checkpoint.h"

#include <cstdint>
#include <optional>
#include <string>

namespace halftone {

/// Text that says how a checkpoint's weights were quantized: its own metadata entry "quantization_config",
/// else config.json, else quantize_config.json. A single file carries the text itself, and a config.json
/// beside it may be another model's. Empty when there is none.
std::string quantConfigText(const Checkpoint& checkpoint);

/// What that text says about GPTQ, AWQ and FP8 weights. The sizes of the tensors have the last word.
struct QuantConfig {
    std::string method;                    ///< quant_method: "gptq", "awq", "fp8"; empty: there is none
    std::string format;                    ///< checkpoint_format of GPTQ, version of AWQ
    std::optional<int> bits;               ///< 2..8
    std::optional<std::int64_t> groupSize; ///< > 0, or -1: one group a row
    std::optional<bool> symmetric;
    std::int64_t blockRows = 0, blockCols = 0; ///< weight_block_size of FP8; 0: not said
    std::string why;                           ///< not empty: a member that can't be, with its value
};
QuantConfig readQuantConfig(const Checkpoint& checkpoint);

} // namespace halftone
