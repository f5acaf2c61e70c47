// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/base/result.h"
#include "core/device/device.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <new>
#include <omp.h>
#include <utility>
#include <vector>

namespace halftone::cpu {

/// Elements below which a loop stays on the calling thread: waking the pool costs more.
inline constexpr std::int64_t kSerialElements = 32768;

/// Threads for a loop over `rows` rows of `cols` elements. OpenMP's own setting belongs to one thread
/// each, and jobs run on threads of their own, so every parallel region names its count.
inline int loopThreads(std::int64_t rows, std::int64_t cols)
{
    if (rows <= 1 || cols <= 0 || rows < kSerialElements / cols) return 1;
    return static_cast<int>(std::min<std::int64_t>(threadCount(), rows));
}

/// Runs body(row, scratch) for all rows; each thread gets a scratch of `scratchFloats` floats. Rows are
/// independent, so the split among threads does not show in the result. `threads` is loopThreads(rows,
/// cols), asked once: the setting may change while an op runs.
template <class Body>
Status forRowsOn(int threads, std::int64_t rows, std::int64_t scratchFloats, Body&& body)
{
    std::vector<float> scratch;
    try {
        scratch.resize(static_cast<std::size_t>(threads) * static_cast<std::size_t>(scratchFloats));
    } catch (const std::bad_alloc&) {
        return Error(Errc::OutOfMemory, "no memory for one row a thread");
    }
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
    for (std::int64_t row = 0; row < rows; ++row)
        body(row, scratch.data() + omp_get_thread_num() * scratchFloats);
    return Ok{};
}

/// The same on as many threads as the size is worth.
template <class Body>
Status forRows(std::int64_t rows, std::int64_t cols, std::int64_t scratchFloats, Body&& body)
{
    return forRowsOn(loopThreads(rows, cols), rows, scratchFloats, std::forward<Body>(body));
}

/// forRows() with a body that can fail: the error of the lowest failing row comes back, for any thread
/// count. Rows behind a known failure are skipped, rows before it never are.
template <class Body>
Status tryRows(std::int64_t rows, std::int64_t cols, std::int64_t scratchFloats, Body&& body)
{
    std::atomic<std::int64_t> firstBad{std::numeric_limits<std::int64_t>::max()};
    HALFTONE_CHECK(forRows(rows, cols, scratchFloats, [&](std::int64_t row, float* scratch) {
        if (row > firstBad.load(std::memory_order_relaxed)) return;
        if (body(row, scratch)) return;
        std::int64_t seen = firstBad.load(std::memory_order_relaxed);
        while (row < seen && !firstBad.compare_exchange_weak(seen, row, std::memory_order_relaxed)) {
        }
    }));
    const std::int64_t bad = firstBad.load();
    if (bad == std::numeric_limits<std::int64_t>::max()) return Ok{};
    // Once more, for its text.
    std::vector<float> scratch(static_cast<std::size_t>(scratchFloats));
    return body(bad, scratch.data());
}

} // namespace halftone::cpu
