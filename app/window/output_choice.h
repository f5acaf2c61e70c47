// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/io/checkpoint.h"
#include "core/method/method.h"
#include "core/model/model.h"

#include <QString>

namespace halftone {

/// What a form starts from for this model: a GGUF file, or a checkpoint with ggml's tensor names, gets a
/// block type that its runtimes read; everything else the method's defaults. Only keys that differ.
ParamTexts startTexts(const ParamSchema& schema, const Model* model);

/// The container that can hold what these settings make of the model's weights.
Container containerFor(const QuantizeMethod& method, const ParamTexts& texts, const Model& model);

/// A file beside the source, named after the method and its format, with the suffix of the container that
/// the plan accepts for it.
QString suggestedOutput(const QString& modelPath, const QuantizeMethod& method, const ParamTexts& texts,
                        const Model& model);

} // namespace halftone
