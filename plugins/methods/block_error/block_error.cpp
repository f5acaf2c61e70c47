// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/methods/block_error/block_error.h"

#include "core/base/checked.h"
#include "core/method/weight_errors.h"
#include "core/param/table.h"
#include "plugins/methods/block_error/error_tables.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <optional>

namespace halftone {

namespace {

using namespace block_error;

struct BlockErrorParams {
    std::string format = "q4_0";
    std::string detail = "block";
    std::int64_t blockSize = 0;
    std::int64_t maxCells = 65536;
};

const ParamTable<BlockErrorParams>& table()
{
    static const ParamTable<BlockErrorParams> t = [] {
        std::vector<std::string> formats{"all", "stored"};
        for (const auto* format : listedFormats())
            formats.push_back(format->name());
        ParamTable<BlockErrorParams> made;
        made.field(&BlockErrorParams::format,
                   {.key = "format",
                    .label = "Format",
                    .help = "Number format to measure, all of them, or the values as they are stored.",
                    .choices = std::move(formats)});
        made.field(&BlockErrorParams::detail,
                   {.key = "detail",
                    .label = "Detail",
                    .help =
                        "Down to weights, rows or blocks; rows and blocks of the selected weights, or of the "
                        "worst one when none is selected.",
                    .choices = {"tensor", "row", "block"}});
        made.field(&BlockErrorParams::blockSize,
                   {.key = "block-size",
                    .label = "Block size",
                    .help = "Columns of one block of the map; 0 takes the format's own.",
                    .unit = "columns",
                    .min = 0,
                    .max = 65536,
                    .level = ParamSpec::Level::Advanced,
                    .enabledBy = "detail=block"});
        made.field(&BlockErrorParams::maxCells,
                   {.key = "max-cells",
                    .label = "Largest map",
                    .help = "Blocks of larger weights are put together in cells that show their worst block.",
                    .unit = "cells",
                    .min = 256,
                    .max = 16777216,
                    .logScale = true,
                    .level = ParamSpec::Level::Advanced,
                    .enabledBy = "detail=block"});
        return made;
    }();
    return t;
}

/// Columns that share a block in the map; the values as stored have no blocks of their own.
std::int64_t blockColsOf(const BlockErrorParams& p, const BlockFormat* format, std::int64_t cols)
{
    std::int64_t block = p.blockSize;
    if (block == 0 && format != nullptr) block = format->desc().blockSize;
    if (block == 0) block = 32;
    return block < 0 ? std::max<std::int64_t>(1, cols) : std::min(block, std::max<std::int64_t>(1, cols));
}

/// The formats to measure: null stands for the values as stored.
std::vector<const BlockFormat*> formatsOf(const BlockErrorParams& p)
{
    if (p.format == "all") return listedFormats();
    if (p.format == "stored") return {nullptr};
    if (auto format = formatNamed(p.format)) return {*format};
    return {};
}

std::string_view nameOfFormat(const BlockFormat* format)
{
    return format ? std::string_view(format->name()) : "stored";
}

/// Measures one weight; the source is loaded once for all formats and levels.
class Measurement {
public:
    Measurement(const WeightSet& weights, const WeightInfo& info, JobContext& ctx)
        : m_weights(weights), m_info(info), m_ctx(ctx)
    {
    }
    Status load()
    {
        HALFTONE_TRY(source, m_weights.source(m_info, m_ctx.device, m_ctx.stop));
        m_source = asMatrix(source);
        return Ok{};
    }
    const Shape& shape() const { return m_source.shape(); }
    Status encode(const BlockFormat* format)
    {
        m_packed.reset();
        if (format == nullptr) return Ok{};
        HALFTONE_TRY(packed, makePacked(m_ctx.device, *format, m_source.shape()));
        HALFTONE_CHECK(quantizeBlocks(m_source, packed, m_ctx));
        m_packed = std::move(packed);
        return Ok{};
    }
    /// Statistics of blocks of `blockCols` columns (0: rows) of the encoded values.
    Status measure(std::int64_t blockCols, const ErrorSink& sink)
    {
        if (m_packed) return measureBlocks(m_source, *m_packed, blockCols, sink, m_ctx);
        return measureStored(blockCols, sink);
    }

private:
    /// The stored values against themselves: no error, but their range and crest factors.
    Status measureStored(std::int64_t blockCols, const ErrorSink& sink)
    {
        const std::int64_t rows = shape().rows();
        const std::int64_t cols = shape().cols();
        const std::int64_t width = blockCols == 0 ? std::max<std::int64_t>(1, cols) : blockCols;
        const std::int64_t piece = rowsPerPiece(cols);
        std::vector<ErrorStats> stats;
        for (std::int64_t begin = 0; begin < rows; begin += piece) {
            HALFTONE_CHECK(m_ctx.checkpoint());
            const std::int64_t end = std::min(rows, begin + piece);
            HALFTONE_TRY(part, m_weights.loadRows(m_info, begin, end, DType::F32, cpuDevice(), m_ctx.stop));
            const auto values = std::as_const(part).values<float>();
            stats.clear();
            for (std::int64_t r = 0; r < end - begin; ++r)
                for (std::int64_t c = 0; c < cols; c += width) {
                    const auto block = values.subspan(static_cast<std::size_t>(r * cols + c),
                                                      static_cast<std::size_t>(std::min(width, cols - c)));
                    stats.push_back(compare(block, block));
                }
            HALFTONE_CHECK(sink(begin, stats));
        }
        return Ok{};
    }

