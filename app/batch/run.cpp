// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/batch/commands.h"
#include "app/batch/program.h"
#include "core/base/file.h"
#include "core/session/job_resume.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace halftone::batch {

namespace {

using Json = nlohmann::ordered_json;

/// A job file is written by hand: a larger one is something else.
constexpr std::uint64_t kMostJobBytes = 16u << 20;

struct RunOptions {
    std::string job, results, model, outputs;
    bool overwrite = false, strict = false, resume = false;
};

Result<JobFile> readJob(Program& program, const RunOptions& options)
{
    const std::filesystem::path path(options.job);
    auto text = readTextFile(path, kMostJobBytes);
    if (!text) {
        if (text.error().code() == Errc::NotFound) return Error(Errc::Io, text.error().line());
        return std::move(text).error();
    }
    auto job = parseJobFile(*text, path.parent_path(), program.methods());
    if (!job) return std::move(job).error().in(options.job);
    if (!options.model.empty()) job->model = options.model;
    job->overwrite = options.overwrite;
    return job;
}

/// A results file may be replaced when that was allowed, or when it is the rest of a run that goes on.
Status checkResults(const RunOptions& options)
{
    if (!options.resume) return mayWrite(options.results, options.overwrite);
    std::error_code ignored;
    if (!std::filesystem::exists(options.results, ignored)) return Ok{};
    const auto old = openHdf5(options.results);
    if (old && (*old)->outcome() != Outcome::Complete) return Ok{};
    return Error(Errc::CannotWrite, old ? "is complete: there is nothing to resume"
                                        : "is not a results file: it is not replaced")
        .in(options.results);
}

Status runCommand(Program& program, const RunOptions& options)
{
    HALFTONE_TRY(job, readJob(program, options));
    if (program.seed == 0) program.seed = job.seed;
    HALFTONE_CHECK(checkResults(options));
    JobFileRun run;
    HALFTONE_TRY(model, openInput(job.model, options.strict));
    run.model = model;
    run.provenance = provenanceOf(program, *model, "job", 1, {{"job", job.text}});
    run.results = options.results;
    // parent_path() of a bare file name is empty, which is this folder.
    run.outputs = options.outputs;
    if (options.outputs.empty()) run.outputs = run.results.parent_path();
    run.resume = options.resume;
    run.job = std::move(job);
    const auto& folder = run.outputs;
    HALFTONE_CHECK(program.runJob(std::filesystem::path(options.job).stem().string(), nullptr,
                                  [&](JobContext& ctx) { return runJobToFile(run, ctx); }));
    HALFTONE_TRY(reader, openHdf5(options.results));
    Json out{{"results", options.results},
             {"outcome", "complete"},
             {"tables", Json::object()},
             {"figures", Json::array()},
             {"outputs", Json::array()}};
    std::string text = options.results + ":";
    for (const auto& table : reader->tables()) {
        out["tables"][table.name] = reader->rows(table.name);
        text += fmt::format(" {} ({} rows)", table.name, reader->rows(table.name));
    }
    for (const auto& figure : reader->figures())
        out["figures"].push_back(figure.id);
    text += fmt::format(", {} figures: see halftone-batch view\n", reader->figures().size());
    for (const auto& step : run.job.steps)
        if (step.what == JobStep::Do::Quantize) {
            out["outputs"].push_back(textOf(folder / step.output));
            text += textOf(folder / step.output) + "\n";
        }
    program.print(program.json ? out.dump(2, ' ', false, Json::error_handler_t::replace) : text);
    return Ok{};
}

} // namespace

void addRun(CLI::App& app, Program& program)
{
    auto options = std::make_shared<RunOptions>();
    auto* cmd = app.add_subcommand("run", "Run a job file: overview, analyse, sweep, quantize, verify")
                    ->fallthrough();
    cmd->add_option("JOB", options->job, "A job file (JSON with comments), see halftone-batch schema")
        ->required();
    cmd->add_option("-o,--output", options->results, "Where the results go: one HDF5 file")->required();
    cmd->add_option("--model", options->model, "Another model than the job file names");
    cmd->add_option("--outputs", options->outputs,
                    "Folder of the written checkpoints (default: beside the results)");
    cmd->add_flag("--overwrite", options->overwrite, "Replace results and outputs that exist");
    cmd->add_flag("--resume", options->resume,
                  "Go on with a run that was cut off: finished steps are not done again (see RESULTS.steps)");
    cmd->add_flag("--strict", options->strict, "Refuse files with holes or trailing bytes");
    cmd->callback([&program, options] {
        program.action = [&program, options] { return runCommand(program, *options); };
    });
}

} // namespace halftone::batch
