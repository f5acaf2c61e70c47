// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/base/export.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace halftone {

/// Names for a picture, where room is short: without the first and the last dotted part that more than
/// half of them share ("model.", ".weight"), as long as they stay different.
HALFTONE_API std::vector<std::string> shortNames(std::span<const std::string> names);

/// "56.0 MB", "24.01 dB": a value with its unit, for people.
HALFTONE_API std::string quantityText(double value, std::string_view unit);

} // namespace halftone
