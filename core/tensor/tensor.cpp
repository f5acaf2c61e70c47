// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/tensor/tensor.h"

#include "core/base/checked.h"

namespace halftone {

namespace {

std::uint64_t bytesFor(DType dtype, const Shape& shape)
{
    const auto bytes = bytesOf(dtype, static_cast<std::uint64_t>(shape.count()));
    assert(bytes);
    return bytes.value_or(0);
}

} // namespace

Tensor::Tensor(std::shared_ptr<Storage> storage, DType dtype, Shape shape, std::size_t byteOffset)
    : m_storage(std::move(storage)), m_dtype(dtype), m_shape(shape), m_byteOffset(byteOffset)
{
    assert(m_storage != nullptr);
    assert(fits(m_byteOffset, bytesFor(m_dtype, m_shape), m_storage->size()));
}

std::uint64_t Tensor::byteSize() const { return bytesFor(m_dtype, m_shape); }

std::span<const std::byte> Tensor::bytes() const
{
    const auto size = static_cast<std::size_t>(byteSize());
    if (size == 0) return {};
    const auto all = m_storage->hostRead();
    assert(fits(m_byteOffset, size, all.size()));
    return all.subspan(m_byteOffset, size);
}

std::span<std::byte> Tensor::mutableBytes()
{
    const auto size = static_cast<std::size_t>(byteSize());
    if (size == 0) return {};
    const auto all = m_storage->host();
    assert(fits(m_byteOffset, size, all.size()));
    return all.subspan(m_byteOffset, size);
}

Tensor Tensor::rows(std::int64_t begin, std::int64_t end) const
{
    assert(0 <= begin && begin <= end && end <= m_shape.rows());
    const std::int64_t cols = m_shape.cols();
    const Shape part{end - begin, cols};
    const auto offset = bytesOf(m_dtype, static_cast<std::uint64_t>(begin * cols));
    assert(offset); // a row of a sub-byte type must end on a whole byte
    return {m_storage, m_dtype, part, m_byteOffset + static_cast<std::size_t>(offset.value_or(0))};
}

} // namespace halftone
