// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace halftone {

/// A text from a file as part of a one-line message: at most `limit` bytes, control characters and broken
/// UTF-8 shown as '?'.
std::string shownName(std::string_view name, std::size_t limit = 80);
/// "a, b, c and 7 more".
std::string shownNames(std::span<const std::string> names);

} // namespace halftone
