// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/methods/int_vs_fp/gradient_bias.h"

#include "core/device/cpu/parallel.h"
#include "core/numeric/block_format.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace halftone::int_vs_fp {

namespace {

/// Normal values of one step; each depends on its place only.
Status drawGradients(Tensor& out, const CounterRng& rng, int step)
{
    const std::int64_t cols = out.shape().cols();
    const auto values = out.values<float>();
    return cpu::forRows(out.shape().rows(), cols, 0, [&](std::int64_t row, float*) {
        for (std::int64_t c = 0; c < cols; c += 2) {
            const auto at = static_cast<std::uint64_t>(row * cols + c);
            const auto stream = static_cast<std::uint64_t>(step);
            const double u = rng.uniform(stream, at), v = rng.uniform(stream, at + 1);
            const double radius = std::sqrt(-2 * std::log(u)), angle = 2 * std::numbers::pi * v;
            values[at] = static_cast<float>(radius * std::cos(angle));
            if (c + 1 < cols) values[at + 1] = static_cast<float>(radius * std::sin(angle));
        }
    });
}

} // namespace

Result<BiasResult> gradientBias(const BiasTrial& trial, JobContext& ctx)
{
    HALFTONE_TRY(format,
                 intGridFormat(trial.bits, trial.fullRange ? GridRule::SymFull : GridRule::SymRestricted,
                               trial.block, ScaleType::BF16));
    const std::int64_t cols = std::max<std::int64_t>(trial.block, 1024 / trial.block * trial.block);
    const std::int64_t rows = std::max<std::int64_t>(1, (trial.parameters + cols - 1) / cols);
    const Shape shape{rows, cols};
    HALFTONE_TRY(gradients, makeTensor(cpuDevice(), DType::F32, shape));
    HALFTONE_TRY(decoded, makeTensor(cpuDevice(), DType::F32, shape));
    HALFTONE_TRY(packed, makePacked(cpuDevice(), *format, shape));
    HALFTONE_TRY(stream, cpuDevice().makeStream());
    BiasResult out;
    out.format = format->name();
    const CounterRng rng(trial.seed);
    const auto count = static_cast<double>(shape.count());
    double sum = 0, squares = 0;
    for (int step = 0; step < trial.steps; ++step) {
        HALFTONE_CHECK(ctx.checkpoint());
        HALFTONE_CHECK(drawGradients(gradients, rng, step));
        HALFTONE_CHECK(cpuDevice().run(QuantizeBlocksOp{gradients, packed}, *stream));
        HALFTONE_CHECK(cpuDevice().run(DequantizeBlocksOp{packed, decoded}, *stream));
        const auto x = std::as_const(gradients).values<float>();
        const auto y = std::as_const(decoded).values<float>();
        double errors = 0;
        for (std::size_t i = 0; i < x.size(); ++i) {
            const double error = static_cast<double>(y[i]) - static_cast<double>(x[i]);
            errors += error;
            squares += error * error;
        }
        sum += errors;
        out.drift.push_back(sum / count);
    }
    const double all = count * trial.steps;
    out.perStep = sum / all;
    out.standardError = std::sqrt(std::max(0.0, squares / all - out.perStep * out.perStep) / all);
    return out;
}

} // namespace halftone::int_vs_fp
