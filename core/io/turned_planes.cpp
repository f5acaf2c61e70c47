// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/io/turned_planes.h"

#include "core/base/checked.h"
#include "core/device/cpu/parallel.h"

#include <algorithm>
#include <cstring>

namespace halftone {

namespace {

// A tile of columns keeps the lines that it writes in the cache while it runs down the rows.
constexpr std::int64_t kTile = 64;

template <int Width>
Status turn(std::span<const std::byte> matrix, std::int64_t rows, std::int64_t cols, std::int64_t begin,
            std::int64_t end, std::byte* out)
{
    const std::int64_t tiles = ceilDiv(end - begin, kTile);
    return cpu::forRows(tiles, kTile * rows, 0, [&](std::int64_t tile, float*) {
        const std::int64_t first = begin + tile * kTile, last = std::min(end, first + kTile);
        for (std::int64_t r = 0; r < rows; ++r) {
            const std::byte* from = matrix.data() + (r * cols + first) * Width;
            std::byte* to = out + ((first - begin) * rows + r) * Width;
            for (std::int64_t c = first; c < last; ++c, from += Width, to += rows * Width)
                std::memcpy(to, from, Width);
        }
    });
}

} // namespace

Result<Tensor> turnedColumns(std::span<const std::byte> matrix, std::int64_t rows, std::int64_t cols,
                             int width, std::int64_t begin, std::int64_t end)
{
    HALFTONE_TRY(out, makeTensor(cpuDevice(), DType::U8, {end - begin, rows * width}));
    std::byte* to = out.mutableBytes().data();
    HALFTONE_CHECK(width == 1   ? turn<1>(matrix, rows, cols, begin, end, to)
                   : width == 2 ? turn<2>(matrix, rows, cols, begin, end, to)
                                : turn<4>(matrix, rows, cols, begin, end, to));
    return std::move(out);
}

} // namespace halftone
