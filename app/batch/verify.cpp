// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/verify.h"

#include "app/batch/commands.h"
#include "app/batch/program.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace halftone::batch {

namespace {

using Json = nlohmann::ordered_json;

struct VerifyOptions {
    std::string file, against, results;
    VerifyLimits limits;
    bool strict = false, overwrite = false;
};

void printReport(const Program& program, const VerifyOptions& options, const VerifyReport& report)
{
    if (program.json) {
        Json out{{"file", options.file},
                 {"against", options.against.empty() ? Json(nullptr) : Json(options.against)},
                 {"passed", report.passed()},
                 {"compared", report.compared},
                 {"failed", report.failed},
                 {"missing", report.missing},
                 {"extra", report.extra},
                 {"worst", report.worst},
                 {"worst_sqnr_db", report.worstSqnr},
                 {"findings", report.findings}};
        program.print(out.dump(2, ' ', false, Json::error_handler_t::replace));
        return;
    }
    std::string out;
    for (const auto& finding : report.findings)
        out += finding + "\n";
    const char* verdict = report.passed() ? "passed" : "failed";
    if (options.against.empty())
        out += fmt::format("{}: {} weights looked at, {} failed", verdict, report.compared, report.failed);
    else
        out += fmt::format("{}: {} weights compared, {} failed, {} missing, {} extra", verdict,
                           report.compared, report.failed, report.missing, report.extra);
    if (!report.worst.empty())
        out += fmt::format("; largest loss: {}, {:.2f} dB", report.worst, report.worstSqnr);
    program.print(out + "\n");
}

Status runVerify(Program& program, const VerifyOptions& options)
{
    if (!options.results.empty()) HALFTONE_CHECK(mayWrite(options.results, options.overwrite));
    HALFTONE_TRY(written, openInput(options.file, options.strict));
    std::shared_ptr<const Model> source;
    if (!options.against.empty()) {
        HALFTONE_TRY(opened, openInput(options.against, options.strict));
        source = opened;
    }
    auto results =
        MemoryResults::make(provenanceOf(program, *written, "verify", 1, {{"against", options.against}}));
    VerifyReport report;
    const Status done = program.runJob("Verify", results, [&](JobContext& ctx) -> Status {
        HALFTONE_TRY(made, source == nullptr ? scanCheckpoint(*written, ctx)
                                             : verifyCheckpoint(*written, *source, options.limits, ctx));
        report = made;
        return Ok{};
    });
    HALFTONE_CHECK(done);
    results->setOutcome(Outcome::Complete);
    if (!options.results.empty()) HALFTONE_CHECK(saveHdf5(*results, options.results));
    if (report.passed()) {
        printReport(program, options, report);
        return Ok{};
    }
    // With --json the error object is the answer, and stdout stays one document.
    if (!program.json) printReport(program, options, report);
    return Error(Errc::CheckFailed,
                 fmt::format("{} of {} weights failed, {} missing{}{}", report.failed, report.compared,
                             report.missing, report.findings.empty() ? "" : ": ",
                             report.findings.empty() ? "" : report.findings.front()))
        .in(options.file);
}

} // namespace

void addVerify(CLI::App& app, Program& program)
{
    auto options = std::make_shared<VerifyOptions>();
    auto* cmd =
        app.add_subcommand("verify", "Look at every tensor of a checkpoint, or compare it with its source")
            ->fallthrough();
    cmd->add_option("OUT", options->file, "The checkpoint to check")->required();
    cmd->add_option("--against", options->against, "The checkpoint it was made from");
    cmd->add_option("--min-sqnr", options->limits.minSqnr, "A quantized weight below this many dB fails")
        ->capture_default_str();
    cmd->add_option("--results", options->results, "Also write the comparison to this HDF5 file");
    cmd->add_flag("--overwrite", options->overwrite, "Replace results that exist");
    cmd->add_flag("--strict", options->strict, "Refuse files with holes or trailing bytes");
    cmd->callback([&program, options] {
        program.action = [&program, options] { return runVerify(program, *options); };
    });
}

} // namespace halftone::batch
