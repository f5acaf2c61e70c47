// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/window/point_texts.h"

#include <algorithm>
#include <map>

namespace halftone {

ParamTexts textsOf(const ParamList& params)
{
    ParamTexts out;
    for (const auto& [key, value] : params)
        out.emplace_back(key, toText(value));
    return out;
}

Result<std::pair<std::string, ParamTexts>> mixTexts(const BudgetPlan& plan,
                                                    const std::vector<SweepPoint>& points, const Model& model)
{
    std::map<std::uint32_t, std::size_t> uses;
    for (const std::uint32_t choice : plan.choice) {
        if (choice >= points.size())
            return Error(Errc::InvalidArgument,
                         "the plan belongs to a sweep whose settings are not known here");
        ++uses[choice];
    }
    if (uses.empty()) return Error(Errc::InvalidArgument, "the plan has no weights");
    const auto most = std::max_element(uses.begin(), uses.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    const SweepPoint& base = points[most->first];
    ParamTexts texts = textsOf(base.params);
    std::string exceptions;
    for (std::size_t i = 0; i < plan.choice.size(); ++i) {
        const SweepPoint& point = points[plan.choice[i]];
        if (&point == &base) continue;
        if (point.method != base.method)
            return Error(Errc::InvalidArgument, "the mix needs " + base.method->info().id + " and " +
                                                    point.method->info().id + ": one file takes one method");
        std::string set;
        for (const ParamSpec& spec : point.method->schema().specs()) {
            const ParamValue* wanted = findParam(point.params, spec.key);
            const ParamValue* common = findParam(base.params, spec.key);
            if (wanted == nullptr || common == nullptr || *wanted == *common) continue;
            set += (set.empty() ? "" : ",") + spec.key + "=" + toText(*wanted);
        }
        if (set.empty()) continue;
        exceptions +=
            (exceptions.empty() ? "" : "; ") + model.weights()->all()[plan.weights[i]].name + ":" + set;
    }
    for (auto& [key, text] : texts)
        if (key == "overrides") text = exceptions;
    return std::pair{base.method->info().id, std::move(texts)};
}

} // namespace halftone
