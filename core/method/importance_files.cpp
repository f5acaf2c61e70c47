// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/method/importance_files.h"

namespace halftone {

Result<std::shared_ptr<const Importance>> ImportanceFiles::of(const QuantizeMethod& method,
                                                              const ParamList& params)
{
    const std::string file = method.importanceFile(params);
    if (file.empty()) return std::shared_ptr<const Importance>();
    if (const auto known = m_opened.find(file); known != m_opened.end()) return known->second;
    HALFTONE_TRY(opened, Importance::open(file, m_model));
    m_opened.emplace(file, opened);
    return opened;
}

Result<std::vector<float>> ImportanceFiles::values(const QuantizeMethod& method, const ParamList& params,
                                                   std::uint32_t weight)
{
    HALFTONE_TRY(importance, of(method, params));
    if (!importance) return std::vector<float>{};
    return importance->of(weight);
}

Result<std::vector<std::string>> ImportanceFiles::lines(const QuantizeMethod& method, const ParamList& params,
                                                        const std::vector<std::uint32_t>& weights)
{
    std::vector<std::string> lines;
    HALFTONE_TRY(importance, of(method, params));
    if (!importance) return lines;
    lines.push_back(importance->summary());
    if (auto missing = unweightedLine(*importance, m_model, weights); !missing.empty())
        lines.push_back(std::move(missing));
    return lines;
}

} // namespace halftone
