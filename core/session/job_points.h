// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/base/export.h"
#include "core/base/result.h"
#include "core/method/method.h"
#include "core/param/schema.h"
#include "core/session/sweep.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace halftone {

/// One member of a sweep's "set": a key and the values it takes, as text.
struct SweepAxis {
    std::string key;
    std::vector<std::string> values;
};

/// The texts of a range over a numeric parameter: from, from + step, ... up to `to`. On a log scale the
/// step is a factor, 2 when absent; else it is 1 for integers and has to be given for reals.
/// InvalidArgument for other kinds, an empty range, a step that does not lead from one to the other.
HALFTONE_API Result<std::vector<std::string>> rangeTexts(const ParamSpec& spec, double from, double to,
                                                         double step);

/// All combinations, in the order of the axes, the last one fastest. Combinations that differ only in
/// parameters that are switched off are the same point and come once.
HALFTONE_API Result<std::vector<SweepPoint>> expandPoints(const std::shared_ptr<const QuantizeMethod>& method,
                                                          const std::vector<SweepAxis>& axes);

} // namespace halftone
