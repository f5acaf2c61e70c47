// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/device/device.h"

#include "core/device/backend_modules.h"
#include "core/device/cpu/cpu_device.h"

#include <atomic>
#include <fmt/core.h>
#include <omp.h>

namespace halftone {

namespace {

std::atomic<int>& threadSetting()
{
    static std::atomic<int> count{0}; // 0: as many as OpenMP would take
    return count;
}

} // namespace

// Both devices are leaked: tensors in other statics may outlive any order of destruction.
Device& cpuDevice()
{
    static Device* const device = cpu::makeDevice(cpu::Choice::Best).release();
    return *device;
}

Device& referenceDevice()
{
    static Device* const device = cpu::makeDevice(cpu::Choice::Reference).release();
    return *device;
}

std::vector<DeviceInfo> probeDevices()
{
    std::vector<DeviceInfo> list{cpuDevice().info()};
    for (const BackendModule& module : backendModules()) {
        if (module.backend == nullptr) {
            list.push_back(module.placeholder);
            continue;
        }
        for (DeviceInfo& info : module.backend->probe())
            list.push_back(std::move(info));
    }
    return list;
}

Result<std::shared_ptr<Device>> openDevice(std::string_view id)
{
    if (id == "cpu") return std::shared_ptr<Device>(std::shared_ptr<void>(), &cpuDevice());
    std::string known = "cpu";
    for (const BackendModule& module : backendModules()) {
        const auto& stand = module.placeholder;
        // "cuda:1" belongs to the module "cuda", even when no device can be listed.
        const bool family = id == stand.id || id.starts_with(stand.id + ":");
        if (module.backend == nullptr) {
            if (family) return Error(Errc::Device, fmt::format("{}: {}", id, stand.whyUnusable));
            continue;
        }
        for (const DeviceInfo& info : module.backend->probe()) {
            const bool named = info.id == id;
            if (!info.whyUnusable.empty()) {
                // A back end without a driver may have no numbered device to name.
                if (named || (family && info.id == stand.id))
                    return Error(Errc::Device, fmt::format("{}: {}", id, info.whyUnusable));
                continue;
            }
            if (named) return module.backend->open(id);
            known += ", " + info.id;
        }
    }
    return Error(Errc::NotFound, fmt::format("no device '{}'; there is: {}", id, known));
}

Result<Tensor> makeTensor(Device& device, DType dtype, const Shape& shape)
{
    const auto bytes = bytesOf(dtype, static_cast<std::uint64_t>(shape.count()));
    if (!bytes)
        return Error(Errc::InvalidArgument,
                     fmt::format("{} of {} does not fill whole bytes", shape.text(), nameOf(dtype)));
    HALFTONE_TRY(storage, device.allocate(static_cast<std::size_t>(*bytes)));
    return Tensor(std::move(storage), dtype, shape);
}

Result<PackedTensor> makePacked(Device& device, const BlockFormat& format, const Shape& matrix)
{
    if (matrix.rank() != 2)
        return Error(Errc::InvalidArgument,
                     fmt::format("{}: only matrices can be packed, not {}", format.name(), matrix.text()));
    HALFTONE_TRY(layout, format.layout(matrix[0], matrix[1]));
    PackedTensor packed;
    packed.format = &format;
    packed.logical = matrix;
    const auto plane = [&](std::uint64_t total, std::uint64_t rowBytes) {
        const auto whole = static_cast<std::int64_t>(total), row = static_cast<std::int64_t>(rowBytes);
        return makeTensor(device, DType::U8, row > 0 ? Shape{matrix[0], row} : Shape{1, whole});
    };
    HALFTONE_TRY(codes, plane(layout.codeBytes, layout.codeRowBytes));
    packed.codes = codes;
    if (format.desc().layout == FormatDesc::Layout::Planar) {
        HALFTONE_TRY(scales, plane(layout.scaleBytes, layout.scaleRowBytes));
        packed.scales = scales;
    }
    if (format.desc().zeroPoint) {
        HALFTONE_TRY(zeros, plane(layout.zeroBytes, layout.zeroRowBytes));
        packed.zeros = zeros;
    }
    if (layout.sharedBytes > 0) {
        HALFTONE_TRY(shared, plane(layout.sharedBytes, 0));
        packed.shared = shared;
    }
    return packed;
}

void setThreadCount(int threads) { threadSetting() = std::max(threads, 0); }

int threadCount()
{
    const int set = threadSetting();
    return set > 0 ? set : omp_get_max_threads();
}

} // namespace halftone
