// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/base/export.h"
#include "core/method/method.h"

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace halftone {

/// A sweep holds at most this many points: more are a mistake in a range.
inline constexpr std::size_t kMostSweepPoints = 10000;

/// One candidate of a sweep: a method with complete parameters.
struct SweepPoint {
    std::shared_ptr<const QuantizeMethod> method;
    ParamList params;  ///< of quantizeSchema() joined with the method's
    std::string label; ///< "rtn bits=4 group-size=128"
};

struct SweepRequest {
    std::shared_ptr<const Model> model;
    std::vector<SweepPoint> points;
    std::vector<std::uint32_t> weights; ///< empty: all that the plan quantizes
};

/// Tables "sweep" (point x weight: bits, bytes, signal, noise, SQNR) and "pareto" (one row a point:
/// bits per weight, bytes, SQNR, weighted error), figures "pareto" and "pareto_bytes" with the hull.
/// Rows of finished points survive a cancel.
HALFTONE_API Status runSweep(const SweepRequest& request, JobContext& ctx);

/// Best total under a budget, one choice a weight, from a finished sweep: minimises the summed noise
/// over signal. What the budget line of the Pareto panel asks, in under 100 ms.
struct BudgetPlan {
    std::vector<std::uint32_t> choice; ///< point of each weight, in the order of `weights`
    std::vector<std::uint32_t> weights;
    double bytes = 0, bitsPerWeight = 0, sqnr = 0;
};
HALFTONE_API Result<BudgetPlan> solveBudget(const ResultReader& sweep, double maxBytes);

} // namespace halftone
