// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/job/job.h"
#include "core/result/writer.h"

#include <atomic>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace halftone {

/// One step's progress inside one stage of the whole job's: a step may declare stages of its own.
class StepProgress final : public Progress {
public:
    explicit StepProgress(Progress& outer) : m_outer(outer) {}
    void begin(std::string_view stage);
    void end();

    void declare(std::span<const std::pair<std::string_view, double>> stages) override;
    void enter(std::string_view stage, std::int64_t items) override;
    void detail(std::string_view text) override;
    void advance(std::int64_t items) noexcept override;

private:
    void moveTo(std::int64_t ticks) noexcept;

    Progress& m_outer;
    std::vector<std::pair<std::string, double>> m_stages; ///< with weights that add up to 1
    std::string m_stage;
    double m_base = 0, m_share = 1; ///< where the current stage begins, and its part of the step
    std::int64_t m_items = 1;
    std::atomic<std::int64_t> m_done{0};
    std::atomic<std::int64_t> m_ticks{0};
};

/// The job's results, seen by its steps: a table, figure or array whose name an earlier step took gets the
/// number of the step behind it, so that two quantize steps don't mix their rows.
class StepResults final : public ResultWriter {
public:
    /// What follows is of step `step` (from 1) and goes to `outer`.
    void begin(std::size_t step, ResultWriter& outer);
    /// An earlier step, which is not run again, left these.
    void take(const ResultReader& finished);

    Result<std::shared_ptr<TableWriter>> table(const TableSchema& schema) override;
    Status array(std::string_view name, std::span<const std::int64_t> dims, std::span<const float> values,
                 std::string_view unit, std::string_view help) override;
    Status figure(const FigureSpec& spec) override;
    Status line(LogLevel level, std::string_view text) override;

private:
    std::string nameFor(char kind, const std::string& name);

    ResultWriter* m_outer = nullptr;
    std::size_t m_step = 0;
    std::set<std::string> m_taken;             ///< kind and name, by earlier steps and this one
    std::map<std::string, std::string> m_mine; ///< kind and name as the step says it -> as it is stored
};

} // namespace halftone
