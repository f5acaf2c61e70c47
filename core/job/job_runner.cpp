// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/job/job.h"

#include "core/job/progress.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <fmt/format.h>
#include <mutex>
#include <new>
#include <thread>

namespace halftone {

namespace {

using Clock = JobProgress::Clock;

/// How many ended jobs a runner remembers: a preview at each key press must not fill the memory.
constexpr std::size_t kEndedKept = 256;

struct Job {
    JobId id = 0;
    JobRequest request; ///< body and results are let go when the job ends
    std::stop_source stop;
    PauseGate gate;
    JobProgress progress{gate};
    // Guarded by the runner's mutex.
    JobState state = JobState::Queued;
    Clock::time_point started{}, ended{};
    std::optional<Error> error;
    std::uint64_t changes = 0;
    bool over() const { return state > JobState::Running; }
};

/// Runs the body on its device. Whatever it throws becomes an Error: nothing leaves a job's thread.
Status runBody(Job& job) noexcept
{
    try {
        if (!job.request.body) return Error(Errc::InvalidArgument, "the job has nothing to do");
        HALFTONE_TRY(device, openDevice(job.request.deviceId));
        HALFTONE_TRY(stream, device->makeStream());
        ResultWriter& results = job.request.results ? *job.request.results : nullResults();
        JobContext context{
            *device,  *stream, job.progress, results, CounterRng(job.request.seed), job.stop.get_token(),
            &job.gate};
        Status status = job.request.body(context);
        if (status) status = device->synchronize(*stream);
        return status;
    } catch (const std::bad_alloc&) {
        return Error(Errc::OutOfMemory, "there is not enough memory");
    } catch (const std::exception& e) {
        return Error(Errc::Internal, fmt::format("unexpected failure: {}", e.what()));
    } catch (...) {
        return Error(Errc::Internal, "unexpected failure of an unknown kind");
    }
}

class Runner final : public JobRunner {
public:
    Runner() : m_worker([this](const std::stop_token& stop) { work(stop); }) {}
    ~Runner() override;
    JobId submit(JobRequest request) override;
    void cancel(JobId id) override;
    void pause(JobId id) override;
    void resume(JobId id) override;
    std::optional<JobSnapshot> snapshot(JobId id) const override;
    std::vector<JobSnapshot> snapshots() const override;
    Status wait(JobId id) override;

private:
    using JobPtr = std::shared_ptr<Job>;
    void work(const std::stop_token& stop);
    void execute(const JobPtr& job);
    JobPtr findLocked(JobId id) const;
    void stopJob(const JobPtr& job);
    void endLocked(Job& job, Status status);
    void forgetLocked();
    static JobSnapshot snapshotOf(Job& job, Clock::time_point now);

