// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/base/export.h"
#include "core/numeric/block_format.h"
#include "core/numeric/error_stats.h"
#include "core/tensor/tensor.h"

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace halftone {

// One line an operation. The enum, the name table, the pure virtuals, the capability table, the parity
// test and the benchmark list are all made from this list. An op is added when something uses it.
#define HALFTONE_OPS(X) X(Copy) X(Fill) X(Cast) X(Matmul) X(QuantizeBlocks) X(DequantizeBlocks) X(BlockErrors)

enum class OpId : std::uint16_t {
#define X(name) name,
    HALFTONE_OPS(X)
#undef X
};
HALFTONE_API std::string_view nameOf(OpId op);
HALFTONE_API std::vector<OpId> allOps();

/// A quantized matrix on one device. Planar formats use all planes that they have; interleaved ones `codes`
/// only. codes U8 [rows, codeRowBytes], scales U8 (raw bytes of the scale type), zeros U8, shared U8 (F32
/// values).
struct PackedTensor {
    const BlockFormat* format = nullptr;
    Shape logical; ///< [rows, cols]
    Tensor codes, scales, zeros, shared;
    /// Where these rows lie in the matrix that `shared` belongs to.
    std::int64_t firstRow = 0;
};
/// All planes, for loops; a format lacks some of them.
inline constexpr Tensor PackedTensor::*kPlanes[]{&PackedTensor::codes, &PackedTensor::scales,
                                                 &PackedTensor::zeros, &PackedTensor::shared};
/// Rows [begin, end), in the same memory.
HALFTONE_API PackedTensor rowsOf(const PackedTensor& packed, std::int64_t begin, std::int64_t end);
/// The planes as spans; the host must be able to address them (and write them, in the first form).
HALFTONE_API PackedRows planesOf(PackedTensor& packed);
HALFTONE_API ConstPackedRows planesOf(const PackedTensor& packed);

// One plain struct an operation: inputs, outputs, attributes. No ownership, no defaults that matter.

/// Bytes to another tensor of the same dtype and count, between any two devices.
struct CopyOp {
    const Tensor& src;
    Tensor& dst;
};
/// InvalidArgument when an integer type can't hold the value.
struct FillOp {
    Tensor& dst;
    double value;
};
/// Element-wise conversion of real types to F64, F32, F16 or BF16, round to nearest even. Floats saturate
/// to infinity as IEEE does; NaN stays NaN.
struct CastOp {
    const Tensor& src;
    Tensor& dst;
};
/// c [m, n] = a [m, k] * b [k, n]; transB: b is [n, k]. F32.
struct MatmulOp {
    const Tensor& a;
    const Tensor& b;
    Tensor& c;
    bool transB = false;
};
/// How an encoder works. Importance: how much an error in a column counts (mean square of the activations
/// that meet it), one number a column, finite and not negative; empty: all count the same. Only Encoder::Best
/// heeds it.
struct EncodeOptions {
    Encoder encoder = Encoder::Reference;
    std::span<const float> importance = {};
};
/// in [rows, cols] F32, F16 or BF16 (any alignment). Numeric for NaN or Inf, naming row and column.
struct QuantizeBlocksOp {
    const Tensor& in;
    PackedTensor& packed;
    EncodeOptions options = {};
};
/// out [rows, cols] F32.
struct DequantizeBlocksOp {
    const PackedTensor& packed;
    Tensor& out;
};
/// Error of the packed tensor against `in` (F32, F16, BF16) in blocks of `blockCols` columns (0: whole
/// rows). stats: rows * ceil(cols / blockCols) entries on the host, row-major.
struct BlockErrorsOp {
    const Tensor& in;
    const PackedTensor& packed;
    std::int64_t blockCols;
    std::vector<ErrorStats>& stats;
};

} // namespace halftone
