// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/batch/commands.h"
#include "app/batch/method_options.h"
#include "core/base/text.h"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace halftone::batch {

namespace {

using Json = nlohmann::ordered_json;

std::string textOfPlan(const QuantizePlan& plan)
{
    const auto quantized =
        std::count_if(plan.weights.begin(), plan.weights.end(),
                      [](const PlannedWeight& w) { return w.action == PlannedWeight::Action::Quantize; });
    std::string out = fmt::format(
        "output         {} ({} bytes), {}{}\n"
        "quantized      {} of {} weights, in {} of {} tensors\n"
        "bits a weight  {:.4f} with scales, {:.4f} codes alone, {:.4f} if every weight took the format\n"
        "memory         {}\n"
        "disk           {}\n"
        "time           about {}\n",
        humanBytes(plan.outputBytes), plan.outputBytes,
        plan.container == Container::Gguf ? "GGUF" : "safetensors", plan.folder ? " in a model folder" : "",
        humanCount(static_cast<std::uint64_t>(plan.quantizedCount)),
        humanCount(static_cast<std::uint64_t>(plan.weightCount)), quantized, plan.weights.size(),
        plan.bitsPerWeight, plan.payloadBitsPerWeight, plan.nominalBitsPerWeight, humanBytes(plan.peakBytes),
        humanBytes(plan.diskBytes), humanDuration(plan.estimate));
    if (!plan.substitutions.empty()) {
        out += fmt::format("substitutions  {}\n", plan.substitutions.size());
        for (const auto& s : plan.substitutions)
            out += "  " + s.text + "\n";
    }
    for (const auto& warning : plan.warnings)
        out += "warning: " + warning + "\n";
    return out;
}

Status planQuantizer(Program& program, const MethodOptions& options, QuantizeRequest request)
{
    HALFTONE_TRY(params, paramsOf(options, quantizeSchema().joined(request.method->schema())));
    request.params = params;
    HALFTONE_TRY(plan, planQuantize(request));
    program.print(program.json ? planJson(plan) : textOfPlan(plan));
    return Ok{};
}

Status planOther(Program& program, const MethodOptions& options, const Method& method,
                 std::shared_ptr<const Model> model)
{
    HALFTONE_TRY(params, paramsOf(options, method.schema()));
    HALFTONE_TRY(plan, method.plan({std::move(model), {}}, params));
    if (program.json) {
        Json out{{"weights", plan.weights},
                 {"flops", plan.flops},
                 {"bytes_read", plan.bytesRead},
                 {"peak_bytes", plan.peakBytes},
                 {"warnings", plan.warnings}};
        program.print(out.dump(2, ' ', false, Json::error_handler_t::replace));
        return Ok{};
    }
    std::string out = fmt::format("weights        {}\nreads          {}\nmemory         {}\n", plan.weights,
                                  humanBytes(plan.bytesRead), humanBytes(plan.peakBytes));
    for (const auto& warning : plan.warnings)
        out += "warning: " + warning + "\n";
    program.print(out);
    return Ok{};
}

Status runPlan(Program& program, const MethodOptions& options)
{
    HALFTONE_TRY(method, program.methods().find(options.method));
    HALFTONE_TRY(model, openInput(options.file, options.strict));
    auto quantizer = std::dynamic_pointer_cast<const QuantizeMethod>(method);
    if (!quantizer) return planOther(program, options, *method, model);
    QuantizeRequest request;
    request.model = model;
    request.method = quantizer;
    request.output = options.output;
    request.overwrite = true; // a plan writes nothing
    return planQuantizer(program, options, std::move(request));
}

} // namespace

void addPlan(CLI::App& app, Program& program)
{
    auto options = std::make_shared<MethodOptions>();
    auto* cmd =
        app.add_subcommand("plan", "Exact output bytes, substitutions, memory and time, before any work")
            ->fallthrough();
    addMethodFlags(*cmd, *options);
    cmd->add_option(
        "-o,--output", options->output,
        "Output the plan is for: .gguf, .safetensors or a folder (default: what the format suggests)");
    cmd->callback(
        [&program, options] { program.action = [&program, options] { return runPlan(program, *options); }; });
}

} // namespace halftone::batch
