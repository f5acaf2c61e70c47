// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/base/result.h"
#include "core/io/writer.h"
#include "core/model/model.h"
#include "core/session/row_order.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace halftone {

/// How the weights of a checkpoint are called in the output, and what else the output needs.
struct OutputNaming {
    std::string architecture;       ///< GGUF's general.architecture; "unknown" when runtimes won't load it
    std::vector<std::string> names; ///< one a weight; empty: left out of the output
    std::vector<std::int64_t> movedHeads; ///< heads whose rows move (ropeRowOrder), one a weight; 0: none
    RowMove move = RowMove::HfToGguf;
    std::vector<float> ropeFactors; ///< Llama 3's frequency divisors, written as rope_freqs; empty: none
    std::vector<std::string> warnings;
};

/// Names for a GGUF of a safetensors checkpoint: mapped for the Llama and Qwen families, kept otherwise
/// (with a warning). InvalidArgument when the head counts don't fit the weights.
Result<OutputNaming> nameForGguf(const Model& model);
/// Names for a safetensors of a GGUF: Hugging Face names for the same families, with the rows of Q and K
/// moved back; kept otherwise.
Result<OutputNaming> nameForSafetensors(const Model& model);
/// Same container: nothing changes.
OutputNaming sameNames(const Model& model);

/// What a new file says about its weights.
struct GgufFacts {
    std::uint32_t fileType = 0; ///< general.file_type
    bool quantized = false;
};
/// Metadata of a GGUF made from a safetensors checkpoint: architecture, sizes, tokenizer. Warnings are
/// added to `warnings`.
Result<std::vector<OutputMeta>> ggufMetadata(const Model& model, const OutputNaming& naming, GgufFacts facts,
                                             std::vector<std::string>& warnings);
/// Metadata of a GGUF made from a GGUF: all of it but the split keys, with the file type renewed.
std::vector<OutputMeta> copiedGgufMetadata(const Checkpoint& source, GgufFacts facts);

/// config.json for a GGUF of the Llama or Qwen families written as a folder; empty for others.
std::string configJsonOfGguf(const Model& model, const OutputNaming& naming);

/// Llama 3's divisors of the rotary frequencies, one a pair, from config.json's rope_scaling; empty when
/// there is no such scaling. theta_i = base^(-2i/D); wavelengths below original/high stay, above
/// original/low are divided by the factor, between them smoothly.
HALFTONE_API std::vector<float> llama3RopeFactors(std::string_view configJson, double base,
                                                  std::int64_t headDim);

} // namespace halftone
