// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/device/ops.h"

#include <cstdint>

namespace halftone::cpu {

/// Consecutive rows of floats; `importance` has one number a column, or is null.
struct BestRows {
    const float* x;
    std::int64_t rows, cols;
    const float* importance;
};

/// Encodes whole rows with the better encoder of a family. False when a scale overflows.
using BestEncoder = bool (*)(FormatDesc::Family family, const BestRows& rows, std::uint8_t* out);
/// In vectors, chosen for this machine at run time.
bool encodeBestSimd(FormatDesc::Family family, const BestRows& rows, std::uint8_t* out);
/// The same operations one part after the other: what the vectors are compared with.
bool encodeBestOneLane(FormatDesc::Family family, const BestRows& rows, std::uint8_t* out);

/// Whether the op asks for the better encoder of a format that has one.
bool wantsBest(const QuantizeBlocksOp& op);
/// Runs such an op. Rows that the encoder refuses are encoded by the reference, which says what is wrong.
Status quantizeBest(const QuantizeBlocksOp& op, BestEncoder encoder);

} // namespace halftone::cpu
