// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/job/job.h"
#include "core/tensor/tensor.h"

#include <cstdint>
#include <span>
#include <vector>

namespace halftone::int_vs_fp {

/// A random rotation along the rows: signs of one stream, then an orthonormal Walsh-Hadamard transform of
/// each `size` values; all pieces have the same signs. It spreads outliers and keeps the energy.
class Rotation {
public:
    /// `size`: a power of two that divides the rows.
    Rotation(std::int64_t size, std::uint64_t seed);
    void apply(std::span<float> row) const;
    std::int64_t size() const { return static_cast<std::int64_t>(m_signs.size()); }

private:
    std::vector<float> m_signs;
};

/// The largest power of two that divides `cols`, and `block` where that is not 0.
std::int64_t rotationSize(std::int64_t cols, std::int64_t block);

/// Rotates all rows of an F32 matrix in host memory. Numeric when a value is NaN or Inf, or would become so.
Status rotateRows(Tensor& matrix, const Rotation& rotation, const JobContext& ctx);

} // namespace halftone::int_vs_fp
