// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/base/export.h"
#include "core/base/result.h"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace halftone {

/// A column of a table. Names are stored once in a dictionary; the column holds indices.
struct Column {
    enum class Type : std::uint8_t { Real, Integer, Name };
    std::string name; ///< lower_snake, stable
    Type type = Type::Real;
    std::string unit;
    std::string help;
};
struct TableSchema {
    std::string name;
    std::string help;
    std::vector<Column> columns;
    const Column* find(std::string_view column) const
    {
        for (const auto& c : columns)
            if (c.name == column) return &c;
        return nullptr;
    }
};

struct Axis {
    std::string label{}, unit{};
    bool log = false;
};

// Members have initialisers so that the compiler lets designated ones leave any of them out.

/// Which columns of which table make one mark of a picture. Rectangles take their sizes from y (from x when
/// y is empty); bars of a histogram stand around x; boxes are at y in the middle.
struct Trace {
    enum class Mark : std::uint8_t { Line, Points, Bars, Cells, Rectangles, Boxes };
    std::string label{};
    std::string table{};
    std::string x{}, y{}; ///< columns
    std::string z{};      ///< cells: the value; rectangles: their class (a Name column); else empty
    std::string text{};   ///< a Name column that names each point, cell or rectangle; may be empty
    Mark mark = Mark::Line;
    std::string where{}; ///< a Name column, with `is`: only the rows of this name
    std::string is{};
    bool hull = false; ///< points: also draw the lower-right or upper-left hull as a line
    /// Boxes: columns of the lower whisker, lower edge, upper edge and upper whisker; else empty.
    std::array<std::string, 4> spread{};
};

/// A picture without a toolkit: which columns go on which axis. Views draw it; SVG, PNG and CSV read it.
struct FigureSpec {
    std::string id{}, title{};
    std::string kind{}; ///< "curve", "scatter", "bars", "histogram", "heatmap", "treemap", "pareto", "boxes"
    Axis x{}, y{}, z{};
    std::vector<Trace> traces{};
    std::string caption{}; ///< one line made from the numbers; the text a screen reader says first
};

HALFTONE_API std::string toJson(const FigureSpec& spec);
HALFTONE_API Result<FigureSpec> figureFromJson(std::string_view json);

} // namespace halftone
