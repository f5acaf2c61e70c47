// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/io/checkpoint.h"
#include "tests/support/allocation_meter.h"
#include "tests/support/byte_writer.h"

#include <algorithm>
#include <ctime>
#include <string>

namespace halftone::test {

/// What opening a broken file costs and says.
struct Refusal {
    bool refused = false;
    Errc code = Errc::Internal;
    std::string line;
    double cpuMilliseconds = 0; ///< the best of some tries: the machine may be busy
    std::uint64_t allocated = 0;
};

inline Refusal openHostile(const std::filesystem::path& path, const Bytes& bytes, OpenOptions options = {})
{
    writeBytes(path, bytes);
    Refusal r;
    r.cpuMilliseconds = 1e9;
    for (int i = 0; i < 3; ++i) {
        const auto before = allocatedBytes();
        const auto start = std::clock();
        const auto opened = Checkpoint::open(path, options);
        r.cpuMilliseconds =
            std::min(r.cpuMilliseconds, 1e3 * static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
        r.allocated = allocatedBytes() - before;
        r.refused = !opened;
        if (!opened) {
            r.code = opened.error().code();
            r.line = opened.error().line();
        }
    }
    return r;
}

} // namespace halftone::test
