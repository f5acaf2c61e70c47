// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/method/method.h"

namespace halftone {

/// Where a number format loses: error of each weight, row and block against the stored values.
class BlockErrorMethod final : public Method {
public:
    BlockErrorMethod();
    const MethodInfo& info() const override { return m_info; }
    const ParamSchema& schema() const override;
    std::vector<TableSchema> tables() const override;
    std::vector<FigureSpec> figures() const override;
    Result<MethodPlan> plan(const MethodInput& input, const ParamList& params) const override;
    Status run(const MethodInput& input, const ParamList& params, JobContext& ctx) const override;

private:
    MethodInfo m_info;
};

} // namespace halftone
