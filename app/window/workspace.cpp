// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/window/workspace.h"

#include "app/host/strings.h"
#include "core/base/text.h"
#include "core/base/version.h"
#include "core/io/weight_layout.h"
#include "core/session/job_file.h"

#include <QDateTime>
#include <QFileInfo>

#include <algorithm>
#include <cmath>

namespace halftone {

using namespace Qt::Literals::StringLiterals;

namespace {

constexpr int kMostDefaultPoints = 48;

/// Text values that a sweep tries for one parameter; one (its default) when it is not swept.
std::vector<std::string> sweptValues(const ParamSpec& spec)
{
    std::vector<std::string> out;
    if (spec.kind == ParamSpec::Kind::Int && spec.key == "bits" && spec.max - spec.min < 16)
        for (int bits = static_cast<int>(spec.min); bits <= static_cast<int>(spec.max); ++bits)
            out.push_back(std::to_string(bits));
    else if (spec.kind == ParamSpec::Kind::Int && spec.logScale && spec.unit == "columns")
        for (const int size : {32, 128})
            if (size >= spec.min && size <= spec.max) out.push_back(std::to_string(size));
    if (spec.kind == ParamSpec::Kind::Choice && spec.key == "format") out = spec.choices;
    if (out.empty()) out.push_back(toText(spec.fallback));
    return out;
}

/// A format that no layout of safetensors has room for makes no file: it is measured when it is asked for.
bool makesFiles(const QuantizeMethod& method, const Model& model, const ParamList& params)
{
    for (const WeightInfo& info : model.weights()->all()) {
        if (info.shape.rank() != 2) continue;
        const auto format = method.target(info, params);
        return !format || (*format)->desc().layout != FormatDesc::Layout::Planar ||
               weightLayout("auto", **format);
    }
    return true;
}

} // namespace

Workspace::Workspace(const MethodRegistry& methods, QObject* parent)
    : QObject(parent), m_methods(methods), m_runner(JobRunner::make()),
      m_watcher(std::make_unique<JobWatcher>(*m_runner))
{
    connect(m_watcher.get(), &JobWatcher::changed, &m_jobs, &JobsModel::update);
    connect(m_watcher.get(), &JobWatcher::finished, this, &Workspace::finished);
}

Workspace::~Workspace()
{
    m_watcher.reset(); // looks at the runner
}

std::shared_ptr<const ResultReader> Workspace::results(Kind kind) const
{
    const auto at = m_results.find(kind);
    return at == m_results.end() ? nullptr : at->second;
}

bool Workspace::pending(Kind kind) const
{
    return std::any_of(m_running.begin(), m_running.end(),
                       [&](const auto& r) { return r.second.kind == kind; });
}

void Workspace::say(Tone tone, const QString& line) { Q_EMIT said(tone, line); }

int Workspace::weightNamed(std::string_view name) const
{
    if (!m_model) return -1;
    const auto all = m_model->weights()->all();
    const WeightInfo* info = m_model->weights()->find(name);
    return info == nullptr ? -1 : static_cast<int>(info - all.data());
}

void Workspace::open(const QString& path)
{
    ++m_opening;
    if (path.endsWith(u".h5"_s, Qt::CaseInsensitive) || path.endsWith(u".hdf5"_s, Qt::CaseInsensitive)) {
        inBackground(
            this, [file = toStd(path)] { return openHdf5(file); },
            [this, path](Result<std::shared_ptr<const ResultReader>> reader) {
                --m_opening;
                if (!reader) {
                    say(Tone::Error, toQt(reader.error().line()));
                    Q_EMIT openFailed(path, toQt(reader.error().line()));
                    return;
                }
                m_resultsPath = path;
                m_results[Kind::File] = *reader;
                Q_EMIT opened(path);
                adoptFile();
            });
        return;
    }
    const auto ticket = m_openTicket.next();
    inBackground(
        this, [file = std::filesystem::path(toStd(path))] { return openModel(file); },
        [this, path, ticket](Result<std::shared_ptr<const Model>> model) {
            --m_opening;
            if (!m_openTicket.current(ticket)) return;
            if (!model) {
                say(Tone::Error, toQt(model.error().line()));
                Q_EMIT openFailed(path, toQt(model.error().line()));
                return;
            }
            setModel(*model, path);
        });
}

void Workspace::adoptFile()
{
    const auto reader = results(Kind::File);
    if (!reader) return;
    Q_EMIT resultsChanged(Kind::File);
    // Figures always show; tables drive the panels only when they are about the open model.
    const std::string& hash = reader->provenance().checkpointHash;
    if (m_model && !hash.empty() && hash != m_model->weights()->checkpoint()->contentHash()) return;
    const auto tables = reader->tables();
    const auto has = [&](std::string_view name) {
        return std::any_of(tables.begin(), tables.end(), [&](const auto& t) { return t.name == name; });
    };
    // The panels that know these tables come back as they were.
    if (has("pareto")) {
        m_sweepPoints.clear();
        m_results[Kind::Sweep] = reader;
        m_point = -1;
        m_mix.reset();
        Q_EMIT resultsChanged(Kind::Sweep);
    }
    if (has("block_error")) {
        m_results[Kind::BlockError] = reader;
        Q_EMIT resultsChanged(Kind::BlockError);
    }
    if (has("tensors") && !m_model) {
        m_results[Kind::Overview] = reader;
        Q_EMIT resultsChanged(Kind::Overview);
    }
}

void Workspace::setModel(std::shared_ptr<const Model> model, const QString& path)
{
    for (const auto& [id, job] : m_running)
        m_runner->cancel(id);
    m_running.clear();
    // Results of a file stay when a model joins them: both were asked for.
    const auto file = results(Kind::File);
    m_results.clear();
    if (file) m_results[Kind::File] = file;
    m_sweepPoints.clear();
    m_point = -1;
    m_mix.reset();
    m_report.reset();
    m_writtenPath.clear();
    m_model = std::move(model);
    m_modelPath = path;
    m_selection.reset();
    Q_EMIT modelChanged();
    if (!m_model) return;
    Q_EMIT opened(path);
    adoptFile();
    JobRequest request;
    request.title = toStd(tr("Overview of %1").arg(QFileInfo(path).fileName()));
    request.tag = "overview";
    auto results = freshResults("overview", {});
    request.results = results;
    request.body = [kept = m_model](JobContext& ctx) { return runOverview(*kept, ctx); };
    submit(Kind::Overview, std::move(request), results);
}

void Workspace::closeModel() { setModel(nullptr, {}); }

std::shared_ptr<MemoryResults> Workspace::freshResults(const std::string& method,
                                                       const ParamList& params) const
{
    Provenance from;
    from.methodId = method;
    if (const auto found = m_methods.find(method)) from.methodVersion = (*found)->info().version;
    from.checkpointPath = toStd(m_modelPath);
    if (m_model) from.checkpointHash = m_model->weights()->checkpoint()->contentHash();
    from.device = "cpu";
    from.programVersion = kVersion;
    from.created = toStd(QDateTime::currentDateTimeUtc().toString(Qt::ISODate));
    from.threads = threadCount();
    from.params = params;
    return MemoryResults::make(std::move(from));
}

void Workspace::submit(Kind kind, JobRequest request, std::shared_ptr<MemoryResults> results,
                       std::function<void()> whenDone)
{
    const JobId id = m_runner->submit(std::move(request));
    m_running[id] = {kind, std::move(results), std::move(whenDone)};
    m_watcher->look();
    Q_EMIT pendingChanged(kind);
}

void Workspace::finished(const JobSnapshot& job)
{
    const auto at = m_running.find(job.id);
    if (at == m_running.end()) return;
    const Running run = std::move(at->second);
    m_running.erase(at);
    const bool good = job.state == JobState::Succeeded;
    run.results->setOutcome(good                               ? Outcome::Complete
                            : job.state == JobState::Cancelled ? Outcome::Cancelled
                                                               : Outcome::Failed);
    if (job.state == JobState::Failed && job.error) say(Tone::Error, toQt(job.error->line()));
    // A cancelled sweep has no Pareto table: the older result stays.
    if (good) {
        m_results[run.kind] = run.results;
        if (run.whenDone) run.whenDone();
        Q_EMIT resultsChanged(run.kind);
    }
    Q_EMIT pendingChanged(run.kind);
}

std::vector<SweepPoint> Workspace::defaultSweep() const
{
    std::vector<SweepPoint> out;
    // A sweep only measures: against a source that is quantized already it says what is lost on top.
    const bool again =
        m_model && std::any_of(m_model->weights()->all().begin(), m_model->weights()->all().end(),
                               [](const WeightInfo& w) { return w.isPacked(); });
    for (const auto& method : m_methods.all()) {
        const auto quantizer = std::dynamic_pointer_cast<const QuantizeMethod>(method);
        if (!quantizer) continue;
        const ParamSchema schema = quantizeSchema().joined(method->schema());
        std::vector<ParamTexts> grid{{}};
        for (const ParamSpec& spec : method->schema().specs()) {
            std::vector<ParamTexts> next;
            for (const ParamTexts& texts : grid)
                for (const std::string& value : sweptValues(spec)) {
                    ParamTexts more = texts;
                    more.emplace_back(spec.key, value);
                    next.push_back(std::move(more));
                }
            grid = std::move(next);
        }
        for (ParamTexts texts : grid) {
            if (again) texts.emplace_back("requantize", "true");
            auto params = schema.complete(texts);
            if (!params || (m_model && !makesFiles(*quantizer, *m_model, *params))) continue;
            SweepPoint point{quantizer, *params, method->info().id};
            // Named by what differs from the defaults and matters under the other values.
            bool idle = false;
            for (const ParamSpec& spec : method->schema().specs()) {
                const ParamValue* value = findParam(point.params, spec.key);
                if (value == nullptr) continue;
                const bool swept = sweptValues(spec).size() > 1;
                const bool enabled = schema.enabled(spec, point.params);
                if (swept && !enabled && toText(*value) != sweptValues(spec).front()) idle = true;
                if (swept && enabled && !(spec.key == "format" && *value == spec.fallback))
                    point.label += " " + spec.key + "=" + toText(*value);
            }
            // A parameter that has no effect here would only repeat another point.
            if (!idle && out.size() < kMostDefaultPoints) out.push_back(std::move(point));
        }
    }
    return out;
}

void Workspace::runSweep(std::vector<SweepPoint> points, std::vector<std::uint32_t> weights)
{
    if (!m_model || points.empty()) return;
    JobRequest request;
    request.title = toStd(points.size() == 1 ? tr("Sweep of one setting")
                                             : tr("Sweep of %1 settings").arg(points.size()));
    request.tag = "sweep";
    auto results = freshResults("sweep", {});
    request.results = results;
    request.body = [sweep = SweepRequest{m_model, points, std::move(weights)}](JobContext& ctx) {
        return halftone::runSweep(sweep, ctx);
    };
    submit(Kind::Sweep, std::move(request), results, [this, points = std::move(points)] {
        m_sweepPoints = points;
        m_point = -1;
        m_mix.reset();
    });
}

void Workspace::runBlockError(int weight, const QString& format)
{
    const auto method = m_methods.find("block_error");
    if (!m_model || weight < 0) return;
    if (!method) {
        say(Tone::Error, toQt(method.error().line()));
        return;
    }
    const auto params = (*method)->schema().complete({{"format", toStd(format)}, {"detail", "block"}});
    if (!params) {
        say(Tone::Error, toQt(params.error().line()));
        return;
    }
    JobRequest request;
    request.title =
        toStd(tr("Block error of %1").arg(toQt(m_model->roles()[static_cast<std::size_t>(weight)].id)));
    request.tag = "block_error";
    auto results = freshResults("block_error", *params);
    request.results = results;
    MethodInput input{m_model, {static_cast<std::uint32_t>(weight)}};
    request.body = [method = *method, input, params = *params](JobContext& ctx) {
        return method->run(input, params, ctx);
    };
    submit(Kind::BlockError, std::move(request), results);
}

void Workspace::runAnalysis(std::shared_ptr<const Method> method, ParamList params,
                            std::vector<std::uint32_t> weights)
{
    if (!m_model) return;
    JobRequest request;
    request.title = method->info().title;
    request.tag = "analysis " + method->info().id;
    auto results = freshResults(method->info().id, params);
    request.results = results;
    MethodInput input{m_model, std::move(weights)};
    request.body = [method = std::move(method), input, params = std::move(params)](JobContext& ctx) {
        return method->run(input, params, ctx);
    };
    submit(Kind::Analysis, std::move(request), results);
}

void Workspace::runQuantize(QuantizeRequest request)
{
    if (!m_model) return;
    request.model = m_model;
    const QString path = toQt(request.output.string());
    JobRequest job;
    job.title = toStd(tr("Write %1").arg(QFileInfo(path).fileName()));
    auto results = freshResults(request.method->info().id, request.params);
    job.results = results;
    job.body = [request](JobContext& ctx) { return halftone::runQuantize(request, ctx); };
    submit(Kind::Quantize, std::move(job), results, [this, path] {
        m_writtenPath = path;
        m_report.reset();
        Q_EMIT wrote(path); // first: the check of a small file is over at once
        verify(path);
    });
}

void Workspace::verify(const QString& path)
{
    JobRequest job;
    job.title = toStd(tr("Verify %1").arg(QFileInfo(path).fileName()));
    auto results = freshResults("verify", {});
    auto report = std::make_shared<VerifyReport>();
    job.results = results;
    job.body = [source = m_model, file = std::filesystem::path(toStd(path)),
                report](JobContext& ctx) -> Status {
        HALFTONE_TRY(written, openModel(file));
        HALFTONE_TRY(found, verifyCheckpoint(*written, *source, {}, ctx));
        *report = std::move(found);
        return Ok{};
    };
    submit(Kind::Verify, std::move(job), results, [this, report] {
        m_report = *report;
        if (!report->passed())
            say(Tone::Error, tr("%1: %2 of %3 weights failed the check: %4")
                                 .arg(m_writtenPath)
                                 .arg(report->failed + report->missing)
                                 .arg(report->compared + report->missing)
                                 .arg(report->findings.empty() ? QString() : toQt(report->findings.front())));
    });
}

void Workspace::cancel(JobId id) { m_runner->cancel(id); }

void Workspace::pause(JobId id) { m_runner->pause(id); }

void Workspace::resume(JobId id) { m_runner->resume(id); }

void Workspace::cancelAll()
{
    for (const JobSnapshot& job : m_runner->snapshots())
        if (job.state == JobState::Queued || job.state == JobState::Running) m_runner->cancel(job.id);
}

void Workspace::setPoint(int point)
{
    if (point == m_point && !m_mix) return;
    m_point = point;
    m_mix.reset();
    Q_EMIT pointChanged();
}

void Workspace::setMix(std::optional<BudgetPlan> mix)
{
    if (!mix && !m_mix) return;
    m_mix = std::move(mix);
    Q_EMIT pointChanged();
}

} // namespace halftone
