// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/export.h"
#include "core/device/device.h"
#include "gpu/runtime/cuda_device.h"
#include "gpu/runtime/probe.h"

#include <fmt/core.h>
#include <map>
#include <mutex>
#include <new>

namespace halftone::cuda {

namespace {

class CudaBackend final : public Backend {
public:
    std::string_view name() const override { return "cuda"; }

    std::vector<DeviceInfo> probe() const noexcept override
    {
        try {
            return probeGpus();
        } catch (const std::bad_alloc&) {
            return {};
        }
    }

    Result<std::shared_ptr<Device>> open(std::string_view deviceId) override
    {
        const auto list = probe();
        for (std::size_t i = 0; i < list.size(); ++i) {
            if (list[i].id != deviceId) continue;
            if (!list[i].whyUnusable.empty())
                return Error(Errc::Device, fmt::format("{}: {}", deviceId, list[i].whyUnusable));
            // One object a GPU while anyone holds it, so that tensors of two jobs can meet.
            const std::scoped_lock lock(m_mutex);
            auto& known = m_open[list[i].id];
            if (auto device = known.lock()) return device;
            HALFTONE_TRY(device, openGpu(static_cast<int>(i), list[i]));
            known = device;
            return device;
        }
        return Error(Errc::NotFound, fmt::format("no device '{}'", deviceId));
    }

private:
    std::mutex m_mutex;
    std::map<std::string, std::weak_ptr<Device>, std::less<>> m_open; ///< guarded by m_mutex
};

} // namespace

} // namespace halftone::cuda

/// The entry that core looks up; the object lives as long as the program.
extern "C" HALFTONE_API halftone::Backend* halftone_backend_v1();
halftone::Backend* halftone_backend_v1()
{
    static halftone::cuda::CudaBackend backend;
    return &backend;
}
