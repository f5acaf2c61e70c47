// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/base/export.h"

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace halftone {

/// "52.1 MB" (decimal prefixes, three digits); "860 B".
HALFTONE_API std::string humanBytes(std::uint64_t bytes);
/// "135 M", "1.24 G": counts with decimal prefixes.
HALFTONE_API std::string humanCount(std::uint64_t count);
/// "0:23", "1:02:03".
HALFTONE_API std::string humanDuration(std::chrono::nanoseconds duration);
/// Shortest text that reads back as the same double, independent of the locale; "nan", "inf", "-inf".
HALFTONE_API std::string exactNumber(double value);
/// Three to four significant digits for people.
HALFTONE_API std::string shortNumber(double value);
/// True when `name` matches a shell-like pattern with * and ?.
HALFTONE_API bool globMatch(std::string_view pattern, std::string_view name);
/// True for well-formed UTF-8 (no surrogates, no overlong forms).
HALFTONE_API bool isUtf8(std::string_view text);

} // namespace halftone
