// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/batch/commands.h"
#include "app/batch/program.h"
#include "core/base/file.h"
#include "core/session/job_file.h"

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
    bool overwrite = false, strict = false;
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

Outcome outcomeOf(const Status& done)
{
    return done                                     ? Outcome::Complete
           : done.error().code() == Errc::Cancelled ? Outcome::Cancelled
                                                    : Outcome::Failed;
}

Status runCommand(Program& program, const RunOptions& options)
{
    HALFTONE_TRY(job, readJob(program, options));
    if (program.seed == 0) program.seed = job.seed;
    HALFTONE_CHECK(mayWrite(options.results, options.overwrite));
    HALFTONE_TRY(model, openInput(job.model, options.strict));
    const auto provenance = provenanceOf(program, *model, "job", 1, {{"job", job.text}});
    HALFTONE_TRY(writer, Hdf5Writer::create(options.results, provenance));
    const std::shared_ptr<Hdf5Writer> results = std::move(writer);
    // parent_path() of a bare file name is empty, which is this folder.
    std::filesystem::path folder(options.outputs);
    if (options.outputs.empty()) folder = std::filesystem::path(options.results).parent_path();
    const Status done = program.runJob(std::filesystem::path(options.job).stem().string(), results,
                                       [&](JobContext& ctx) { return runJobFile(job, model, folder, ctx); });
    // A run that was cancelled or failed keeps its finished rows, and says so.
    const Status saved = results->commit(outcomeOf(done));
    if (!done) return done;
    HALFTONE_CHECK(saved);
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
    for (const auto& step : job.steps)
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
    cmd->add_flag("--strict", options->strict, "Refuse files with holes or trailing bytes");
    cmd->callback([&program, options] {
        program.action = [&program, options] { return runCommand(program, *options); };
    });
}

} // namespace halftone::batch
