// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/base/export.h"
#include "core/numeric/dtype.h"
#include "core/tensor/shape.h"

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

namespace halftone {

class Device;

/// Bytes on one device. Owned by shared_ptr; keeps its allocator (or the mapped file) alive.
class HALFTONE_API Storage {
public:
    virtual ~Storage() = default;
    virtual Device& device() const = 0;
    virtual std::span<std::byte> host() = 0; ///< empty when the host can't address it, or it is read-only
    virtual std::span<const std::byte> hostRead() const = 0;
    virtual void* deviceData() = 0; ///< the device's own address of the first byte
    virtual std::size_t size() const = 0;
    virtual bool readOnly() const = 0; ///< true for a mapped checkpoint
};

template <class T> inline constexpr std::optional<DType> kDTypeOf = std::nullopt;
template <> inline constexpr std::optional<DType> kDTypeOf<float> = DType::F32;
template <> inline constexpr std::optional<DType> kDTypeOf<double> = DType::F64;
template <> inline constexpr std::optional<DType> kDTypeOf<std::int8_t> = DType::I8;
template <> inline constexpr std::optional<DType> kDTypeOf<std::int32_t> = DType::I32;
template <> inline constexpr std::optional<DType> kDTypeOf<std::int64_t> = DType::I64;
template <> inline constexpr std::optional<DType> kDTypeOf<std::uint8_t> = DType::U8;

/// Owning handle with value semantics: a copy shares the storage. Always contiguous, row-major.
class HALFTONE_API Tensor {
public:
    Tensor() = default;
    Tensor(std::shared_ptr<Storage> storage, DType dtype, Shape shape, std::size_t byteOffset = 0);
    bool empty() const { return m_storage == nullptr; }
    DType dtype() const { return m_dtype; }
    const Shape& shape() const { return m_shape; }
    Device& device() const { return m_storage->device(); }
    const std::shared_ptr<Storage>& storage() const { return m_storage; }
    std::size_t byteOffset() const { return m_byteOffset; }
    std::uint64_t byteSize() const;
    /// The raw bytes; asserts that the host can address them.
    std::span<const std::byte> bytes() const;
    std::span<std::byte> mutableBytes();
    /// Typed elements; asserts dtype, alignment and (for non-const T) that it is not read-only.
    template <class T> std::span<T> values()
    {
        if constexpr (std::is_const_v<T>) return std::as_const(*this).template values<T>();
        assert(kDTypeOf<std::remove_const_t<T>> == m_dtype);
        auto b = mutableBytes();
        return {reinterpret_cast<T*>(b.data()), b.size() / sizeof(T)};
    }
    template <class T> std::span<const T> values() const
    {
        assert(kDTypeOf<std::remove_const_t<T>> == m_dtype);
        auto b = bytes();
        return {reinterpret_cast<const T*>(b.data()), b.size() / sizeof(T)};
    }
    /// Rows [begin, end) of the tensor seen as a matrix; shares the storage; rank 2.
    Tensor rows(std::int64_t begin, std::int64_t end) const;

private:
    std::shared_ptr<Storage> m_storage;
    DType m_dtype = DType::F32;
    Shape m_shape;
    std::size_t m_byteOffset = 0;
};

} // namespace halftone
