// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/checked.h"
#include "core/device/cpu/best_blocks.h"
#include "core/device/cpu/clip_ends.h"
#include "core/device/cpu/kernels.h"
#include "core/device/cpu/parallel.h"
#include "core/device/cpu/rows.h"
#include "core/numeric/encode_errors.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

namespace halftone::cpu {

namespace {

Error noMemory() { return {Errc::OutOfMemory, "no memory for the rows in work"}; }

// What a format that looks at the whole tensor needs: its range, and where scales are nested the peaks of all
// groups. Sums are those of rows, added in order.
Result<ValueRange> valueRange(const Tensor& in, const BlockFormat& format, const PackedLayout& layout,
                              std::vector<float>& peaks)
{
    const std::int64_t rows = layout.rows, cols = layout.cols;
    const auto groups = static_cast<std::size_t>(layout.groupsPerRow);
    const bool nested = format.desc().shared == FormatDesc::Shared::NestedScales;
    std::vector<ValueRange> ranges;
    try {
        ranges.resize(static_cast<std::size_t>(rows));
        if (nested) peaks.resize(static_cast<std::size_t>(rows) * groups);
    } catch (const std::bad_alloc&) {
        return noMemory();
    }
    HALFTONE_CHECK(tryRows(rows, cols, cols, [&](std::int64_t row, float* scratch) -> Status {
        const auto values = floatRow(in, row, scratch);
        if (const auto bad = firstNonFinite(values))
            return notFiniteError(row, static_cast<std::int64_t>(*bad), values[*bad]);
        const auto at = static_cast<std::size_t>(row);
        ranges[at] = rangeOfRow(values);
        if (nested) groupPeaksOf(format.desc(), values, std::span(peaks).subspan(at * groups, groups));
        return Ok{};
    }));
    ValueRange all;
    for (const ValueRange& r : ranges)
        all.merge(r);
    return all;
}

void clear(std::span<std::byte> bytes)
{
    if (!bytes.empty()) std::memset(bytes.data(), 0, bytes.size());
}

} // namespace

bool referenceSupportsQuantizeBlocks(DType dtype, const BlockFormat* format)
{
    return format != nullptr && !format->desc().readOnly && isWeightType(dtype);
}

Status referenceQuantizeBlocks(const QuantizeBlocksOp& op)
{
    const BlockFormat& format = *op.packed.format;
    const std::int64_t rows = op.packed.logical[0], cols = op.packed.logical[1];
    if (wantsBest(op)) return quantizeBest(op, encodeBestOneLane);
    HALFTONE_TRY(layout, format.layout(rows, cols));
    const PackedRows planes = planesOf(op.packed);
    if (rows == 0 || cols == 0) {
        // No value, yet a scale a row may exist: it reads as 0.
        clear(planes.codes);
        clear(planes.scales);
        clear(std::as_writable_bytes(planes.zeros));
        format.encodeShared({}, {}, planes.shared);
        return Ok{};
    }
    const bool oneScale = format.desc().blockSize == FormatDesc::kWholeTensor;
    ValueRange range;
    if (format.desc().needsWholeTensor()) {
        std::vector<float> peaks;
        HALFTONE_TRY(found, valueRange(op.in, format, layout, peaks));
        range = found;
        format.encodeShared(range, peaks, planes.shared);
    }
    return tryRows(rows, cols, cols, [&](std::int64_t row, float* scratch) {
        PackedRows out = rowsOf(planes, layout, row, row + 1);
        // Every row computes the one scale; only row 0 may write it, or threads would race.
        std::array<std::byte, sizeof(float)> spareScale;
        std::uint8_t spareZero = 0;
        if (oneScale && row != 0) {
            out.scales = std::span(spareScale).first(out.scales.size());
            if (!out.zeros.empty()) out.zeros = {&spareZero, 1};
        }
        return format.encodeRow(floatRow(op.in, row, scratch), row, range, out);
    });
}

bool referenceSupportsDequantizeBlocks(DType, const BlockFormat* format) { return format != nullptr; }

Status referenceDequantizeBlocks(const DequantizeBlocksOp& op)
{
    const BlockFormat& format = *op.packed.format;
    const std::int64_t rows = op.packed.logical[0], cols = op.packed.logical[1];
    if (rows == 0 || cols == 0) return Ok{};
    HALFTONE_TRY(layout, format.layout(rows, cols));
    const ConstPackedRows planes = planesOf(op.packed);
    const auto out = op.out.values<float>();
    const auto width = static_cast<std::size_t>(cols);
    return forRows(rows, cols, 0, [&](std::int64_t row, float*) {
        format.decodeRow(rowsOf(planes, layout, row, row + 1),
                         out.subspan(static_cast<std::size_t>(row) * width, width));
    });
}

bool referenceSupportsBlockErrors(DType dtype, const BlockFormat* format)
{
    return format != nullptr && isWeightType(dtype);
}

Status referenceBlockErrors(const BlockErrorsOp& op)
{
    const BlockFormat& format = *op.packed.format;
    const std::int64_t rows = op.packed.logical[0], cols = op.packed.logical[1];
    op.stats.clear();
    if (rows == 0 || cols == 0) return Ok{};
    HALFTONE_TRY(layout, format.layout(rows, cols));
    const std::int64_t blockCols = op.blockCols == 0 ? cols : std::min(op.blockCols, cols);
    const std::int64_t blocks = ceilDiv(cols, blockCols);
    const auto width = static_cast<std::size_t>(cols);
    const ClipEnds ofCodes = codeEnds(format);
    const ConstPackedRows planes = planesOf(op.packed);
    const int threads = loopThreads(rows, cols);
    std::vector<std::int32_t> allCodes;
    std::vector<GridPoint> allPoints;
    try {
        op.stats.resize(static_cast<std::size_t>(rows * blocks));
        const auto room = static_cast<std::size_t>(threads) * width;
        allCodes.resize(room);
        allPoints.resize(room);
    } catch (const std::bad_alloc&) {
        return noMemory();
    }
    return forRowsOn(threads, rows, 2 * cols, [&](std::int64_t row, float* scratch) {
        const auto packed = rowsOf(planes, layout, row, row + 1);
        const auto mine = static_cast<std::size_t>(omp_get_thread_num()) * width;
        const auto points = std::span(allPoints).subspan(mine, width);
        format.inspectRow(packed, cols, std::span(allCodes).subspan(mine, width), points);
        const std::span<float> decoded(scratch + cols, width);
        format.decodeRow(packed, decoded);
        const auto original = floatRow(op.in, row, scratch);
        for (std::int64_t block = 0; block < blocks; ++block) {
            const auto begin = static_cast<std::size_t>(block * blockCols);
            const std::size_t size = std::min(static_cast<std::size_t>(blockCols), width - begin);
            ErrorStats& stats = op.stats[static_cast<std::size_t>(row * blocks + block)];
            stats = compare(original.subspan(begin, size), decoded.subspan(begin, size));
            for (std::size_t i = begin; i < begin + size; ++i) {
                const ClipEnds ends = clipEnds(points[i], ofCodes);
                const double x = original[i];
                if (x < ends.low || x > ends.high) ++stats.clipped;
            }
        }
    });
}

} // namespace halftone::cpu
