// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/window/block_panel.h"

#include "core/device/device.h"

#include <algorithm>
#include <cstddef>

namespace halftone {

Result<BlockContent> inspectBlock(const WeightSet& weights, const WeightInfo& info, std::int64_t row,
                                  std::int64_t block, const BlockFormat& format)
{
    const std::int64_t cols = info.shape.cols();
    if (row < 0 || row >= info.shape.rows() || block < 0)
        return Error(Errc::InvalidArgument, "there is no row " + std::to_string(row))
            .in("tensor " + info.name);
    HALFTONE_TRY(tensor, weights.loadRows(info, row, row + 1, DType::F32, cpuDevice(), {}));
    const std::span<const float> values = std::as_const(tensor).values<float>();
    HALFTONE_TRY(layout, format.layout(1, cols));
    std::vector<std::byte> codes(layout.codeBytes);
    std::vector<std::byte> scales(layout.scaleBytes);
    std::vector<std::uint8_t> zeros(layout.zeroBytes);
    std::vector<std::byte> shared(layout.sharedBytes);
    const PackedRows planes{codes, scales, zeros, shared};
    if (auto done = format.encodeRows(values, cols, rangeOfRow(values), planes); !done)
        return weights.placed(info, std::move(done).error());
    const auto count = static_cast<std::size_t>(cols);
    std::vector<float> decoded(count);
    std::vector<std::int32_t> numbers(count);
    std::vector<GridPoint> points(count);
    const ConstPackedRows packed = planes;
    format.decodeRows(packed, cols, decoded);
    format.inspectRow(packed, cols, numbers, points);
    const std::int64_t size = format.desc().blockSize > 0 ? std::min(format.desc().blockSize, cols) : cols;
    const std::int64_t begin = block * size;
    if (begin >= cols)
        return Error(Errc::InvalidArgument, "there is no block " + std::to_string(block))
            .in("tensor " + info.name);
    const auto from = static_cast<std::size_t>(begin);
    const auto to = static_cast<std::size_t>(std::min(begin + size, cols));
    BlockContent out;
    const auto cut = [from, to](const auto& all, auto& part) {
        part.assign(all.begin() + static_cast<std::ptrdiff_t>(from),
                    all.begin() + static_cast<std::ptrdiff_t>(to));
    };
    cut(values, out.values);
    cut(decoded, out.decoded);
    cut(numbers, out.codes);
    const auto [low, high] =
        std::ranges::minmax(std::span(points).subspan(from, to - from), {}, &GridPoint::scale);
    out.scale = low.scale;
    out.largestScale = high.scale;
    out.zero = points[from].zero;
    out.firstColumn = begin;
    out.format = format.name();
    return out;
}

} // namespace halftone
