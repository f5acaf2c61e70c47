// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/session/sweep.h"

#include <string>
#include <utility>
#include <vector>

namespace halftone {

/// Parameters as a form takes them.
ParamTexts textsOf(const ParamList& params);

/// A plan that mixes settings, as one method's form content: the setting of most weights, and the others
/// as exceptions by name. InvalidArgument when the mix needs two methods. First: the method's id.
Result<std::pair<std::string, ParamTexts>>
mixTexts(const BudgetPlan& plan, const std::vector<SweepPoint>& points, const Model& model);

} // namespace halftone
