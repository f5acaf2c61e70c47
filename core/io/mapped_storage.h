// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/device/device.h"

#include <cstddef>
#include <memory>
#include <span>
#include <utility>

namespace halftone {

/// Read-only memory of a mapped file as a tensor's storage. `owner` keeps the mapping alive.
class MappedStorage final : public Storage {
public:
    MappedStorage(std::shared_ptr<const void> owner, std::span<const std::byte> bytes)
        : m_owner(std::move(owner)), m_bytes(bytes)
    {
    }
    Device& device() const override { return cpuDevice(); }
    std::span<std::byte> host() override { return {}; }
    std::span<const std::byte> hostRead() const override { return m_bytes; }
    void* deviceData() override { return const_cast<std::byte*>(m_bytes.data()); }
    std::size_t size() const override { return m_bytes.size(); }
    bool readOnly() const override { return true; }

private:
    std::shared_ptr<const void> m_owner;
    std::span<const std::byte> m_bytes;
};

/// Bytes of a mapped file as a U8 matrix of `rows` rows.
inline Tensor mappedPlane(std::shared_ptr<const void> owner, std::span<const std::byte> bytes,
                          std::int64_t rows)
{
    const auto size = static_cast<std::int64_t>(bytes.size());
    const Shape shape{rows, rows == 0 ? 0 : size / rows};
    return Tensor(std::make_shared<MappedStorage>(std::move(owner), bytes), DType::U8, shape);
}

} // namespace halftone
