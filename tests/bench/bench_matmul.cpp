// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/bench/report.h"

#include <fmt/core.h>

namespace halftone::bench {

Status benchMatmul(const Options& options)
{
    say("F32 products: GFLOP/s, and how much faster than the plain reference");
    // The reference is slow: its smaller product stands for all sizes.
    const std::int64_t large = options.elements >= (1 << 20) ? 1024 : 64, small = large / 4;
    for (const int threads : options.threads) {
        setThreadCount(threads);
        double referenceSpeed = 0;
        for (const bool reference : {true, false}) {
            Device& device = reference ? referenceDevice() : cpuDevice();
            const std::int64_t n = reference ? small : large;
            HALFTONE_TRY(a, weights(DType::F32, n, n));
            HALFTONE_TRY(b, weights(DType::F32, n, n));
            HALFTONE_TRY(c, makeTensor(device, DType::F32, Shape{n, n}));
            HALFTONE_TRY(stream, device.makeStream());
            Status status = Ok{};
            const double seconds = fastest(options.repeats, [&] {
                if (auto s = device.run(MatmulOp{a, b, c, true}, *stream); !s) status = std::move(s);
            });
            HALFTONE_CHECK(status);
            const double edge = static_cast<double>(n);
            const double speed = 2 * edge * edge * edge / seconds;
            if (reference) referenceSpeed = speed;
            say(fmt::format("{:<10} n={:<5} threads={} {:>8.1f} GFLOP/s  x {:.1f}",
                            reference ? "reference" : "oneDNN", n, threads, speed / 1e9,
                            speed / referenceSpeed));
        }
    }
    return Ok{};
}

} // namespace halftone::bench
