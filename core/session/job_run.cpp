// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/text.h"
#include "core/session/job_file.h"
#include "core/session/job_sink.h"
#include "core/session/job_steps.h"
#include "core/session/verify.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>

namespace halftone {

namespace {

using Do = JobStep::Do;

std::string_view nameOf(Do what)
{
    constexpr std::array<std::string_view, 5> kNames{"overview", "analyse", "sweep", "quantize", "verify"};
    return kNames[static_cast<std::size_t>(what)];
}

/// How long a step takes compared with others, in passes over the weights.
double weightOf(const JobStep& step)
{
    switch (step.what) {
    case Do::Overview:
        return 0.05;
    case Do::Analyse:
        return 3;
    case Do::Sweep:
        return 2 * static_cast<double>(step.points.size());
    case Do::Quantize:
        return 4;
    case Do::Verify:
        return 2;
    }
    return 1;
}

class JobRun {
public:
    JobRun(const JobFile& job, std::shared_ptr<const Model> model, const std::filesystem::path& folder,
           JobStepSink& sink, JobContext& ctx)
        : m_job(job), m_model(std::move(model)), m_folder(folder), m_sink(sink), m_outer(ctx),
          m_progress(ctx.progress)
    {
    }

    Status run()
    {
        std::vector<std::string> names;
        for (std::size_t i = 0; i < m_job.steps.size(); ++i)
            names.push_back(fmt::format("{} {}", i + 1, nameOf(m_job.steps[i].what)));
        std::vector<std::pair<std::string_view, double>> stages;
        for (std::size_t i = 0; i < names.size(); ++i)
            stages.emplace_back(names[i], weightOf(m_job.steps[i]));
        m_outer.progress.declare(stages);
        HALFTONE_CHECK(checkAll());
        for (std::size_t i = 0; i < m_job.steps.size(); ++i) {
            HALFTONE_CHECK(m_outer.checkpoint());
            m_progress.begin(names[i]);
            if (const auto* finished = m_sink.finished(i)) {
                m_results.take(*finished);
            } else {
                auto done = runStep(i);
                if (!done) return std::move(done).error().in("step " + names[i]);
            }
            m_progress.end();
        }
        return Ok{};
    }

private:
    /// Everything that can be known to fail is said before the first hour of work, not after it.
    Status checkAll()
    {
        for (std::size_t i = 0; i < m_job.steps.size(); ++i) {
            const auto& step = m_job.steps[i];
            if (m_sink.finished(i) != nullptr) continue;
            auto good = check(step);
            if (!good) return std::move(good).error().in(fmt::format("step {} {}", i + 1, nameOf(step.what)));
        }
        return Ok{};
    }

    Status check(const JobStep& step)
    {
        HALFTONE_TRY(weights, matchWeights(*m_model, step.tensors));
        if (step.what == Do::Analyse) {
            auto plan = step.method->plan({m_model, weights}, step.params);
            if (!plan) return std::move(plan).error();
        }
        if (step.what != Do::Quantize) return Ok{};
        const auto request = requestOf(step);
        std::error_code ignored;
        if (!m_job.overwrite && std::filesystem::exists(request.output, ignored))
            return Error(Errc::CannotWrite,
                         fmt::format("{} exists: delete it or allow overwriting", request.output.string()));
        auto plan = planQuantize(request);
        if (!plan) return std::move(plan).error();
        return Ok{};
    }

    QuantizeRequest requestOf(const JobStep& step) const
    {
        return {m_model, std::dynamic_pointer_cast<const QuantizeMethod>(step.method), step.params,
                m_folder / step.output, m_job.overwrite};
    }

    Status runStep(std::size_t index)
    {
        HALFTONE_TRY(results, m_sink.begin(index));
        m_results.begin(index + 1, *results);
        JobContext ctx{m_outer.device, m_outer.stream, m_progress,   m_results,
                       m_outer.rng,    m_outer.stop,   m_outer.pause};
        Status done = step(m_job.steps[index], ctx);
        // A step that can't be closed is not finished; its own error counts more than that of closing it.
        Status closed = m_sink.end(index, done);
        return done ? std::move(closed) : std::move(done);
    }

