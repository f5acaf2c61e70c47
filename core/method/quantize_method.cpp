// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/method/importance_files.h"
#include "core/method/method.h"
#include "core/method/weight_errors.h"

#include <algorithm>
#include <fmt/format.h>

namespace halftone {

namespace {

/// One weight that will be measured; `why` says what keeps the others out.
struct Candidate {
    std::uint32_t weight = 0;
    const BlockFormat* format = nullptr;
    PackedLayout layout;
    std::string why;
};

Candidate candidateOf(const QuantizeMethod& method, const WeightInfo& info, std::uint32_t index,
                      const ParamList& params)
{
    Candidate c;
    c.weight = index;
    if (!info.whyOpaque.empty()) {
        c.why = info.whyOpaque;
        return c;
    }
    auto format = method.target(info, params);
    if (!format) {
        c.why = format.error().line();
        return c;
    }
    auto layout = (*format)->layout(info.shape.rows(), info.shape.cols());
    if (!layout) {
        c.why = layout.error().line();
        return c;
    }
    c.format = *format;
    c.layout = *layout;
    return c;
}

} // namespace

std::vector<TableSchema> QuantizeMethod::tables() const { return {weightTableSchema()}; }

std::vector<FigureSpec> QuantizeMethod::figures() const { return weightFigures(); }

Result<MethodPlan> QuantizeMethod::plan(const MethodInput& input, const ParamList& params) const
{
    HALFTONE_TRY(selection, selectedWeights(*input.model, input.weights));
    const auto all = input.model->weights()->all();
    MethodPlan plan;
    std::vector<std::uint32_t> taken;
    for (const auto index : selection) {
        const auto& info = all[index];
        const auto c = candidateOf(*this, info, index, params);
        if (c.format == nullptr) {
            plan.warnings.push_back(fmt::format("tensor {}: left out: {}", info.name, c.why));
            continue;
        }
        const auto count = static_cast<std::uint64_t>(info.count());
        ++plan.weights;
        taken.push_back(index);
        plan.bytesRead += info.bytes;
        plan.flops += static_cast<double>(count) * flopsPerWeight(params);
        // Values stay mapped when they are plain halves or floats; blocks are decoded to F32 first.
        const std::uint64_t source = info.isMappable() ? info.bytes : 4 * count;
        plan.peakBytes = std::max(plan.peakBytes, source + c.layout.total());
    }
    HALFTONE_TRY(lines, ImportanceFiles(*input.model).lines(*this, params, taken));
    plan.warnings.insert(plan.warnings.end(), lines.begin(), lines.end());
    return plan;
}

Status QuantizeMethod::run(const MethodInput& input, const ParamList& params, JobContext& ctx) const
{
    HALFTONE_TRY(selection, selectedWeights(*input.model, input.weights));
    HALFTONE_TRY(table, WeightErrorTable::open(ctx.results));
    const auto& weights = *input.model->weights();
    const auto all = weights.all();
    const auto roles = input.model->roles();
    ImportanceFiles importance(*input.model);
    HALFTONE_TRY(lines, importance.lines(*this, params, selection));
    for (const auto& line : lines)
        HALFTONE_CHECK(ctx.results.line(LogLevel::Info, line));
    ctx.progress.enter("Quantize", static_cast<std::int64_t>(selection.size()));
    for (const auto index : selection) {
        HALFTONE_CHECK(ctx.checkpoint());
        const auto& info = all[index];
        ctx.progress.detail(roles[index].id);
        const auto c = candidateOf(*this, info, index, params);
        if (c.format == nullptr) {
            HALFTONE_CHECK(ctx.results.line(LogLevel::Warning,
                                            fmt::format("tensor {}: left out: {}", info.name, c.why)));
            ctx.progress.advance();
            continue;
        }
        HALFTONE_TRY(source, weights.source(info, ctx.device, ctx.stop));
        HALFTONE_TRY(columns, importance.values(*this, params, index));
        auto done = quantizeAndMeasure(*this, source, *c.format, params, columns, ctx);
        if (!done) return weights.placed(info, std::move(done).error());
        HALFTONE_CHECK(weights.intact(info));
        weights.release(info);
        HALFTONE_CHECK(table.add(roles[index], {info.name, c.format->name(), info.count(), info.bytes,
                                                c.layout.total(), done->stats}));
        ctx.progress.advance();
    }
    return Ok{};
}

} // namespace halftone
