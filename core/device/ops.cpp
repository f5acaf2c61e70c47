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

PackedRows planesOf(PackedTensor& packed)
{
    PackedRows rows;
    rows.codes = packed.codes.mutableBytes();
    if (!packed.scales.empty()) rows.scales = packed.scales.mutableBytes();
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
    if (packed.zeros.empty()) return rows;
    const auto zeros = packed.zeros.bytes();
    rows.zeros = {reinterpret_cast<const std::uint8_t*>(zeros.data()), zeros.size()};
    return rows;
}

} // namespace halftone
