// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/methods/int_vs_fp/rotation.h"

#include "core/base/rng.h"
#include "core/device/cpu/parallel.h"
#include "core/method/weight_errors.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <numeric>

namespace halftone::int_vs_fp {

Rotation::Rotation(std::int64_t size, std::uint64_t seed) : m_signs(static_cast<std::size_t>(size))
{
    SplitMix64 rng(seed);
    for (float& sign : m_signs)
        sign = rng.next() >> 63 != 0 ? -1.0f : 1.0f;
}

void Rotation::apply(std::span<float> row) const
{
    const std::size_t n = m_signs.size();
    const double norm = 1.0 / std::sqrt(static_cast<double>(n));
    for (std::size_t begin = 0; begin + n <= row.size(); begin += n) {
        const auto x = row.subspan(begin, n);
        for (std::size_t i = 0; i < n; ++i)
            x[i] *= m_signs[i];
        for (std::size_t step = 1; step < n; step *= 2)
            for (std::size_t pair = 0; pair < n; pair += 2 * step)
                for (std::size_t i = pair; i < pair + step; ++i) {
                    const float a = x[i], b = x[i + step];
                    x[i] = a + b;
                    x[i + step] = a - b;
                }
        for (float& v : x)
            v = static_cast<float>(static_cast<double>(v) * norm);
    }
}

std::int64_t rotationSize(std::int64_t cols, std::int64_t block)
{
    const std::int64_t common = std::gcd(cols, block); // gcd(cols, 0) is cols
    return common == 0 ? 1 : common & -common;
}

Status rotateRows(Tensor& matrix, const Rotation& rotation, const JobContext& ctx)
{
    const std::int64_t rows = matrix.shape().rows(), cols = matrix.shape().cols();
    const auto values = matrix.values<float>();
    const std::int64_t piece = rowsPerPiece(cols);
    for (std::int64_t begin = 0; begin < rows; begin += piece) {
        HALFTONE_CHECK(ctx.checkpoint());
        HALFTONE_CHECK(cpu::tryRows(
            std::min(rows, begin + piece) - begin, cols, 0, [&](std::int64_t row, float*) -> Status {
                const auto width = static_cast<std::size_t>(cols);
                const auto line = values.subspan(static_cast<std::size_t>(begin + row) * width, width);
                rotation.apply(line);
                // What is not finite before is not after, either.
                if (std::all_of(line.begin(), line.end(), [](float x) { return std::isfinite(x); }))
                    return Ok{};
                return Error(
                    Errc::Numeric,
                    fmt::format("row {} holds NaN or Inf, or its rotation overflows F32", begin + row));
            }));
    }
    return Ok{};
}

} // namespace halftone::int_vs_fp
