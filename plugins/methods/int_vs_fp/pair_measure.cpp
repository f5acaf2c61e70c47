// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/methods/int_vs_fp/pair_measure.h"

#include "core/base/checked.h"
#include "core/device/cpu/parallel.h"
#include "core/method/weight_errors.h"
#include "plugins/methods/int_vs_fp/rotation.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

namespace halftone::int_vs_fp {

namespace {

/// The matrix where ctx.device can read it.
Result<Tensor> onDevice(const Tensor& matrix, JobContext& ctx)
{
    if (&ctx.device == &matrix.device()) return matrix;
    HALFTONE_TRY(there, makeTensor(ctx.device, matrix.dtype(), matrix.shape()));
    HALFTONE_CHECK(ctx.device.run(CopyOp{matrix, there}, ctx.stream));
    return std::move(there);
}

/// Encodes the matrix and hands over the statistics of its blocks, row-major.
Status forBlocks(const Tensor& matrix, const BlockFormat& format, std::int64_t blockCols,
                 const std::function<void(const ErrorStats&)>& take, JobContext& ctx)
{
    HALFTONE_TRY(packed, makePacked(ctx.device, format, matrix.shape()));
    HALFTONE_CHECK(quantizeBlocks(matrix, packed, ctx));
    return measureBlocks(
        matrix, packed, blockCols,
        [&](std::int64_t, std::span<const ErrorStats> stats) -> Status {
            for (const ErrorStats& block : stats)
                take(block);
            return Ok{};
        },
        ctx);
}

Tensor turned(const Tensor& in, Tensor out)
{
    const auto from = in.values<float>();
    const auto to = out.values<float>();
    const auto rows = static_cast<std::size_t>(in.shape().rows());
    const auto cols = static_cast<std::size_t>(in.shape().cols());
    for (std::size_t r = 0; r < rows; ++r)
        for (std::size_t c = 0; c < cols; ++c)
            to[c * rows + r] = from[r * cols + c];
    return out;
}

/// `take` rows of a matrix in host memory, evenly spread.
Result<Tensor> someRows(const Tensor& all, std::int64_t take)
{
    const std::int64_t rows = all.shape().rows(), cols = all.shape().cols();
    if (take == rows) return all;
    HALFTONE_TRY(out, makeTensor(cpuDevice(), DType::F32, Shape{take, cols}));
    const auto from = all.values<float>();
    const auto to = out.values<float>();
    const auto width = static_cast<std::size_t>(cols);
    for (std::int64_t r = 0; r < take; ++r)
        std::copy_n(from.begin() + (r * rows / take) * cols, width, to.begin() + r * cols);
    return std::move(out);
}

} // namespace

std::int64_t sampledRows(std::int64_t all, std::int64_t rows)
{
    return rows == 0 ? all : std::min(all, rows);
}

Result<OperandRows> OperandRows::load(const WeightSet& weights, const WeightInfo& info,
                                      const WeightRole& role, std::int64_t rows, const JobContext& ctx)
{
    OperandRows out;
    const std::int64_t stored = info.shape.rows(), cols = info.shape.cols();
    const std::int64_t take = sampledRows(stored, rows);
    if (role.transposed || take == stored) {
        HALFTONE_TRY(all, weights.loadRows(info, 0, stored, DType::F32, cpuDevice(), ctx.stop));
        out.m_values = asMatrix(all);
        if (role.transposed) {
            HALFTONE_TRY(room, makeTensor(cpuDevice(), DType::F32, Shape{cols, stored}));
            HALFTONE_TRY(some, someRows(turned(out.m_values, room), sampledRows(cols, rows)));
            out.m_values = some;
        }
        return out;
    }
    HALFTONE_TRY(values, makeTensor(cpuDevice(), DType::F32, Shape{take, cols}));
    const auto to = values.values<float>();
    for (std::int64_t r = 0; r < take; ++r) {
        if (r % 64 == 0) HALFTONE_CHECK(ctx.checkpoint());
        const std::int64_t row = r * stored / take;
        HALFTONE_TRY(one, weights.loadRows(info, row, row + 1, DType::F32, cpuDevice(), ctx.stop));
        const auto from = std::as_const(one).values<float>();
        std::copy(from.begin(), from.end(), to.begin() + r * cols);
    }
    out.m_values = values;
    return out;
}

Result<Tensor> OperandRows::rotated(std::int64_t size, const JobContext& ctx)
{
    if (m_rotatedBy == size) return m_rotated;
    HALFTONE_TRY(copy, makeTensor(cpuDevice(), DType::F32, m_values.shape()));
    const auto from = std::as_const(m_values).values<float>();
    std::copy(from.begin(), from.end(), copy.values<float>().begin());
    HALFTONE_CHECK(rotateRows(copy, Rotation(size, ctx.rng.seed()), ctx));
    m_rotated = copy;
    m_rotatedBy = size;
    return m_rotated;
}

double PairLoss::winShare() const
{
    const std::int64_t blocks = crest.count;
    if (blocks == 0) return std::numeric_limits<double>::quiet_NaN();
    return (static_cast<double>(integerWins) + static_cast<double>(ties) / 2) / static_cast<double>(blocks);
}

Result<PairLoss> measurePair(const Tensor& matrix, const PairFormats& formats, JobContext& ctx)
{
    HALFTONE_TRY(source, onDevice(matrix, ctx));
    PairLoss loss;
    std::vector<double> crest, ratios, noise;
    const std::int64_t block = formats.integer->desc().blockSize;
    HALFTONE_CHECK(forBlocks(
        source, *formats.integer, block,
        [&](const ErrorStats& b) {
            loss.integer.total.merge(b);
            if (b.signal == 0) {
                ++loss.zeroBlocks;
                return;
            }
            crest.push_back(b.crestFactor());
            ratios.push_back(b.sqnr());
            noise.push_back(b.noise);
        },
        ctx));
    loss.crest = spreadOf(crest);
    loss.integer.blocks = spreadOf(ratios);
    ratios.clear();
    HALFTONE_CHECK(forBlocks(
        source, *formats.floating, block,
        [&](const ErrorStats& b) {
            loss.floating.total.merge(b);
            if (b.signal == 0) return;
            const double other = noise[ratios.size()];
            loss.integerWins += other < b.noise ? 1 : 0;
            loss.ties += other == b.noise ? 1 : 0;
            ratios.push_back(b.sqnr());
        },
        ctx));
    loss.floating.blocks = spreadOf(ratios);
    return loss;
}

Result<ErrorStats> measureFormat(const Tensor& matrix, const BlockFormat& format, JobContext& ctx)
{
    HALFTONE_TRY(source, onDevice(matrix, ctx));
    ErrorStats total;
    HALFTONE_CHECK(forBlocks(
        source, format, 0, [&](const ErrorStats& row) { total.merge(row); }, ctx));
    return total;
}

Result<std::vector<double>> crestFactors(const Tensor& matrix, std::int64_t block, const JobContext& ctx)
{
    const std::int64_t rows = matrix.shape().rows(), cols = matrix.shape().cols();
    if (rows == 0 || cols == 0) return std::vector<double>();
    const std::int64_t width = block > 0 ? std::min(block, cols) : cols;
    const std::int64_t perRow = ceilDiv(cols, width);
    std::vector<double> found(static_cast<std::size_t>(rows * perRow));
    const auto values = std::as_const(matrix).values<float>();
    const std::int64_t piece = rowsPerPiece(cols);
    for (std::int64_t begin = 0; begin < rows; begin += piece) {
        HALFTONE_CHECK(ctx.checkpoint());
        HALFTONE_CHECK(
            cpu::forRows(std::min(rows, begin + piece) - begin, cols, 0, [&](std::int64_t row, float*) {
                for (std::int64_t b = 0; b < perRow; ++b) {
                    const auto first = static_cast<std::size_t>((begin + row) * cols + b * width);
                    const auto part =
                        values.subspan(first, static_cast<std::size_t>(std::min(width, cols - b * width)));
                    found[static_cast<std::size_t>((begin + row) * perRow + b)] =
                        compare(part, part).crestFactor();
                }
            }));
    }
    // A block of zeros has the crest factor 0 here: it has none.
    std::erase(found, 0.0);
    return found;
}

} // namespace halftone::int_vs_fp
