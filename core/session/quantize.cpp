// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/quantize.h"

#include "core/method/importance_files.h"
#include "core/method/weight_errors.h"
#include "core/session/output_place.h"
#include "core/session/plan.h"
#include "core/session/quantize_check.h"
#include "core/session/quantize_write.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <new>
#include <utility>

namespace halftone {

namespace {

using How = PlannedOutput::How;

class Run {
public:
    Run(const QuantizeRequest& request, JobContext& ctx)
        : m_request(request), m_ctx(ctx), m_weights(*request.model->weights()), m_importance(*request.model)
    {
    }

    Status all()
    {
        HALFTONE_TRY(built, buildOutputPlan(m_request));
        m_plan = std::move(built);
        HALFTONE_TRY(place, OutputPlace::prepare(m_request, m_plan));
        constexpr std::array<std::pair<std::string_view, double>, 2> kStages{
            {{"Quantize", 0.8}, {"Verify", 0.2}}};
        m_ctx.progress.declare(kStages);
        for (const auto& warning : m_plan.plan.warnings)
            HALFTONE_CHECK(m_ctx.results.line(LogLevel::Warning, warning));
        for (const auto& s : m_plan.plan.substitutions)
            HALFTONE_CHECK(m_ctx.results.line(LogLevel::Warning, s.text));
        // The reader of the written weights looks for config.json beside them.
        HALFTONE_CHECK(place->writeOthers(m_plan.plan));
        HALFTONE_TRY(writer, CheckpointWriter::create(place->weightsFile(), m_plan.plan.layout));
        m_writer = writer.get();
        HALFTONE_CHECK(writeAll());
        HALFTONE_CHECK(m_ctx.checkpoint());
        HALFTONE_CHECK(writer->finish(
            [this](const Checkpoint& written) { return checkWritten(written, m_written, m_ctx); }));
        return place->commit();
    }

private:
    Status writeAll()
    {
        std::int64_t total = 0;
        for (const auto& weight : m_plan.plan.weights)
            total += static_cast<std::int64_t>(weight.bytesBefore);
        m_ctx.progress.enter("Quantize", std::max<std::int64_t>(1, total));
        HALFTONE_TRY(table, WeightErrorTable::open(m_ctx.results));
        for (const auto& output : m_plan.outputs) {
            HALFTONE_CHECK(m_ctx.checkpoint());
            if (output.how == How::Inline) {
                HALFTONE_CHECK(m_writer->write(output.tensors.front(), output.inlineBytes));
                continue;
            }
            const PlannedWeight& planned = m_plan.plan.weights[output.planned];
            const WeightInfo& info = m_weights.all()[planned.weight];
            m_ctx.progress.detail(planned.id);
            Status done = output.how == How::Quantize ? quantize(output, planned, info, table)
                          : output.how == How::Repack ? repack(output, planned, info)
                                                      : writeKept(*m_writer, output, m_weights, info, m_ctx);
            // A file that was cut meanwhile reads as zeros: that error comes first.
            HALFTONE_CHECK(m_weights.intact(info));
            if (!done) return m_weights.placed(info, std::move(done).error());
            m_weights.release(info);
            m_ctx.progress.advance(static_cast<std::int64_t>(planned.bytesBefore));
        }
        return Ok{};
    }

    Status quantize(const PlannedOutput& output, const PlannedWeight& planned, const WeightInfo& info,
                    WeightErrorTable& table)
    {
        HALFTONE_TRY(source, m_weights.source(info, m_ctx.device, m_ctx.stop));
        HALFTONE_TRY(columns, m_importance.values(*m_request.method, planned.params, planned.weight));
        HALFTONE_TRY(made, quantizeAndMeasure(*m_request.method, source, *planned.format, planned.params,
                                              columns, m_ctx));
        HALFTONE_TRY(planes, hostPlanes(made.packed, output, m_ctx));
        HALFTONE_CHECK(writePlanes(*m_writer, output, planes));
        m_written.push_back({planned.name, planned.format, planes.hash(), info.count()});
        WeightRole role = m_request.model->roles()[planned.weight];
        role.id = planned.id;
        return table.add(role, {planned.name, planned.format->name(), info.count(), planned.bytesBefore,
                                planned.bytesAfter, made.stats});
    }

    Status repack(const PlannedOutput& output, const PlannedWeight& planned, const WeightInfo& info)
    {
        HALFTONE_TRY(packed, m_weights.packed(info));
        HALFTONE_TRY(planes, hostPlanes(packed, output, m_ctx));
        HALFTONE_CHECK(writePlanes(*m_writer, output, planes));
        m_written.push_back({planned.name, planned.format, planes.hash(), info.count()});
        return Ok{};
    }

    const QuantizeRequest& m_request;
    JobContext& m_ctx;
    const WeightSet& m_weights;
    ImportanceFiles m_importance;
    OutputPlan m_plan;
    CheckpointWriter* m_writer = nullptr;
    std::vector<WrittenWeight> m_written;
};

Status runPlanned(const QuantizeRequest& request, JobContext& ctx)
{
    try {
        return Run(request, ctx).all();
    } catch (const std::bad_alloc&) {
        return Error(Errc::OutOfMemory, "not enough memory for one weight and its planes");
    }
}

} // namespace

Status runQuantize(const QuantizeRequest& request, JobContext& ctx)
{
    if (request.model == nullptr || request.method == nullptr)
        return Error(Errc::Internal, "a run needs a model and a method");
    return runPlanned(request, ctx);
}

Status runConvert(const QuantizeRequest& request, JobContext& ctx)
{
    if (request.model == nullptr || request.method != nullptr)
        return Error(Errc::Internal, "a conversion needs a model and no method");
    return runPlanned(request, ctx);
}

} // namespace halftone
