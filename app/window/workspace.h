// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/host/job_watcher.h"
#include "app/models/background.h"
#include "app/models/jobs_model.h"
#include "app/models/selection.h"
#include "core/method/method.h"
#include "core/session/quantize.h"
#include "core/session/sweep.h"
#include "core/session/verify.h"

#include <QObject>
#include <QStringList>

#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace halftone {

/// What is open and what was found out about it: one model, its results, its jobs, one selection. The
/// panels ask and listen; none of them knows another. Lives on the window's thread; files are read and
/// numbers are made elsewhere.
class Workspace : public QObject {
    Q_OBJECT
public:
    enum class Kind : std::uint8_t { Overview, Sweep, BlockError, Quantize, Verify, Analysis, File };
    enum class Tone : std::uint8_t { Info, Warning, Error };

    explicit Workspace(const MethodRegistry& methods, QObject* parent = nullptr);
    ~Workspace() override;

    const MethodRegistry& methods() const { return m_methods; }
    Selection& selection() { return m_selection; }
    const Selection& selection() const { return m_selection; }
    JobWatcher& watcher() { return *m_watcher; }
    JobsModel& jobs() { return m_jobs; }

    const std::shared_ptr<const Model>& model() const { return m_model; }
    const QString& modelPath() const { return m_modelPath; }
    const QString& resultsPath() const { return m_resultsPath; }
    bool opening() const { return m_opening > 0; }
    bool busy() const { return m_watcher->busy(); }

    /// A checkpoint (file, index, folder) or a results file (.h5). Returns at once.
    void open(const QString& path);
    void closeModel();

    /// Results of the last run of a kind, null when there is none. A reader is never changed once shown.
    std::shared_ptr<const ResultReader> results(Kind kind) const;
    /// True while a newer run of this kind is on its way.
    bool pending(Kind kind) const;
    /// Settings of the points of the last sweep; empty for one that came from a file.
    const std::vector<SweepPoint>& sweepPoints() const { return m_sweepPoints; }
    /// Bits from small to large, in the usual group sizes and block types, for every quantizer.
    std::vector<SweepPoint> defaultSweep() const;

    void runSweep(std::vector<SweepPoint> points, std::vector<std::uint32_t> weights = {});
    void runBlockError(int weight, const QString& format);
    void runAnalysis(std::shared_ptr<const Method> method, ParamList params,
                     std::vector<std::uint32_t> weights);
    /// Writes a checkpoint, then compares it with its source.
    void runQuantize(QuantizeRequest request);
    void cancel(JobId id);
    void pause(JobId id);
    void resume(JobId id);
    void cancelAll();

    /// The point of the sweep that other panels look at, or -1; a mix under a budget is set by setMix().
    int point() const { return m_point; }
    void setPoint(int point);
    const std::optional<BudgetPlan>& mix() const { return m_mix; }
    void setMix(std::optional<BudgetPlan> mix);
    /// Report of the last written file.
    const std::optional<VerifyReport>& verifyReport() const { return m_report; }
    const QString& writtenPath() const { return m_writtenPath; }

    void say(Tone tone, const QString& line);
    /// Index of the weight of this name, or -1.
    int weightNamed(std::string_view name) const;

Q_SIGNALS:
    void modelChanged();
    void openFailed(const QString& path, const QString& line);
    void opened(const QString& path);
    void resultsChanged(halftone::Workspace::Kind kind);
    void pendingChanged(halftone::Workspace::Kind kind);
    void pointChanged();
    void wrote(const QString& path);
    void said(halftone::Workspace::Tone tone, const QString& line);

private:
    struct Running {
        Kind kind;
        std::shared_ptr<MemoryResults> results;
        std::function<void()> whenDone; ///< after success
    };
    std::shared_ptr<MemoryResults> freshResults(const std::string& method, const ParamList& params) const;
    void submit(Kind kind, JobRequest request, std::shared_ptr<MemoryResults> results,
                std::function<void()> whenDone = {});
    void finished(const JobSnapshot& job);
    void setModel(std::shared_ptr<const Model> model, const QString& path);
    void verify(const QString& path);
    /// Gives the tables of the open results file to the panels that know them.
    void adoptFile();

    const MethodRegistry& m_methods;
    std::unique_ptr<JobRunner> m_runner;
    std::unique_ptr<JobWatcher> m_watcher;
    JobsModel m_jobs;
    Selection m_selection;
    std::shared_ptr<const Model> m_model;
    QString m_modelPath, m_resultsPath, m_writtenPath;
    int m_opening = 0;
    LatestTicket m_openTicket;
    std::map<JobId, Running> m_running;
    std::map<Kind, std::shared_ptr<const ResultReader>> m_results;
    std::vector<SweepPoint> m_sweepPoints;
    int m_point = -1;
    std::optional<BudgetPlan> m_mix;
    std::optional<VerifyReport> m_report;
};

} // namespace halftone
