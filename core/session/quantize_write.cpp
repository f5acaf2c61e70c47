// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/quantize_write.h"

#include "core/base/hash.h"
#include "core/base/text.h"
#include "core/method/weight_errors.h"
#include "core/numeric/convert.h"
#include "core/session/row_order.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <fmt/format.h>

namespace halftone {

namespace {

// Written at once; a cancel is heard between two pieces.
constexpr std::size_t kPieceBytes = 8u << 20;

std::span<const std::byte> bytesOfPlane(const Tensor& plane)
{
    return plane.empty() ? std::span<const std::byte>() : plane.bytes();
}

Result<Tensor> toHost(const Tensor& plane, JobContext& ctx)
{
    if (plane.empty() || &plane.device() == &cpuDevice() || !plane.storage()->hostRead().empty())
        return plane;
    HALFTONE_TRY(host, makeTensor(cpuDevice(), plane.dtype(), plane.shape()));
    HALFTONE_CHECK(ctx.device.run(CopyOp{plane, host}, ctx.stream));
    HALFTONE_CHECK(ctx.device.synchronize(ctx.stream));
    return host;
}

// The rows of `in`, in another order.
Status moveRows(std::span<const std::byte> in, const RowOrder& order, std::span<std::byte> out)
{
    const std::size_t rows = order.size();
    if (rows == 0 || in.size() % rows != 0 || out.size() != in.size())
        return Error(Errc::Internal, fmt::format("{} bytes are not {} rows", in.size(), rows));
    const std::size_t width = in.size() / rows;
    for (std::size_t r = 0; r < rows; ++r)
        std::memcpy(out.data() + r * width, in.data() + static_cast<std::size_t>(order[r]) * width, width);
    return Ok{};
}

Result<Tensor> movedPlane(const Tensor& plane, const RowOrder& order)
{
    if (plane.empty()) return plane;
    HALFTONE_TRY(out, makeTensor(cpuDevice(), plane.dtype(), plane.shape()));
    HALFTONE_CHECK(moveRows(plane.bytes(), order, out.mutableBytes()));
    return out;
}

Status writePieces(CheckpointWriter& writer, std::size_t tensor, std::span<const std::byte> bytes,
                   JobContext& ctx)
{
    for (std::size_t at = 0; at < bytes.size(); at += kPieceBytes) {
        HALFTONE_CHECK(ctx.checkpoint());
        HALFTONE_CHECK(writer.write(tensor, bytes.subspan(at, std::min(kPieceBytes, bytes.size() - at))));
    }
    return Ok{};
}

Result<RowOrder> orderOf(const PlannedOutput& output, std::int64_t rows)
{
    if (output.movedHeads == 0) return RowOrder{};
    return ropeRowOrder(rows, output.movedHeads, output.move);
}

// A finite value that became infinite: found where the converted piece has one and the source has none.
Status checkFits(const Tensor& made, const WeightSet& weights, const WeightInfo& info, std::int64_t begin,
                 std::int64_t end, JobContext& ctx)
{
    if (made.dtype() == DType::F32) return Ok{};
    const auto count = static_cast<std::size_t>(made.shape().count());
    std::vector<float> values(count);
    toFloats(made.dtype(), made.bytes(), 0, values);
    if (std::all_of(values.begin(), values.end(), [](float x) { return std::isfinite(x); })) return Ok{};
    HALFTONE_TRY(exact, weights.loadRows(info, begin, end, DType::F32, cpuDevice(), ctx.stop));
    const auto source = std::as_const(exact).values<float>();
    const auto cols = static_cast<std::size_t>(std::max<std::int64_t>(1, info.shape.cols()));
    for (std::size_t i = 0; i < count; ++i)
        if (!std::isfinite(values[i]) && std::isfinite(source[i]))
            return Error(Errc::Numeric,
                         fmt::format("row {}, column {}: {} does not fit {}: choose keep-dtype=bf16 or f32",
                                     begin + static_cast<std::int64_t>(i / cols), i % cols,
                                     shortNumber(source[i]), nameOf(made.dtype())));
    return Ok{};
}

Status convert(CheckpointWriter& writer, const PlannedOutput& output, const WeightSet& weights,
               const WeightInfo& info, const RowOrder& order, JobContext& ctx)
{
    const std::int64_t rows = info.shape.rows();
    // Rows that move are gathered from all of the weight: Q and K are small.
    const std::int64_t piece =
        order.empty() ? rowsPerPiece(info.shape.cols()) : std::max<std::int64_t>(1, rows);
    for (std::int64_t begin = 0; begin < rows; begin += piece) {
        HALFTONE_CHECK(ctx.checkpoint());
        const std::int64_t end = std::min(rows, begin + piece);
        HALFTONE_TRY(made, weights.loadRows(info, begin, end, output.convertTo, cpuDevice(), ctx.stop));
        HALFTONE_CHECK(checkFits(made, weights, info, begin, end, ctx));
        if (order.empty()) {
            HALFTONE_CHECK(writer.write(output.tensors.front(), std::as_const(made).bytes()));
        } else {
            std::vector<std::byte> moved(made.bytes().size());
            HALFTONE_CHECK(moveRows(made.bytes(), order, moved));
            HALFTONE_CHECK(writer.write(output.tensors.front(), moved));
        }
    }
    return Ok{};
}

Status copy(CheckpointWriter& writer, const PlannedOutput& output, const Checkpoint& source,
            const WeightInfo& info, const RowOrder& order, JobContext& ctx)
{
    for (std::size_t p = 0; p < info.parts.size(); ++p) {
        const TensorInfo& part = source.tensors()[info.parts[p]];
        HALFTONE_TRY(raw, source.raw(part));
        if (order.empty()) {
            HALFTONE_CHECK(writePieces(writer, output.tensors[p], raw, ctx));
        } else {
            std::vector<std::byte> moved(raw.size());
            HALFTONE_CHECK(moveRows(raw, order, moved));
            HALFTONE_CHECK(writePieces(writer, output.tensors[p], moved, ctx));
        }
    }
    return Ok{};
}

} // namespace

std::string HostPlanes::hash() const
{
    Hasher hasher;
    for (Tensor PackedTensor::*plane : kPlanes)
        hasher.add(bytesOfPlane(packed.*plane));
    return hasher.hex();
}

namespace {

Result<HostPlanes> movedPlanes(const PackedTensor& packed, const PlannedOutput& output, JobContext& ctx)
{
    HostPlanes out{packed};
    for (Tensor PackedTensor::*plane : kPlanes) {
        HALFTONE_TRY(host, toHost(packed.*plane, ctx));
        out.packed.*plane = std::move(host);
    }
    HALFTONE_TRY(order, orderOf(output, packed.logical.rows()));
    if (order.empty()) return out;
    if (packed.format->desc().shared == FormatDesc::Shared::NestedScales)
        return Error(Errc::Unsupported,
                     fmt::format("{}: rows whose scales are quantized together can't be moved: "
                                 "choose f32 scales",
                                 packed.format->name()));
    HALFTONE_TRY(codes, movedPlane(out.packed.codes, order));
    out.packed.codes = std::move(codes);
    if (packed.format->desc().blockSize == FormatDesc::kWholeTensor) return out;
    HALFTONE_TRY(scales, movedPlane(out.packed.scales, order));
    out.packed.scales = std::move(scales);
    HALFTONE_TRY(zeros, movedPlane(out.packed.zeros, order));
    out.packed.zeros = std::move(zeros);
    return out;
}

} // namespace

Result<HostPlanes> hostPlanes(const PackedTensor& packed, const PlannedOutput& output, JobContext& ctx)
{
    HALFTONE_TRY(planes, movedPlanes(packed, output, ctx));
    if (output.layout == nullptr) return std::move(planes);
    HALFTONE_TRY(stored, output.layout->storedPlanes(planes.packed));
    planes.packed = std::move(stored);
    return std::move(planes);
}

Status writePlanes(CheckpointWriter& writer, const PlannedOutput& output, const HostPlanes& planes)
{
    const PackedTensor& p = planes.packed;
    const auto& tensors = output.tensors;
    if (output.layout == nullptr) return writer.write(tensors.front(), bytesOfPlane(p.codes));
    return output.layout->write(p, [&](std::size_t tensor, std::span<const std::byte> bytes) {
        return writer.write(tensors[tensor], bytes);
    });
}

Status writeKept(CheckpointWriter& writer, const PlannedOutput& output, const WeightSet& weights,
                 const WeightInfo& info, JobContext& ctx)
{
    // Rows of a bias are its elements.
    HALFTONE_TRY(order, orderOf(output, info.shape.rank() == 0 ? 0 : info.shape[0]));
    if (output.how == PlannedOutput::How::Convert) return convert(writer, output, weights, info, order, ctx);
    return copy(writer, output, *weights.checkpoint(), info, order, ctx);
}

} // namespace halftone
