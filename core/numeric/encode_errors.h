// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/base/result.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace halftone {

/// Place of the first NaN or Inf.
std::optional<std::size_t> firstNonFinite(std::span<const float> values);

/// "row 3: column 17 is NaN; ..."
Error notFiniteError(std::int64_t row, std::int64_t column, float value);

/// A scale or minimum of columns [begin, end) is beyond its stored type. `what` names it ("scale").
Error scaleOverflowError(std::int64_t row, std::int64_t begin, std::int64_t end, std::string_view what,
                         float value, std::string_view type, std::string_view remedy);

} // namespace halftone
