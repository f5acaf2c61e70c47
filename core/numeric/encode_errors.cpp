// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/numeric/encode_errors.h"

#include <cmath>
#include <fmt/core.h>

namespace halftone {

std::optional<std::size_t> firstNonFinite(std::span<const float> values)
{
    for (std::size_t i = 0; i < values.size(); ++i)
        if (!std::isfinite(values[i])) return i;
    return std::nullopt;
}

Error notFiniteError(std::int64_t row, std::int64_t column, float value)
{
    const char* what = std::isnan(value) ? "NaN" : value > 0 ? "+Inf" : "-Inf";
    return Error(Errc::Numeric,
                 fmt::format("column {} is {}: only finite values can be quantized; leave this tensor out "
                             "or repair the checkpoint",
                             column, what))
        .in(fmt::format("row {}", row));
}

Error scaleOverflowError(std::int64_t row, std::int64_t begin, std::int64_t end, std::string_view what,
                         float value, std::string_view type, std::string_view remedy)
{
    return Error(Errc::Numeric, fmt::format("columns {}..{}: {} {:.4g} is beyond {}; {}", begin, end - 1,
                                            what, value, type, remedy))
        .in(fmt::format("row {}", row));
}

} // namespace halftone
