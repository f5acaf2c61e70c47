// SPDX-License-Identifier: GPL-3.0-or-later
#include "gpu/runtime/cuda_storage.h"

#include <cuda_runtime_api.h>

namespace halftone::cuda {

CudaStorage::CudaStorage(std::shared_ptr<Device> device, int index, void* data, std::size_t size)
    : m_device(std::move(device)), m_index(index), m_data(data), m_size(size)
{
}

CudaStorage::~CudaStorage()
{
    // Any thread may drop the last handle; the current GPU belongs to a thread. A failure here has no
    // one to go to, and means that the process is ending.
    static_cast<void>(cudaSetDevice(m_index));
    static_cast<void>(cudaFree(m_data));
}

} // namespace halftone::cuda
