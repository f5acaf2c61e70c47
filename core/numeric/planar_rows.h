// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/numeric/block_format.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>

namespace halftone {

// What the planar formats have in common: groups along a row, their scales as bytes, and words for both.

static_assert(std::endian::native == std::endian::little, "packed planes are little-endian");

inline std::size_t groupSize(const FormatDesc& desc, std::size_t cols)
{
    return desc.blockSize > 0 ? std::min(static_cast<std::size_t>(desc.blockSize), cols) : cols;
}

inline void storeScale(std::byte* at, float scale, ScaleType type)
{
    const std::uint32_t bits = scaleBits(scale, type);
    std::memcpy(at, &bits, static_cast<std::size_t>(bytesOfScale(type)));
}

inline float loadScale(const std::byte* at, ScaleType type)
{
    std::uint32_t bits = 0;
    std::memcpy(&bits, at, static_cast<std::size_t>(bytesOfScale(type)));
    return scaleOfBits(bits, type);
}

/// "F16": for people. Of float types only.
inline const char* scaleTypeTitle(ScaleType type)
{
    return type == ScaleType::F32 ? "F32" : type == ScaleType::F16 ? "F16" : "BF16";
}

/// "f16": the part of a name. Of float types only.
inline const char* scaleTypeName(ScaleType type)
{
    return type == ScaleType::F32 ? "f32" : type == ScaleType::F16 ? "f16" : "bf16";
}

/// "groups of 128": for people.
std::string groupTitle(std::int64_t blockSize);

} // namespace halftone
