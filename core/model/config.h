// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/io/checkpoint.h"
#include "core/model/model.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace halftone {

/// What a checkpoint says about its architecture, and whether it says anything about the tie.
struct ConfigReading {
    ModelConfig config;
    std::optional<bool> tieFlag; ///< config.json's tie_word_embeddings; absent when it is silent
    std::vector<std::string> notes;
};

/// From the text of a config.json: nested text_config, null or missing head_dim, GPT-2's and BERT's own
/// field names, the newer dtype and rope_parameters. Any text is accepted: what can't be read stays 0
/// and is noted. Never throws.
HALFTONE_API ConfigReading configFromJson(std::string_view json);

/// From GGUF's general.architecture and {arch}.* keys; per-layer arrays give their largest entry.
HALFTONE_API ConfigReading configFromGguf(const Checkpoint& checkpoint);

} // namespace halftone
