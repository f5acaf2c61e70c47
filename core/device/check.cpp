// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/device/check.h"

#include "core/device/device.h"

#include <cmath>
#include <fmt/core.h>

namespace halftone {

namespace {

Error invalid(std::string text) { return {Errc::InvalidArgument, std::move(text)}; }

Status present(const Tensor& tensor, const char* what)
{
    if (tensor.empty()) return invalid(fmt::format("{}: no tensor given", what));
    return Ok{};
}

Status writable(const Tensor& tensor, const char* what)
{
    HALFTONE_CHECK(present(tensor, what));
    if (tensor.storage()->readOnly()) return invalid(fmt::format("{}: the tensor is read-only", what));
    return Ok{};
}

Status sameCount(const Tensor& a, const Tensor& b, const char* what)
{
    if (a.shape().count() != b.shape().count())
        return invalid(fmt::format("{}: {} elements against {}", what, a.shape().text(), b.shape().text()));
    return Ok{};
}

Status plane(const Tensor& tensor, std::uint64_t need, const char* what)
{
    const std::uint64_t have = tensor.empty() ? 0 : tensor.byteSize();
    if (have != need) return invalid(fmt::format("{} plane has {} bytes, needs {}", what, have, need));
    return Ok{};
}

Status planes(const PackedTensor& packed, bool write)
{
    if (packed.format == nullptr) return invalid("packed tensor without a format");
    if (packed.logical.rank() != 2)
        return invalid(fmt::format("packed tensor must be a matrix, is {}", packed.logical.text()));
    HALFTONE_TRY(layout, packed.format->layout(packed.logical[0], packed.logical[1]));
    HALFTONE_CHECK(plane(packed.codes, layout.codeBytes, "code"));
    HALFTONE_CHECK(plane(packed.scales, layout.scaleBytes, "scale"));
    HALFTONE_CHECK(plane(packed.zeros, layout.zeroBytes, "zero-point"));
    if (packed.firstRow < 0) return invalid(fmt::format("packed rows from {} on", packed.firstRow));
    // The plane is that of all rows, of which these may be some.
    const auto need = packed.format->layout(packed.firstRow + packed.logical[0], packed.logical[1]);
    const std::uint64_t have = packed.shared.empty() ? 0 : packed.shared.byteSize();
    if (!need || have < need->sharedBytes)
        return invalid(fmt::format("the plane that all rows share has {} bytes, too few for rows {}..{}",
                                   have, packed.firstRow, packed.firstRow + packed.logical[0]));
    for (Tensor PackedTensor::*plane : kPlanes)
        if (write && !(packed.*plane).empty()) HALFTONE_CHECK(writable(packed.*plane, "packed output"));
    return Ok{};
}

Status importance(std::span<const float> values, std::int64_t cols)
{
    if (values.empty()) return Ok{};
    if (values.size() != static_cast<std::size_t>(cols))
        return invalid(fmt::format("importance of {} columns for a matrix of {}", values.size(), cols));
    for (const float x : values)
        if (!(x >= 0) || !std::isfinite(x)) return invalid(fmt::format("importance {} of a column", x));
    return Ok{};
}

Status sameMatrix(const Tensor& plain, const PackedTensor& packed, const char* what)
{
    const Shape& s = plain.shape();
    const bool same = s.rank() > 0 && s.cols() == packed.logical[1] && s.count() == packed.logical.count();
    if (!same) return invalid(fmt::format("{}: {} against packed {}", what, s.text(), packed.logical.text()));
    return Ok{};
}

} // namespace

Status checkHost(const Tensor& tensor)
{
    if (tensor.empty() || tensor.byteSize() == 0) return Ok{};
    if (tensor.storage()->hostRead().size() < tensor.storage()->size())
        return invalid(
            fmt::format("the tensor is on {}: copy it to the CPU first", tensor.device().info().id));
    return Ok{};
}

Status checkOp(const CopyOp& op)
{
    HALFTONE_CHECK(present(op.src, "copy source"));
    HALFTONE_CHECK(writable(op.dst, "copy target"));
    if (op.src.dtype() != op.dst.dtype())
        return invalid(fmt::format("copy from {} to {}: a copy keeps the type, use a cast",
                                   nameOf(op.src.dtype()), nameOf(op.dst.dtype())));
    return sameCount(op.src, op.dst, "copy");
}

Status checkOp(const FillOp& op) { return writable(op.dst, "fill target"); }

Status checkOp(const CastOp& op)
{
    HALFTONE_CHECK(present(op.src, "cast source"));
    HALFTONE_CHECK(writable(op.dst, "cast target"));
    return sameCount(op.src, op.dst, "cast");
}

Status checkOp(const MatmulOp& op)
{
    HALFTONE_CHECK(present(op.a, "left matrix"));
    HALFTONE_CHECK(present(op.b, "right matrix"));
    HALFTONE_CHECK(writable(op.c, "product"));
    const Shape &a = op.a.shape(), &b = op.b.shape(), &c = op.c.shape();
    const bool matrices = a.rank() == 2 && b.rank() == 2 && c.rank() == 2;
    if (!matrices || a[1] != b[op.transB ? 1 : 0] || c[0] != a[0] || c[1] != b[op.transB ? 0 : 1])
        return invalid(fmt::format("matrix product: [{}] = [{}] * [{}]{}", c.text(), a.text(), b.text(),
                                   op.transB ? " transposed" : ""));
    if (op.b.dtype() != op.a.dtype() || op.c.dtype() != op.a.dtype())
        return invalid(fmt::format("matrix product: types {}, {} and {} differ", nameOf(op.a.dtype()),
                                   nameOf(op.b.dtype()), nameOf(op.c.dtype())));
    return Ok{};
}

Status checkOp(const QuantizeBlocksOp& op)
{
    HALFTONE_CHECK(present(op.in, "tensor to quantize"));
    HALFTONE_CHECK(planes(op.packed, true));
    HALFTONE_CHECK(importance(op.options.importance, op.packed.logical[1]));
    return sameMatrix(op.in, op.packed, "quantize");
}

Status checkOp(const DequantizeBlocksOp& op)
{
    HALFTONE_CHECK(writable(op.out, "dequantize target"));
    HALFTONE_CHECK(planes(op.packed, false));
    if (op.out.dtype() != DType::F32)
        return invalid(fmt::format("dequantize gives F32, the target is {}", nameOf(op.out.dtype())));
    return sameMatrix(op.out, op.packed, "dequantize");
}

Status checkOp(const BlockErrorsOp& op)
{
    HALFTONE_CHECK(present(op.in, "original tensor"));
    HALFTONE_CHECK(planes(op.packed, false));
    if (op.blockCols < 0) return invalid(fmt::format("blocks of {} columns", op.blockCols));
    return sameMatrix(op.in, op.packed, "block errors");
}

DType dtypeOf(const CopyOp& op) { return op.src.dtype(); }
DType dtypeOf(const FillOp& op) { return op.dst.dtype(); }
DType dtypeOf(const CastOp& op) { return op.src.dtype(); }
DType dtypeOf(const MatmulOp& op) { return op.a.dtype(); }
DType dtypeOf(const QuantizeBlocksOp& op) { return op.in.dtype(); }
DType dtypeOf(const DequantizeBlocksOp&) { return DType::U8; }
DType dtypeOf(const BlockErrorsOp& op) { return op.in.dtype(); }

const BlockFormat* formatOf(const CopyOp&) { return nullptr; }
const BlockFormat* formatOf(const FillOp&) { return nullptr; }
const BlockFormat* formatOf(const CastOp&) { return nullptr; }
const BlockFormat* formatOf(const MatmulOp&) { return nullptr; }
const BlockFormat* formatOf(const QuantizeBlocksOp& op) { return op.packed.format; }
const BlockFormat* formatOf(const DequantizeBlocksOp& op) { return op.packed.format; }
const BlockFormat* formatOf(const BlockErrorsOp& op) { return op.packed.format; }

} // namespace halftone
