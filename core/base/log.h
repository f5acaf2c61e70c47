// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/base/export.h"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace halftone {

enum class LogLevel : std::uint8_t { Trace, Debug, Info, Warning, Error };

struct LogLine {
    LogLevel level;
    std::string category; ///< the folder: "core.io"
    std::string text;
};

/// Writes one line to every sink. Any thread.
HALFTONE_API void log(LogLevel level, std::string_view category, std::string_view text);
/// Lines below are dropped. Warning at start.
HALFTONE_API void setLogLevel(LogLevel level);
/// Adds a sink (terminal, window, run file); the returned function takes it out again. Without any
/// sink, lines go to stderr.
HALFTONE_API std::function<void()> addLogSink(std::function<void(const LogLine&)> sink);
HALFTONE_API std::string_view logLevelName(LogLevel level);

} // namespace halftone
