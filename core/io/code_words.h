// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/io/le_bytes.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace halftone {

/// Code `index` of a dense little-endian stream of `bits` (2..8) in whole 32-bit words.
inline std::uint32_t codeAt(std::span<const std::byte> words, std::uint64_t index, int bits)
{
    const std::uint64_t bit = index * static_cast<std::uint64_t>(bits);
    const auto word = static_cast<std::size_t>(bit / 32);
    const auto shift = static_cast<int>(bit % 32);
    std::uint64_t value = readLe<std::uint32_t>(words.subspan(4 * word));
    // A code may straddle two words.
    if (shift + bits > 32) value |= std::uint64_t(readLe<std::uint32_t>(words.subspan(4 * word + 4))) << 32;
    return static_cast<std::uint32_t>(value >> shift) & ((1u << bits) - 1u);
}

/// Sets code `index` of a stream of zeros.
inline void putCode(std::span<std::byte> words, std::uint64_t index, int bits, std::uint32_t code)
{
    const std::uint64_t bit = index * static_cast<std::uint64_t>(bits);
    const auto word = static_cast<std::size_t>(bit / 32);
    const auto shift = static_cast<int>(bit % 32);
    const std::uint64_t value = std::uint64_t(code) << shift;
    const auto add = [&](std::size_t w, std::uint32_t part) {
        part |= readLe<std::uint32_t>(words.subspan(4 * w));
        std::memcpy(words.data() + 4 * w, &part, sizeof part);
    };
    add(word, static_cast<std::uint32_t>(value));
    if (shift + bits > 32) add(word + 1, static_cast<std::uint32_t>(value >> 32));
}

} // namespace halftone
