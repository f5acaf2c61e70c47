// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/methods/block_error/error_tables.h"

#include "core/base/checked.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace halftone::block_error {

namespace {

using Type = Column::Type;

void addErrorColumns(TableSchema& schema)
{
    schema.columns.push_back({"mse", Type::Real, "", "Mean square error; in a cell, of its worst block."});
    schema.columns.push_back(
        {"sqnr_db", Type::Real, "dB", "Signal to quantization noise ratio; in a cell, the smallest."});
    schema.columns.push_back({"max_error", Type::Real, "", "Largest absolute error."});
    schema.columns.push_back(
        {"crest_factor", Type::Real, "", "Largest absolute value over the root mean square."});
    schema.columns.push_back({"clipped", Type::Integer, "", "Values beyond the ends of the grid."});
    schema.columns.push_back({"underflowed", Type::Integer, "", "Values other than 0 that read back as 0."});
}

Trace traceOf(std::string_view table, std::string_view x, std::string_view y, Trace::Mark mark)
{
    Trace t;
    t.table = table;
    t.x = x;
    t.y = y;
    t.mark = mark;
    return t;
}

FigureSpec figureOf(std::string_view id, std::string_view title, std::string_view kind, Axis x, Axis y)
{
    FigureSpec f;
    f.id = id;
    f.title = title;
    f.kind = kind;
    f.x = std::move(x);
    f.y = std::move(y);
    return f;
}

} // namespace

TableSchema tensorSchema()
{
    TableSchema s{"tensor_error",
                  "Error of each weight in each format.",
                  {{"name", Type::Name, "", "Name of the weight."},
                   {"id", Type::Name, "", "Stable id."},
                   {"layer", Type::Integer, "", "Layer, or -1."},
                   {"class", Type::Name, "", "Class of its role in the network."},
                   {"format", Type::Name, "", "Number format, or \"stored\"."},
                   {"elements", Type::Integer, "", "Number of values."},
                   {"bits_per_weight", Type::Real, "bit", "Bits a value, with scales."},
                   {"nmse", Type::Real, "", "Noise over signal."}}};
    addErrorColumns(s);
    return s;
}

TableSchema rowSchema()
{
    TableSchema s{"row_error",
                  "Error of each row of the weights that were looked at closely.",
                  {{"map", Type::Name, "", "Weight and format."},
                   {"row", Type::Integer, "", "Row: an output channel."},
                   {"nmse", Type::Real, "", "Noise over signal."}}};
    addErrorColumns(s);
    return s;
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
    addErrorColumns(s);
    return s;
}

std::vector<FigureSpec> tensorFigures()
{
    auto bars =
        figureOf("error_by_tensor", "Error by weight", "bars", {"Weight", "", false}, {"SQNR", "dB", false});
    auto t = traceOf("tensor_error", "name", "sqnr_db", Trace::Mark::Bars);
    t.label = "SQNR";
    t.text = "name";
    bars.traces.push_back(t);
    bars.caption = "Signal to quantization noise ratio of each weight; higher is better.";
    auto crest = figureOf("crest_scatter", "Outliers and error", "scatter", {"Crest factor", "", true},
                          {"SQNR", "dB", false});
    t.x = "crest_factor";
    t.mark = Trace::Mark::Points;
    crest.traces.push_back(t);
    crest.caption = "Weights with a few large values (right) lose more in uniform grids.";
    return {bars, crest};
}

FigureSpec formatFigure()
{
    auto f = figureOf("format_scatter", "Formats", "scatter", {"Bits per weight", "bit", false},
                      {"SQNR", "dB", false});
    auto t = traceOf("tensor_error", "bits_per_weight", "sqnr_db", Trace::Mark::Points);
    t.label = "Weight in a format";
    t.text = "format";
    f.traces.push_back(t);
    f.caption = "Every weight in every format: what a bit buys.";
    return f;
}

FigureSpec mapFigure(std::string_view id, std::string_view map)
{
    auto f = figureOf(id, "Block error", "heatmap", {"Block", "", false}, {"Row", "", false});
    if (!map.empty()) f.title += " of " + std::string(map);
    f.z = {"Mean square error", "", true};
    auto t = traceOf("block_error", "block", "row", Trace::Mark::Cells);
    t.z = "mse";
    t.label = map;
    if (!map.empty()) {
        t.where = "map";
        t.is = map;
    }
    f.traces.push_back(t);
    f.caption = "Mean square error of each block; a cell of several blocks shows the worst of them.";
    return f;
}

FigureSpec rowFigure(std::string_view id, std::string_view map)
{
    auto f = figureOf(id, "Error by row", "curve", {"Row", "", false}, {"Mean square error", "", true});
    if (!map.empty()) f.title += " of " + std::string(map);
    auto t = traceOf("row_error", "row", "mse", Trace::Mark::Line);
    t.label = map;
    if (!map.empty()) {
        t.where = "map";
        t.is = map;
    }
    f.traces.push_back(t);
    f.caption = "Mean square error of each output channel.";
    return f;
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
    const std::array values{table.nameId(0, name),
                            table.nameId(1, role.id),
                            static_cast<double>(role.layer),
                            table.nameId(3, nameOf(role.roleClass)),
                            table.nameId(4, format),
                            static_cast<double>(s.count),
                            bitsPerWeight,
                            s.normalisedMse(),
                            s.mse(),
                            s.sqnr(),
                            s.maxError,
                            s.crestFactor(),
                            static_cast<double>(s.clipped),
                            static_cast<double>(s.underflowed)};
    return table.append(values);
}

Status addRowRow(TableWriter& table, std::string_view map, std::int64_t row, const ErrorStats& s)
{
    const std::array values{table.nameId(0, map),
                            static_cast<double>(row),
                            s.normalisedMse(),
                            s.mse(),
                            s.sqnr(),
                            s.maxError,
                            s.crestFactor(),
                            static_cast<double>(s.clipped),
                            static_cast<double>(s.underflowed)};
    return table.append(values);
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
