// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/batch/commands.h"
#include "app/batch/program.h"
#include "core/base/text.h"
#include "core/session/quantize.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace halftone::batch {

namespace {

using Json = nlohmann::ordered_json;

struct ConvertOptions {
    std::string file, output, layout = "auto";
    std::vector<std::string> settings;
    bool strict = false, overwrite = false;
};

Status runCommand(Program& program, const ConvertOptions& options)
{
    HALFTONE_TRY(texts, splitSettings(options.settings));
    texts.emplace_back("layout", options.layout);
    QuantizeRequest request;
    HALFTONE_TRY(params, quantizeSchema().complete(texts));
    HALFTONE_CHECK(mayWrite(options.output, options.overwrite));
    HALFTONE_TRY(model, openInput(options.file, options.strict));
    request.model = model;
    request.params = params;
    request.output = options.output;
    request.overwrite = options.overwrite;
    HALFTONE_TRY(plan, planQuantize(request));
    for (const auto& warning : plan.warnings)
        program.warn(warning);
    HALFTONE_CHECK(
        program.runJob("Convert", nullptr, [&](JobContext& ctx) { return runConvert(request, ctx); }));
    if (program.json) {
        const Json out{{"output", textOf(request.output)},
                       {"bytes", plan.outputBytes},
                       {"quantized", plan.quantizedCount},
                       {"bits_per_weight", plan.bitsPerWeight},
                       {"verified", true}};
        program.print(out.dump(2, ' ', false, Json::error_handler_t::replace));
        return Ok{};
    }
    program.print(fmt::format("{}: {}, {:.4f} bits a weight, the codes of {} weights unchanged, verified\n",
                              textOf(request.output), humanBytes(plan.outputBytes), plan.bitsPerWeight,
                              humanCount(static_cast<std::uint64_t>(plan.quantizedCount))));
    return Ok{};
}

} // namespace

void addConvert(CLI::App& app, Program& program)
{
    auto options = std::make_shared<ConvertOptions>();
    auto* cmd = app.add_subcommand("convert", "Store quantized weights in another layout, code for code")
                    ->fallthrough();
    cmd->add_option("FILE", options->file, "A quantized checkpoint: GPTQ, AWQ, compressed-tensors, ...")
        ->required();
    cmd->add_option("-o,--output", options->output, "What to write: .safetensors or a folder")->required();
    cmd->add_option("--layout", options->layout, "auto, gptq, gptq-v2, awq, pack-quantized, ...")
        ->capture_default_str();
    cmd->add_option("--set", options->settings, "A parameter as key=value (keep-dtype); repeat it for more")
        ->allow_extra_args(false);
    cmd->add_flag("--overwrite", options->overwrite, "Replace outputs that exist");
    cmd->add_flag("--strict", options->strict, "Refuse files with holes or trailing bytes");
    cmd->callback([&program, options] {
        program.action = [&program, options] { return runCommand(program, *options); };
    });
}

} // namespace halftone::batch
