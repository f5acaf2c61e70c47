// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/methods/block_error/error_tables.h"

#include "core/base/checked.h"
#include "core/method/weight_columns.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace halftone::block_error {

namespace {

using Type = Column::Type;

/// Of a cell: it shows the worst of its blocks, and has no noise over signal of its own.
void addCellColumns(TableSchema& schema)
{
    schema.columns.push_back({"mse", Type::Real, "", "Mean square error of the worst block."});
    schema.columns.push_back(
        {"sqnr_db", Type::Real, "dB", "The smallest signal to quantization noise ratio of a block."});
    schema.columns.push_back({"max_error", Type::Real, "", "Largest absolute error."});
    schema.columns.push_back(
        {"crest_factor", Type::Real, "", "Largest absolute value over the root mean square."});
    schema.columns.push_back({"clipped", Type::Integer, "", "Values beyond the ends of the grid."});
    schema.columns.push_back({"underflowed", Type::Integer, "", "Values other than 0 that read back as 0."});
}

/// The rows of one map, or of all.
Trace mapTrace(Trace trace, std::string_view map)
{
    trace.label = map;
    if (!map.empty()) trace.where = "map";
    trace.is = map;
    return trace;
}

std::string titleOf(const std::string& what, std::string_view map)
{
    return map.empty() ? what : what + " of " + std::string(map);
}

} // namespace

TableSchema tensorSchema()
{
    return {"tensor_error", "Error of each weight in each format.",
            joinColumns({weightColumns(),
                         {{"format", Type::Name, "", "Number format, or \"stored\"."},
                          {"elements", Type::Integer, "", "Number of values."},
                          {"bits_per_weight", Type::Real, "bit", "Bits a value, with scales."}},
                         errorColumns()})};
}

TableSchema rowSchema()
{
    return {"row_error", "Error of each row of the weights that were looked at closely.",
            joinColumns({{{"map", Type::Name, "", "Weight and format."},
                          {"row", Type::Integer, "", "Row: an output channel."}},
                         errorColumns()})};
}

TableSchema blockSchema()
{
    TableSchema s{"block_error",
                  "Error of each block, or of the worst block in each cell of a large weight.",
                  {{"map", Type::Name, "", "Weight and format."},
                   {"row", Type::Integer, "", "First row of the cell."},
                   {"block", Type::Integer, "", "First block of the cell along the row."},
                   {"rows", Type::Integer, "", "Rows in the cell."},
                   {"blocks", Type::Integer, "", "Blocks along a row in the cell."},
                   {"worst_row", Type::Integer, "", "Row of the worst block in the cell."},
                   {"worst_block", Type::Integer, "", "Place of the worst block along its row."}}};
    addCellColumns(s);
    return s;
}

std::vector<FigureSpec> tensorFigures()
{
    const Trace byName{.label = "SQNR",
                       .table = "tensor_error",
                       .x = "name",
                       .y = "sqnr_db",
                       .text = "name",
                       .mark = Trace::Mark::Bars};
    Trace byCrest = byName;
    byCrest.x = "crest_factor";
    byCrest.mark = Trace::Mark::Points;
    return {{.id = "error_by_tensor",
             .title = "Error by weight",
             .kind = "bars",
             .x = {"Weight"},
             .y = {"SQNR", "dB"},
             .traces = {byName},
             .caption = "Signal to quantization noise ratio of each weight; higher is better."},
            {.id = "crest_scatter",
             .title = "Outliers and error",
             .kind = "scatter",
             .x = {.label = "Crest factor", .log = true},
             .y = {"SQNR", "dB"},
             .traces = {byCrest},
             .caption = "Weights with a few large values (right) lose more in uniform grids."}};
}

FigureSpec formatFigure()
{
    return {.id = "format_scatter",
            .title = "Formats",
            .kind = "scatter",
            .x = {"Bits per weight", "bit"},
            .y = {"SQNR", "dB"},
            .traces = {{.label = "Weight in a format",
                        .table = "tensor_error",
                        .x = "bits_per_weight",
                        .y = "sqnr_db",
                        .text = "format",
                        .mark = Trace::Mark::Points}},
            .caption = "Every weight in every format: what a bit buys."};
}

