// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/bench/report.h"

#include "core/base/hash.h"

#include <fmt/core.h>

namespace halftone::bench {

namespace {

constexpr std::int64_t kCols = 4096;
constexpr double kBar = 0.7;

/// Operations on a weight from which on an encoder searches, and is bound by arithmetic instead of memory.
constexpr double kSearchFlops = 20;

// The formats people use: every bit width and rule, and the group sizes that differ in kind. Searched ones
// take long, and only come when they are asked for.
std::vector<const BlockFormat*> formats(const Options& options)
{
    std::vector<const BlockFormat*> list;
    for (const BlockFormat* format : listedFormats())
        if (format->name().find(options.only) != std::string::npos &&
            (format->encodeFlops() < kSearchFlops || !options.only.empty()))
            list.push_back(format);
    return list;
}

// Seconds of one op on a device; the first error is kept.
template <class Op> double timeOf(Device& device, int repeats, const Op& op, Status& status)
{
    auto stream = device.makeStream();
    if (!stream) {
        status = std::move(stream).error();
        return 0;
    }
    return fastest(repeats, [&] {
        if (auto s = device.run(op, **stream); !s) status = std::move(s);
    });
}

std::string hashOf(const PackedTensor& packed)
{
    Hasher hasher;
    for (Tensor PackedTensor::*plane : kPlanes)
        if (!(packed.*plane).empty()) hasher.add((packed.*plane).bytes());
    return hasher.hex();
}

} // namespace

Status benchRtn(const Options& options)
{
    const std::int64_t rows = options.elements / kCols;
    say("RTN: GB/s of bytes read and written, and the part of a copy's speed on the same threads");
    say(fmt::format("{:<20} {:>5} {:>8} {:>9} {:>9} {:>7}", "format", "from", "threads", "GB/s", "copy",
                    "ratio"));
    for (const DType dtype : {DType::BF16, DType::F16, DType::F32}) {
        HALFTONE_TRY(in, weights(dtype, rows, kCols));
        for (const BlockFormat* format : formats(options)) {
            HALFTONE_TRY(packed, makePacked(cpuDevice(), *format, in.shape()));
            HALFTONE_TRY(layout, format->layout(rows, kCols));
            // The range of all values before the first code: the input is read twice.
            const double reads = format->desc().needsWholeTensor() ? 2 : 1;
            for (const int threads : options.threads) {
                setThreadCount(threads);
                Status status = Ok{};
                // The baseline beside each figure, so that a busy machine slows both.
                const double copy = copySpeed(in.byteSize() / 2, threads, options.repeats);
                const double seconds =
                    timeOf(cpuDevice(), options.repeats, QuantizeBlocksOp{in, packed}, status);
                HALFTONE_CHECK(status);
                const double speed =
                    (reads * static_cast<double>(in.byteSize()) + static_cast<double>(layout.total())) /
                    seconds;
                say(fmt::format("{:<20} {:>5} {:>8} {:>9.2f} {:>9.2f} {:>7.2f} {}", format->name(),
                                nameOf(dtype), threads, speed / 1e9, copy / 1e9, speed / copy,
                                options.bars ? judge(speed >= kBar * copy) : ""));
            }
        }
    }
    return Ok{};
}

Status benchDequantize(const Options& options)
{
    const std::int64_t rows = options.elements / kCols;
    say("Dequantize to F32: GB/s of bytes read and written, and the part of a copy's speed");
    HALFTONE_TRY(in, weights(DType::BF16, rows, kCols));
    HALFTONE_TRY(out, makeTensor(cpuDevice(), DType::F32, in.shape()));
    for (const BlockFormat* format : formats(options)) {
        HALFTONE_TRY(packed, makePacked(cpuDevice(), *format, in.shape()));
        HALFTONE_TRY(layout, format->layout(rows, kCols));
        Status status = Ok{};
        timeOf(cpuDevice(), 1, QuantizeBlocksOp{in, packed}, status);
        for (const int threads : options.threads) {
            setThreadCount(threads);
            const double copy = copySpeed(out.byteSize() / 2, threads, options.repeats);
            const double seconds =
                timeOf(cpuDevice(), options.repeats, DequantizeBlocksOp{packed, out}, status);
            HALFTONE_CHECK(status);
            const double speed = static_cast<double>(out.byteSize() + layout.total()) / seconds;
            say(fmt::format("{:<20} {:>8} {:>9.2f} {:>9.2f} {:>7.2f}", format->name(), threads, speed / 1e9,
                            copy / 1e9, speed / copy));
        }
    }
    return Ok{};
}

Status benchErrors(const Options& options)
{
    // A part of the other tests' weights: the plain reference takes a while.
    const std::int64_t rows = std::max<std::int64_t>(options.elements / kCols / 16, 1);
    say("Errors of packed weights: millions of values a second, against the plain reference on as many "
        "threads");
    say(fmt::format("{:<20} {:>5} {:>8} {:>9} {:>9} {:>7}", "format", "from", "threads", "M/s", "plain",
                    "ratio"));
    std::vector<ErrorStats> stats;
    for (const DType dtype : {DType::BF16, DType::F16, DType::F32}) {
        HALFTONE_TRY(in, weights(dtype, rows, kCols));
        for (const BlockFormat* format : formats(options)) {
            HALFTONE_TRY(packed, makePacked(cpuDevice(), *format, in.shape()));
            Status status = Ok{};
            timeOf(cpuDevice(), 1, QuantizeBlocksOp{in, packed}, status);
            for (const int threads : options.threads) {
                setThreadCount(threads);
                const BlockErrorsOp op{in, packed, 0, stats};
                const double plain = timeOf(referenceDevice(), 1, op, status);
                const double seconds = timeOf(cpuDevice(), options.repeats, op, status);
                HALFTONE_CHECK(status);
                const auto count = static_cast<double>(rows * kCols);
                say(fmt::format("{:<20} {:>5} {:>8} {:>9.0f} {:>9.0f} {:>7.1f}", format->name(),
                                nameOf(dtype), threads, count / seconds / 1e6, count / plain / 1e6,
                                plain / seconds));
            }
        }
    }
    return Ok{};
}

Status benchDeterminism(const Options& options)
{
    const std::int64_t rows = options.elements / kCols / 4;
    say("Determinism: the same bytes for each number of threads, five runs each");
    HALFTONE_TRY(in, weights(DType::BF16, rows, kCols));
    int differing = 0, runs = 0;
    for (const BlockFormat* format : formats(options)) {
        HALFTONE_TRY(packed, makePacked(cpuDevice(), *format, in.shape()));
        std::string first;
        for (int run = 0; run < 5; ++run)
            for (const int threads : options.threads) {
                setThreadCount(threads);
                Status status = Ok{};
                timeOf(cpuDevice(), 1, QuantizeBlocksOp{in, packed}, status);
                HALFTONE_CHECK(status);
                const std::string hash = hashOf(packed);
                if (first.empty()) first = hash;
                differing += hash == first ? 0 : 1;
                ++runs;
            }
    }
    say(fmt::format("{} runs, {} with other bytes: {}", runs, differing, judge(differing == 0)));
    return Ok{};
}

} // namespace halftone::bench
