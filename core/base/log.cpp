// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/log.h"

#include <atomic>
#include <list>
#include <memory>
#include <mutex>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <string>
#include <vector>

namespace halftone {

namespace {

using Sink = std::function<void(const LogLine&)>;

struct Sinks {
    std::mutex lock; // guards list
    std::list<std::shared_ptr<Sink>> list;
    std::atomic<LogLevel> level{LogLevel::Warning};
    // Its own logger, not spdlog's registry: a library must not change the program's.
    spdlog::logger terminal{"halftone", std::make_shared<spdlog::sinks::stderr_sink_mt>()};
    Sinks()
    {
        terminal.set_pattern("%l: %v");
        terminal.set_level(spdlog::level::trace);
    }
};

Sinks& sinks()
{
    static Sinks s;
    return s;
}

spdlog::level::level_enum spdLevel(LogLevel level)
{
    switch (level) {
    case LogLevel::Trace:
        return spdlog::level::trace;
    case LogLevel::Debug:
        return spdlog::level::debug;
    case LogLevel::Info:
        return spdlog::level::info;
    case LogLevel::Warning:
        return spdlog::level::warn;
    case LogLevel::Error:
        return spdlog::level::err;
    }
    return spdlog::level::err;
}

} // namespace

void log(LogLevel level, std::string_view category, std::string_view text)
{
    Sinks& s = sinks();
    if (level < s.level.load(std::memory_order_relaxed)) return;
    std::vector<std::shared_ptr<Sink>> now;
    {
        const std::lock_guard guard(s.lock);
        now.assign(s.list.begin(), s.list.end());
    }
    // Called without the lock, so that a sink may log or go away.
    const LogLine line{level, std::string(category), std::string(text)};
    for (const auto& sink : now)
        (*sink)(line);
    if (now.empty()) s.terminal.log(spdLevel(level), "{}: {}", line.category, line.text);
}

void setLogLevel(LogLevel level) { sinks().level.store(level, std::memory_order_relaxed); }

std::function<void()> addLogSink(std::function<void(const LogLine&)> sink)
{
    Sinks& s = sinks();
    const auto entry = std::make_shared<Sink>(std::move(sink));
    const std::lock_guard guard(s.lock);
    s.list.push_back(entry);
    return [entry] {
        Sinks& all = sinks();
        const std::lock_guard inner(all.lock);
        all.list.remove(entry);
    };
}

std::string_view logLevelName(LogLevel level)
{
    switch (level) {
    case LogLevel::Trace:
        return "trace";
    case LogLevel::Debug:
        return "debug";
    case LogLevel::Info:
        return "info";
    case LogLevel::Warning:
        return "warning";
    case LogLevel::Error:
        return "error";
    }
    return "error";
}

} // namespace halftone