FigureSpec mapFigure(std::string_view id, std::string_view map)
{
    return {
        .id = std::string(id),
        .title = titleOf("Block error", map),
        .kind = "heatmap",
        .x = {"Block"},
        .y = {"Row"},
        .z = {.label = "Mean square error", .log = true},
        .traces = {mapTrace(
            {.table = "block_error", .x = "block", .y = "row", .z = "mse", .mark = Trace::Mark::Cells}, map)},
        .caption = "Mean square error of each block; a cell of several blocks shows the worst of them."};
}

FigureSpec rowFigure(std::string_view id, std::string_view map)
{
    return {
        .id = std::string(id),
        .title = titleOf("Error by row", map),
        .kind = "curve",
        .x = {"Row"},
        .y = {.label = "Mean square error", .log = true},
        .traces = {mapTrace({.table = "row_error", .x = "row", .y = "mse", .mark = Trace::Mark::Line}, map)},
        .caption = "Mean square error of each output channel."};
}

CellGrid cellGrid(std::int64_t rows, std::int64_t blocks, std::int64_t maxCells)
{
    CellGrid g;
    g.rows = rows;
    g.blocks = blocks;
    if (rows > 0 && blocks > 0) {
        // Equal shrinking on both axes, then whatever is left over on the blocks.
        const double shrink = std::sqrt(static_cast<double>(rows) * static_cast<double>(blocks) /
                                        static_cast<double>(maxCells));
        if (shrink > 1) {
            g.rowsPerCell =
                std::clamp(static_cast<std::int64_t>(std::ceil(shrink)), ceilDiv(rows, maxCells), rows);
            const auto across = std::max<std::int64_t>(1, maxCells / ceilDiv(rows, g.rowsPerCell));
            g.blocksPerCell = ceilDiv(blocks, across);
        }
    }
    g.cellRows = ceilDiv(rows, g.rowsPerCell);
    g.cellCols = ceilDiv(blocks, g.blocksPerCell);
    return g;
}

void Cell::add(const ErrorStats& stats, std::int64_t row, std::int64_t block)
{
    const double blockSqnr = stats.sqnr();
    if (mse < 0) sqnr = std::numeric_limits<double>::quiet_NaN();
    if (stats.mse() > mse) {
        mse = stats.mse();
        worstRow = row;
        worstBlock = block;
    }
    // A block of zeros has no ratio; it must not hide its neighbours'.
    if (!std::isnan(blockSqnr) && !(sqnr <= blockSqnr)) sqnr = blockSqnr;
    maxError = std::max(maxError, stats.maxError);
    crest = std::max(crest, stats.crestFactor());
    clipped += stats.clipped;
    underflowed += stats.underflowed;
}

Status addTensorRow(TableWriter& table, const WeightRole& role, std::string_view name,
                    std::string_view format, double bitsPerWeight, const ErrorStats& s)
{
    return TableRow(table)
        .weight(name, role)
        .name(format)
        .number(s.count)
        .number(bitsPerWeight)
        .errors(s)
        .append();
}

Status addRowRow(TableWriter& table, std::string_view map, std::int64_t row, const ErrorStats& s)
{
    return TableRow(table).name(map).number(row).errors(s).append();
}

Status addCells(TableWriter& table, std::string_view map, const CellGrid& grid,
                const std::vector<Cell>& cells)
{
    const double mapId = table.nameId(0, map);
    for (std::int64_t r = 0; r < grid.cellRows; ++r)
        for (std::int64_t c = 0; c < grid.cellCols; ++c) {
            const auto& cell = cells[static_cast<std::size_t>(r * grid.cellCols + c)];
            const std::int64_t row = r * grid.rowsPerCell;
            const std::int64_t block = c * grid.blocksPerCell;
            const std::array values{mapId,
                                    static_cast<double>(row),
                                    static_cast<double>(block),
                                    static_cast<double>(std::min(grid.rowsPerCell, grid.rows - row)),
                                    static_cast<double>(std::min(grid.blocksPerCell, grid.blocks - block)),
                                    static_cast<double>(cell.worstRow),
                                    static_cast<double>(cell.worstBlock),
                                    cell.mse,
                                    cell.sqnr,
                                    cell.maxError,
                                    cell.crest,
                                    static_cast<double>(cell.clipped),
                                    static_cast<double>(cell.underflowed)};
            HALFTONE_CHECK(table.append(values));
        }
    return Ok{};
}

} // namespace halftone::block_error
