// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/session/gguf_export.h"
#include "core/session/plan.h"

#include <string>
#include <vector>

namespace halftone {

/// Gives every planned output its tensors, metadata and the exact file: layout, sizes, text files.
/// `untied`: the output has a head of its own where the source's is tied.
Status layOutFile(OutputPlan& out, const Model& model, const OutputTarget& target, const OutputNaming& naming,
                  bool untied);

} // namespace halftone
