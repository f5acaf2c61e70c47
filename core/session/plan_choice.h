// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/io/checkpoint.h"
#include "core/io/weight_layout.h"
#include "core/method/method.h"
#include "core/model/model.h"
#include "core/session/quantize.h"
#include "core/session/recipe.h"

#include <optional>
#include <string>
#include <vector>

namespace halftone {

/// What the recipe says about one weight.
struct WeightChoice {
    const BlockFormat* format = nullptr;  ///< set: it is quantized
    const WeightLayout* layout = nullptr; ///< how safetensors hold it
    ParamList params;
    std::optional<Substitution> substitution; ///< it was chosen, but can't take the format
};

/// One choice a weight. InvalidArgument for patterns that match nothing, formats the container can't
/// hold, a tied head; Unsupported for weights that are quantized already.
Result<std::vector<WeightChoice>> chooseWeights(const Model& model, const QuantizeMethod& method,
                                                const QuantizeRecipe& recipe, Container container,
                                                std::vector<std::string>& warnings);
/// The choice for a head made by untying; `role` is the new head's, over the embedding's weight.
Result<WeightChoice> chooseHead(const Model& model, const WeightRole& role, const QuantizeMethod& method,
                                const QuantizeRecipe& recipe, Container container);

/// How a weight that is not quantized gets into the output.
struct KeptAs {
    std::optional<DType> convertTo; ///< nothing: its bytes are copied
    std::string note;               ///< what a person should know; may be empty
};
/// InvalidArgument when the container can't hold the type, naming the tensor and the remedy.
Result<KeptAs> keepAs(const WeightInfo& info, Container from, Container to, std::optional<DType> wanted);

} // namespace halftone
