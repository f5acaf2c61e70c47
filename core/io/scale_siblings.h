// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/io/checkpoint.h"

#include <string>

namespace halftone {

/// The tensor that holds the scales of a tensor called <module>.weight, under one of the names that other
/// programs use; null when there is none. Without them values would be read thousands of times too large.
const TensorInfo* scaleSibling(const Checkpoint& checkpoint, const TensorInfo& weight);

/// What a person should know about a tensor that stands alone: 8-bit floats with no scale beside them, with
/// the names that were looked for. Empty for all others.
std::string noteOnScales(const Checkpoint& checkpoint, const TensorInfo& weight);

} // namespace halftone
