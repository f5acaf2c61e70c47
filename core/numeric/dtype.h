// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/base/export.h"

#include <cstdint>
#include <optional>
#include <string_view>

namespace halftone {

/// Plain element types: all that safetensors and GGUF can store without blocks.
/// Sub-byte types (F4, F6*) are sized, not addressable one by one.
enum class DType : std::uint8_t {
    Bool,
    F4,
    F6E2M3,
    F6E3M2,
    U8,
    I8,
    F8E5M2,
    F8E4M3,
    F8E8M0,
    F8E4M3Fnuz,
    F8E5M2Fnuz,
    I16,
    U16,
    F16,
    BF16,
    I32,
    U32,
    F32,
    C64,
    F64,
    I64,
    U64
};
inline constexpr int kDTypeCount = 22;

HALFTONE_API int bitsOf(DType dtype);
/// The name used in safetensors headers and on screen: "BF16", "F8_E4M3".
HALFTONE_API std::string_view nameOf(DType dtype);
HALFTONE_API std::optional<DType> dtypeNamed(std::string_view name);
/// True for types that stand for real numbers (floats and integers, not Bool and C64).
HALFTONE_API bool isReal(DType dtype);
HALFTONE_API bool isFloat(DType dtype);
/// Bytes of `count` elements, or nothing when the bits don't fill whole bytes or the size overflows.
HALFTONE_API std::optional<std::uint64_t> bytesOf(DType dtype, std::uint64_t count);

} // namespace halftone
