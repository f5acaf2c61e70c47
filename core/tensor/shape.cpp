// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/tensor/shape.h"

#include "core/base/checked.h"

#include <algorithm>
#include <fmt/format.h>

namespace halftone {

namespace {

// Product of the extents. An extent of 0 makes an empty tensor, whatever the others are, but the others
// must still multiply without overflow: strides are made of them.
std::optional<std::int64_t> checkedCount(std::span<const std::int64_t> dims)
{
    std::int64_t nonzero = 1;
    bool empty = false;
    for (const std::int64_t extent : dims) {
        if (extent < 0) return std::nullopt;
        if (extent == 0) {
            empty = true;
            continue;
        }
        const auto next = checkedMul(nonzero, extent);
        if (!next) return std::nullopt;
        nonzero = *next;
    }
    return empty ? 0 : nonzero;
}

} // namespace

Shape::Shape(std::initializer_list<std::int64_t> dims) : m_rank(static_cast<int>(dims.size()))
{
    assert(dims.size() <= kMaxRank && checkedCount({dims.begin(), dims.size()}));
    std::copy(dims.begin(), dims.end(), m_dims.begin());
}

std::optional<Shape> Shape::checked(std::span<const std::int64_t> dims)
{
    if (dims.size() > kMaxRank || !checkedCount(dims)) return std::nullopt;
    Shape shape;
    shape.m_rank = static_cast<int>(dims.size());
    std::copy(dims.begin(), dims.end(), shape.m_dims.begin());
    return shape;
}

std::int64_t Shape::count() const { return checkedCount(dims()).value_or(0); }

std::int64_t Shape::rows() const
{
    const std::int64_t width = cols();
    return width == 0 ? 0 : count() / width;
}

std::string Shape::text() const
{
    return m_rank == 0 ? "scalar" : fmt::format("{}", fmt::join(dims(), " x "));
}

} // namespace halftone
