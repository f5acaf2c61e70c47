// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/text.h"
#include "tests/ops/parity_cases.h"
#include "tests/support/tensors.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <map>
#include <set>

namespace halftone::test {

namespace {

constexpr std::int64_t kRows = 1024, kCols = 4096;

double secondsOf(const std::function<Status()>& body)
{
    double best = -1;
    for (int run = 0; run < 3; ++run) {
        const auto start = std::chrono::steady_clock::now();
        if (!body()) return -1;
        const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
        best = best < 0 ? elapsed.count() : std::min(best, elapsed.count());
    }
    return best;
}

// Bytes read and written by one run, and a body that runs it; nothing where it can't be set up.
struct Trial {
    double bytes = 0;
    std::function<Status()> body;
};

template <class Op> std::function<Status()> runner(Device& device, Op op)
{
    return [&device, op] { return runOn(device, op); };
}

// Everything the ops refer to, kept alive while they run.
struct Matrices {
    Tensor in, out, product;
    PackedTensor packed;
    std::vector<ErrorStats> stats;
};

Result<Trial> trialOf(Device& device, const Case& what, Matrices& m)
{
    const Shape shape{kRows, kCols};
    const bool weights = what.dtype == DType::F32 || what.dtype == DType::F16 || what.dtype == DType::BF16;
    HALFTONE_TRY(in,
                 onDevice(device, weights ? mixedMatrix(what.dtype, shape) : randomBits(what.dtype, shape)));
    m.in = in;
    HALFTONE_TRY(out, makeTensor(device, what.op == OpId::Copy ? what.dtype : DType::F32, shape));
    m.out = out;
    Trial trial;
    const auto inBytes = static_cast<double>(m.in.byteSize()),
               outBytes = static_cast<double>(m.out.byteSize());
    double packedBytes = 0;
    if (what.format != nullptr) {
        HALFTONE_TRY(host, makePacked(cpuDevice(), *what.format, shape));
        HALFTONE_CHECK(runOn(cpuDevice(), QuantizeBlocksOp{mixedMatrix(DType::F32, shape), host}));
        HALFTONE_TRY(far, onDevice(device, host));
        m.packed = far;
        HALFTONE_TRY(layout, what.format->layout(kRows, kCols));
        packedBytes = static_cast<double>(layout.total());
    }
    switch (what.op) {
    case OpId::Copy:
        return Trial{inBytes + outBytes, runner(device, CopyOp{m.in, m.out})};
    case OpId::Fill:
        return Trial{inBytes, runner(device, FillOp{m.in, 1})};
    case OpId::Cast:
        return Trial{inBytes + outBytes, runner(device, CastOp{m.in, m.out})};
    case OpId::Matmul: {
        m.in = m.in.rows(0, 256);
        HALFTONE_TRY(product, makeTensor(device, DType::F32, Shape{256, 256}));
        m.product = product;
        return Trial{2.0 * static_cast<double>(m.in.byteSize()),
                     runner(device, MatmulOp{m.in, m.in, m.product, true})};
    }
    case OpId::QuantizeBlocks:
        return Trial{inBytes + packedBytes, runner(device, QuantizeBlocksOp{m.in, m.packed})};
    case OpId::DequantizeBlocks:
        return Trial{packedBytes + outBytes, runner(device, DequantizeBlocksOp{m.packed, m.out})};
    case OpId::BlockErrors:
        return Trial{inBytes + packedBytes, runner(device, BlockErrorsOp{m.in, m.packed, 0, m.stats})};
    }
    return trial;
}

double secondsOn(Device& device, const Case& what, double& bytes)
{
    Matrices matrices;
    auto trial = trialOf(device, what, matrices);
    if (!trial) return -1;
    bytes = trial->bytes;
    return secondsOf(trial->body);
}

} // namespace

int printPerformance(const std::string& pattern)
{
    std::printf("%-40s %-8s %12s %10s %10s\n", "case", "device", "ms", "GB/s", "x ref");
    for (const Case& what : allCases()) {
        if (!globMatch(pattern, what.name()) || !referenceDevice().supports(what.op, what.dtype, what.format))
            continue;
        double bytes = 0;
        const double reference = secondsOn(referenceDevice(), what, bytes);
        for (const auto& device : usableDevices()) {
            if (!device->supports(what.op, what.dtype, what.format)) continue;
            const double seconds = secondsOn(*device, what, bytes);
            if (seconds <= 0 || reference <= 0) continue;
            std::printf("%-40s %-8s %12.3f %10.2f %10.2f\n", what.name().c_str(), device->info().id.c_str(),
                        seconds * 1e3, bytes / seconds * 1e-9, reference / seconds);
            std::fflush(stdout);
        }
    }
    return 0;
}

int printSupport()
{
    // One line an op and device; formats are counted, since there are more than a hundred.
    for (const auto& device : usableDevices()) {
        std::printf("%s: %s\n", device->info().id.c_str(), device->info().description.c_str());
        for (const OpId op : allOps()) {
            std::map<DType, std::pair<int, int>> counts; // supported, all
            for (const Case& what : allCases()) {
                if (what.op != op) continue;
                auto& [yes, all] = counts[what.dtype];
                ++all;
                if (device->supports(op, what.dtype, what.format)) ++yes;
            }
            std::printf("  %-18s", std::string(nameOf(op)).c_str());
            for (const auto& [dtype, count] : counts) {
                if (count.first == 0) continue;
                std::printf(" %s", std::string(nameOf(dtype)).c_str());
                if (count.second > 1) std::printf(" (%d of %d formats)", count.first, count.second);
            }
            std::printf("\n");
        }
    }
    for (const DeviceInfo& info : probeDevices())
        if (!info.whyUnusable.empty())
            std::printf("%s: not usable: %s\n", info.id.c_str(), info.whyUnusable.c_str());
    return 0;
}

} // namespace halftone::test
