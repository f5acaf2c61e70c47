// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace halftone {

/// A name from a file as part of a one-line message: at most 80 characters, control characters and
/// broken UTF-8 shown as '?'.
std::string shownName(std::string_view name);
/// "a, b, c and 7 more".
std::string shownNames(std::span<const std::string> names);

} // namespace halftone
