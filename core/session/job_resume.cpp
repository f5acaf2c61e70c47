// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/job_resume.h"

#include "core/session/job_sink.h"

#include <fmt/format.h>

namespace halftone {

namespace {

using Do = JobStep::Do;

std::string textOf(const ParamList& params, std::string_view key)
{
    const auto* value = findParam(params, key);
    return value == nullptr ? std::string() : toText(*value);
}

Outcome outcomeOf(const Status& status)
{
    return status                                     ? Outcome::Complete
           : status.error().code() == Errc::Cancelled ? Outcome::Cancelled
                                                      : Outcome::Failed;
}

/// Steps whose results are files of their own.
class FileSteps final : public JobStepSink {
public:
    explicit FileSteps(const JobFileRun& run) : m_run(run), m_folder(run.results.string() + ".steps") {}

    Status open()
    {
        std::error_code failed;
        m_finished.resize(m_run.job.steps.size());
        if (!m_run.resume) std::filesystem::remove_all(m_folder, failed);
        HALFTONE_CHECK(makeFolder(m_folder));
        if (!m_run.outputs.empty()) HALFTONE_CHECK(makeFolder(m_run.outputs));
        for (std::size_t i = 0; m_run.resume && i < m_run.job.steps.size(); ++i)
            HALFTONE_CHECK(recall(i));
        return Ok{};
    }

    const ResultReader* finished(std::size_t step) const override { return m_finished[step].get(); }

    Result<ResultWriter*> begin(std::size_t step) override
    {
        Provenance p = m_run.provenance;
        p.methodId = "job-step";
        p.params = {{"step", stepText(step)}};
        HALFTONE_TRY(writer, Hdf5Writer::create(fileOf(step).string(), p));
        m_writer = std::move(writer);
        return m_writer.get();
    }

    Status end(std::size_t step, const Status& done) override
    {
        if (done && m_run.job.steps[step].what == Do::Quantize) {
            HALFTONE_TRY(hash, outputHash(step));
            HALFTONE_CHECK(m_writer->line(LogLevel::Info, hashLine(step, hash)));
        }
        auto closed = m_writer->commit(outcomeOf(done));
        m_writer.reset();
        return closed;
    }

    /// Puts all steps together under the final name.
    Status gather(const Status& done)
    {
        std::unique_ptr<Hdf5Writer> whole;
        std::error_code ignored;
        for (std::size_t i = 0; i < m_run.job.steps.size(); ++i) {
            if (!std::filesystem::exists(fileOf(i), ignored)) continue;
            HALFTONE_TRY(reader, openHdf5(fileOf(i).string()));
            if (!whole) {
                HALFTONE_TRY(made, Hdf5Writer::create(m_run.results.string(), m_run.provenance));
                whole = std::move(made);
            }
            HALFTONE_CHECK(copyResults(*reader, *whole));
        }
        // A job that was refused before its first step leaves nothing behind.
        if (whole) HALFTONE_CHECK(whole->commit(outcomeOf(done)));
        if (done || !whole) std::filesystem::remove_all(m_folder, ignored);
        return Ok{};
    }

private:
    /// One level only: a path that is mistyped further up is an error.
    static Status makeFolder(const std::filesystem::path& folder)
    {
        std::error_code failed;
        std::filesystem::create_directory(folder, failed);
        if (!failed && std::filesystem::is_directory(folder, failed)) return Ok{};
        return Error(Errc::CannotWrite,
                     "can't make the folder: " + (failed ? failed.message() : "a file has this name"))
            .in(folder.string());
    }
    std::filesystem::path fileOf(std::size_t step) const
    {
        return m_folder / fmt::format("{:03}.h5", step + 1);
    }
    std::string stepText(std::size_t step) const { return jobText({}, m_run.job.steps[step]); }
    Result<std::string> outputHash(std::size_t step) const
    {
        HALFTONE_TRY(written, Checkpoint::open(m_run.outputs / m_run.job.steps[step].output));
        return written->contentHash();
    }
    std::string hashLine(std::size_t step, const std::string& hash) const
    {
        return fmt::format("output {} has content {}", m_run.job.steps[step].output, hash);
    }
    Error differs(std::size_t step, std::string_view what, std::string_view was, std::string_view is) const
    {
        return Error(Errc::CheckFailed,
                     fmt::format("can't resume: {} of step {} was {}, now it is {}: run the job "
                                 "without --resume",
                                 what, step + 1, was, is));
    }

    /// Takes over what an earlier run finished, after comparing what it was made from.
    Status recall(std::size_t step)
    {
        std::error_code ignored;
        if (!std::filesystem::exists(fileOf(step), ignored)) return Ok{};
        auto reader = openHdf5(fileOf(step).string());
        if (!reader || (*reader)->outcome() != Outcome::Complete) return Ok{};
        const auto& was = (*reader)->provenance();
        const auto& is = m_run.provenance;
        if (was.checkpointHash != is.checkpointHash)
            return differs(step, "the checkpoint", was.checkpointHash, is.checkpointHash);
        if (was.seed != is.seed)
            return differs(step, "the seed", std::to_string(was.seed), std::to_string(is.seed));
        if (was.programVersion != is.programVersion)
            return differs(step, "the program's version", was.programVersion, is.programVersion);
        if (const auto text = textOf(was.params, "step"); text != stepText(step))
            return differs(step, "the recipe", text, stepText(step));
        if (m_run.job.steps[step].what == Do::Quantize) {
            auto hash = outputHash(step);
            if (!hash) return Ok{}; // gone or broken: written again
            const auto line = hashLine(step, *hash);
            bool same = false;
            for (const auto& [level, text] : (*reader)->log())
                same = same || text == line;
            if (!same) return differs(step, "the output", "another file", line);
        }
        m_finished[step] = *reader;
        return Ok{};
    }

    const JobFileRun& m_run;
    std::filesystem::path m_folder;
    std::vector<std::shared_ptr<const ResultReader>> m_finished;
    std::unique_ptr<Hdf5Writer> m_writer;
};

} // namespace

Status runJobToFile(const JobFileRun& run, JobContext& ctx)
{
    FileSteps steps(run);
    HALFTONE_CHECK(steps.open());
    const Status done = runJobSteps(run.job, run.model, run.outputs, steps, ctx);
    const Status gathered = steps.gather(done);
    return done ? gathered : done;
}

} // namespace halftone