    mutable std::mutex m_mutex; // guards all below, and the state of each job
    std::condition_variable_any m_queued;
    std::condition_variable m_ended;
    std::vector<JobPtr> m_jobs; ///< in order of submission
    std::deque<JobPtr> m_queue;
    JobId m_nextId = 1;
    std::jthread m_worker; // last: it uses all of the above
};

Runner::~Runner()
{
    m_worker.request_stop();
    std::vector<JobPtr> jobs;
    {
        const std::lock_guard lock(m_mutex);
        jobs = m_jobs;
    }
    for (const JobPtr& job : jobs)
        stopJob(job);
    m_worker.join();
}

JobId Runner::submit(JobRequest request)
{
    auto job = std::make_shared<Job>();
    job->request = std::move(request);
    std::vector<JobPtr> older;
    {
        const std::lock_guard lock(m_mutex);
        job->id = m_nextId++;
        if (!job->request.tag.empty())
            for (const JobPtr& other : m_jobs)
                if (!other->over() && other->request.tag == job->request.tag) older.push_back(other);
        m_jobs.push_back(job);
        m_queue.push_back(job);
        forgetLocked();
    }
    for (const JobPtr& other : older)
        stopJob(other);
    m_queued.notify_one();
    return job->id;
}

void Runner::cancel(JobId id)
{
    JobPtr job;
    {
        const std::lock_guard lock(m_mutex);
        job = findLocked(id);
    }
    if (job) stopJob(job);
}

void Runner::pause(JobId id)
{
    const std::lock_guard lock(m_mutex);
    const JobPtr job = findLocked(id);
    // A waiting job has nothing to hold; held at its first step it would block those behind it.
    if (!job || job->state != JobState::Running || job->gate.paused()) return;
    job->gate.pause();
    ++job->changes;
}

void Runner::resume(JobId id)
{
    const std::lock_guard lock(m_mutex);
    const JobPtr job = findLocked(id);
    if (!job || !job->gate.paused()) return;
    job->gate.resume();
    ++job->changes;
}

void Runner::stopJob(const JobPtr& job)
{
    // Outside the lock: a stop callback of the body may ask this runner for a snapshot.
    job->stop.request_stop();
    JobRequest released; // destroyed after the lock is let go: what it captured is not ours
    {
        const std::lock_guard lock(m_mutex);
        if (job->state != JobState::Queued) return;
        std::erase(m_queue, job);
        released.body = std::move(job->request.body);
        released.results = std::move(job->request.results);
        endLocked(*job, Error(Errc::Cancelled, "cancelled"));
    }
    m_ended.notify_all();
}

void Runner::work(const std::stop_token& stop)
{
    for (;;) {
        JobPtr job;
        {
            std::unique_lock lock(m_mutex);
            if (!m_queued.wait(lock, stop, [this] { return !m_queue.empty(); })) return;
            if (stop.stop_requested()) return;
            job = m_queue.front();
            m_queue.pop_front();
            job->state = JobState::Running;
            job->started = Clock::now();
            ++job->changes;
        }
        execute(job);
    }
}

void Runner::execute(const JobPtr& job)
{
    job->progress.start(job->started);
    Status status = runBody(*job);
    // Let go before the job is seen to have ended: whoever waited may use the results alone.
    job->request.body = nullptr;
    job->request.results.reset();
    {
        const std::lock_guard lock(m_mutex);
        endLocked(*job, std::move(status));
    }
    m_ended.notify_all();
}

void Runner::endLocked(Job& job, Status status)
{
    job.ended = Clock::now();
    if (job.state == JobState::Queued) job.started = job.ended;
    if (status) {
        job.state = JobState::Succeeded;
    } else {
        job.state = status.error().code() == Errc::Cancelled ? JobState::Cancelled : JobState::Failed;
        job.error = std::move(status).error();
    }
    ++job.changes;
}

void Runner::forgetLocked()
{
    auto ended = static_cast<std::size_t>(
        std::count_if(m_jobs.begin(), m_jobs.end(), [](const JobPtr& j) { return j->over(); }));
    std::erase_if(m_jobs, [&](const JobPtr& j) { return ended > kEndedKept && j->over() && ended-- != 0; });
}

Runner::JobPtr Runner::findLocked(JobId id) const
{
    const auto it = std::find_if(m_jobs.begin(), m_jobs.end(), [&](const JobPtr& j) { return j->id == id; });
    return it == m_jobs.end() ? nullptr : *it;
}

JobSnapshot Runner::snapshotOf(Job& job, Clock::time_point now)
{
    JobSnapshot out;
    out.id = job.id;
    out.title = job.request.title;
    out.tag = job.request.tag;
    out.state = job.state;
    out.error = job.error;
    out.version = job.changes;
    // Nothing is held before the start: both ends are on the gate's clock.
    if (job.state != JobState::Queued)
        out.elapsed = job.gate.working(job.over() ? job.ended : now) - job.started;
    out.paused = job.state == JobState::Running && job.gate.paused();
    job.progress.read(now, out);
    if (job.state != JobState::Running) out.remaining.reset();
    if (job.state == JobState::Succeeded) out.fraction = 1;
    return out;
}

std::optional<JobSnapshot> Runner::snapshot(JobId id) const
{
    const std::lock_guard lock(m_mutex);
    const JobPtr job = findLocked(id);
    if (!job) return std::nullopt;
    return snapshotOf(*job, Clock::now());
}

std::vector<JobSnapshot> Runner::snapshots() const
{
    const std::lock_guard lock(m_mutex);
    std::vector<JobSnapshot> out;
    out.reserve(m_jobs.size());
    const auto now = Clock::now();
    for (const JobPtr& job : m_jobs)
        out.push_back(snapshotOf(*job, now));
    return out;
}

Status Runner::wait(JobId id)
{
    std::unique_lock lock(m_mutex);
    const JobPtr job = findLocked(id);
    if (!job) return Error(Errc::NotFound, fmt::format("there is no job {}", id));
    if (!job->over() && std::this_thread::get_id() == m_worker.get_id())
        return Error(Errc::InvalidArgument, "a job can't wait for another: they run one after the other");
    m_ended.wait(lock, [&] { return job->over(); });
    if (job->error) return *job->error;
    return Ok{};
}

} // namespace

std::unique_ptr<JobRunner> JobRunner::make() { return std::make_unique<Runner>(); }

} // namespace halftone
