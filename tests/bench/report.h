// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/base/result.h"
#include "core/device/device.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace halftone::bench {

/// How much to measure. "smoke" only shows that everything still runs.
struct Options {
    std::int64_t elements = std::int64_t{64} << 20; ///< of a weight
    int repeats = 5;
    std::vector<int> threads = {1, 2};
    std::int64_t tensors = 100'000;                ///< of a generated checkpoint
    std::uint64_t checkpointBytes = 2'000'000'000; ///< of the checkpoint that is quantized
    std::filesystem::path folder;                  ///< where generated files go
    std::string only;                              ///< formats whose name contains it
    bool bars = true;                              ///< judge the figures
};

/// Seconds of the fastest of `repeats` runs: the one least disturbed by others.
double fastest(int repeats, const std::function<void()>& run);

/// Bytes a second, read and written, of copying `bytes` bytes on `threads` threads.
double copySpeed(std::uint64_t bytes, int threads, int repeats);

/// Fresh normal-like weights of a dtype, the same on every machine.
Result<Tensor> weights(DType dtype, std::int64_t rows, std::int64_t cols);

/// Prints one line of the report.
void say(std::string_view line);
/// "ok" or "BELOW", and remembers the latter: the program's exit code is 6 then.
std::string_view judge(bool good);
bool anyBelow();

/// The largest resident set of this process so far, in bytes.
std::uint64_t peakResident();
/// Forgets earlier peaks; false when the system can't.
bool resetPeakResident();

Status benchRtn(const Options& options);
Status benchEncoders(const Options& options);
Status benchDequantize(const Options& options);
Status benchErrors(const Options& options);
Status benchDeterminism(const Options& options);
Status benchMatmul(const Options& options);
Status benchOpen(const Options& options);
Status benchQuantizeMemory(const Options& options);

} // namespace halftone::bench