    Status step(const JobStep& step, JobContext& ctx)
    {
        switch (step.what) {
        case Do::Overview:
            return runOverview(*m_model, ctx);
        case Do::Analyse: {
            HALFTONE_TRY(weights, matchWeights(*m_model, step.tensors));
            return step.method->run({m_model, weights}, step.params, ctx);
        }
        case Do::Sweep: {
            HALFTONE_TRY(weights, matchWeights(*m_model, step.tensors));
            return runSweep({m_model, step.points, weights}, ctx);
        }
        case Do::Quantize:
            return runQuantize(requestOf(step), ctx);
        case Do::Verify:
            return verify(step, ctx);
        }
        return Error(Errc::Internal, "a step of no kind");
    }

    Status verify(const JobStep& step, JobContext& ctx)
    {
        HALFTONE_TRY(written, openModel(m_folder / step.output));
        auto source = m_model;
        if (!step.against.empty()) {
            HALFTONE_TRY(other, openModel(step.against));
            source = other;
        }
        HALFTONE_TRY(report, verifyCheckpoint(*written, *source, {}, ctx));
        for (const auto& finding : report.findings)
            HALFTONE_CHECK(ctx.results.line(report.passed() ? LogLevel::Info : LogLevel::Error, finding));
        if (report.passed()) return Ok{};
        return Error(Errc::CheckFailed,
                     fmt::format("{} of {} weights failed, {} are missing{}{}", report.failed,
                                 report.compared, report.missing, report.findings.empty() ? "" : ": ",
                                 report.findings.empty() ? "" : report.findings.front()))
            .in(step.output);
    }

    const JobFile& m_job;
    std::shared_ptr<const Model> m_model;
    std::filesystem::path m_folder;
    JobStepSink& m_sink;
    JobContext& m_outer;
    StepProgress m_progress;
    StepResults m_results;
};

} // namespace

Result<std::vector<std::uint32_t>> matchWeights(const Model& model, const std::vector<std::string>& globs)
{
    std::vector<std::uint32_t> matched;
    if (globs.empty()) return matched;
    const auto all = model.weights()->all();
    std::vector<bool> used(globs.size(), false);
    for (const auto& role : model.roles()) {
        bool any = false;
        for (std::size_t g = 0; g < globs.size(); ++g)
            if (globMatch(globs[g], all[role.weight].name) || globMatch(globs[g], role.id))
                any = used[g] = true;
        if (any) matched.push_back(role.weight);
    }
    for (std::size_t g = 0; g < globs.size(); ++g)
        if (!used[g])
            return Error(Errc::NotFound,
                         fmt::format("no weight is called \"{}\": see the names with info", globs[g]));
    return matched;
}

Status runJobSteps(const JobFile& job, std::shared_ptr<const Model> model,
                   const std::filesystem::path& outputs, JobStepSink& sink, JobContext& ctx)
{
    return JobRun(job, std::move(model), outputs, sink, ctx).run();
}

Status runJobFile(const JobFile& job, std::shared_ptr<const Model> model,
                  const std::filesystem::path& outputFolder, JobContext& ctx)
{
    /// All steps into the job's own results.
    class OneSink final : public JobStepSink {
    public:
        explicit OneSink(ResultWriter& results) : m_results(results) {}
        const ResultReader* finished(std::size_t) const override { return nullptr; }
        Result<ResultWriter*> begin(std::size_t) override { return &m_results; }
        Status end(std::size_t, const Status&) override { return Ok{}; }

    private:
        ResultWriter& m_results;
    };
    OneSink sink(ctx.results);
    return runJobSteps(job, std::move(model), outputFolder, sink, ctx);
}

} // namespace halftone
