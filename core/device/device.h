// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/base/export.h"
#include "core/base/result.h"
#include "core/device/ops.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace halftone {

/// An ordered queue on one device; the CPU's runs at once. Owned by one job.
class HALFTONE_API Stream {
public:
    virtual ~Stream() = default;
};

struct DeviceInfo {
    std::string id;          ///< "cpu", "cuda:0"
    std::string description; ///< for people
    std::uint64_t totalBytes = 0;
    std::string whyUnusable; ///< empty when usable; shown to the person as it stands
};

/// Thread rules: info and supports from anywhere; allocate and run from the one job that holds the stream.
class HALFTONE_API Device {
public:
    virtual ~Device() = default;
    virtual const DeviceInfo& info() const = 0;
    /// 64-byte aligned, uninitialised. OutOfMemory names the size.
    virtual Result<std::shared_ptr<Storage>> allocate(std::size_t bytes) = 0;
    virtual Result<std::unique_ptr<Stream>> makeStream() = 0;
    virtual Status synchronize(Stream&) = 0;
    /// May be false for a dtype the back end lacks; run() then answers Unsupported. The dtype is that
    /// of the op's main input (Fill: the output); for the block ops it is asked together with the format.
    /// DequantizeBlocks has one input type only and ignores the dtype.
    virtual bool supports(OpId op, DType dtype, const BlockFormat* format = nullptr) const = 0;
#define X(name) virtual Status run(const name##Op&, Stream&) = 0;
    HALFTONE_OPS(X)
#undef X
};

/// One for the CPU (in core), one for CUDA (in gpu, loaded at run time).
class HALFTONE_API Backend {
public:
    virtual ~Backend() = default;
    virtual std::string_view name() const = 0;
    /// Never fails: an unusable device says why in whyUnusable.
    virtual std::vector<DeviceInfo> probe() const noexcept = 0;
    virtual Result<std::shared_ptr<Device>> open(std::string_view deviceId) = 0;
};

/// The CPU, always there. Its kernels are chosen for this machine at run time.
HALFTONE_API Device& cpuDevice();
/// The CPU with the plain reference of each op only: what parity tests compare against.
HALFTONE_API Device& referenceDevice();
/// All devices of all back ends, the CPU first. Looks for the CUDA module once.
HALFTONE_API std::vector<DeviceInfo> probeDevices();
/// "cpu", "cuda:0". NotFound lists what there is; Device repeats whyUnusable.
HALFTONE_API Result<std::shared_ptr<Device>> openDevice(std::string_view id);
/// A tensor of fresh memory.
HALFTONE_API Result<Tensor> makeTensor(Device& device, DType dtype, const Shape& shape);
/// Fresh planes for `format` over [rows, cols]. InvalidArgument when the shape does not fit.
HALFTONE_API Result<PackedTensor> makePacked(Device& device, const BlockFormat& format, const Shape& matrix);
/// Threads that the CPU's loops use. Results never depend on it.
HALFTONE_API void setThreadCount(int threads);
HALFTONE_API int threadCount();

/// The C entry of a back-end module: `extern "C" halftone::Backend* halftone_backend_v1()`.
using BackendEntry = Backend* (*)();
inline constexpr const char* kBackendEntryName = "halftone_backend_v1";

} // namespace halftone
