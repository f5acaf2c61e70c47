// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/batch/commands.h"
#include "app/batch/program.h"
#include "core/session/job_file.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

namespace halftone::batch {

void addSchema(CLI::App& app, Program& program)
{
    auto* cmd =
        app.add_subcommand("schema", "The JSON Schema of job files, over all methods found")->fallthrough();
    cmd->callback([&program] {
        program.action = [&program]() -> Status {
            program.print(jobSchemaJson(program.methods()));
            return Ok{};
        };
    });
}

void addEval(CLI::App& app, Program& program)
{
    // The command is part of the stable contract: it is there, and says why it can't do its work yet.
    struct EvalOptions {
        std::string file, text, against;
    };
    auto options = std::make_shared<EvalOptions>();
    auto* cmd =
        app.add_subcommand("eval", "Perplexity on a text (arrives with the model runtime)")->fallthrough();
    cmd->add_option("FILE", options->file, "A checkpoint")->required();
    cmd->add_option("--text", options->text, "The text to predict")->required();
    cmd->add_option("--against", options->against, "A second checkpoint to compare the predictions with");
    cmd->callback([&program, options] {
        program.action = []() -> Status {
            return Error(Errc::Unsupported,
                         "eval arrives with the model runtime, which this version does not have; "
                         "analyse and sweep compare weights without running the model");
        };
    });
}

} // namespace halftone::batch
