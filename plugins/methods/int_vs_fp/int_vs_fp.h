// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/method/method.h"

namespace halftone {

/// Whether whole numbers or small floats lose less at the same bits and block size: the QSNR that theory
/// gives over the crest factor of a block, and what the weights of a checkpoint really lose.
class IntVsFpMethod final : public Method {
public:
    IntVsFpMethod();
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
