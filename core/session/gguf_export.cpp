// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/gguf_export.h"

#include "core/model/names.h"
#include "core/session/gguf_tokenizer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <numbers>

namespace halftone {

namespace {

using Json = nlohmann::json;

// Families whose tensors and keys this program can translate. `permuted`: GGUF moves the rows of Q, K.
struct Family {
    std::string_view modelType, gguf, hfClass;
    bool permuted;
};
constexpr std::array kFamilies{Family{"llama", "llama", "LlamaForCausalLM", true},
                               Family{"mistral", "llama", "MistralForCausalLM", true},
                               Family{"qwen2", "qwen2", "Qwen2ForCausalLM", false},
                               Family{"qwen3", "qwen3", "Qwen3ForCausalLM", false}};

const Family* familyOf(const Model& model)
{
    for (const auto& family : kFamilies)
        if (family.modelType == model.config().architecture) return &family;
    return nullptr;
}

// Why a GGUF of a known architecture can't be made; empty when it can.
std::string whatIsMissing(const ModelConfig& c)
{
    if (c.layers <= 0 || c.hidden <= 0) return "layer count and hidden size";
    if (c.heads <= 0 || c.kvHeads <= 0) return "head counts";
    if (c.ffn <= 0) return "FFN size";
    if (c.normEps <= 0) return "the norms' epsilon";
    return {};
}

// Rotary tables that old checkpoints store; every runtime computes them.
bool isBuffer(std::string_view name) { return name.ends_with(".rotary_emb.inv_freq"); }

Status moveHeads(OutputNaming& out, const Model& model)
{
    const auto infos = model.weights()->all();
    for (const auto& role : model.roles()) {
        if (!movesRows(role) || out.names[role.weight].empty()) continue;
        const auto heads = role.role == Role::AttnQ ? model.config().heads : model.config().kvHeads;
        const auto& shape = infos[role.weight].shape;
        const std::int64_t rows = shape.rank() == 0 ? 0 : shape[0];
        if (auto order = ropeRowOrder(rows, heads, out.move); !order)
            return std::move(order).error().in("tensor " + infos[role.weight].name);
        out.movedHeads[role.weight] = heads;
    }
    return Ok{};
}

// The text member of config.json that describes the language model.
Json languageConfig(std::string_view text)
{
    Json outer = Json::parse(text, nullptr, false);
    if (!outer.is_object()) return Json::object();
    if (const auto it = outer.find("text_config"); it != outer.end() && it->is_object()) return *it;
    return outer;
}

double numberOr(const Json& object, std::string_view key, double fallback)
{
    const auto it = object.find(key);
    return it != object.end() && it->is_number() ? it->get<double>() : fallback;
}

// rope_scaling, or the newer rope_parameters; an empty object when the model has none.
Json ropeScaling(const Json& config)
{
    for (const std::string_view key : {"rope_scaling", "rope_parameters"})
        if (const auto it = config.find(key); it != config.end() && it->is_object()) return *it;
    return Json::object();
}

std::string ropeType(const Json& scaling)
{
    for (const std::string_view key : {"rope_type", "type"})
        if (const auto it = scaling.find(key); it != scaling.end() && it->is_string())
            return it->get<std::string>();
    return {};
}

void addRopeScaling(std::vector<OutputMeta>& out, const std::string& arch, const Json& scaling,
                    std::vector<std::string>& warnings)
{
    const std::string type = ropeType(scaling);
    if (type.empty() || type == "default" || type == "llama3") return;
    if (type != "linear" && type != "yarn") {
        warnings.push_back(
            fmt::format("rope scaling \"{}\" can't be written to GGUF: long texts will differ", type));
        return;
    }
    out.push_back(metaOf(arch + ".rope.scaling.type", type));
    out.push_back(
        metaOfF32(arch + ".rope.scaling.factor", static_cast<float>(numberOr(scaling, "factor", 1))));
    if (const double context = numberOr(scaling, "original_max_position_embeddings", 0);
        context >= 1 && context < 4e9)
        out.push_back(
            metaOfU32(arch + ".rope.scaling.original_context_length", static_cast<std::uint32_t>(context)));
}

OutputNaming unknownArchitecture(const Model& model, std::string why)
{
    OutputNaming out = sameNames(model);
    out.architecture = "unknown";
    out.warnings.push_back(std::move(why));
    return out;
}

std::uint32_t u32(std::int64_t value)
{
    return static_cast<std::uint32_t>(std::clamp<std::int64_t>(value, 0, 0xffffffff));
}

} // namespace

OutputNaming sameNames(const Model& model)
{
    OutputNaming out;
    const auto infos = model.weights()->all();
    out.architecture = model.config().architecture;
    out.movedHeads.assign(infos.size(), 0);
    out.names.reserve(infos.size());
    for (const auto& info : infos)
        out.names.push_back(info.name);
    return out;
}

Result<OutputNaming> nameForGguf(const Model& model)
{
    const auto& config = model.config();
    const Family* family = familyOf(model);
    if (family == nullptr)
        return unknownArchitecture(
            model,
            fmt::format("architecture \"{}\" is not translated to GGUF: names are kept, runtimes won't load "
                        "this file (llama, mistral, qwen2 and qwen3 are)",
                        config.architecture.empty() ? "unknown" : config.architecture));
    if (const std::string missing = whatIsMissing(config); !missing.empty())
        return unknownArchitecture(
            model, fmt::format("config.json lacks {}: names are kept, runtimes won't load this "
                               "file",
                               missing));
    OutputNaming out = sameNames(model);
    out.architecture = family->gguf;
    std::int64_t beyond = 0, unmapped = 0;
    std::string example;
    for (const auto& role : model.roles()) {
        std::string& name = out.names[role.weight];
        if (isBuffer(name)) {
            out.warnings.push_back(fmt::format("{} is left out: runtimes compute it", name));
            name.clear();
        } else if (auto mapped = ggufNameOfId(role.id)) {
            name = std::move(*mapped);
            if (role.layer >= config.layers) ++beyond;
        } else {
            ++unmapped;
            if (example.empty()) example = name;
        }
    }
    if (unmapped > 0)
        out.warnings.push_back(
            fmt::format("{} tensor{} without a GGUF name ({}): kept under the old name, runtimes "
                        "may refuse the file",
                        unmapped, unmapped == 1 ? "" : "s", example));
    if (beyond > 0)
        out.warnings.push_back(
            fmt::format("{} tensors lie beyond the {} layers of config.json: runtimes may refuse "
                        "the file; leave them out of the source",
                        beyond, config.layers));
    if (family->permuted) {
        out.move = RowMove::HfToGguf;
        HALFTONE_CHECK(moveHeads(out, model));
    }
    out.ropeFactors =
        llama3RopeFactors(model.weights()->checkpoint()->configJson(), config.ropeBase, config.headDim);
    return out;
}

Result<OutputNaming> nameForSafetensors(const Model& model)
{
    const auto& config = model.config();
    const Family* family = nullptr;
    for (const auto& candidate : kFamilies)
        if (candidate.gguf == config.architecture && family == nullptr) family = &candidate;
    OutputNaming out = sameNames(model);
    if (family == nullptr || config.heads <= 0 || config.kvHeads <= 0) {
        out.warnings.push_back("the GGUF names are kept: other programs won't know the tensors");
        return out;
    }
    out.move = RowMove::GgufToHf;
    for (const auto& role : model.roles()) {
        std::string& name = out.names[role.weight];
        if (role.role == Role::RopeFactors) {
            out.warnings.push_back(fmt::format("{} is left out: add rope_scaling to config.json", name));
            name.clear();
        } else if (auto mapped = hfNameOfId(role.id)) {
            name = std::move(*mapped);
        } else {
            out.warnings.push_back(
                fmt::format("tensor {} has no Hugging Face name: kept under its own", name));
        }
    }
    if (family->permuted) HALFTONE_CHECK(moveHeads(out, model));
    out.warnings.push_back(
        "the tokenizer stays behind in the GGUF: take tokenizer.json from the original model");
    return out;
}

Result<std::vector<OutputMeta>> ggufMetadata(const Model& model, const OutputNaming& naming, GgufFacts facts,
                                             std::vector<std::string>& warnings)
{
    const auto& c = model.config();
    const Checkpoint& source = *model.weights()->checkpoint();
    std::vector<OutputMeta> out;
    const std::string arch = naming.architecture.empty() ? "unknown" : naming.architecture;
    out.push_back(metaOf("general.architecture", arch));
    out.push_back(metaOf("general.type", "model"));
    std::string name = source.path().filename().string();
    if (name.empty()) name = source.path().parent_path().filename().string();
    out.push_back(metaOf("general.name", name));
    out.push_back(metaOfU32("general.file_type", facts.fileType));
    if (facts.quantized) out.push_back(metaOfU32("general.quantization_version", 2));
    if (arch == "unknown") return out;
    out.push_back(metaOfU32(arch + ".block_count", u32(c.layers)));
    out.push_back(metaOfU32(arch + ".context_length", u32(c.context > 0 ? c.context : 2048)));
    out.push_back(metaOfU32(arch + ".embedding_length", u32(c.hidden)));
    out.push_back(metaOfU32(arch + ".feed_forward_length", u32(c.ffn)));
    out.push_back(metaOfU32(arch + ".attention.head_count", u32(c.heads)));
    out.push_back(metaOfU32(arch + ".attention.head_count_kv", u32(c.kvHeads)));
    if (c.headDim > 0 && c.headDim * c.heads != c.hidden) {
        out.push_back(metaOfU32(arch + ".attention.key_length", u32(c.headDim)));
        out.push_back(metaOfU32(arch + ".attention.value_length", u32(c.headDim)));
    }
    out.push_back(metaOfF32(arch + ".attention.layer_norm_rms_epsilon", static_cast<float>(c.normEps)));
    out.push_back(
        metaOfF32(arch + ".rope.freq_base", static_cast<float>(c.ropeBase > 0 ? c.ropeBase : 10000)));
    if (c.headDim > 0) out.push_back(metaOfU32(arch + ".rope.dimension_count", u32(c.headDim)));
    if (c.vocab > 0) out.push_back(metaOfU32(arch + ".vocab_size", u32(c.vocab)));
    try {
        addRopeScaling(out, arch, ropeScaling(languageConfig(source.configJson())), warnings);
    } catch (const std::exception&) {
        warnings.emplace_back("config.json: rope_scaling can't be read: left out");
    }
    HALFTONE_TRY(tokenizer, ggufTokenizer(source, c.vocab, warnings));
    out.insert(out.end(), tokenizer.begin(), tokenizer.end());
    return out;
}

std::vector<OutputMeta> copiedGgufMetadata(const Checkpoint& source, GgufFacts facts)
{
    std::vector<OutputMeta> out;
    bool type = false, version = false;
    for (const auto& entry : source.metadata()) {
        // Keys of a split file would make readers look for the other parts.
        if (isSplitKey(entry.key)) continue;
        if (entry.key == "general.file_type") {
            out.push_back(metaOfU32(entry.key, facts.fileType));
            type = true;
        } else if (entry.key == "general.quantization_version") {
            out.push_back(metaOfU32(entry.key, 2));
            version = true;
        } else {
            out.push_back(metaCopy(entry));
        }
    }
    if (!type) out.push_back(metaOfU32("general.file_type", facts.fileType));
    if (!version && facts.quantized) out.push_back(metaOfU32("general.quantization_version", 2));
    return out;
}

std::string configJsonOfGguf(const Model& model, const OutputNaming& naming)
{
    const auto& c = model.config();
    if (naming.move != RowMove::GgufToHf) return {};
    for (const auto& family : kFamilies) {
        if (family.gguf != c.architecture) continue;
        Json j;
        j["architectures"] = {family.hfClass};
        j["model_type"] = family.modelType;
        j["vocab_size"] = c.vocab;
        j["hidden_size"] = c.hidden;
        j["intermediate_size"] = c.ffn;
        j["num_hidden_layers"] = c.layers;
        j["num_attention_heads"] = c.heads;
        j["num_key_value_heads"] = c.kvHeads;
        if (c.headDim > 0) j["head_dim"] = c.headDim;
        j["hidden_act"] = "silu";
        j["rms_norm_eps"] = c.normEps;
        j["rope_theta"] = c.ropeBase > 0 ? c.ropeBase : 10000;
        j["max_position_embeddings"] = c.context;
        j["tie_word_embeddings"] = c.tiedHead;
        return j.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
    }
    return {};
}

std::vector<float> llama3RopeFactors(std::string_view configJson, double base, std::int64_t headDim)
{
    try {
        if (configJson.empty() || base <= 1 || headDim < 2 || headDim > 65536) return {};
        const Json scaling = ropeScaling(languageConfig(configJson));
        if (ropeType(scaling) != "llama3") return {};
        const double factor = numberOr(scaling, "factor", 8);
        const double low = numberOr(scaling, "low_freq_factor", 1);
        const double high = numberOr(scaling, "high_freq_factor", 4);
        const double original = numberOr(scaling, "original_max_position_embeddings", 8192);
        if (!(factor > 0) || !(low > 0) || !(high > low) || !(original > 0)) return {};
        std::vector<float> out;
        for (std::int64_t i = 0; i < headDim / 2; ++i) {
            const double theta = std::pow(base, -2.0 * static_cast<double>(i) / static_cast<double>(headDim));
            const double wavelength = 2 * std::numbers::pi / theta;
            double divisor = 1;
            if (wavelength > original / low)
                divisor = factor;
            else if (wavelength > original / high) {
                const double s = (original / wavelength - low) / (high - low);
                divisor = 1 / ((1 - s) / factor + s);
            }
            out.push_back(static_cast<float>(divisor));
        }
        return out;
    } catch (const std::exception&) {
        return {};
    }
}

} // namespace halftone
