// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/io/checkpoint.h"
#include "tests/support/allocation_meter.h"
#include "tests/support/byte_writer.h"
#include "tests/support/temp_dir.h"

#include <QtTest>

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

/// Fails the test unless opening `bytes` as `name` is refused as a broken file: fast, without memory, in one
/// line that names the file and contains `says`.
inline void verifyRefused(const std::string& name, const QByteArray& bytes, const QByteArray& says)
{
    const TempDir dir;
    Bytes content(static_cast<std::size_t>(bytes.size()));
    std::copy_n(reinterpret_cast<const std::byte*>(bytes.constData()), content.size(), content.begin());
    const auto refusal = openHostile(dir / name, content);
    QVERIFY(refusal.refused);
    QCOMPARE(refusal.code, Errc::BadFormat);
    QVERIFY2(refusal.line.find(name) != std::string::npos, refusal.line.c_str());
    QVERIFY2(refusal.line.find(says.toStdString()) != std::string::npos, refusal.line.c_str());
    QVERIFY(refusal.line.find('\n') == std::string::npos);
#ifdef __SANITIZE_ADDRESS__
    constexpr double kMost = 200; // checked code is slow
#else
    constexpr double kMost = 10;
#endif
    QVERIFY2(refusal.cpuMilliseconds < kMost, QByteArray::number(refusal.cpuMilliseconds));
    QVERIFY2(refusal.allocated < 1'000'000, QByteArray::number(qulonglong(refusal.allocated)));
}

} // namespace halftone::test
