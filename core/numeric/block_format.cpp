// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/numeric/block_format.h"

#include "core/base/checked.h"
#include "core/numeric/double_quant.h"

#include <algorithm>
#include <cmath>
#include <fmt/core.h>

namespace halftone {

namespace {

// Part [begin, end) of a plane with `rowBytes` a row; all of it when one entry serves all rows.
template <class T>
std::span<T> part(std::span<T> plane, std::uint64_t rowBytes, std::int64_t begin, std::int64_t end)
{
    if (rowBytes == 0) return plane;
    return plane.subspan(static_cast<std::size_t>(begin) * rowBytes,
                         static_cast<std::size_t>(end - begin) * rowBytes);
}

} // namespace

PackedRows rowsOf(const PackedRows& all, const PackedLayout& layout, std::int64_t begin, std::int64_t end)
{
    return {part(all.codes, layout.codeRowBytes, begin, end),
            part(all.scales, layout.scaleRowBytes, begin, end),
            part(all.zeros, layout.zeroRowBytes, begin, end), all.shared, all.firstRow + begin};
}

ConstPackedRows rowsOf(const ConstPackedRows& all, const PackedLayout& layout, std::int64_t begin,
                       std::int64_t end)
{
    return {part(all.codes, layout.codeRowBytes, begin, end),
            part(all.scales, layout.scaleRowBytes, begin, end),
            part(all.zeros, layout.zeroRowBytes, begin, end), all.shared, all.firstRow + begin};
}

void ValueRange::merge(const ValueRange& next)
{
    if (next.count == 0) return;
    min = count == 0 ? next.min : std::min(min, next.min);
    max = count == 0 ? next.max : std::max(max, next.max);
    magnitude += next.magnitude;
    count += next.count;
}

ValueRange rangeOfRow(std::span<const float> row)
{
    if (row.empty()) return {};
    ValueRange r{row[0], row[0], 0, static_cast<std::int64_t>(row.size())};
    for (const float x : row) {
        r.min = std::min(r.min, x);
        r.max = std::max(r.max, x);
        r.magnitude += static_cast<double>(std::fabs(x));
    }
    // No -0: it would become the sign of a scale.
    r.min += 0.0f;
    r.max += 0.0f;
    return r;
}

void groupPeaksOf(const FormatDesc& desc, std::span<const float> row, std::span<float> peaks)
{
    const std::size_t size = desc.blockSize > 0 ? static_cast<std::size_t>(desc.blockSize) : row.size();
    for (std::size_t begin = 0, group = 0; begin < row.size(); begin += size, ++group) {
        float peak = 0;
        for (const float x : row.subspan(begin, std::min(size, row.size() - begin)))
            peak = std::max(peak, std::fabs(x));
        peaks[group] = peak;
    }
}

Result<PackedLayout> BlockFormat::layout(std::int64_t rows, std::int64_t cols) const
{
    const FormatDesc& d = desc();
    const auto refuse = [&](const std::string& why) {
        return Error(Errc::InvalidArgument, name() + ": " + why);
    };
    if (rows < 0 || cols < 0) return refuse(fmt::format("a matrix can't be {} x {}", rows, cols));
    PackedLayout l;
    l.rows = rows;
    l.cols = cols;
    const auto tooBig = [&] { return refuse(fmt::format("{} x {} is too large to count", rows, cols)); };
    if (!checkedMul(rows, cols)) return tooBig();
    std::optional<std::int64_t> codes, scales, zeros;
    if (d.layout == FormatDesc::Layout::Interleaved) {
        if (cols % d.blockSize != 0)
            return refuse(fmt::format("{} columns don't divide into blocks of {} (remainder {})", cols,
                                      d.blockSize, cols % d.blockSize));
        l.groupsPerRow = cols / d.blockSize;
        codes = checkedMul<std::int64_t>(l.groupsPerRow, d.blockBytes);
        scales = zeros = 0;
    } else {
        l.groupsPerRow = d.blockSize > 0 ? ceilDiv(cols, d.blockSize) : 1;
        if (const auto bits = checkedMul<std::int64_t>(cols, d.bits))
            codes = checkedMul<std::int64_t>(ceilDiv<std::int64_t>(*bits, 32), 4);
        const bool oneForAll = d.blockSize == FormatDesc::kWholeTensor;
        scales = oneForAll ? 0 : checkedMul(l.groupsPerRow, bytesOfScale(d.scale));
        zeros = oneForAll || !d.zeroPoint ? 0 : l.groupsPerRow;
    }
    if (!codes || !scales) return tooBig();
    l.codeRowBytes = static_cast<std::uint64_t>(*codes);
    l.scaleRowBytes = static_cast<std::uint64_t>(*scales);
    l.zeroRowBytes = static_cast<std::uint64_t>(*zeros);
    const auto all = [&](std::int64_t rowBytes) { return checkedMul(rows, rowBytes); };
    codes = all(*codes);
    scales = all(*scales);
    zeros = all(*zeros);
    if (d.layout == FormatDesc::Layout::Planar && d.blockSize == FormatDesc::kWholeTensor) {
        scales = bytesOfScale(d.scale);
        zeros = d.zeroPoint ? 1 : 0;
    }
    if (!codes || !scales || !zeros) return tooBig();
    const auto groups = checkedMul(rows, l.groupsPerRow);
    std::optional<std::int64_t> shared = 0;
    if (d.shared == FormatDesc::Shared::TensorScale) shared = sizeof(float);
    if (d.shared == FormatDesc::Shared::NestedScales)
        shared = groups ? checkedMul<std::int64_t>(nestedCount(*groups), sizeof(float)) : std::nullopt;
    auto sum = checkedAdd(*codes, *scales);
    if (sum) sum = checkedAdd(*sum, *zeros);
    if (!sum || !shared || !checkedAdd(*sum, *shared)) return tooBig();
    l.codeBytes = static_cast<std::uint64_t>(*codes);
    l.scaleBytes = static_cast<std::uint64_t>(*scales);
    l.zeroBytes = static_cast<std::uint64_t>(*zeros);
    l.sharedBytes = static_cast<std::uint64_t>(*shared);
    return l;
}

void BlockFormat::encodeShared(const ValueRange&, std::span<const float>, std::span<std::byte>) const {}

Status BlockFormat::encodeRows(std::span<const float> in, std::int64_t cols, ValueRange range,
                               PackedRows out) const
{
    if (cols <= 0) return Ok{};
    const auto width = static_cast<std::size_t>(cols);
    const auto rows = static_cast<std::int64_t>(in.size() / width);
    HALFTONE_TRY(sizes, layout(rows, cols));
    if (desc().shared != FormatDesc::Shared::None) {
        const auto groups = static_cast<std::size_t>(sizes.groupsPerRow);
        std::vector<float> peaks(static_cast<std::size_t>(rows) * groups);
        for (std::size_t row = 0; row < static_cast<std::size_t>(rows); ++row)
            groupPeaksOf(desc(), in.subspan(row * width, width),
                         std::span(peaks).subspan(row * groups, groups));
        encodeShared(range, peaks, out.shared);
    }
    for (std::int64_t row = 0; row < rows; ++row)
        HALFTONE_CHECK(encodeRow(in.subspan(static_cast<std::size_t>(row) * width, width), row, range,
                                 rowsOf(out, sizes, row, row + 1)));
    return Ok{};
}

void BlockFormat::decodeRows(ConstPackedRows in, std::int64_t cols, std::span<float> out) const
{
    if (cols <= 0) return;
    const auto width = static_cast<std::size_t>(cols);
    const auto rows = static_cast<std::int64_t>(out.size() / width);
    const auto sizes = layout(rows, cols);
    assert(sizes);
    for (std::int64_t row = 0; row < rows; ++row)
        decodeRow(rowsOf(in, *sizes, row, row + 1),
                  out.subspan(static_cast<std::size_t>(row) * width, width));
}

double BlockFormat::payloadBits() const
{
    const FormatDesc& d = desc();
    if (d.layout == FormatDesc::Layout::Planar) return d.bits;
    return 8.0 * d.codeBytes / static_cast<double>(d.blockSize);
}

double BlockFormat::bitsPerWeight() const
{
    const FormatDesc& d = desc();
    if (d.layout == FormatDesc::Layout::Interleaved)
        return 8.0 * d.blockBytes / static_cast<double>(d.blockSize);
    if (d.blockSize <= 0) return d.bits;
    double side = static_cast<double>(8 * bytesOfScale(d.scale) + (d.zeroPoint ? 8 : 0));
    if (d.shared == FormatDesc::Shared::NestedScales) side += 8.0 * sizeof(float) / kNestedBlock;
    return d.bits + side / static_cast<double>(d.blockSize);
}

} // namespace halftone
