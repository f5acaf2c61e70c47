// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/methods/int_vs_fp/int_vs_fp.h"

#include "core/base/checked.h"
#include "core/method/weight_errors.h"
#include "plugins/methods/int_vs_fp/lab_run.h"

#include <algorithm>
#include <fmt/format.h>

namespace halftone {

using namespace int_vs_fp;

IntVsFpMethod::IntVsFpMethod()
{
    m_info.id = "int_vs_fp";
    m_info.title = "INT versus FP";
    m_info.summary =
        "Whole numbers against floats of the same bits and blocks: theory over the crest factor, and "
        "what the weights really lose.";
    m_info.reference = "INT v.s. FP: A Comprehensive Study of Fine-Grained Low-bit Quantization Formats, "
                       "arXiv 2510.25602, 2025; for 4 bits its tables, not its abstract, are the reference.";
    m_info.family = MethodFamily::Analyse;
    m_info.ops = {OpId::Copy, OpId::QuantizeBlocks, OpId::BlockErrors};
}

const ParamSchema& IntVsFpMethod::schema() const { return labTable().schema(); }

std::vector<TableSchema> IntVsFpMethod::tables() const { return allSchemas(); }

std::vector<FigureSpec> IntVsFpMethod::figures() const
{
    std::vector<FigureSpec> all;
    for (const char* rotation : {"none", "block", "row"}) {
        LabParams p;
        p.hadamard = rotation;
        p.sweep = true;
        const auto sizes = blockSizesOf(p);
        if (!sizes) continue;
        const auto runs = pairRunsOf(p, *sizes);
        if (!runs) continue;
        for (FigureSpec& figure : figuresOf(p, *sizes, *runs, {}))
            if (std::none_of(all.begin(), all.end(), [&](const FigureSpec& f) { return f.id == figure.id; }))
                all.push_back(std::move(figure));
    }
    return all;
}

Result<MethodPlan> IntVsFpMethod::plan(const MethodInput& input, const ParamList& params) const
{
    const auto p = labTable().bind(params);
    HALFTONE_TRY(sizes, blockSizesOf(p));
    HALFTONE_TRY(runs, pairRunsOf(p, sizes));
    HALFTONE_TRY(selection, selectedWeights(*input.model, input.weights));
    MethodPlan plan;
    std::int64_t cut = 0;
    for (const auto index : selection) {
        const auto& info = input.model->weights()->all()[index];
        if (!info.whyOpaque.empty()) {
            plan.warnings.push_back(fmt::format("tensor {}: left out: {}", info.name, info.whyOpaque));
            continue;
        }
        const std::int64_t all = std::max<std::int64_t>(1, info.shape.rows());
        const std::int64_t take = std::max<std::int64_t>(1, sampledRows(all, p.rows));
        const double share = static_cast<double>(take) / static_cast<double>(all);
        const double count = share * static_cast<double>(info.count());
        ++plan.weights;
        plan.bytesRead += static_cast<std::uint64_t>(share * static_cast<double>(info.bytes));
        plan.flops += count * 8 * static_cast<double>(sizes.size() + 1);
        double peak = 4 * count * (p.hadamard == "none" ? 1 : 2);
        for (const PairRun& run : runs) {
            plan.flops +=
                count * (run.formats.integer->encodeFlops() + run.formats.floating->encodeFlops() + 16);
            cut += info.shape.cols() % run.block != 0 ? 1 : 0;
            // Codes of the wider formats, and three numbers a block.
            peak = std::max(peak, 4 * count * (p.hadamard == "none" ? 1 : 2) + count +
                                      24 * count / static_cast<double>(run.block));
        }
        plan.peakBytes = std::max(plan.peakBytes, static_cast<std::uint64_t>(peak));
    }
    if (cut > 0)
        plan.warnings.push_back(
            fmt::format("{} rows end in a block that is shorter than the others: its crest factor "
                        "is smaller",
                        cut == 1 ? "the weight's" : "some weights'"));
    return plan;
}

Status IntVsFpMethod::run(const MethodInput& input, const ParamList& params, JobContext& ctx) const
{
    const auto p = labTable().bind(params);
    HALFTONE_TRY(sizes, blockSizesOf(p));
    HALFTONE_TRY(runs, pairRunsOf(p, sizes));
    HALFTONE_TRY(selection, selectedWeights(*input.model, input.weights));
    LabRun lab(*input.model, p, sizes, runs, ctx);
    HALFTONE_CHECK(lab.theory());
    ctx.progress.enter("Measure", static_cast<std::int64_t>(selection.size() * runs.size()));
    for (const auto index : selection) {
        HALFTONE_CHECK(ctx.checkpoint());
        const auto& info = input.model->weights()->all()[index];
        if (!info.whyOpaque.empty()) {
            HALFTONE_CHECK(ctx.results.line(
                LogLevel::Warning, fmt::format("tensor {}: left out: {}", info.name, info.whyOpaque)));
            ctx.progress.advance(static_cast<std::int64_t>(runs.size()));
            continue;
        }
        HALFTONE_CHECK(lab.weight(index));
    }
    return lab.finish();
}

} // namespace halftone
