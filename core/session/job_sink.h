// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/session/job_file.h"

#include <cstddef>
#include <filesystem>
#include <memory>

namespace halftone {

/// Where the steps of a job put their results. Steps are counted from 0.
class JobStepSink {
public:
    virtual ~JobStepSink() = default;
    /// What the step left in an earlier run; null: it has to be run.
    virtual const ResultReader* finished(std::size_t step) const = 0;
    virtual Result<ResultWriter*> begin(std::size_t step) = 0;
    virtual Status end(std::size_t step, const Status& done) = 0;
};

/// Checks all steps, then runs those that are not finished, in order.
Status runJobSteps(const JobFile& job, std::shared_ptr<const Model> model,
                   const std::filesystem::path& outputs, JobStepSink& sink, JobContext& ctx);

} // namespace halftone
