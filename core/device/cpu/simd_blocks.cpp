// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/device/cpu/simd_blocks.h"

#include "core/base/checked.h"
#include "core/device/cpu/best_blocks.h"
#include "core/device/cpu/kernels.h"
#include "core/device/cpu/parallel.h"
#include "core/device/cpu/planar_work.h"
#include "core/device/cpu/rows.h"
#include "core/device/cpu/simd_elements.h"
#include "core/device/cpu/simd_gguf.h"
#include "core/device/cpu/simd_int_grid.h"
#include "core/numeric/double_quant.h"
#include "core/numeric/gguf_blocks.h"

#include <cmath>
#include <cstring>
#include <numeric>
#include <optional>
#include <vector>

namespace halftone::cpu {

namespace {

constexpr std::uint64_t kCacheBytes = 32ull << 20; ///< inputs above this go around the caches

GridJob gridJobOf(const FormatDesc& desc) { return {desc.bits, desc.rule, desc.scale}; }

/// Range of a whole matrix; nothing when a value is not finite.
std::optional<ValueRange> rangeOfAll(DType dtype, const std::byte* in, std::int64_t count, int threads)
{
    ValueRange range;
    bool good = true;
    forParts(ceilDiv(count, kPieceColumns), threads, [&](std::int64_t begin, std::int64_t end) {
        const std::int64_t first = begin * kPieceColumns;
        const std::int64_t n = std::min(count, end * kPieceColumns) - first;
        float low = 0, high = 0;
        const bool finite = rangeOfSpan(dtype, in + first * (bitsOf(dtype) / 8), n, low, high);
#pragma omp critical(halftone_simd_range)
        {
            good = good && finite;
            range.min = std::min(range.min, low);
            range.max = std::max(range.max, high);
        }
    });
    if (!good) return std::nullopt;
    return range;
}

/// Scales of the rows in F32, from those that are quantized in turn.
Result<std::vector<float>> scalesOf(const PackedLayout& layout, const ConstPackedRows& planes)
{
    const auto groups = static_cast<std::size_t>(layout.groupsPerRow);
    std::vector<float> scales;
    try {
        scales.resize(static_cast<std::size_t>(layout.rows) * groups);
    } catch (const std::bad_alloc&) {
        return Error(Errc::OutOfMemory, "no memory for the scales of a matrix");
    }
    unnestScales(planes.scales, planes.shared, static_cast<std::size_t>(planes.firstRow) * groups, scales);
    return scales;
}

std::uint8_t* bytesAt(std::span<std::byte> plane) { return reinterpret_cast<std::uint8_t*>(plane.data()); }
const std::uint8_t* bytesAt(std::span<const std::byte> plane)
{
    return reinterpret_cast<const std::uint8_t*>(plane.data());
}

// False when the reference must say what is wrong.
Result<bool> quantizeElements(const QuantizeBlocksOp& op, const PackedLayout& layout, int threads,
                              bool aroundCaches)
{
    const BlockFormat& format = *op.packed.format;
    const FormatDesc& desc = format.desc();
    const PackedRows planes = planesOf(op.packed);
    const DType dtype = op.in.dtype();
    const std::byte* in = op.in.bytes().data();
    ElementJob job = elementJobOf(desc, {});
    job.aroundCaches = aroundCaches;
    Lines lines = linesOf(desc, layout);
    std::vector<float> peaks;
    std::uint8_t* scales = bytesAt(planes.scales);
    if (desc.shared == FormatDesc::Shared::TensorScale) {
        const auto range = rangeOfAll(dtype, in, layout.rows * layout.cols, threads);
        if (!range) return false;
        format.encodeShared(*range, {}, planes.shared);
        job = elementJobOf(desc, planes.shared);
        job.aroundCaches = aroundCaches;
    }
    if (desc.shared == FormatDesc::Shared::NestedScales) {
        // The codes are those under exact scales, which are quantized afterwards.
        try {
            peaks.resize(static_cast<std::size_t>(layout.rows * layout.groupsPerRow));
        } catch (const std::bad_alloc&) {
            return Error(Errc::OutOfMemory, "no memory for the scales of a matrix");
        }
        scales = reinterpret_cast<std::uint8_t*>(peaks.data());
        lines.scaleBytes *= sizeof(float);
    }
    const GridPlanes out{bytesAt(planes.codes), scales, nullptr};
    if (!GridWork(job, dtype, in, out, lines, threads).run(desc.blockSize == FormatDesc::kWholeTensor))
        return false;
    if (desc.shared == FormatDesc::Shared::NestedScales) {
        format.encodeShared({}, peaks, planes.shared);
        nestScales(peaks, planes.shared, 0, planes.scales);
    }
    return true;
}

} // namespace

bool hasVectorCode(const BlockFormat* format)
{
    if (format == nullptr) return false;
    if (isElements(format->desc().family)) return true;
    switch (format->desc().family) {
    case FormatDesc::Family::IntGrid:
    case FormatDesc::Family::Q4_0:
    case FormatDesc::Family::Q4_1:
    case FormatDesc::Family::Q5_0:
    case FormatDesc::Family::Q5_1:
    case FormatDesc::Family::Q8_0:
        return true;
    default:
        return false;
    }
}

bool simdSupportsQuantizeBlocks(DType dtype, const BlockFormat* format)
{
    return format != nullptr && (hasVectorCode(format) || format->desc().best) && isWeightType(dtype);
}

Status simdQuantizeBlocks(const QuantizeBlocksOp& op)
{
    const FormatDesc& desc = op.packed.format->desc();
    const std::int64_t rows = op.packed.logical[0], cols = op.packed.logical[1];
    if (wantsBest(op)) return quantizeBest(op, encodeBestSimd);
    if (rows == 0 || cols == 0 || !hasVectorCode(op.packed.format)) return referenceQuantizeBlocks(op);
    HALFTONE_TRY(layout, op.packed.format->layout(rows, cols));
    const PackedRows planes = planesOf(op.packed);
    const DType dtype = op.in.dtype();
    const std::byte* in = op.in.bytes().data();
    const bool aroundCaches = op.in.byteSize() > kCacheBytes;
    const int threads = threadsFor(rows * cols);
    bool good = false;
    if (desc.family == FormatDesc::Family::IntGrid) {
        GridJob job = gridJobOf(desc);
        job.aroundCaches = aroundCaches;
        const GridPlanes out{bytesAt(planes.codes), bytesAt(planes.scales),
                             planes.zeros.empty() ? nullptr : planes.zeros.data()};
        good = GridWork(job, dtype, in, out, linesOf(desc, layout), threads)
                   .run(desc.blockSize == FormatDesc::kWholeTensor);
    } else if (isElements(desc.family)) {
        HALFTONE_TRY(done, quantizeElements(op, layout, threads, aroundCaches));
        good = done;
    } else {
        std::atomic<bool> all{true};
        const std::int64_t width = kGgufBlock * (bitsOf(dtype) / 8);
        const auto blockBytes = static_cast<std::int64_t>(desc.blockBytes);
        forParts(rows * (cols / kGgufBlock), threads, [&](std::int64_t begin, std::int64_t end) {
            if (!quantizeGgufSpan(desc.family, dtype, in + begin * width, end - begin,
                                  bytesAt(planes.codes) + begin * blockBytes, aroundCaches))
                all.store(false, std::memory_order_relaxed);
        });
        good = all.load();
    }
    // The reference finds the first bad value, or the group whose scale overflows, and names it.
    return good ? Status(Ok{}) : referenceQuantizeBlocks(op);
}

bool simdSupportsDequantizeBlocks(DType, const BlockFormat* format) { return hasVectorCode(format); }

Status simdDequantizeBlocks(const DequantizeBlocksOp& op)
{
    const FormatDesc& desc = op.packed.format->desc();
    const std::int64_t rows = op.packed.logical[0], cols = op.packed.logical[1];
    if (rows == 0 || cols == 0) return Ok{};
    HALFTONE_TRY(layout, op.packed.format->layout(rows, cols));
    const ConstPackedRows planes = planesOf(op.packed);
    float* out = op.out.values<float>().data();
    const bool aroundCaches = op.out.byteSize() > kCacheBytes;
    const int threads = threadsFor(rows * cols);
    if (desc.layout == FormatDesc::Layout::Interleaved) {
        const auto blockBytes = static_cast<std::int64_t>(desc.blockBytes);
        forParts(rows * (cols / kGgufBlock), threads, [&](std::int64_t begin, std::int64_t end) {
            decodeGgufSpan(desc.family, bytesAt(planes.codes) + begin * blockBytes, end - begin,
                           out + begin * kGgufBlock, aroundCaches);
        });
        return Ok{};
    }
    Lines lines = linesOf(desc, layout);
    if (desc.family == FormatDesc::Family::IntGrid) {
        GridJob job = gridJobOf(desc);
        job.aroundCaches = aroundCaches;
        decodeLines(job, lines, desc.blockSize == FormatDesc::kWholeTensor,
                    {bytesAt(planes.codes), bytesAt(planes.scales),
                     planes.zeros.empty() ? nullptr : planes.zeros.data()},
                    threads, out);
        return Ok{};
    }
    ElementJob job = elementJobOf(desc, planes.shared);
    job.aroundCaches = aroundCaches;
    std::vector<float> scales;
    const std::uint8_t* scalePlane = bytesAt(planes.scales);
    if (desc.shared == FormatDesc::Shared::NestedScales) {
        HALFTONE_TRY(made, scalesOf(layout, planes));
        scales = std::move(made);
        scalePlane = reinterpret_cast<const std::uint8_t*>(scales.data());
        lines.scaleBytes *= sizeof(float);
    }
    decodeLines(job, lines, desc.blockSize == FormatDesc::kWholeTensor,
                {bytesAt(planes.codes), scalePlane, nullptr}, threads, out);
    return Ok{};
}

} // namespace halftone::cpu
