// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/base/export.h"
#include "core/result/writer.h"
#include "core/session/job_file.h"

#include <filesystem>
#include <memory>

namespace halftone {

/// A job whose results go to one HDF5 file, and which can be taken up again when it was cut off.
struct JobFileRun {
    JobFile job;
    std::shared_ptr<const Model> model;
    std::filesystem::path outputs; ///< folder of the written checkpoints
    std::filesystem::path results;
    Provenance provenance;
    bool resume = false;
};

/// Runs the steps in order. Each finished step is one closed file in the folder RESULTS.steps, so that a
/// killed run loses no finished step; at the end, and also when it is cancelled or fails, all of them are
/// put together under the final name, with the outcome. A complete run removes the folder.
/// With `resume`, steps that are finished there are not run again. CheckFailed names the difference when
/// the job, the checkpoint, the seed or a written output is not what it was.
HALFTONE_API Status runJobToFile(const JobFileRun& run, JobContext& ctx);

} // namespace halftone
