// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/batch/commands.h"
#include "app/batch/method_options.h"
#include "core/base/text.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace halftone::batch {

namespace {

using Json = nlohmann::ordered_json;

struct QuantizeOptions : MethodOptions {
    std::string results;
};

/// The weight that lost most, for the last line of a run.
struct Worst {
    double sqnr = 0;
    std::string name;
};

std::optional<Worst> worstOf(const ResultReader& results)
{
    const auto sqnr = results.column("weights", "sqnr_db");
    const auto ids = results.column("weights", "name");
    const auto names = results.names("weights", "name");
    if (!sqnr || !ids || !names) return std::nullopt;
    std::optional<Worst> worst;
    for (std::size_t i = 0; i < sqnr->size(); ++i)
        if (std::isfinite((*sqnr)[i]) && (!worst || (*sqnr)[i] < worst->sqnr))
            worst = Worst{(*sqnr)[i], (*names)[static_cast<std::size_t>((*ids)[i])]};
    return worst;
}

void printDone(const Program& program, const QuantizeRequest& request, const QuantizePlan& plan,
               const ResultReader& results)
{
    const auto worst = worstOf(results);
    if (program.json) {
        Json out{{"output", textOf(request.output)},           {"bytes", plan.outputBytes},
                 {"quantized", plan.quantizedCount},           {"bits_per_weight", plan.bitsPerWeight},
                 {"substitutions", plan.substitutions.size()}, {"verified", true}};
        if (worst) out["worst"] = {{"name", worst->name}, {"sqnr_db", worst->sqnr}};
        program.print(out.dump(2, ' ', false, Json::error_handler_t::replace));
        return;
    }
    std::string out = fmt::format("{}: {}, {:.4f} bits a weight, {} of {} weights quantized, verified\n",
                                  textOf(request.output), humanBytes(plan.outputBytes), plan.bitsPerWeight,
                                  humanCount(static_cast<std::uint64_t>(plan.quantizedCount)),
                                  humanCount(static_cast<std::uint64_t>(plan.weightCount)));
    if (worst) out += fmt::format("largest loss: {}, {:.2f} dB\n", worst->name, worst->sqnr);
    program.print(out);
}

Status runCommand(Program& program, const QuantizeOptions& options)
{
    HALFTONE_TRY(method, program.methods().find(options.method));
    QuantizeRequest request;
    request.method = std::dynamic_pointer_cast<const QuantizeMethod>(method);
    if (!request.method)
        return Error(Errc::InvalidArgument,
                     fmt::format("--method {}: writes no checkpoint: run it in a job file", options.method));
    HALFTONE_TRY(params, paramsOf(options, quantizeSchema().joined(method->schema())));
    HALFTONE_CHECK(mayWrite(options.output, options.overwrite));
    if (!options.results.empty()) HALFTONE_CHECK(mayWrite(options.results, options.overwrite));
    HALFTONE_TRY(model, openInput(options.file, options.strict));
    request.model = model;
    request.params = params;
    request.output = options.output;
    request.overwrite = options.overwrite;
    HALFTONE_TRY(plan, planQuantize(request));
    for (const auto& s : plan.substitutions)
        program.warn(s.text);
    for (const auto& warning : plan.warnings)
        program.warn(warning);
    auto results =
        MemoryResults::make(provenanceOf(program, *model, method->info().id, method->info().version, params));
    const Status done =
        program.runJob("Quantize", results, [&](JobContext& ctx) { return runQuantize(request, ctx); });
    results->setOutcome(done                                     ? Outcome::Complete
                        : done.error().code() == Errc::Cancelled ? Outcome::Cancelled
                                                                 : Outcome::Failed);
    // Finished rows are kept whatever happened; the first error is the one that counts.
    Status saved = Ok{};
    if (!options.results.empty()) saved = saveHdf5(*results, options.results);
    if (!done) return done;
    printDone(program, request, plan, *results);
    return saved;
}

} // namespace

void addQuantize(CLI::App& app, Program& program)
{
    auto options = std::make_shared<QuantizeOptions>();
    auto* cmd =
        app.add_subcommand("quantize", "Write, verify and rename a quantized checkpoint")->fallthrough();
    addMethodFlags(*cmd, *options);
    cmd->add_option("-o,--output", options->output, "What to write: .gguf, .safetensors or a folder")
        ->required();
    cmd->add_option("--results", options->results, "Also write the error of every weight to this HDF5 file");
    cmd->add_flag("--overwrite", options->overwrite, "Replace outputs that exist");
    cmd->callback([&program, options] {
        program.action = [&program, options] { return runCommand(program, *options); };
    });
}

} // namespace halftone::batch
