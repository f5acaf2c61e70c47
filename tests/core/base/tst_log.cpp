// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/log.h"

#include "tests/support/main.h"

#include <mutex>
#include <thread>
#include <vector>

using namespace halftone;

class TstLog : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void cleanup() { setLogLevel(LogLevel::Warning); }
    void sinksAndLevels();
    void aSinkMayLogAndLeave();
    void manyThreads();
    void names();
};

void TstLog::sinksAndLevels()
{
    std::vector<LogLine> lines;
    const auto remove = addLogSink([&](const LogLine& line) { lines.push_back(line); });
    log(LogLevel::Info, "core.io", "dropped");
    log(LogLevel::Warning, "core.io", "kept");
    setLogLevel(LogLevel::Trace);
    log(LogLevel::Trace, "core.job", "kept too");
    remove();
    const auto other = addLogSink([](const LogLine&) {});
    log(LogLevel::Error, "core.io", "after");
    other();
    QCOMPARE(lines.size(), std::size_t{2});
    QCOMPARE(lines[0].text, std::string("kept"));
    QCOMPARE(lines[0].category, std::string("core.io"));
    QVERIFY(lines[1].level == LogLevel::Trace);
}

void TstLog::aSinkMayLogAndLeave()
{
    int count = 0;
    std::function<void()> remove;
    remove = addLogSink([&](const LogLine& line) {
        ++count;
        if (line.text == "first") log(LogLevel::Error, "test", "second");
        remove();
    });
    const auto other = addLogSink([](const LogLine&) {});
    log(LogLevel::Error, "test", "first");
    log(LogLevel::Error, "test", "third");
    other();
    QCOMPARE(count, 2);
}

void TstLog::manyThreads()
{
    std::mutex mutex;
    int count = 0;
    const auto remove = addLogSink([&](const LogLine&) {
        const std::lock_guard guard(mutex);
        ++count;
    });
    {
        std::vector<std::jthread> threads;
        for (int t = 0; t < 4; ++t)
            threads.emplace_back([] {
                for (int i = 0; i < 500; ++i) {
                    log(LogLevel::Warning, "test", "line");
                    if (i % 100 == 0) addLogSink([](const LogLine&) {})();
                }
            });
    }
    remove();
    QCOMPARE(count, 2000);
}

void TstLog::names()
{
    QCOMPARE(logLevelName(LogLevel::Warning), std::string_view("warning"));
    QCOMPARE(logLevelName(LogLevel::Trace), std::string_view("trace"));
}

QTEST_GUILESS_MAIN(TstLog)
#include "tst_log.moc"
