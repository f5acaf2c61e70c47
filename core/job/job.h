// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/base/export.h"
#include "core/base/result.h"
#include "core/base/rng.h"
#include "core/device/device.h"
#include "core/job/pause.h"
#include "core/result/writer.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace halftone {

using JobId = std::uint64_t;
enum class JobState : std::uint8_t { Queued, Running, Succeeded, Failed, Cancelled };

/// What a window or a terminal needs to draw one job: a value, copied under a short lock.
struct JobSnapshot {
    JobId id = 0;
    std::string title, tag;
    JobState state = JobState::Queued;
    double fraction = 0;                               ///< 0..1, never goes back
    std::string stage;                                 ///< "Quantize: layers.7.attn.q"
    bool paused = false;                               ///< a running job that was asked to wait
    std::chrono::nanoseconds elapsed{};                ///< without the time that it was held
    std::optional<std::chrono::nanoseconds> remaining; ///< absent until it can be told
    std::optional<Error> error;
    std::uint64_t version = 0; ///< grows with each change: a watcher repaints only when it moved
};

/// Stages are declared first, with weights; a stage then counts its own items.
class HALFTONE_API Progress {
public:
    virtual ~Progress() = default;
    virtual void declare(std::span<const std::pair<std::string_view, double>> stages) = 0;
    virtual void enter(std::string_view stage, std::int64_t items) = 0;
    /// What is being worked on now, shown behind the stage.
    virtual void detail(std::string_view text) = 0;
    virtual void advance(std::int64_t items = 1) noexcept = 0; ///< one relaxed atomic add: safe in a hot loop
};

/// All that a method may touch besides its arguments. Lives on the job's thread, for one run.
struct JobContext {
    Device& device;
    Stream& stream;
    Progress& progress;
    ResultWriter& results;
    CounterRng rng;
    std::stop_token stop;
    PauseGate* pause = nullptr; ///< null: this run can't be paused
    /// Ask at least every 50 ms of work and between any two kernels. Returns late while the job is paused.
    Status checkpoint() const
    {
        if (pause != nullptr) pause->wait(stop);
        if (stop.stop_requested()) return Error(Errc::Cancelled, "cancelled");
        return Ok{};
    }
};

struct JobRequest {
    std::string title;
    std::string deviceId = "cpu";
    std::string tag = {}; ///< a newer job with the same tag cancels this one
    std::uint64_t seed = 0;
    std::shared_ptr<ResultWriter> results; ///< where ctx.results goes; null: nowhere
    std::function<Status(JobContext&)> body;
};

/// Runs jobs, one computing job at a time (it owns the thread pool); the others wait in order.
class HALFTONE_API JobRunner {
public:
    static std::unique_ptr<JobRunner> make();
    virtual ~JobRunner() = default; ///< asks every job to stop, then joins
    virtual JobId submit(JobRequest request) = 0;
    virtual void cancel(JobId id) = 0; ///< returns at once; a paused job wakes and ends
    /// Holds a running job at its next checkpoint(); those behind it in the queue wait, too. Nothing
    /// happens to a job that does not run. Returns at once.
    virtual void pause(JobId id) = 0;
    virtual void resume(JobId id) = 0;
    virtual std::optional<JobSnapshot> snapshot(JobId id) const = 0; ///< any thread
    virtual std::vector<JobSnapshot> snapshots() const = 0;
    virtual Status wait(JobId id) = 0; ///< headless only: never from a window's thread
};

/// A writer that keeps nothing, for jobs without results.
HALFTONE_API ResultWriter& nullResults();

} // namespace halftone
