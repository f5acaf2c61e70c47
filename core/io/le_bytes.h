// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <bit>
#include <cstddef>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

namespace halftone {

static_assert(std::endian::native == std::endian::little, "checkpoints are little-endian");

/// The number at the start of `bytes`, of any alignment; the caller has checked the size.
template <class T>
requires std::is_arithmetic_v<T> T readLe(std::span<const std::byte> bytes)
{
    T value;
    std::memcpy(&value, bytes.data(), sizeof value);
    return value;
}

template <class T>
requires std::is_arithmetic_v<T>
void appendLe(std::vector<std::byte>& out, T value)
{
    const auto bytes = std::as_bytes(std::span(&value, 1));
    out.insert(out.end(), bytes.begin(), bytes.end());
}

inline void appendText(std::vector<std::byte>& out, std::string_view text)
{
    const auto bytes = std::as_bytes(std::span(text.data(), text.size()));
    out.insert(out.end(), bytes.begin(), bytes.end());
}

/// A string as GGUF stores it: 64-bit length, bytes.
inline void appendGgufString(std::vector<std::byte>& out, std::string_view text)
{
    appendLe(out, static_cast<std::uint64_t>(text.size()));
    appendText(out, text);
}

inline std::string_view asText(std::span<const std::byte> bytes)
{
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

} // namespace halftone
