// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/config.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstring>
#include <initializer_list>
#include <nlohmann/json.hpp>

namespace halftone {

namespace {

using Json = nlohmann::json;

// No architecture has a dimension above this; larger numbers in a file are noise.
constexpr std::int64_t kMaxDimension = std::int64_t{1} << 40;

const Json* member(const Json& object, std::string_view key)
{
    if (!object.is_object()) return nullptr;
    const auto it = object.find(key);
    return it == object.end() || it->is_null() ? nullptr : &*it;
}

// The first of these members that holds a usable count; 0 when none does. Some tools write counts as
// floats ("32.0").
std::int64_t countOf(const Json& object, std::initializer_list<std::string_view> keys)
{
    for (const auto key : keys) {
        const Json* value = member(object, key);
        if (value == nullptr || !value->is_number()) continue;
        const double number = value->get<double>();
        if (number >= 1 && number <= static_cast<double>(kMaxDimension) && std::floor(number) == number)
            return static_cast<std::int64_t>(number);
    }
    return 0;
}

double realOf(const Json& object, std::initializer_list<std::string_view> keys)
{
    for (const auto key : keys) {
        const Json* value = member(object, key);
        if (value == nullptr || !value->is_number()) continue;
        const double number = value->get<double>();
        if (std::isfinite(number) && number > 0) return number;
    }
    return 0;
}

std::string textOf(const Json& object, std::string_view key)
{
    const Json* value = member(object, key);
    return value != nullptr && value->is_string() ? value->get<std::string>() : std::string();
}

std::string lower(std::string text)
{
    std::transform(text.begin(), text.end(), text.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return text;
}

// "llama" from model_type, or from the class name "LlamaForCausalLM" where that is missing.
std::string architectureOf(const Json& outer, const Json& inner)
{
    std::string name = textOf(inner, "model_type");
    if (name.empty()) name = textOf(outer, "model_type");
    if (name.empty()) {
        const Json* classes = member(outer, "architectures");
        if (classes != nullptr && classes->is_array() && !classes->empty() && classes->front().is_string())
            name = classes->front().get<std::string>();
        for (const std::string_view tail : {"ForCausalLM", "ForMaskedLM", "LMHeadModel", "Model"})
            if (name.ends_with(tail)) {
                name.resize(name.size() - tail.size());
                break;
            }
    }
    name = lower(name);
    // The language half of a multimodal model: "gemma3_text".
    if (name.ends_with("_text")) name.resize(name.size() - 5);
    return name;
}

double ropeBaseOf(const Json& object)
{
    if (const double base = realOf(object, {"rope_theta"}); base > 0) return base;
    const Json* rope = member(object, "rope_parameters");
    if (rope == nullptr || !rope->is_object()) return 0;
    if (const double base = realOf(*rope, {"rope_theta"}); base > 0) return base;
    // One entry a kind of layer: the global one counts.
    for (const std::string_view kind : {"full_attention", "global"})
        if (const Json* part = member(*rope, kind))
            if (const double base = realOf(*part, {"rope_theta"}); base > 0) return base;
    return 0;
}

ConfigReading readJson(std::string_view text)
{
    ConfigReading out;
    const Json outer = Json::parse(text, nullptr, false);
    if (outer.is_discarded() || !outer.is_object()) {
        out.notes.emplace_back("config.json: not a JSON object: names and shapes alone are used");
        return out;
    }
    const Json* nested = member(outer, "text_config");
    const Json& inner = nested != nullptr && nested->is_object() ? *nested : outer;
    ModelConfig& c = out.config;
    c.architecture = architectureOf(outer, inner);
    c.layers = countOf(inner, {"num_hidden_layers", "n_layer", "num_layers"});
    c.hidden = countOf(inner, {"hidden_size", "n_embd", "d_model"});
    c.heads = countOf(inner, {"num_attention_heads", "n_head"});
    c.kvHeads = countOf(inner, {"num_key_value_heads"});
    if (c.kvHeads == 0) c.kvHeads = c.heads;
    c.headDim = countOf(inner, {"head_dim"});
    if (c.headDim == 0 && c.heads > 0 && c.hidden % c.heads == 0) c.headDim = c.hidden / c.heads;
    c.ffn = countOf(inner, {"intermediate_size", "n_inner", "ffn_dim"});
    if (c.ffn == 0 && c.architecture == "gpt2") c.ffn = 4 * c.hidden;
    c.vocab = countOf(inner, {"vocab_size"});
    c.context = countOf(inner, {"max_position_embeddings", "n_positions", "n_ctx"});
    c.experts = countOf(inner, {"num_local_experts", "num_experts", "n_routed_experts"});
    c.normEps = realOf(inner, {"rms_norm_eps", "layer_norm_eps", "layer_norm_epsilon"});
    c.ropeBase = ropeBaseOf(inner);
    for (const Json* object : {&inner, &outer})
        if (const Json* flag = member(*object, "tie_word_embeddings"); flag && flag->is_boolean()) {
            out.tieFlag = flag->get<bool>();
            break;
        }
    return out;
}

// An integer value, or the largest of an array of 32-bit integers (one entry a layer).
std::int64_t metaCount(const Checkpoint& checkpoint, const std::string& key)
{
    const MetaEntry* entry = checkpoint.meta(key);
    if (entry == nullptr) return 0;
    std::int64_t value = 0;
    if (entry->type == MetaType::Array) {
        if (entry->elementType != MetaType::I32 && entry->elementType != MetaType::U32) return 0;
        for (std::size_t at = 0; at + 4 <= entry->raw.size(); at += 4) {
            std::int32_t item;
            std::memcpy(&item, entry->raw.data() + at, sizeof item);
            value = std::max<std::int64_t>(value, item);
        }
    } else {
        value = metaInt(*entry).value_or(0);
    }
    return value > 0 && value <= kMaxDimension ? value : 0;
}

double metaPositive(const Checkpoint& checkpoint, const std::string& key)
{
    const MetaEntry* entry = checkpoint.meta(key);
    const double value = entry == nullptr ? 0 : metaReal(*entry).value_or(0);
    return std::isfinite(value) && value > 0 ? value : 0;
}

} // namespace

ConfigReading configFromJson(std::string_view json)
{
    try {
        return readJson(json);
    } catch (const std::exception&) { // bad_alloc, or a JSON type we did not foresee
        ConfigReading out;
        out.notes.emplace_back("config.json: can't be read: names and shapes alone are used");
        return out;
    }
}

ConfigReading configFromGguf(const Checkpoint& checkpoint)
{
    ConfigReading out;
    ModelConfig& c = out.config;
    if (const MetaEntry* entry = checkpoint.meta("general.architecture"))
        c.architecture = metaString(*entry).value_or("");
    const std::string arch = c.architecture + ".";
    c.layers = metaCount(checkpoint, arch + "block_count");
    c.hidden = metaCount(checkpoint, arch + "embedding_length");
    c.heads = metaCount(checkpoint, arch + "attention.head_count");
    c.kvHeads = metaCount(checkpoint, arch + "attention.head_count_kv");
    if (c.kvHeads == 0) c.kvHeads = c.heads;
    c.headDim = metaCount(checkpoint, arch + "attention.key_length");
    if (c.headDim == 0 && c.heads > 0 && c.hidden % c.heads == 0) c.headDim = c.hidden / c.heads;
    c.ffn = metaCount(checkpoint, arch + "feed_forward_length");
    c.context = metaCount(checkpoint, arch + "context_length");
    c.experts = metaCount(checkpoint, arch + "expert_count");
    c.vocab = metaCount(checkpoint, arch + "vocab_size");
    if (c.vocab == 0)
        if (const MetaEntry* tokens = checkpoint.meta("tokenizer.ggml.tokens");
            tokens && tokens->count <= static_cast<std::uint64_t>(kMaxDimension))
            c.vocab = static_cast<std::int64_t>(tokens->count);
    c.normEps = metaPositive(checkpoint, arch + "attention.layer_norm_rms_epsilon");
    if (c.normEps == 0) c.normEps = metaPositive(checkpoint, arch + "attention.layer_norm_epsilon");
    c.ropeBase = metaPositive(checkpoint, arch + "rope.freq_base");
    return out;
}

} // namespace halftone
