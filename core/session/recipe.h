// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/method/method.h"
#include "core/numeric/dtype.h"
#include "core/param/schema.h"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace halftone {

/// Other parameters of the method for some weights: "glob:key=value,key=value".
struct Override {
    std::string glob; ///< over names and ids
    ParamList values; ///< parsed, keys of the method's schema
};

/// What a person asked for, besides the method's own parameters: quantizeSchema() as a struct.
struct QuantizeRecipe {
    std::vector<std::string> tensors, skip; ///< globs over names and ids; empty tensors: the default
    bool quantizeEmbedding = false, quantizeHead = false, untie = false, requantize = false;
    enum class Fallback : std::uint8_t { Keep, Error, F16 } fallback = Fallback::Keep;
    bool shortGroups = false;        ///< a last group may be short
    std::optional<DType> keptDType;  ///< nothing: as in the source
    std::string layout = "auto";     ///< of quantized weights in safetensors: weightLayoutChoices()
    std::vector<Override> overrides; ///< later ones win
    ParamList methodParams;          ///< of the method alone
};

/// Reads the recipe out of a complete list. InvalidArgument for an override that can't be read, naming
/// the entry, the key and what is allowed.
Result<QuantizeRecipe> readRecipe(const ParamList& params, const ParamSchema& methodSchema);

/// Globs of one text, separated by blanks or commas.
std::vector<std::string> splitGlobs(std::string_view text);
/// True when one of the globs matches the name or the id.
bool matchesAny(const std::vector<std::string>& globs, std::string_view name, std::string_view id);

/// The method's parameters for one weight, overrides applied; `used[i]` is set for each that applies.
ParamList paramsFor(const QuantizeRecipe& recipe, std::string_view name, std::string_view id,
                    std::vector<bool>& used);

} // namespace halftone
