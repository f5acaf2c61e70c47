// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/checked.h"
#include "core/device/cpu/clip_ends.h"
#include "core/device/cpu/parallel.h"
#include "core/device/cpu/rows.h"
#include "core/device/cpu/simd_blocks.h"
#include "core/device/cpu/simd_elements.h"
#include "core/device/cpu/simd_errors.h"
#include "core/device/cpu/simd_gguf.h"
#include "core/device/cpu/simd_int_grid.h"
#include "core/numeric/gguf_blocks.h"

#include <array>

namespace halftone::cpu {

namespace {

void decodeRow(const FormatDesc& desc, const ConstPackedRows& in, std::int64_t cols, std::int64_t group,
               float* out)
{
    const auto* codes = reinterpret_cast<const std::uint8_t*>(in.codes.data());
    if (desc.layout == FormatDesc::Layout::Interleaved)
        return decodeGgufSpan(desc.family, codes, cols / kGgufBlock, out, false);
    const auto* scales = reinterpret_cast<const std::uint8_t*>(in.scales.data());
    if (isElements(desc.family))
        return decodeGridSpan(elementJobOf(desc, in.shared), {codes, scales, nullptr}, cols, group, out);
    decodeGridSpan(GridJob{desc.bits, desc.rule, desc.scale},
                   {codes, scales, in.zeros.empty() ? nullptr : in.zeros.data()}, cols, group, out);
}

/// Scale, zero point and offset of one group of a row.
GridPoint pointOf(const BlockFormat& format, const ConstPackedRows& row, std::size_t group)
{
    const FormatDesc& desc = format.desc();
    ConstPackedRows from = row;
    if (desc.layout == FormatDesc::Layout::Interleaved) {
        from.codes = row.codes.subspan(group * desc.blockBytes);
    } else {
        from.scales = row.scales.subspan(group * static_cast<std::size_t>(bytesOfScale(desc.scale)));
        if (!row.zeros.empty()) from.zeros = row.zeros.subspan(group);
    }
    // Interleaved blocks are inspected whole.
    std::array<std::int32_t, kGgufBlock> codes;
    std::array<GridPoint, kGgufBlock> points;
    const std::size_t n = desc.layout == FormatDesc::Layout::Interleaved ? kGgufBlock : 1;
    format.inspectRow(from, static_cast<std::int64_t>(n), std::span(codes).first(n),
                      std::span(points).first(n));
    return points[0];
}

} // namespace

bool simdSupportsBlockErrors(DType dtype, const BlockFormat* format)
{
    // Scales that are quantized in turn are those of whole rows.
    return hasVectorCode(format) && format->desc().shared != FormatDesc::Shared::NestedScales &&
           isWeightType(dtype);
}

Status simdBlockErrors(const BlockErrorsOp& op)
{
    const BlockFormat& format = *op.packed.format;
    const FormatDesc& desc = format.desc();
    const std::int64_t rows = op.packed.logical[0], cols = op.packed.logical[1];
    op.stats.clear();
    if (rows == 0 || cols == 0) return Ok{};
    HALFTONE_TRY(layout, format.layout(rows, cols));
    const std::int64_t group = desc.blockSize < 0 ? cols : std::min(desc.blockSize, cols);
    const std::int64_t blockCols = op.blockCols == 0 ? cols : std::min(op.blockCols, cols);
    const std::int64_t blocks = ceilDiv(cols, blockCols);
    const ClipEnds ofCodes = codeEnds(format);
    const ConstPackedRows planes = planesOf(op.packed);
    const DType dtype = op.in.dtype();
    const std::byte* in = op.in.bytes().data();
    const std::int64_t rowBytes = cols * (bitsOf(dtype) / 8);
    try {
        op.stats.resize(static_cast<std::size_t>(rows * blocks));
    } catch (const std::bad_alloc&) {
        return Error(Errc::OutOfMemory, "no memory for the errors of the blocks");
    }
    return forRows(rows, cols, 2 * cols, [&](std::int64_t row, float* original) {
        const auto packed = rowsOf(planes, layout, row, row + 1);
        float* const decoded = original + cols;
        floatsOfSpan(dtype, in + row * rowBytes, cols, original);
        decodeRow(desc, packed, cols, group, decoded);
        ErrorStats* const stats = op.stats.data() + row * blocks;
        for (std::int64_t block = 0; block < blocks; ++block) {
            const std::int64_t begin = block * blockCols;
            stats[block] = compareSpan(original + begin, decoded + begin, std::min(blockCols, cols - begin));
        }
        for (std::int64_t begin = 0; begin < cols; begin += group) {
            const std::int64_t end = std::min(begin + group, cols);
            const ClipEnds ends =
                clipEnds(pointOf(format, packed, static_cast<std::size_t>(begin / group)), ofCodes);
            // A group may lie in several blocks, and a block hold several groups.
            for (std::int64_t i = begin; i < end;) {
                const std::int64_t block = i / blockCols, to = std::min(end, (block + 1) * blockCols);
                stats[block].clipped += countOutside(original + i, to - i, ends.low, ends.high);
                i = to;
            }
        }
    });
}

} // namespace halftone::cpu