    const WeightSet& m_weights;
    const WeightInfo& m_info;
    JobContext& m_ctx;
    Tensor m_source;
    std::optional<PackedTensor> m_packed;
};

/// One run: the tables it has open and what it found so far.
class Run {
public:
    Run(const Model& model, const BlockErrorParams& params, JobContext& ctx)
        : m_model(model), m_params(params), m_ctx(ctx)
    {
    }

    Status open()
    {
        HALFTONE_TRY(tensors, m_ctx.results.table(tensorSchema()));
        m_tensors = std::move(tensors);
        for (const auto& figure : tensorFigures())
            HALFTONE_CHECK(m_ctx.results.figure(figure));
        return Ok{};
    }

    /// Tensor level in all formats; also the map when `close`.
    Status weight(std::uint32_t index, std::span<const BlockFormat* const> formats, bool close)
    {
        const auto& info = infoOf(index);
        m_ctx.progress.detail(roleOf(index).id);
        auto done = measureWeight(index, formats, close);
        if (!done) return m_model.weights()->placed(info, std::move(done).error());
        m_model.weights()->release(info);
        return m_model.weights()->intact(info);
    }

    std::optional<std::uint32_t> worst() const { return m_worst; }

    Status map(std::uint32_t index, const BlockFormat* format)
    {
        Measurement m(*m_model.weights(), infoOf(index), m_ctx);
        HALFTONE_CHECK(m.load());
        HALFTONE_CHECK(m.encode(format));
        return writeMap(index, format, m);
    }

private:
    const WeightInfo& infoOf(std::uint32_t index) const { return m_model.weights()->all()[index]; }
    const WeightRole& roleOf(std::uint32_t index) const { return m_model.roles()[index]; }

