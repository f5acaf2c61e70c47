// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/method/method.h"

namespace halftone {

/// Round to nearest: every group of columns gets the scale (and zero point) that its range asks for, every
/// value the nearest code. No data, no search: what other methods are measured against.
class RtnMethod final : public QuantizeMethod {
public:
    RtnMethod();
    const MethodInfo& info() const override { return m_info; }
    const ParamSchema& schema() const override;
    Result<const BlockFormat*> target(const WeightInfo& weight, const ParamList& params) const override;
    Status quantize(const Tensor& weight, PackedTensor& packed, const ParamList& params,
                    std::span<const float> importance, JobContext& ctx) const override;
    std::string importanceFile(const ParamList& params) const override;
    double flopsPerWeight(const ParamList& params) const override;

private:
    MethodInfo m_info;
};

} // namespace halftone
