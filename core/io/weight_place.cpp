// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/device/device.h"
#include "core/io/text_names.h"
#include "core/io/weights.h"
#include "core/numeric/convert.h"

#include <algorithm>
#include <cmath>
#include <fmt/core.h>

namespace halftone {

namespace {

/// "NaN at row 5, column 17", or nothing when all values are finite or can't be read.
std::string nonFinitePlace(const WeightSet& weights, const WeightInfo& info)
{
    const auto source = weights.source(info, cpuDevice(), {});
    if (!source) return {};
    const std::int64_t rows = source->shape().rows(), cols = source->shape().cols();
    std::vector<float> row(static_cast<std::size_t>(cols));
    for (std::int64_t r = 0; r < rows; ++r) {
        toFloats(source->dtype(), source->bytes(), static_cast<std::uint64_t>(r * cols), row);
        const auto bad = std::find_if(row.begin(), row.end(), [](float x) { return !std::isfinite(x); });
        if (bad != row.end())
            return fmt::format("{} at row {}, column {}", std::isnan(*bad) ? "NaN" : "Inf", r,
                               bad - row.begin());
    }
    return {};
}

bool names(const Error& error, const std::string& frame)
{
    return std::find(error.trail().begin(), error.trail().end(), frame) != error.trail().end();
}

} // namespace

Error WeightSet::placed(const WeightInfo& info, Error error) const
{
    const bool numeric = error.code() == Errc::Numeric;
    if (numeric)
        if (const auto place = nonFinitePlace(*this, info); !place.empty())
            error = {Errc::Numeric,
                     fmt::format("{}: no grid can hold it; repair the checkpoint, or keep this tensor as it "
                                 "is with skip={}",
                                 place, shownName(info.name))};
    const auto tensor = "tensor " + shownName(info.name);
    if (!names(error, tensor)) error = std::move(error).in(tensor);
    if (!numeric || info.parts.empty()) return error;
    const auto file = checkpoint()->files()[checkpoint()->tensors()[info.parts.front()].file].string();
    return names(error, file) ? error : std::move(error).in(file);
}

} // namespace halftone