    Status measureWeight(std::uint32_t index, std::span<const BlockFormat* const> formats, bool close)
    {
        const auto& info = infoOf(index);
        Measurement m(*m_model.weights(), info, m_ctx);
        HALFTONE_CHECK(m.load());
        for (const auto* format : formats) {
            HALFTONE_CHECK(m_ctx.checkpoint());
            m_ctx.progress.advance();
            double bits = info.bitsPerWeight();
            if (format != nullptr) {
                const auto layout = format->layout(m.shape().rows(), m.shape().cols());
                if (!layout) {
                    HALFTONE_CHECK(m_ctx.results.line(LogLevel::Warning,
                                                      fmt::format("tensor {}: {} left out: {}", info.name,
                                                                  format->name(), layout.error().what())));
                    continue;
                }
                bits = 8.0 * static_cast<double>(layout->total()) /
                       static_cast<double>(std::max<std::int64_t>(1, info.count()));
            }
            auto encoded = m.encode(format);
            if (!encoded) return std::move(encoded).error().in(std::string(nameOfFormat(format)));
            ErrorStats total;
            HALFTONE_CHECK(m.measure(0, [&](std::int64_t, std::span<const ErrorStats> rows) -> Status {
                for (const auto& row : rows)
                    total.merge(row);
                return Ok{};
            }));
            HALFTONE_CHECK(
                addTensorRow(*m_tensors, roleOf(index), info.name, nameOfFormat(format), bits, total));
            if (total.normalisedMse() > m_worstNmse || !m_worst) {
                m_worst = index;
                m_worstNmse = total.normalisedMse();
            }
            if (close) HALFTONE_CHECK(writeMap(index, format, m));
        }
        return Ok{};
    }

    Status writeMap(std::uint32_t index, const BlockFormat* format, Measurement& m)
    {
        const std::string map = fmt::format("{} {}", infoOf(index).name, nameOfFormat(format));
        // The first map has the plain id, so that a figure of this name is always there.
        const std::string suffix = m_maps == 0 ? std::string() : fmt::format("_{}", m_maps + 1);
        ++m_maps;
        HALFTONE_TRY(rowTable, m_ctx.results.table(rowSchema()));
        const auto addRows = [&](std::int64_t first, std::span<const ErrorStats> rows) -> Status {
            for (std::size_t r = 0; r < rows.size(); ++r)
                HALFTONE_CHECK(addRowRow(*rowTable, map, first + static_cast<std::int64_t>(r), rows[r]));
            return Ok{};
        };
        HALFTONE_CHECK(m.measure(0, addRows));
        HALFTONE_CHECK(m_ctx.results.figure(rowFigure("row_profile" + suffix, map)));
        if (m_params.detail != "block") return Ok{};

        const std::int64_t width = blockColsOf(m_params, format, m.shape().cols());
        const std::int64_t perRow = ceilDiv(m.shape().cols(), width);
        const auto grid = cellGrid(m.shape().rows(), perRow, m_params.maxCells);
        std::vector<Cell> cells(static_cast<std::size_t>(grid.cellRows * grid.cellCols));
        HALFTONE_CHECK(m.measure(width, [&](std::int64_t first, std::span<const ErrorStats> stats) -> Status {
            for (std::size_t i = 0; i < stats.size(); ++i) {
                const std::int64_t row = first + static_cast<std::int64_t>(i) / perRow;
                const std::int64_t block = static_cast<std::int64_t>(i) % perRow;
                const std::int64_t at = row / grid.rowsPerCell * grid.cellCols + block / grid.blocksPerCell;
                cells[static_cast<std::size_t>(at)].add(stats[i], row, block);
            }
            return Ok{};
        }));
        HALFTONE_TRY(blockTable, m_ctx.results.table(blockSchema()));
        HALFTONE_CHECK(addCells(*blockTable, map, grid, cells));
        return m_ctx.results.figure(mapFigure("block_map" + suffix, map));
    }

