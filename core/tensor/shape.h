// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/base/export.h"

#include <array>
#include <cassert>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>

namespace halftone {

/// Extents of a tensor, slowest first (row-major). Letters used in comments everywhere:
/// B batch, T tokens, C channels, W [out, in] a weight.
class HALFTONE_API Shape {
public:
    static constexpr int kMaxRank = 8;
    Shape() = default;
    Shape(std::initializer_list<std::int64_t> dims);
    /// Nothing when there are more than kMaxRank dims, one is negative, or the count overflows.
    static std::optional<Shape> checked(std::span<const std::int64_t> dims);
    int rank() const { return m_rank; }
    std::int64_t operator[](int axis) const { return m_dims[static_cast<std::size_t>(axis)]; }
    /// Product of the extents; 1 for rank 0.
    std::int64_t count() const;
    /// Seen as a matrix: the last extent, 1 for rank 0; and count() / cols() (0 when empty).
    std::int64_t cols() const { return m_rank == 0 ? 1 : (*this)[m_rank - 1]; }
    std::int64_t rows() const;
    std::span<const std::int64_t> dims() const& { return {m_dims.data(), static_cast<std::size_t>(m_rank)}; }
    std::span<const std::int64_t> dims() && = delete;
    /// "4096 x 1024"; "scalar" for rank 0.
    std::string text() const;
    friend bool operator==(const Shape&, const Shape&) = default;

private:
    std::array<std::int64_t, kMaxRank> m_dims{};
    int m_rank = 0;
};

} // namespace halftone
