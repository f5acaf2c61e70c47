// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/model/model.h"
#include "core/numeric/error_stats.h"
#include "core/result/writer.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace halftone::block_error {

TableSchema tensorSchema();
TableSchema rowSchema();
TableSchema blockSchema();

/// Bars of SQNR by weight; crest factor against SQNR.
std::vector<FigureSpec> tensorFigures();
/// Bits against SQNR of every weight in every format.
FigureSpec formatFigure();
/// The heat map and the row profile of one map; an empty name gives the general shape of the figure.
FigureSpec mapFigure(std::string_view id, std::string_view map);
FigureSpec rowFigure(std::string_view id, std::string_view map);

/// How a grid of rows x blocks is put on at most `maxCells` cells.
struct CellGrid {
    std::int64_t rows = 0, blocks = 0;               ///< of the weight
    std::int64_t rowsPerCell = 1, blocksPerCell = 1; ///< 1 and 1: nothing is reduced
    std::int64_t cellRows = 0, cellCols = 0;
};
CellGrid cellGrid(std::int64_t rows, std::int64_t blocks, std::int64_t maxCells);

/// What a cell keeps of its blocks: the worst, not the mean, so that one bad block in a million is seen.
struct Cell {
    double mse = -1;
    double sqnr = 0;
    double maxError = 0, crest = 0;
    std::int64_t clipped = 0, underflowed = 0;
    std::int64_t worstRow = 0, worstBlock = 0;
    void add(const ErrorStats& stats, std::int64_t row, std::int64_t block);
};

Status addTensorRow(TableWriter& table, const WeightRole& role, std::string_view name,
                    std::string_view format, double bitsPerWeight, const ErrorStats& stats);
Status addRowRow(TableWriter& table, std::string_view map, std::int64_t row, const ErrorStats& stats);
Status addCells(TableWriter& table, std::string_view map, const CellGrid& grid,
                const std::vector<Cell>& cells);

} // namespace halftone::block_error
