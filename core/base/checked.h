// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <span>

namespace halftone {

/// a * b, or nothing when it does not fit. Sizes from files go through here before any use.
template <std::integral T> [[nodiscard]] constexpr std::optional<T> checkedMul(T a, T b)
{
    T out;
    if (__builtin_mul_overflow(a, b, &out)) return std::nullopt;
    return out;
}

/// a + b, or nothing when it does not fit.
template <std::integral T> [[nodiscard]] constexpr std::optional<T> checkedAdd(T a, T b)
{
    T out;
    if (__builtin_add_overflow(a, b, &out)) return std::nullopt;
    return out;
}

/// Rounds `value` up to a multiple of `step` (step > 0), or nothing when it does not fit.
template <std::unsigned_integral T> [[nodiscard]] constexpr std::optional<T> checkedRoundUp(T value, T step)
{
    const T rest = value % step;
    return rest == 0 ? std::optional<T>(value) : checkedAdd<T>(value, step - rest);
}

/// True when [offset, offset + size) lies inside [0, limit).
[[nodiscard]] constexpr bool fits(std::uint64_t offset, std::uint64_t size, std::uint64_t limit)
{
    return offset <= limit && size <= limit - offset;
}

/// ceil(a / b) for a >= 0, b > 0.
template <std::integral T> [[nodiscard]] constexpr T ceilDiv(T a, T b)
{
    return a / b + (a % b != 0 ? 1 : 0);
}

} // namespace halftone
