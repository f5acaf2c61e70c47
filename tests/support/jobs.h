// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/job/job.h"
#include "core/result/writer.h"

#include <functional>
#include <memory>
#include <utility>

namespace halftone::test {

/// Runs `body` as a job on the CPU and waits for it.
inline Status runAsJob(std::shared_ptr<ResultWriter> results, std::function<Status(JobContext&)> body)
{
    auto runner = JobRunner::make();
    JobRequest request;
    request.title = "test";
    request.results = std::move(results);
    request.body = std::move(body);
    const JobId id = runner->submit(std::move(request));
    return runner->wait(id);
}

} // namespace halftone::test
