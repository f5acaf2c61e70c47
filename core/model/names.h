// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/base/export.h"

#include <optional>
#include <string>
#include <string_view>

namespace halftone {

/// The GGUF name of a stable id: "layers.3.attn.q" gives "blk.3.attn_q.weight", "layers.3.attn.q.bias"
/// gives "blk.3.attn_q.bias". Nothing when GGUF has no such tensor.
HALFTONE_API std::optional<std::string> ggufNameOfId(std::string_view id);

/// The Hugging Face name (Llama, Qwen, Mistral naming, with the prefix "model.") of a stable id:
/// "layers.3.ffn.down" gives "model.layers.3.mlp.down_proj.weight". Nothing when that naming has none.
HALFTONE_API std::optional<std::string> hfNameOfId(std::string_view id);

} // namespace halftone