    const Model& m_model;
    const BlockErrorParams& m_params;
    JobContext& m_ctx;
    std::shared_ptr<TableWriter> m_tensors;
    std::optional<std::uint32_t> m_worst;
    double m_worstNmse = 0;
    int m_maps = 0;
};

} // namespace

BlockErrorMethod::BlockErrorMethod()
{
    m_info.id = "block_error";
    m_info.title = "Block error";
    m_info.summary =
        "Measures what a number format loses in each weight, row and block, without any calibration.";
    m_info.reference = "Rouhani et al., Microscaling Data Formats for Deep Learning, 2023; ggml block types";
    m_info.family = MethodFamily::Analyse;
    m_info.ops = {OpId::QuantizeBlocks, OpId::BlockErrors};
}

const ParamSchema& BlockErrorMethod::schema() const { return table().schema(); }

std::vector<TableSchema> BlockErrorMethod::tables() const
{
    return {tensorSchema(), rowSchema(), blockSchema()};
}

std::vector<FigureSpec> BlockErrorMethod::figures() const
{
    auto all = tensorFigures();
    all.push_back(formatFigure());
    all.push_back(rowFigure("row_profile", {}));
    all.push_back(mapFigure("block_map", {}));
    return all;
}

Result<MethodPlan> BlockErrorMethod::plan(const MethodInput& input, const ParamList& params) const
{
    const auto p = table().bind(params);
    const auto formats = formatsOf(p);
    HALFTONE_TRY(selection, selectedWeights(*input.model, input.weights));
    MethodPlan plan;
    for (const auto index : selection) {
        const auto& info = input.model->weights()->all()[index];
        if (!info.whyOpaque.empty()) {
            plan.warnings.push_back(fmt::format("tensor {}: left out: {}", info.name, info.whyOpaque));
            continue;
        }
        const auto count = static_cast<std::uint64_t>(info.count());
        const std::uint64_t source = info.isMappable() ? info.bytes : 4 * count;
        ++plan.weights;
        plan.bytesRead += info.bytes;
        for (const auto* format : formats) {
            plan.flops += 16.0 * static_cast<double>(count);
            std::uint64_t packedBytes = 0;
            if (format != nullptr) {
                const auto layout = format->layout(info.shape.rows(), info.shape.cols());
                if (layout)
                    packedBytes = layout->total();
                else
                    plan.warnings.push_back(fmt::format("tensor {}: {} left out: {}", info.name,
                                                        format->name(), layout.error().what()));
            }
            plan.peakBytes = std::max(plan.peakBytes, source + packedBytes);
        }
    }
    if (p.format == "all" && p.detail != "tensor")
        plan.warnings.push_back("format all: choose one format to see rows and blocks");
    return plan;
}

Status BlockErrorMethod::run(const MethodInput& input, const ParamList& params, JobContext& ctx) const
{
    const auto p = table().bind(params);
    const auto formats = formatsOf(p);
    if (formats.empty())
        return Error(Errc::InvalidArgument, fmt::format("format: {} is not known", p.format));
    HALFTONE_TRY(selection, selectedWeights(*input.model, input.weights));
    const bool chosen = !input.weights.empty();
    const bool maps = p.detail != "tensor" && formats.size() == 1;
    Run run(*input.model, p, ctx);
    HALFTONE_CHECK(run.open());
    if (formats.size() > 1) HALFTONE_CHECK(ctx.results.figure(formatFigure()));
    ctx.progress.enter("Measure", static_cast<std::int64_t>(selection.size() * formats.size()));
    for (const auto index : selection) {
        HALFTONE_CHECK(ctx.checkpoint());
        const auto& info = input.model->weights()->all()[index];
        if (!info.whyOpaque.empty()) {
            HALFTONE_CHECK(ctx.results.line(
                LogLevel::Warning, fmt::format("tensor {}: left out: {}", info.name, info.whyOpaque)));
            ctx.progress.advance(static_cast<std::int64_t>(formats.size()));
            continue;
        }
        HALFTONE_CHECK(run.weight(index, formats, chosen && maps));
    }
    if (maps && !chosen && run.worst()) {
        const auto& worst = input.model->weights()->all()[*run.worst()];
        HALFTONE_CHECK(
            ctx.results.line(LogLevel::Info, fmt::format("map of the worst weight, {}", worst.name)));
        if (auto done = run.map(*run.worst(), formats.front()); !done)
            return input.model->weights()->placed(worst, std::move(done).error());
    }
    return Ok{};
}

} // namespace halftone
