// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/batch/commands.h"
#include "app/batch/program.h"
#include "app/batch/value_stats.h"
#include "core/base/text.h"
#include "core/session/job_file.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fmt/format.h>
#include <memory>
#include <nlohmann/json.hpp>

namespace halftone::batch {

namespace {

using Json = nlohmann::ordered_json;

struct InfoOptions {
    std::string file;
    bool strict = false, statistics = false, metadata = false;
    std::vector<std::string> tensors;
};

std::string_view nameOf(Container container) { return container == Container::Gguf ? "GGUF" : "safetensors"; }

Json statsJson(const ValueStats& s)
{
    return {{"min", s.min},
            {"max", s.max},
            {"mean", s.mean()},
            {"rms", s.rms()},
            {"crest", s.crestFactor()},
            {"zeros", s.zeros},
            {"non_finite", s.nonFinite}};
}

Json configJson(const ModelConfig& c)
{
    return {{"architecture", c.architecture},
            {"layers", c.layers},
            {"hidden", c.hidden},
            {"heads", c.heads},
            {"kv_heads", c.kvHeads},
            {"head_dim", c.headDim},
            {"ffn", c.ffn},
            {"vocab", c.vocab},
            {"context", c.context},
            {"experts", c.experts},
            {"norm_eps", c.normEps},
            {"rope_base", c.ropeBase},
            {"tied_head", c.tiedHead}};
}

/// What is shown of a model: the weights, and their statistics when they were asked for.
struct Shown {
    std::shared_ptr<const Model> model;
    std::vector<std::uint32_t> weights;
    std::vector<ValueStats> stats; ///< one a weight, or none
};

std::string jsonOf(const Shown& shown)
{
    const auto& model = *shown.model;
    const auto& checkpoint = *model.weights()->checkpoint();
    Json out;
    out["path"] = textOf(checkpoint.path());
    out["container"] = nameOf(checkpoint.container());
    for (const auto& file : checkpoint.files())
        out["files"].push_back(textOf(file));
    out["file_bytes"] = checkpoint.fileBytes();
    out["hash"] = checkpoint.contentHash();
    out["summary"] = model.summary();
    out["weight_count"] = model.weightCount();
    out["config"] = configJson(model.config());
    out["issues"] = Json::array();
    for (const auto& issue : checkpoint.issues())
        out["issues"].push_back(
            {{"severity", issue.severity == CheckpointIssue::Severity::Error ? "error" : "warning"},
             {"text", issue.text}});
    out["metadata"] = Json::object();
    for (const auto& entry : checkpoint.metadata())
        out["metadata"][entry.key] = metaText(entry);
    out["weights"] = Json::array();
    for (std::size_t i = 0; i < shown.weights.size(); ++i) {
        const auto& info = model.weights()->all()[shown.weights[i]];
        const auto& role = model.roles()[shown.weights[i]];
        Json weight;
        weight["name"] = info.name;
        weight["id"] = role.id;
        weight["shape"] = std::vector<std::int64_t>(info.shape.dims().begin(), info.shape.dims().end());
        weight["type"] = info.type;
        weight["bytes"] = info.bytes;
        weight["bits_per_weight"] = info.bitsPerWeight();
        weight["layer"] = role.layer;
        weight["class"] = nameOf(role.roleClass);
        weight["role"] = nameOf(role.role);
        if (!info.packing.empty()) weight["packing"] = info.packing;
        if (!info.whyOpaque.empty()) weight["why_opaque"] = info.whyOpaque;
        if (!info.note.empty()) weight["note"] = info.note;
        if (!shown.stats.empty()) weight["statistics"] = statsJson(shown.stats[i]);
        out["weights"].push_back(std::move(weight));
    }
    return out.dump(2, ' ', false, Json::error_handler_t::replace);
}

std::string textOfModel(const Shown& shown, bool metadata)
{
    const auto& model = *shown.model;
    const auto& checkpoint = *model.weights()->checkpoint();
    std::string out =
        fmt::format("{}\n{}, {} in {} file{}\n{}\n", textOf(checkpoint.path()),
                    nameOf(checkpoint.container()), humanBytes(checkpoint.fileBytes()),
                    checkpoint.files().size(), checkpoint.files().size() == 1 ? "" : "s", model.summary());
    for (const auto& issue : checkpoint.issues())
        out += fmt::format(
            "{}: {}\n", issue.severity == CheckpointIssue::Severity::Error ? "error" : "warning", issue.text);
    if (metadata)
        for (const auto& entry : checkpoint.metadata())
            out += fmt::format("  {} = {}\n", entry.key, metaText(entry));
    std::size_t width = 4;
    for (const auto index : shown.weights)
        width = std::max(width, model.weights()->all()[index].name.size());
    out +=
        fmt::format("\n{:<{}}  {:<14} {:>16} {:>10} {:>7}", "name", width, "type", "shape", "size", "bits");
    if (!shown.stats.empty())
        out += fmt::format(" {:>10} {:>10} {:>10} {:>7} {:>9}", "min", "max", "rms", "crest", "zeros");
    out += '\n';
    for (std::size_t i = 0; i < shown.weights.size(); ++i) {
        const auto& info = model.weights()->all()[shown.weights[i]];
        out += fmt::format("{:<{}}  {:<14} {:>16} {:>10} {:>7.3f}", info.name, width, info.type,
                           info.shape.text(), humanBytes(info.bytes), info.bitsPerWeight());
        if (!info.whyOpaque.empty() || !info.note.empty())
            out += "  " + (info.whyOpaque.empty() ? "warning: " + info.note : info.whyOpaque);
        if (!info.whyOpaque.empty()) {
            out += '\n';
            continue;
        }
        if (!shown.stats.empty()) {
            const auto& s = shown.stats[i];
            out += fmt::format(" {:>10} {:>10} {:>10} {:>7} {:>9}", shortNumber(s.min), shortNumber(s.max),
                               shortNumber(s.rms()), shortNumber(s.crestFactor()), s.zeros);
            if (s.nonFinite > 0) out += fmt::format("  {} not finite", s.nonFinite);
        }
        out += '\n';
    }
    return out;
}

Status runInfo(Program& program, const InfoOptions& options)
{
    Shown shown;
    HALFTONE_TRY(model, openInput(options.file, options.strict));
    shown.model = model;
    HALFTONE_TRY(matched, matchWeights(*model, options.tensors));
    shown.weights = matched;
    if (options.tensors.empty())
        for (std::uint32_t i = 0; i < model->weights()->all().size(); ++i)
            shown.weights.push_back(i);
    if (options.statistics)
        HALFTONE_CHECK(program.runJob("Statistics", nullptr, [&](JobContext& ctx) {
            return valueStats(*model, shown.weights, shown.stats, ctx);
        }));
    program.print(program.json ? jsonOf(shown) : textOfModel(shown, options.metadata));
    return Ok{};
}

} // namespace

void addInfo(CLI::App& app, Program& program)
{
    auto options = std::make_shared<InfoOptions>();
    auto* cmd = app.add_subcommand("info", "Header, tensors, sizes; statistics on demand")->fallthrough();
    cmd->add_option("FILE", options->file, "A .safetensors or .gguf file, an index, or a model folder")
        ->required();
    cmd->add_option("--tensors", options->tensors,
                    "Only weights whose name or id matches (* and ? match any text)")
        ->allow_extra_args(false);
    cmd->add_flag("--stats", options->statistics, "Read the values: range, mean square, crest factor, zeros");
    cmd->add_flag("--metadata", options->metadata, "Also list the file's metadata");
    cmd->add_flag("--strict", options->strict, "Refuse files with holes or trailing bytes");
    cmd->callback(
        [&program, options] { program.action = [&program, options] { return runInfo(program, *options); }; });
}

} // namespace halftone::batch
