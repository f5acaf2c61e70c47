// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/device/cpu/best_blocks.h"

#include "core/base/checked.h"
#include "core/device/cpu/parallel.h"
#include "core/device/cpu/rows.h"
#include "core/numeric/encode_errors.h"

#include <algorithm>

namespace halftone::cpu {

namespace {

/// Short rows are encoded together, so that blocks fill the vectors.
constexpr std::int64_t kGroupElements = 8192;

} // namespace

bool wantsBest(const QuantizeBlocksOp& op)
{
    return op.options.encoder == Encoder::Best && op.packed.format->desc().best;
}

Status quantizeBest(const QuantizeBlocksOp& op, BestEncoder encoder)
{
    const BlockFormat& format = *op.packed.format;
    const std::int64_t rows = op.packed.logical[0], cols = op.packed.logical[1];
    if (rows == 0 || cols == 0) return Ok{};
    HALFTONE_TRY(layout, format.layout(rows, cols));
    const PackedRows planes = planesOf(op.packed);
    const float* importance = op.options.importance.empty() ? nullptr : op.options.importance.data();
    const std::int64_t together = std::max<std::int64_t>(1, kGroupElements / cols);
    const std::int64_t room = together * cols;
    return tryRows(ceilDiv(rows, together), room, room, [&](std::int64_t group, float* scratch) -> Status {
        const std::int64_t begin = group * together, end = std::min(rows, begin + together);
        const auto values = floatRows(op.in, begin, end, scratch);
        PackedRows out = rowsOf(planes, layout, begin, end);
        if (!firstNonFinite(values) &&
            encoder(format.desc().family, {values.data(), end - begin, cols, importance},
                    reinterpret_cast<std::uint8_t*>(out.codes.data())))
            return Ok{};
        for (std::int64_t row = begin; row < end; ++row) {
            const auto at = static_cast<std::size_t>((row - begin) * cols);
            HALFTONE_CHECK(format.encodeRow(values.subspan(at, static_cast<std::size_t>(cols)), row, {},
                                            rowsOf(planes, layout, row, row + 1)));
        }
        return Ok{};
    });
}

} // namespace halftone::cpu
