// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/device/cpu/cpu_device.h"

#include "core/base/checked.h"
#include "core/base/text.h"
#include "core/device/check.h"
#include "core/device/cpu/kernels.h"

#include <cstdlib>
#include <fmt/core.h>
#include <fstream>
#include <sys/sysinfo.h>
#include <thread>

namespace halftone::cpu {

namespace {

constexpr std::size_t kAlignment = 64;

std::string cpuName()
{
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);) {
        const auto colon = line.find(": ");
        if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
    }
    return "CPU";
}

struct Memory {
    std::uint64_t physical = 0;
    std::uint64_t withSwap = 0;
};

Memory machineMemory()
{
    struct sysinfo info {};
    if (::sysinfo(&info) != 0) return {};
    const auto unit = static_cast<std::uint64_t>(info.mem_unit);
    return {info.totalram * unit, (info.totalram + info.totalswap) * unit};
}

class CpuStream final : public Stream {};

class CpuStorage final : public Storage {
public:
    CpuStorage(Device& device, std::byte* data, std::size_t size)
        : m_device(device), m_data(data), m_size(size)
    {
    }
    CpuStorage(const CpuStorage&) = delete;
    CpuStorage& operator=(const CpuStorage&) = delete;
    ~CpuStorage() override { std::free(m_data); }
    Device& device() const override { return m_device; }
    std::span<std::byte> host() override { return {m_data, m_size}; }
    std::span<const std::byte> hostRead() const override { return {m_data, m_size}; }
    void* deviceData() override { return m_data; }
    std::size_t size() const override { return m_size; }
    bool readOnly() const override { return false; }

private:
    Device& m_device;
    std::byte* m_data;
    std::size_t m_size;
};

// The tensors an op touches, for the check that the host can address them.
std::vector<const Tensor*> tensorsOf(const PackedTensor& p)
{
    return {&p.codes, &p.scales, &p.zeros, &p.shared};
}
std::vector<const Tensor*> tensorsOf(const CopyOp& op) { return {&op.src, &op.dst}; }
std::vector<const Tensor*> tensorsOf(const FillOp& op) { return {&op.dst}; }
std::vector<const Tensor*> tensorsOf(const CastOp& op) { return {&op.src, &op.dst}; }
std::vector<const Tensor*> tensorsOf(const MatmulOp& op) { return {&op.a, &op.b, &op.c}; }
std::vector<const Tensor*> withPlanes(const Tensor& plain, const PackedTensor& packed)
{
    auto list = tensorsOf(packed);
    list.push_back(&plain);
    return list;
}
std::vector<const Tensor*> tensorsOf(const QuantizeBlocksOp& op) { return withPlanes(op.in, op.packed); }
std::vector<const Tensor*> tensorsOf(const DequantizeBlocksOp& op) { return withPlanes(op.out, op.packed); }
std::vector<const Tensor*> tensorsOf(const BlockErrorsOp& op) { return withPlanes(op.in, op.packed); }

class CpuDevice final : public Device {
public:
    explicit CpuDevice(Choice choice) : m_choice(choice), m_memory(machineMemory())
    {
        m_info.id = "cpu";
        m_info.description =
            fmt::format("{}, {} threads{}", cpuName(), std::max(1u, std::thread::hardware_concurrency()),
                        choice == Choice::Reference ? " (reference kernels)" : "");
        m_info.totalBytes = m_memory.physical;
    }
    const DeviceInfo& info() const override { return m_info; }

    Result<std::shared_ptr<Storage>> allocate(std::size_t bytes) override
    {
        const auto fail = [&] {
            return Error(Errc::OutOfMemory, fmt::format("no memory for {} (this machine has {})",
                                                        humanBytes(bytes), humanBytes(m_memory.physical)));
        };
        // Linux hands out more than there is and ends programs later: refuse what can never fit.
        const auto rounded = checkedRoundUp(std::max<std::size_t>(bytes, 1), kAlignment);
        if (!rounded || (m_memory.withSwap != 0 && bytes > m_memory.withSwap)) return fail();
        void* data = std::aligned_alloc(kAlignment, *rounded);
        if (data == nullptr) return fail();
        return std::shared_ptr<Storage>(
            std::make_shared<CpuStorage>(*this, static_cast<std::byte*>(data), bytes));
    }

    Result<std::unique_ptr<Stream>> makeStream() override
    {
        return std::unique_ptr<Stream>(std::make_unique<CpuStream>());
    }
    Status synchronize(Stream&) override { return Ok{}; }

    bool supports(OpId op, DType dtype, const BlockFormat* format) const override
    {
        switch (op) {
#define X(name)                                                                                              \
    case OpId::name:                                                                                         \
        return kernelFor<name##Op>(dtype, format) != nullptr;
            HALFTONE_OPS(X)
#undef X
        }
        return false;
    }

#define X(name)                                                                                              \
    Status run(const name##Op& op, Stream&) override { return runOp(op, #name); }
    HALFTONE_OPS(X)
#undef X

private:
    template <class Op> const Kernel<Op>* kernelFor(DType dtype, const BlockFormat* format) const
    {
        auto list = kernelsOf<Op>();
        if (m_choice == Choice::Reference) list = list.last(1);
        for (const Kernel<Op>& kernel : list)
            if (kernel.supports(dtype, format)) return &kernel;
        return nullptr;
    }
    template <class Op> Status runOp(const Op& op, const char* name) const
    {
        HALFTONE_CHECK(checkOp(op));
        for (const Tensor* tensor : tensorsOf(op))
            HALFTONE_CHECK(checkHost(*tensor));
        const Kernel<Op>* kernel = kernelFor<Op>(dtypeOf(op), formatOf(op));
        if (kernel == nullptr)
            return Error(Errc::Unsupported,
                         fmt::format("{} of {} is not available on the CPU", name, nameOf(dtypeOf(op))));
        return kernel->run(op);
    }
    Choice m_choice;
    Memory m_memory;
    DeviceInfo m_info;
};

} // namespace

std::unique_ptr<Device> makeDevice(Choice choice) { return std::make_unique<CpuDevice>(choice); }

} // namespace halftone::cpu
