// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/tensor/tensor.h"

#include <memory>

namespace halftone::cuda {

/// Memory of one GPU, which the host can't address. Keeps its device alive.
class CudaStorage final : public Storage {
public:
    CudaStorage(std::shared_ptr<Device> device, int index, void* data, std::size_t size);
    CudaStorage(const CudaStorage&) = delete;
    CudaStorage& operator=(const CudaStorage&) = delete;
    ~CudaStorage() override;
    Device& device() const override { return *m_device; }
    std::span<std::byte> host() override { return {}; }
    std::span<const std::byte> hostRead() const override { return {}; }
    void* deviceData() override { return m_data; }
    std::size_t size() const override { return m_size; }
    bool readOnly() const override { return false; }

private:
    std::shared_ptr<Device> m_device;
    int m_index;
    void* m_data;
    std::size_t m_size;
};

} // namespace halftone::cuda
