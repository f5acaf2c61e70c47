// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/model.h"
#include "core/model/names.h"

#include <array>
#include <charconv>
#include <cstddef>
#include <fmt/core.h>

namespace halftone {

namespace {

// How a part of a network is called in each naming. `hf` is relative to the layer for parts of a layer
// and to the stripped prefix for the others; empty where a naming has no such part. The first row of an
// id with a name is the one that names are made from. `place`: Layer rows exist once a layer, Expert
// rows once an expert.
enum class Place : std::uint8_t { Global, Layer, Expert };
struct Part {
    std::string_view id, hf, gguf;
    Role role;
    Place place;
    bool conv1d = false; // stored [in, out] under the Hugging Face name
};

constexpr std::array kParts{
    // Llama, Qwen, Mistral, Gemma; GGUF. `post_attention_layernorm` is the norm before the FFN except in
    // Gemma 2 and 3, which Model::read() corrects.
    Part{"embed", "embed_tokens", "token_embd", Role::Embedding, Place::Global},
    Part{"head", "lm_head", "output", Role::Head, Place::Global},
    Part{"final_norm", "norm", "output_norm", Role::Norm, Place::Global},
    Part{"rope_factors", "", "rope_freqs", Role::RopeFactors, Place::Global},
    Part{"attn_norm", "input_layernorm", "attn_norm", Role::Norm, Place::Layer},
    Part{"attn.q", "self_attn.q_proj", "attn_q", Role::AttnQ, Place::Layer},
    Part{"attn.k", "self_attn.k_proj", "attn_k", Role::AttnK, Place::Layer},
    Part{"attn.v", "self_attn.v_proj", "attn_v", Role::AttnV, Place::Layer},
    Part{"attn.o", "self_attn.o_proj", "attn_output", Role::AttnO, Place::Layer},
    Part{"attn.qkv", "self_attn.qkv_proj", "attn_qkv", Role::AttnQkv, Place::Layer},
    Part{"attn.q_norm", "self_attn.q_norm", "attn_q_norm", Role::Norm, Place::Layer},
    Part{"attn.k_norm", "self_attn.k_norm", "attn_k_norm", Role::Norm, Place::Layer},
    Part{"ffn_norm", "post_attention_layernorm", "ffn_norm", Role::Norm, Place::Layer},
    Part{"ffn_norm", "pre_feedforward_layernorm", "", Role::Norm, Place::Layer},
    Part{"post_attn_norm", "", "post_attention_norm", Role::Norm, Place::Layer},
    Part{"post_ffn_norm", "post_feedforward_layernorm", "post_ffw_norm", Role::Norm, Place::Layer},
    Part{"ffn.gate", "mlp.gate_proj", "ffn_gate", Role::FfnGate, Place::Layer},
    Part{"ffn.up", "mlp.up_proj", "ffn_up", Role::FfnUp, Place::Layer},
    Part{"ffn.gate_up", "mlp.gate_up_proj", "", Role::FfnGateUp, Place::Layer},
    Part{"ffn.down", "mlp.down_proj", "ffn_down", Role::FfnDown, Place::Layer},
    // Mixtures of experts: Qwen's and DeepSeek's names, then Mixtral's; GGUF stacks all experts of a
    // layer in one [experts, out, in] tensor, old files had one tensor an expert.
    Part{"ffn.router", "mlp.gate", "ffn_gate_inp", Role::Router, Place::Layer},
    Part{"ffn.router", "block_sparse_moe.gate", "", Role::Router, Place::Layer},
    Part{"ffn.experts.gate", "", "ffn_gate_exps", Role::FfnGate, Place::Layer},
    Part{"ffn.experts.up", "", "ffn_up_exps", Role::FfnUp, Place::Layer},
    Part{"ffn.experts.down", "", "ffn_down_exps", Role::FfnDown, Place::Layer},
    Part{"ffn.shared.gate", "mlp.shared_expert.gate_proj", "ffn_gate_shexp", Role::FfnGate, Place::Layer},
    Part{"ffn.shared.up", "mlp.shared_expert.up_proj", "ffn_up_shexp", Role::FfnUp, Place::Layer},
    Part{"ffn.shared.down", "mlp.shared_expert.down_proj", "ffn_down_shexp", Role::FfnDown, Place::Layer},
    Part{"ffn.shared.gate", "mlp.shared_experts.gate_proj", "", Role::FfnGate, Place::Layer},
    Part{"ffn.shared.up", "mlp.shared_experts.up_proj", "", Role::FfnUp, Place::Layer},
    Part{"ffn.shared.down", "mlp.shared_experts.down_proj", "", Role::FfnDown, Place::Layer},
    Part{"ffn.shared_router", "mlp.shared_expert_gate", "ffn_gate_inp_shexp", Role::Router, Place::Layer},
    Part{"gate", "mlp.experts.#.gate_proj", "ffn_gate.#", Role::FfnGate, Place::Expert},
    Part{"up", "mlp.experts.#.up_proj", "ffn_up.#", Role::FfnUp, Place::Expert},
    Part{"down", "mlp.experts.#.down_proj", "ffn_down.#", Role::FfnDown, Place::Expert},
    Part{"gate", "block_sparse_moe.experts.#.w1", "", Role::FfnGate, Place::Expert},
    Part{"up", "block_sparse_moe.experts.#.w3", "", Role::FfnUp, Place::Expert},
    Part{"down", "block_sparse_moe.experts.#.w2", "", Role::FfnDown, Place::Expert},
    // GPT-2.
    Part{"embed", "wte", "", Role::Embedding, Place::Global},
    Part{"position", "wpe", "position_embd", Role::Position, Place::Global},
    Part{"final_norm", "ln_f", "", Role::Norm, Place::Global},
    Part{"attn_norm", "ln_1", "", Role::Norm, Place::Layer},
    Part{"attn.qkv", "attn.c_attn", "", Role::AttnQkv, Place::Layer, true},
    Part{"attn.o", "attn.c_proj", "", Role::AttnO, Place::Layer, true},
    Part{"ffn_norm", "ln_2", "", Role::Norm, Place::Layer},
    Part{"ffn.up", "mlp.c_fc", "", Role::FfnUp, Place::Layer, true},
    Part{"ffn.down", "mlp.c_proj", "", Role::FfnDown, Place::Layer, true},
    // BERT.
    Part{"embed", "embeddings.word_embeddings", "", Role::Embedding, Place::Global},
    Part{"position", "embeddings.position_embeddings", "", Role::Position, Place::Global},
    Part{"token_type", "embeddings.token_type_embeddings", "token_types", Role::TokenType, Place::Global},
    Part{"embed_norm", "embeddings.LayerNorm", "token_embd_norm", Role::Norm, Place::Global},
    Part{"pooler", "pooler.dense", "", Role::Pooler, Place::Global},
    Part{"head", "cls.predictions.decoder", "", Role::Head, Place::Global},
    Part{"attn.q", "attention.self.query", "", Role::AttnQ, Place::Layer},
    Part{"attn.k", "attention.self.key", "", Role::AttnK, Place::Layer},
    Part{"attn.v", "attention.self.value", "", Role::AttnV, Place::Layer},
    Part{"attn.o", "attention.output.dense", "", Role::AttnO, Place::Layer},
    Part{"attn_out_norm", "attention.output.LayerNorm", "attn_output_norm", Role::Norm, Place::Layer},
    Part{"ffn.up", "intermediate.dense", "", Role::FfnUp, Place::Layer},
    Part{"ffn.down", "output.dense", "", Role::FfnDown, Place::Layer},
    Part{"ffn_out_norm", "output.LayerNorm", "layer_output_norm", Role::Norm, Place::Layer},
};

constexpr std::string_view kPrefixes[] = {"model.",   "transformer.", "bert.",
                                          "roberta.", "text_model.",  "language_model."};

bool takePrefix(std::string_view& text, std::string_view prefix)
{
    if (!text.starts_with(prefix)) return false;
    text.remove_prefix(prefix.size());
    return true;
}

// A number written as our own writer would: no sign, no leading zero, at most six digits, so that two
// names never share an id and no number overflows.
std::optional<int> takeNumber(std::string_view& text)
{
    std::size_t n = 0;
    while (n < text.size() && text[n] >= '0' && text[n] <= '9')
        ++n;
    if (n == 0 || n > 6 || (n > 1 && text[0] == '0')) return std::nullopt;
    int value = 0;
    std::from_chars(text.data(), text.data() + n, value);
    text.remove_prefix(n);
    return value;
}

// Matches a table pattern in which '#' stands for an expert's number.
bool matches(std::string_view pattern, std::string_view text, int& expert)
{
    const auto hash = pattern.find('#');
    if (hash == std::string_view::npos) return pattern == text;
    if (!takePrefix(text, pattern.substr(0, hash))) return false;
    const auto number = takeNumber(text);
    if (!number || text != pattern.substr(hash + 1)) return false;
    expert = *number;
    return true;
}

std::string withNumber(std::string_view pattern, int number)
{
    std::string out(pattern);
    if (const auto hash = out.find('#'); hash != std::string::npos)
        out.replace(hash, 1, std::to_string(number));
    return out;
}

RoleClass classOf(Role role, std::string_view id)
{
    switch (role) {
    case Role::AttnQ:
    case Role::AttnK:
    case Role::AttnV:
    case Role::AttnO:
    case Role::AttnQkv:
        return RoleClass::Attention;
    case Role::FfnGate:
    case Role::FfnUp:
    case Role::FfnGateUp:
    case Role::FfnDown:
        return id.find(".experts.") != std::string_view::npos || id.find(".shared.") != std::string_view::npos
                   ? RoleClass::Expert
                   : RoleClass::Ffn;
    case Role::Router:
        return RoleClass::Expert;
    case Role::Embedding:
    case Role::Position:
    case Role::TokenType:
    case Role::Head:
        return RoleClass::Embedding;
    case Role::Norm:
        return RoleClass::Norm;
    case Role::RopeFactors:
    case Role::Pooler:
    case Role::Other:
        break;
    }
    return RoleClass::Other;
}

// Runtimes join q, k, v and gate, up of one place into one product: those share scales or bits.
std::string fusedGroupOf(Role role, std::string_view id)
{
    const bool qkv = role == Role::AttnQ || role == Role::AttnK || role == Role::AttnV;
    const bool gateUp = role == Role::FfnGate || role == Role::FfnUp;
    if (!qkv && !gateUp) return {};
    std::string place(id.substr(0, id.rfind('.')));
    if (qkv) return place.substr(0, place.rfind('.')) + ".qkv";
    if (place.ends_with(".ffn")) return place.substr(0, place.rfind('.')) + ".gate_up";
    return place + ".gate_up";
}

const Part* findPart(std::string_view rest, bool inLayer, bool gguf, int& expert)
{
    for (const auto& part : kParts) {
        const std::string_view pattern = gguf ? part.gguf : part.hf;
        if (pattern.empty() || (part.place != Place::Global) != inLayer) continue;
        if (matches(pattern, rest, expert)) return &part;
    }
    return nullptr;
}

// Splits "layers.3.attn.q.bias" into place, number and part; used to make names from ids.
struct IdParts {
    Place place = Place::Global;
    int layer = -1, expert = -1;
    std::string_view part;
    bool bias = false;
};
std::optional<IdParts> splitId(std::string_view id)
{
    IdParts out;
    if (id.ends_with(".bias")) {
        out.bias = true;
        id.remove_suffix(5);
    }
    if (takePrefix(id, "layers.")) {
        const auto layer = takeNumber(id);
        if (!layer || !takePrefix(id, ".")) return std::nullopt;
        out.place = Place::Layer;
        out.layer = *layer;
        if (std::string_view rest = id; takePrefix(rest, "ffn.experts.")) {
            if (const auto expert = takeNumber(rest); expert && takePrefix(rest, ".")) {
                out.place = Place::Expert;
                out.expert = *expert;
                id = rest;
            }
        }
    }
    out.part = id;
    return out;
}

std::optional<std::string> nameOfId(std::string_view id, bool gguf)
{
    const auto parts = splitId(id);
    if (!parts) return std::nullopt;
    for (const auto& part : kParts) {
        if (!gguf && part.hf == "wte") break; // from here on: other families' names
        const std::string_view pattern = gguf ? part.gguf : part.hf;
        if (part.id != parts->part || part.place != parts->place || pattern.empty()) continue;
        std::string name;
        if (part.place != Place::Global)
            name = fmt::format("{}.{}.", gguf ? "blk" : "model.layers", parts->layer);
        else if (!gguf && part.role != Role::Head)
            name = "model.";
        return name + withNumber(pattern, parts->expert) + (parts->bias ? ".bias" : ".weight");
    }
    return std::nullopt;
}

} // namespace

std::optional<std::string> ggufNameOfId(std::string_view id) { return nameOfId(id, true); }
std::optional<std::string> hfNameOfId(std::string_view id) { return nameOfId(id, false); }

WeightRole roleOfName(std::string_view name)
{
    WeightRole out;
    out.id = name;
    std::string_view rest = name;
    const auto dot = rest.rfind('.');
    if (dot == std::string_view::npos) return out;
    const std::string_view suffix = rest.substr(dot + 1);
    rest = rest.substr(0, dot);
    // Old BERT files call a LayerNorm's two vectors gamma and beta.
    const bool norm = rest.ends_with("LayerNorm");
    const bool bias = suffix == "bias" || (norm && suffix == "beta");
    if (!bias && suffix != "weight" && !(norm && suffix == "gamma")) return out;

    int layer = -1, expert = -1;
    const Part* part = nullptr;
    if (takePrefix(rest, "blk.")) {
        if (const auto number = takeNumber(rest); number && takePrefix(rest, ".")) {
            layer = *number;
            part = findPart(rest, true, true, expert);
        }
    } else {
        part = findPart(rest, false, true, expert);
        if (part == nullptr) {
            bool stripped = true;
            while (stripped) {
                stripped = false;
                for (const auto prefix : kPrefixes)
                    stripped = takePrefix(rest, prefix) || stripped;
            }
            if (takePrefix(rest, "layers.") || takePrefix(rest, "h.") || takePrefix(rest, "encoder.layer.")) {
                if (const auto number = takeNumber(rest); number && takePrefix(rest, ".")) {
                    layer = *number;
                    part = findPart(rest, true, false, expert);
                }
            } else {
                part = findPart(rest, false, false, expert);
            }
        }
    }
    if (part == nullptr) return out;

    std::string id;
    if (part->place != Place::Global) id = "layers." + std::to_string(layer) + ".";
    if (part->place == Place::Expert) id += "ffn.experts." + std::to_string(expert) + ".";
    id += part->id;
    out.role = part->role;
    out.roleClass = classOf(part->role, id);
    out.layer = layer;
    out.expert = expert;
    out.bias = bias;
    out.linear = !bias && (out.roleClass == RoleClass::Attention || out.roleClass == RoleClass::Ffn ||
                           (out.roleClass == RoleClass::Expert && part->role != Role::Router));
    out.transposed = part->conv1d && !bias;
    if (!bias) out.fusedGroup = fusedGroupOf(part->role, id);
    out.id = bias ? id + ".bias" : id;
    return out;
}

std::string_view nameOf(Role role)
{
    switch (role) {
    case Role::Embedding:
        return "embedding";
    case Role::Position:
        return "position";
    case Role::TokenType:
        return "token_type";
    case Role::Head:
        return "head";
    case Role::AttnQ:
        return "attn_q";
    case Role::AttnK:
        return "attn_k";
    case Role::AttnV:
        return "attn_v";
    case Role::AttnO:
        return "attn_o";
    case Role::AttnQkv:
        return "attn_qkv";
    case Role::FfnGate:
        return "ffn_gate";
    case Role::FfnUp:
        return "ffn_up";
    case Role::FfnGateUp:
        return "ffn_gate_up";
    case Role::FfnDown:
        return "ffn_down";
    case Role::Router:
        return "router";
    case Role::Norm:
        return "norm";
    case Role::RopeFactors:
        return "rope_factors";
    case Role::Pooler:
        return "pooler";
    case Role::Other:
        break;
    }
    return "other";
}

std::string_view nameOf(RoleClass c)
{
    switch (c) {
    case RoleClass::Attention:
        return "attention";
    case RoleClass::Ffn:
        return "ffn";
    case RoleClass::Embedding:
        return "embedding";
    case RoleClass::Expert:
        return "expert";
    case RoleClass::Norm:
        return "norm";
    case RoleClass::Other:
        break;
    }
    return "other";
}

} // namespace halftone
