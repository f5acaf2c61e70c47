// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/base/result.h"
#include "core/method/method.h"
#include "core/model/importance.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace halftone {

/// The importance matrices that the parameters of one run name, each opened once.
class ImportanceFiles {
public:
    /// The model must outlive it.
    explicit ImportanceFiles(const Model& model) : m_model(model) {}

    /// Null when the parameters name none.
    Result<std::shared_ptr<const Importance>> of(const QuantizeMethod& method, const ParamList& params);
    /// Of one weight's columns; empty when there is no matrix, or none for this weight.
    Result<std::vector<float>> values(const QuantizeMethod& method, const ParamList& params,
                                      std::uint32_t weight);
    /// What a person should know of each matrix: its origin, and which of these weights it lacks.
    Result<std::vector<std::string>> lines(const QuantizeMethod& method, const ParamList& params,
                                           const std::vector<std::uint32_t>& weights);

private:
    const Model& m_model;
    std::map<std::string, std::shared_ptr<const Importance>> m_opened;
};

} // namespace halftone
