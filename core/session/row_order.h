// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/base/result.h"
#include "core/model/model.h"

#include <cstdint>
#include <vector>

namespace halftone {

/// Where the rows of a written matrix come from: entry r is the source row that becomes output row r.
/// Empty: the same order.
using RowOrder = std::vector<std::int64_t>;

/// Which way Q and K rows move between the two namings of the Llama family.
enum class RowMove : std::uint8_t { HfToGguf, GgufToHf };

/// GGUF's "llama" architecture rotates neighbouring rows (2i, 2i+1) where Hugging Face rotates rows i
/// and i + D/2 of a head, so the converter moves row i + k D/2 of each head to 2i + k. Rows move whole,
/// so quantized blocks stay as they are. InvalidArgument when the rows don't divide into even heads.
Result<RowOrder> ropeRowOrder(std::int64_t rows, std::int64_t heads, RowMove move);

/// True for the weights and biases that the permutation concerns.
bool movesRows(const WeightRole& role);

} // namespace halftone
