// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/bench/report.h"

#include "core/base/rng.h"
#include "core/numeric/small_float.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fmt/core.h>
#include <fstream>
#include <limits>
#include <omp.h>

namespace halftone::bench {

namespace {

bool g_below = false;

std::uint64_t statusField(std::string_view key)
{
    std::ifstream file("/proc/self/status");
    for (std::string line; std::getline(file, line);)
        if (line.starts_with(key)) return std::stoull(line.substr(key.size())) * 1024;
    return 0;
}

} // namespace

double fastest(int repeats, const std::function<void()>& run)
{
    double best = std::numeric_limits<double>::infinity();
    for (int i = 0; i < repeats; ++i) {
        const auto start = std::chrono::steady_clock::now();
        run();
        best =
            std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
    return best;
}

double copySpeed(std::uint64_t bytes, int threads, int repeats)
{
    // memcpy itself goes around the caches for such sizes: the best copy there is.
    std::vector<std::byte> from(bytes, std::byte{1}), to(bytes, std::byte{2});
    const double seconds = fastest(repeats, [&] {
#pragma omp parallel for schedule(static, 1) num_threads(threads)
        for (int part = 0; part < threads; ++part) {
            const auto count = static_cast<std::uint64_t>(threads), at = static_cast<std::uint64_t>(part);
            const std::uint64_t begin = bytes / count * at;
            const std::uint64_t end = part + 1 == threads ? bytes : begin + bytes / count;
            std::memcpy(to.data() + begin, from.data() + begin, end - begin);
        }
    });
    return 2.0 * static_cast<double>(bytes) / seconds;
}

Result<Tensor> weights(DType dtype, std::int64_t rows, std::int64_t cols)
{
    HALFTONE_TRY(tensor, makeTensor(cpuDevice(), dtype, Shape{rows, cols}));
    const auto bytes = tensor.mutableBytes();
    const auto width = static_cast<std::size_t>(bitsOf(dtype) / 8);
    const CounterRng rng(7);
#pragma omp parallel for schedule(static)
    for (std::int64_t row = 0; row < rows; ++row)
        for (std::int64_t k = 0; k < cols; ++k) {
            // Three uniform draws from one block of random bits: near enough to a bell.
            const auto b = rng.block(static_cast<std::uint64_t>(row), static_cast<std::uint64_t>(k));
            const float sum =
                static_cast<float>(b[0] >> 8) + static_cast<float>(b[1] >> 8) + static_cast<float>(b[2] >> 8);
            const float x = (sum * 0x1p-24f - 1.5f) * 0.04f;
            const std::uint32_t bits = dtype == DType::F32   ? floatBits(x)
                                       : dtype == DType::F16 ? floatToHalf(x)
                                                             : floatToBfloat(x);
            std::memcpy(bytes.data() + static_cast<std::size_t>(row * cols + k) * width, &bits, width);
        }
    return tensor;
}

void say(std::string_view line)
{
    fmt::print("{}\n", line);
    std::fflush(stdout);
}

std::string_view judge(bool good)
{
    g_below = g_below || !good;
    return good ? "ok" : "BELOW";
}

bool anyBelow() { return g_below; }

std::uint64_t peakResident() { return statusField("VmHWM:"); }

bool resetPeakResident()
{
    std::ofstream file("/proc/self/clear_refs");
    file << "5";
    return static_cast<bool>(file.flush());
}

} // namespace halftone::bench
