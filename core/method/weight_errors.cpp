// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/method/weight_errors.h"

#include "core/method/method.h"
#include "core/method/weight_columns.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>

namespace halftone {

namespace {

// About 20 ms of work on one core, far below the 100 ms in which a cancel must be heard, when a weight takes
// kPieceFlops.
constexpr std::int64_t kPieceElements = std::int64_t{1} << 22;
constexpr double kPieceFlops = 7;

} // namespace

TableSchema weightTableSchema()
{
    using Type = Column::Type;
    return {"weights", "Cost and error of each weight.",
            joinColumns({weightColumns(),
                         {{"format", Type::Name, "", "Format it was written in."},
                          {"elements", Type::Integer, "", "Number of values."},
                          {"bytes_before", Type::Integer, "B", "Bytes in the source."},
                          {"bytes_after", Type::Integer, "B", "Bytes in the output, with scales."},
                          {"bits_per_weight", Type::Real, "bit", "8 bytes_after / elements."}},
                         errorColumns()})};
}

std::vector<FigureSpec> weightFigures()
{
    const Trace byWeight{.label = "SQNR",
                         .table = "weights",
                         .x = "name",
                         .y = "sqnr_db",
                         .text = "name",
                         .mark = Trace::Mark::Bars};
    Trace points = byWeight;
    points.x = "crest_factor";
    points.mark = Trace::Mark::Points;
    return {{.id = "weight_sqnr",
             .title = "Signal to noise by weight",
             .kind = "bars",
             .x = {"Weight"},
             .y = {"SQNR", "dB"},
             .traces = {byWeight},
             .caption = "Signal to quantization noise ratio of each weight; higher is better."},
            {.id = "weight_crest",
             .title = "Crest factor against error",
             .kind = "scatter",
             .x = {.label = "Crest factor", .log = true},
             .y = {"SQNR", "dB"},
             .traces = {points},
             .caption = "Weights with a few large values (right) lose more in uniform grids."}};
}

Result<WeightErrorTable> WeightErrorTable::open(ResultWriter& results)
{
    HALFTONE_TRY(table, results.table(weightTableSchema()));
    for (const auto& figure : weightFigures())
        HALFTONE_CHECK(results.figure(figure));
    return WeightErrorTable(std::move(table));
}

Status WeightErrorTable::add(const WeightRole& role, const WeightErrorRow& row)
{
    const auto count = static_cast<double>(row.elements), bytes = static_cast<double>(row.bytesAfter);
    return TableRow(*m_table)
        .weight(row.name, role)
        .name(row.format)
        .number(row.elements)
        .number(static_cast<double>(row.bytesBefore))
        .number(bytes)
        .number(row.elements == 0 ? 0 : 8.0 * bytes / count)
        .errors(row.stats)
        .append();
}

Tensor asMatrix(const Tensor& tensor)
{
    const auto& shape = tensor.shape();
    return Tensor(tensor.storage(), tensor.dtype(), Shape{shape.rows(), shape.cols()}, tensor.byteOffset());
}

Result<PackedTensor> packedRows(const PackedTensor& packed, std::int64_t begin, std::int64_t end)
{
    const std::int64_t rows = packed.logical.rows();
    if (begin < 0 || begin > end || end > rows)
        return Error(Errc::Internal,
                     fmt::format("rows {}..{} of a packed matrix of {} rows", begin, end, rows));
    return rowsOf(packed, begin, end);
}

std::int64_t rowsPerPiece(std::int64_t cols)
{
    return std::max<std::int64_t>(1, kPieceElements / std::max<std::int64_t>(1, cols));
}

Status quantizeBlocks(const Tensor& matrix, PackedTensor& packed, JobContext& ctx, EncodeOptions options)
{
    const std::int64_t rows = matrix.shape().rows();
    const auto cols = static_cast<std::size_t>(matrix.shape().cols());
    const auto values = options.importance;
    const std::size_t sets = cols == 0 || values.size() < cols ? 1 : values.size() / cols;
    if (!values.empty() && (values.size() != sets * cols || static_cast<std::size_t>(rows) % sets != 0))
        return Error(Errc::InvalidArgument, fmt::format("importance of {} columns for a matrix of {} x {}",
                                                        values.size(), rows, cols));
    const std::int64_t setRows = rows / static_cast<std::int64_t>(sets);
    // Rows are independent of each other unless they share something.
    const bool shared = packed.format->desc().needsWholeTensor();
    // Searched formats take as much time for fewer rows.
    const double slowdown = std::max(1.0, packed.format->encodeFlops(options.encoder) / kPieceFlops);
    const auto searched =
        static_cast<std::int64_t>(static_cast<double>(rowsPerPiece(matrix.shape().cols())) / slowdown);
    const std::int64_t piece = shared ? rows : std::max<std::int64_t>(1, searched);
    std::int64_t end = 0;
    for (std::int64_t begin = 0; begin < rows; begin = end) {
        HALFTONE_CHECK(ctx.checkpoint());
        end = std::min(rows, begin + piece);
        if (!values.empty()) {
            const std::int64_t set = begin / setRows;
            end = std::min(end, (set + 1) * setRows);
            options.importance = values.subspan(static_cast<std::size_t>(set) * cols, cols);
        }
        HALFTONE_TRY(part, packedRows(packed, begin, end));
        const Tensor in = matrix.rows(begin, end);
        if (auto done = ctx.device.run(QuantizeBlocksOp{in, part, options}, ctx.stream); !done) {
            // The device counts rows from the start of the piece.
            if (begin == 0) return done;
            return std::move(done).error().in(fmt::format("rows from {}", begin));
        }
    }
    return Ok{};
}

Status measureBlocks(const Tensor& original, const PackedTensor& packed, std::int64_t blockCols,
                     const ErrorSink& sink, JobContext& ctx)
{
    const Tensor matrix = asMatrix(original);
    const std::int64_t rows = matrix.shape().rows();
    const std::int64_t piece = rowsPerPiece(matrix.shape().cols());
    std::vector<ErrorStats> stats;
    for (std::int64_t begin = 0; begin < rows; begin += piece) {
        HALFTONE_CHECK(ctx.checkpoint());
        const std::int64_t end = std::min(rows, begin + piece);
        HALFTONE_TRY(part, packedRows(packed, begin, end));
        const Tensor in = matrix.rows(begin, end);
        HALFTONE_CHECK(ctx.device.run(BlockErrorsOp{in, part, blockCols, stats}, ctx.stream));
        HALFTONE_CHECK(ctx.device.synchronize(ctx.stream));
        HALFTONE_CHECK(sink(begin, stats));
    }
    return Ok{};
}

Result<ErrorStats> measurePacked(const Tensor& original, const PackedTensor& packed, JobContext& ctx)
{
    ErrorStats total;
    // In row order, so that the sums do not depend on the number of threads.
    const auto add = [&](std::int64_t, std::span<const ErrorStats> rows) -> Status {
        for (const auto& row : rows)
            total.merge(row);
        return Ok{};
    };
    HALFTONE_CHECK(measureBlocks(original, packed, 0, add, ctx));
    return total;
}

Result<QuantizedWeight> quantizeAndMeasure(const QuantizeMethod& method, const Tensor& source,
                                           const BlockFormat& format, const ParamList& params,
                                           std::span<const float> importance, JobContext& ctx)
{
    const Tensor matrix = asMatrix(source);
    HALFTONE_TRY(packed, makePacked(ctx.device, format, matrix.shape()));
    HALFTONE_CHECK(method.quantize(matrix, packed, params, importance, ctx));
    HALFTONE_CHECK(ctx.device.synchronize(ctx.stream));
    HALFTONE_TRY(stats, measurePacked(matrix, packed, ctx));
    return QuantizedWeight{std::move(packed), stats};
}

std::vector<std::uint32_t> defaultWeights(const Model& model)
{
    const auto all = model.weights()->all();
    std::vector<std::uint32_t> linear, matrices;
    for (const auto& role : model.roles()) {
        const auto& info = all[role.weight];
        if (!info.isDecodable() || info.shape.rank() < 2 || info.count() == 0) continue;
        matrices.push_back(role.weight);
        if (role.linear && !role.bias) linear.push_back(role.weight);
    }
    return linear.empty() ? matrices : linear;
}

Result<std::vector<std::uint32_t>> selectedWeights(const Model& model,
                                                   const std::vector<std::uint32_t>& selection)
{
    if (selection.empty()) return defaultWeights(model);
    const auto count = model.weights()->all().size();
    for (const auto index : selection)
        if (index >= count)
            return Error(Errc::InvalidArgument,
                         fmt::format("weight {} does not exist: the model has {}", index, count));
    return selection;
}

} // namespace halftone
