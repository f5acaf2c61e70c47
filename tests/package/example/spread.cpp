// SPDX-License-Identifier: GPL-3.0-or-later
// A whole method plugin in one file: how far the largest values of each weight stand out.
#include "app/host/plugin_interface.h"
#include "core/method/weight_errors.h"
#include "core/param/table.h"

#include <QObject>
#include <algorithm>
#include <array>
#include <cmath>

namespace {

using namespace halftone;

struct SpreadParams {
    double quantile = 0.999;
    std::string reference = "rms";
};

const ParamTable<SpreadParams>& params()
{
    static const ParamTable<SpreadParams> table = [] {
        ParamTable<SpreadParams> t;
        t.field(&SpreadParams::quantile, {.key = "quantile",
                                          .label = "Quantile",
                                          .help = "Part of the values whose largest is looked at.",
                                          .min = 0.5,
                                          .max = 1});
        t.field(&SpreadParams::reference, {.key = "reference",
                                           .label = "Compared with",
                                           .help = "What the quantile is divided by.",
                                           .choices = {"rms", "mean"}});
        return t;
    }();
    return table;
}

class SpreadMethod final : public Method {
public:
    SpreadMethod()
    {
        m_info.id = "spread";
        m_info.title = "Spread";
        m_info.summary = "How far the largest values of each weight stand out.";
        m_info.reference = "An example";
        m_info.family = MethodFamily::Analyse;
    }
    const MethodInfo& info() const override { return m_info; }
    const ParamSchema& schema() const override { return params().schema(); }

    std::vector<TableSchema> tables() const override
    {
        return {{"spread",
                 "Spread of each weight.",
                 {{"name", Column::Type::Name, "", "Name of the weight."},
                  {"spread", Column::Type::Real, "", "Quantile over the reference."}}}};
    }
    std::vector<FigureSpec> figures() const override
    {
        return {{.id = "spread",
                 .title = "Spread by weight",
                 .kind = "bars",
                 .x = {"Weight"},
                 .y = {"Spread"},
                 .traces = {{.table = "spread", .x = "name", .y = "spread", .mark = Trace::Mark::Bars}},
                 .caption = "Weights with a few large values stand out."}};
    }

    Result<MethodPlan> plan(const MethodInput& input, const ParamList&) const override
    {
        HALFTONE_TRY(selection, selectedWeights(*input.model, input.weights));
        MethodPlan plan;
        for (const auto index : selection) {
            const auto& info = input.model->weights()->all()[index];
            ++plan.weights;
            plan.bytesRead += info.bytes;
            plan.flops += 20.0 * static_cast<double>(info.count());
            plan.peakBytes = std::max(plan.peakBytes, 4 * static_cast<std::uint64_t>(info.count()));
        }
        return plan;
    }

    Status run(const MethodInput& input, const ParamList& list, JobContext& ctx) const override
    {
        const SpreadParams p = params().bind(list);
        HALFTONE_TRY(selection, selectedWeights(*input.model, input.weights));
        HALFTONE_TRY(table, ctx.results.table(tables().front()));
        ctx.progress.enter("Spread", static_cast<std::int64_t>(selection.size()));
        for (const auto index : selection) {
            HALFTONE_CHECK(ctx.checkpoint());
            const auto& info = input.model->weights()->all()[index];
            HALFTONE_TRY(values, input.model->weights()->loadRows(info, 0, info.shape.rows(), DType::F32,
                                                                  cpuDevice(), ctx.stop));
            const std::array row{table->nameId(0, info.name), spreadOf(values.values<float>(), p)};
            HALFTONE_CHECK(table->append(row));
            ctx.progress.advance();
        }
        return ctx.results.figure(figures().front());
    }

private:
    static double spreadOf(std::span<const float> values, const SpreadParams& p)
    {
        if (values.empty()) return 0;
        std::vector<double> sizes;
        double sum = 0, squares = 0;
        for (const float v : values) {
            sizes.push_back(std::abs(static_cast<double>(v)));
            sum += sizes.back();
            squares += sizes.back() * sizes.back();
        }
        const auto count = static_cast<double>(sizes.size());
        auto at = sizes.begin() + static_cast<std::ptrdiff_t>(std::ceil(p.quantile * count)) - 1;
        std::nth_element(sizes.begin(), at, sizes.end());
        const double reference = p.reference == "rms" ? std::sqrt(squares / count) : sum / count;
        return reference > 0 ? *at / reference : 0;
    }

    MethodInfo m_info;
};

} // namespace

class SpreadPlugin final : public QObject, public halftone::MethodProvider {
    Q_OBJECT
    Q_PLUGIN_METADATA(IID HALFTONE_METHODS_IID FILE "spread.json")
    Q_INTERFACES(halftone::MethodProvider)
public:
    int apiVersion() const override { return halftone::kMethodApi; }
    std::vector<std::shared_ptr<const halftone::Method>> methods() const override
    {
        return {std::make_shared<const SpreadMethod>()};
    }
};

#include "spread.moc"
