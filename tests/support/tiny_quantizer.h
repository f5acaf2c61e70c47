// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/method/method.h"
#include "core/method/weight_errors.h"
#include "core/param/table.h"

#include <memory>
#include <string>
#include <vector>

namespace halftone::test {

/// A quantizer for tests of the session, which must not depend on any plugin.
class TinyQuantizer final : public QuantizeMethod {
public:
    struct Params {
        int bits = 4;
        int groupSize = 32;
        bool grouped = true;
    };
    TinyQuantizer()
    {
        m_info.id = "tiny";
        m_info.title = "Tiny";
        m_info.summary = "Rounds.";
        m_info.family = MethodFamily::Quantize;
    }
    const MethodInfo& info() const override { return m_info; }
    const ParamSchema& schema() const override { return table().schema(); }
    Result<const BlockFormat*> target(const WeightInfo&, const ParamList& params) const override
    {
        const auto p = table().bind(params);
        return intGridFormat(p.bits, GridRule::SymRestricted, p.grouped ? p.groupSize : FormatDesc::kWholeRow,
                             ScaleType::F16);
    }
    Status quantize(const Tensor& weight, PackedTensor& packed, const ParamList&, std::span<const float>,
                    JobContext& ctx) const override
    {
        return quantizeBlocks(weight, packed, ctx);
    }
    double flopsPerWeight(const ParamList&) const override { return 7; }

private:
    static const ParamTable<Params>& table()
    {
        static const ParamTable<Params> t = [] {
            ParamTable<Params> made;
            made.field(&Params::bits, {.key = "bits", .label = "Bits", .help = "Bits.", .min = 2, .max = 8});
            made.field(&Params::grouped, {.key = "grouped", .label = "Grouped", .help = "In groups."});
            made.field(&Params::groupSize, {.key = "group-size",
                                            .label = "Group size",
                                            .help = "Columns.",
                                            .min = 1,
                                            .max = 65536,
                                            .logScale = true,
                                            .enabledBy = "grouped"});
            return made;
        }();
        return t;
    }
    MethodInfo m_info;
};

class TinyProvider final : public MethodProvider {
public:
    int apiVersion() const override { return kMethodApi; }
    std::vector<std::shared_ptr<const Method>> methods() const override
    {
        return {std::make_shared<const TinyQuantizer>()};
    }
};

} // namespace halftone::test
