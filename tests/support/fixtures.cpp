// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/fixtures.h"

#include "core/base/rng.h"
#include "core/numeric/small_float.h"

#include <cmath>
#include <cstdio>
#include <cstring>
#include <numbers>
#include <stdexcept>

namespace halftone::test {

namespace {

Bytes bfloatBytes(const std::vector<float>& values)
{
    Bytes out(values.size() * 2);
    for (std::size_t i = 0; i < values.size(); ++i) {
        const std::uint16_t h = floatToBfloat(values[i]);
        std::memcpy(out.data() + 2 * i, &h, 2);
    }
    return out;
}

class Builder {
public:
    explicit Builder(Fixture& fixture) : m(fixture) {}

    void matrix(const std::string& name, std::int64_t out, std::int64_t in)
    {
        m.tensors.push_back({name, {out, in}, DType::BF16, bfloatBytes(fixtureValues(name, out * in))});
    }
    void norm(const std::string& name)
    {
        const std::vector<float> ones(static_cast<std::size_t>(m.hidden), 1.0f);
        m.tensors.push_back({name, {m.hidden}, DType::BF16, bfloatBytes(ones)});
    }
    void block(std::int64_t layer)
    {
        const std::string p = "model.layers." + std::to_string(layer) + ".";
        norm(p + "input_layernorm.weight");
        matrix(p + "self_attn.q_proj.weight", m.hidden, m.hidden);
        matrix(p + "self_attn.k_proj.weight", m.kv, m.hidden);
        matrix(p + "self_attn.v_proj.weight", m.kv, m.hidden);
        matrix(p + "self_attn.o_proj.weight", m.hidden, m.hidden);
        norm(p + "post_attention_layernorm.weight");
        if (m.experts == 0) {
            ffn(p + "mlp.");
            return;
        }
        router(p + "mlp.gate.weight");
        for (std::int64_t e = 0; e < m.experts; ++e)
            ffn(p + "mlp.experts." + std::to_string(e) + ".");
    }

private:
    void ffn(const std::string& prefix)
    {
        matrix(prefix + "gate_proj.weight", m.ffn, m.hidden);
        matrix(prefix + "up_proj.weight", m.ffn, m.hidden);
        matrix(prefix + "down_proj.weight", m.hidden, m.ffn);
    }
    // Rows u, -u, 0, 0: with ties to the lowest index the last two can never win.
    void router(const std::string& name)
    {
        std::vector<float> rows(static_cast<std::size_t>(m.experts * m.hidden), 0.0f);
        const auto u = fixtureValues(name, m.hidden);
        for (std::size_t i = 0; i < u.size(); ++i) {
            rows[i] = u[i];
            rows[u.size() + i] = -u[i];
        }
        m.tensors.push_back({name, {m.experts, m.hidden}, DType::BF16, bfloatBytes(rows)});
    }
    Fixture& m;
};

} // namespace

std::vector<float> fixtureValues(std::string_view name, std::int64_t count)
{
    SplitMix64 random(fnv1a64(name));
    std::vector<float> out;
    out.reserve(static_cast<std::size_t>(count) + 1);
    while (static_cast<std::int64_t>(out.size()) < count) {
        const double radius = 0.02 * std::sqrt(-2.0 * std::log(random.uniform()));
        const double angle = 2.0 * std::numbers::pi * random.uniform();
        out.push_back(static_cast<float>(radius * std::cos(angle)));
        out.push_back(static_cast<float>(radius * std::sin(angle)));
    }
    out.resize(static_cast<std::size_t>(count));
    return out;
}

Fixture makeFixture(FixtureKind kind)
{
    Fixture f;
    if (kind == FixtureKind::Tiny256) {
        f.hidden = 256;
        f.kv = 128;
        f.ffn = 512;
    }
    if (kind == FixtureKind::Moe) {
        f.experts = 4;
        f.ffn = 96;
    }
    if (kind == FixtureKind::Big) {
        f.hidden = 1024;
        f.kv = 512;
        f.ffn = 2816;
        f.layers = 8;
    }
    f.tied = kind == FixtureKind::Tied;
    Builder build(f);
    build.matrix("model.embed_tokens.weight", f.vocab, f.hidden);
    for (std::int64_t l = 0; l < f.layers; ++l)
        build.block(l);
    if (kind == FixtureKind::Mtp) build.block(f.layers);
    build.norm("model.norm.weight");
    if (!f.tied) build.matrix("lm_head.weight", f.vocab, f.hidden);
    return f;
}

const FixtureTensor& Fixture::tensor(std::string_view name) const
{
    for (const auto& t : tensors)
        if (t.name == name) return t;
    throw std::out_of_range(std::string(name));
}

std::int64_t Fixture::parameters() const
{
    std::int64_t sum = 0;
    for (const auto& t : tensors)
        sum += t.shape.count();
    return sum;
}

std::string configJson(const Fixture& f)
{
    const auto number = [](const char* key, std::int64_t value) {
        return std::string("  \"") + key + "\": " + std::to_string(value) + ",\n";
    };
    std::string out = "{\n";
    out += f.experts > 0
               ? "  \"architectures\": [\"Qwen3MoeForCausalLM\"],\n  \"model_type\": \"qwen3_moe\",\n"
               : "  \"architectures\": [\"LlamaForCausalLM\"],\n  \"model_type\": \"llama\",\n";
    out += number("hidden_size", f.hidden) + number("num_hidden_layers", f.layers) +
           number("num_attention_heads", f.heads) + number("num_key_value_heads", f.kvHeads) +
           number("head_dim", f.hidden / f.heads) + number("intermediate_size", f.ffn) +
           number("vocab_size", f.vocab) + number("max_position_embeddings", 128);
    if (f.experts > 0)
        out += number("num_experts", f.experts) + number("num_experts_per_tok", 1) +
               number("moe_intermediate_size", f.ffn);
    out += "  \"rms_norm_eps\": 1e-05,\n  \"rope_theta\": 10000.0,\n  \"hidden_act\": \"silu\",\n";
    out += std::string("  \"tie_word_embeddings\": ") + (f.tied ? "true" : "false") + ",\n";
    return out + "  \"torch_dtype\": \"bfloat16\"\n}\n";
}

Bytes safetensorsBytes(const std::vector<FixtureTensor>& tensors)
{
    std::string header = R"({"__metadata__":{"format":"pt"})";
    Bytes data;
    for (const auto& t : tensors) {
        header += ",\"" + t.name + "\":{\"dtype\":\"" + std::string(nameOf(t.dtype)) + "\",\"shape\":[";
        for (int d = 0; d < t.shape.rank(); ++d)
            header += (d > 0 ? "," : "") + std::to_string(t.shape[d]);
        header += "],\"data_offsets\":[" + std::to_string(data.size()) + ",";
        data.insert(data.end(), t.bytes.begin(), t.bytes.end());
        header += std::to_string(data.size()) + "]}";
    }
    header += "}";
    header.resize((header.size() + 7) / 8 * 8, ' ');
    return safetensorsBytes(header, data);
}

std::filesystem::path writeModel(const Fixture& fixture, const std::filesystem::path& folder)
{
    std::filesystem::create_directories(folder);
    const auto config = configJson(fixture);
    writeBytes(folder / "config.json", std::as_bytes(std::span(config.data(), config.size())));
    writeBytes(folder / "model.safetensors", safetensorsBytes(fixture.tensors));
    return folder / "model.safetensors";
}

std::filesystem::path writeSharded(const Fixture& fixture, const std::filesystem::path& folder, int shards)
{
    std::filesystem::create_directories(folder);
    const auto count = fixture.tensors.size(), n = static_cast<std::size_t>(shards);
    std::string map;
    std::size_t total = 0;
    for (std::size_t s = 0; s < n; ++s) {
        char name[64];
        std::snprintf(name, sizeof name, "model-%05zu-of-%05zu.safetensors", s + 1, n);
        std::vector<FixtureTensor> part;
        for (std::size_t i = count * s / n; i < count * (s + 1) / n; ++i) {
            part.push_back(fixture.tensors[i]);
            total += part.back().bytes.size();
            map +=
                std::string(map.empty() ? "" : ",") + "\n    \"" + part.back().name + "\": \"" + name + "\"";
        }
        writeBytes(folder / name, safetensorsBytes(part));
    }
    const std::string index = "{\n  \"metadata\": {\"total_size\": " + std::to_string(total) +
                              "},\n  \"weight_map\": {" + map + "\n  }\n}\n";
    const auto path = folder / "model.safetensors.index.json";
    writeBytes(path, std::as_bytes(std::span(index.data(), index.size())));
    const auto config = configJson(fixture);
    writeBytes(folder / "config.json", std::as_bytes(std::span(config.data(), config.size())));
    return path;
}

} // namespace halftone::test
