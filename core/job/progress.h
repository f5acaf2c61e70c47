// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/job/job.h"

#include <atomic>
#include <deque>
#include <mutex>

namespace halftone {

/// The progress of one job: written by the job's thread, read by any.
/// Stages share [0, 1] by their weights. A stage that is left counts as done. A second declare() (a
/// method inside a larger job) shares out what is left, so that the fraction never goes back.
class JobProgress final : public Progress {
public:
    using Clock = std::chrono::steady_clock;
    /// Speed is measured on the gate's clock, so that a pause does not count.
    explicit JobProgress(const PauseGate& gate) : m_gate(gate) {}

    void declare(std::span<const std::pair<std::string_view, double>> stages) override;
    void enter(std::string_view stage, std::int64_t items) override;
    void detail(std::string_view text) override;
    void advance(std::int64_t items = 1) noexcept override;

    // Both take the time of day; the gate's pauses are taken out here.
    /// Starts the clock that the speed is measured by.
    void start(Clock::time_point now);
    /// Fills fraction, stage, remaining and version of a running job.
    void read(Clock::time_point now, JobSnapshot& out);

private:
    struct Stage {
        std::string name;
        double weight;
        bool left = false;
    };
    struct Sample {
        Clock::time_point at;
        double fraction;
    };
    double fractionLocked();
    void sampleLocked(Clock::time_point now);
    std::optional<std::chrono::nanoseconds> remainingLocked(Clock::time_point now) const;

    const PauseGate& m_gate;
    std::atomic<std::int64_t> m_items{0}; ///< all items of all stages; never reset

    std::mutex m_mutex; // guards all below
    std::vector<Stage> m_stages;
    std::size_t m_current = 0; ///< index into m_stages; its size: none
    std::string m_stage, m_detail;
    std::int64_t m_stageStart = 0, m_stageItems = 0;
    double m_base = 0, m_done = 0; ///< where this declaration began; weight of its stages that are left
    double m_shown = 0;
    std::deque<Sample> m_samples;
    std::uint64_t m_changes = 0;
};

} // namespace halftone
