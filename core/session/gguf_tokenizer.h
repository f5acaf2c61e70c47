// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/base/export.h"
#include "core/base/result.h"
#include "core/io/writer.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace halftone {

/// tokenizer.ggml.* of the tokenizer.json beside a safetensors checkpoint (byte-level BPE). Another kind of
/// tokenizer, or none, gives no entries and a warning: runtimes will need the tokenizer. `rows` is the
/// number of embedding rows: missing tokens are padded (told), more tokens are InvalidArgument.
Result<std::vector<OutputMeta>> ggufTokenizer(const Checkpoint& source, std::int64_t rows,
                                              std::vector<std::string>& warnings);

/// What ggufTokenizer reads, from the texts themselves. `config` is config.json and `tokenizerConfig`
/// tokenizer_config.json; both may be empty. Never throws.
HALFTONE_API Result<std::vector<OutputMeta>>
ggufTokenizerOf(std::string_view tokenizer, std::string_view config, std::string_view tokenizerConfig,
                std::int64_t rows, std::vector<std::string>& warnings);

} // namespace halftone
