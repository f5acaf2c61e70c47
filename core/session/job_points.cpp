// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/job_points.h"

#include "core/base/text.h"
#include "core/session/quantize.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace halftone {

namespace {

constexpr std::size_t kMostValues = 1000;
/// Values of parameters that are switched off make no difference: they take their default, so that equal
/// points compare equal.
ParamList canonical(const ParamSchema& schema, ParamList params)
{
    const ParamList given = params;
    for (auto& [key, value] : params) {
        const auto* spec = schema.find(key);
        if (spec != nullptr && !schema.enabled(*spec, given)) value = spec->fallback;
    }
    return params;
}

bool varies(const std::vector<SweepAxis>& axes, const std::string& key)
{
    return std::any_of(axes.begin(), axes.end(),
                       [&](const SweepAxis& axis) { return axis.key == key && axis.values.size() > 1; });
}

} // namespace

Result<std::vector<std::string>> rangeTexts(const ParamSpec& spec, double from, double to, double step)
{
    using Kind = ParamSpec::Kind;
    if (spec.kind != Kind::Int && spec.kind != Kind::Real)
        return Error(Errc::InvalidArgument, "a range needs a number: give an array of values instead");
    const bool integer = spec.kind == Kind::Int;
    if (step == 0) step = spec.logScale ? 2 : integer ? 1 : 0;
    if (!std::isfinite(from) || !std::isfinite(to) || from > to)
        return Error(Errc::InvalidArgument,
                     fmt::format("the range {}..{} is empty", shortNumber(from), shortNumber(to)));
    if (spec.logScale ? !(step > 1) || !(from > 0) : !(step > 0))
        return Error(Errc::InvalidArgument,
                     spec.logScale ? "the step of this range is a factor above 1, from a number above 0"
                                   : "the range needs a \"step\" above 0");
    std::vector<std::string> texts;
    // Counted, not summed up: 0.1 ten times is not 1. The last value may miss `to` by rounding alone.
    const double slack = 1e-9 * std::max(std::abs(from), std::abs(to));
    for (std::size_t i = 0;; ++i) {
        const auto n = static_cast<double>(i);
        double value = spec.logScale ? from * std::pow(step, n) : from + n * step;
        if (value > to + slack) break;
        if (texts.size() == kMostValues)
            return Error(Errc::InvalidArgument,
                         fmt::format("the range has more than {} values", kMostValues));
        value = std::min(value, to);
        const auto text = integer ? fmt::format("{:.0f}", std::round(value)) : exactNumber(value);
        if (texts.empty() || texts.back() != text) texts.push_back(text);
    }
    return texts;
}

Result<std::vector<SweepPoint>> expandPoints(const std::shared_ptr<const QuantizeMethod>& method,
                                             const std::vector<SweepAxis>& axes)
{
    const ParamSchema schema = quantizeSchema().joined(method->schema());
    std::size_t total = 1;
    for (const auto& axis : axes) {
        if (axis.values.empty()) return Error(Errc::InvalidArgument, axis.key + ": no values");
        total *= axis.values.size();
        if (total > kMostSweepPoints)
            return Error(Errc::InvalidArgument,
                         fmt::format("more than {} combinations: take larger steps or fewer parameters",
                                     kMostSweepPoints));
    }
    std::vector<SweepPoint> points;
    for (std::size_t n = 0; n < total; ++n) {
        ParamTexts texts;
        std::size_t rest = n;
        for (std::size_t a = axes.size(); a-- > 0;) {
            texts.insert(texts.begin(), {axes[a].key, axes[a].values[rest % axes[a].values.size()]});
            rest /= axes[a].values.size();
        }
        HALFTONE_TRY(params, schema.complete(texts));
        params = canonical(schema, std::move(params));
        const auto same = [&](const SweepPoint& p) { return p.params == params; };
        if (std::any_of(points.begin(), points.end(), same)) continue;
        std::string label = method->info().id;
        for (const auto& [key, value] : texts) {
            const auto* spec = schema.find(key);
            if (spec == nullptr || !schema.enabled(*spec, params)) continue;
            // What is the same everywhere and none of the method's own says nothing about a point.
            if (method->schema().find(key) == nullptr && !varies(axes, key)) continue;
            label += fmt::format(" {}={}", key, value);
        }
        points.push_back({method, std::move(params), std::move(label)});
    }
    return points;
}

} // namespace halftone
