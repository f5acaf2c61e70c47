// SPDX-License-Identifier: GPL-3.0-or-later
#include "gpu/runtime/probe.h"

#include "gpu/runtime/cuda_error.h"

#include <cuda_runtime_api.h>
#include <fmt/core.h>

namespace halftone::cuda {

namespace {

constexpr int kOldestMajor = 8; // the module is compiled for compute capability 8.0 and newer

DeviceInfo describe(int index)
{
    DeviceInfo info;
    info.id = fmt::format("cuda:{}", index);
    cudaDeviceProp properties{};
    if (const auto e = cudaGetDeviceProperties(&properties, index); e != cudaSuccess) {
        info.description = "NVIDIA GPU";
        info.whyUnusable = whyNoDevice(e);
        return info;
    }
    info.description =
        fmt::format("{}, compute capability {}.{}", properties.name, properties.major, properties.minor);
    info.totalBytes = properties.totalGlobalMem;
    if (properties.major < kOldestMajor)
        info.whyUnusable = fmt::format("compute capability {}.{}: this program needs {}.0 or newer",
                                       properties.major, properties.minor, kOldestMajor);
    return info;
}

} // namespace

std::vector<DeviceInfo> probeGpus()
{
    int count = 0;
    auto e = cudaGetDeviceCount(&count);
    if (e == cudaSuccess && count == 0) e = cudaErrorNoDevice;
    if (e != cudaSuccess) return {{"cuda", "NVIDIA GPUs through CUDA", 0, whyNoDevice(e)}};
    std::vector<DeviceInfo> list;
    for (int index = 0; index < count; ++index)
        list.push_back(describe(index));
    return list;
}

} // namespace halftone::cuda
