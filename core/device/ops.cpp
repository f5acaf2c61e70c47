// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/device/ops.h"

namespace halftone {

std::string_view nameOf(OpId op)
{
    switch (op) {
#define X(name)                                                                                              \
    case OpId::name:                                                                                         \
        return #name;
        HALFTONE_OPS(X)
#undef X
    }
    return "?";
}

std::vector<OpId> allOps()
{
    return {
#define X(name) OpId::name,
        HALFTONE_OPS(X)
#undef X
    };
}

PackedTensor rowsOf(const PackedTensor& packed, std::int64_t begin, std::int64_t end)
{
    const std::int64_t rows = packed.logical.rows();
    const bool oneScale = packed.format->desc().blockSize == FormatDesc::kWholeTensor;
    const auto part = [&](const Tensor& plane) {
        if (plane.empty() || rows == 0) return plane;
        const std::uint64_t width = plane.byteSize() / static_cast<std::uint64_t>(rows);
        return Tensor(plane.storage(), DType::U8, Shape{end - begin, static_cast<std::int64_t>(width)},
                      plane.byteOffset() +
                          static_cast<std::size_t>(static_cast<std::uint64_t>(begin) * width));
    };
    PackedTensor out = packed;
    out.logical = Shape{end - begin, packed.logical.cols()};
    out.firstRow = packed.firstRow + begin;
    out.codes = part(packed.codes);
    if (!oneScale) {
        out.scales = part(packed.scales);
        out.zeros = part(packed.zeros);
    }
    return out;
}

PackedRows planesOf(PackedTensor& packed)
{
    PackedRows rows;
    rows.codes = packed.codes.mutableBytes();
    if (!packed.scales.empty()) rows.scales = packed.scales.mutableBytes();
    if (!packed.shared.empty()) rows.shared = packed.shared.mutableBytes();
    rows.firstRow = packed.firstRow;
    if (packed.zeros.empty()) return rows;
    const auto zeros = packed.zeros.mutableBytes();
    rows.zeros = {reinterpret_cast<std::uint8_t*>(zeros.data()), zeros.size()};
    return rows;
}

ConstPackedRows planesOf(const PackedTensor& packed)
{
    ConstPackedRows rows;
    rows.codes = packed.codes.bytes();
    if (!packed.scales.empty()) rows.scales = packed.scales.bytes();
    if (!packed.shared.empty()) rows.shared = packed.shared.bytes();
    rows.firstRow = packed.firstRow;
    if (packed.zeros.empty()) return rows;
    const auto zeros = packed.zeros.bytes();
    rows.zeros = {reinterpret_cast<const std::uint8_t*>(zeros.data()), zeros.size()};
    return rows;
}

} // namespace halftone
