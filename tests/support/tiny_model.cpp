// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/tiny_model.h"

#include "core/base/rng.h"

#include <cmath>
#include <cstring>
#include <fstream>
#include <numbers>

namespace halftone::test {

namespace {

TinyTensor randomTensor(std::string name, std::vector<std::int64_t> dims)
{
    TinyTensor t{std::move(name), std::move(dims), {}};
    std::int64_t count = 1;
    for (const auto d : t.dims)
        count *= d;
    if (t.dims.size() == 1) { // norms are 1
        t.values.assign(static_cast<std::size_t>(count), 1.0f);
        return t;
    }
    SplitMix64 rng(fnv1a64(t.name));
    t.values.reserve(static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < count; ++i) {
        const double u = rng.uniform(), v = rng.uniform();
        t.values.push_back(
            static_cast<float>(0.02 * std::sqrt(-2.0 * std::log(u)) * std::cos(2.0 * std::numbers::pi * v)));
    }
    return t;
}

/// Upper half of the bits, rounded to nearest even.
std::uint16_t bfloat(float value)
{
    std::uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    if (std::isnan(value)) return 0x7fc0;
    bits += 0x7fff + (bits >> 16 & 1);
    return static_cast<std::uint16_t>(bits >> 16);
}

} // namespace

std::vector<TinyTensor> tinyLlama(std::int64_t ffn)
{
    std::vector<TinyTensor> all;
    all.push_back(randomTensor("model.embed_tokens.weight", {512, 64}));
    for (int layer = 0; layer < 2; ++layer) {
        const std::string p = "model.layers." + std::to_string(layer) + ".";
        all.push_back(randomTensor(p + "input_layernorm.weight", {64}));
        all.push_back(randomTensor(p + "self_attn.q_proj.weight", {64, 64}));
        all.push_back(randomTensor(p + "self_attn.k_proj.weight", {32, 64}));
        all.push_back(randomTensor(p + "self_attn.v_proj.weight", {32, 64}));
        all.push_back(randomTensor(p + "self_attn.o_proj.weight", {64, 64}));
        all.push_back(randomTensor(p + "post_attention_layernorm.weight", {64}));
        all.push_back(randomTensor(p + "mlp.gate_proj.weight", {ffn, 64}));
        all.push_back(randomTensor(p + "mlp.up_proj.weight", {ffn, 64}));
        all.push_back(randomTensor(p + "mlp.down_proj.weight", {64, ffn}));
    }
    all.push_back(randomTensor("model.norm.weight", {64}));
    all.push_back(randomTensor("lm_head.weight", {512, 64}));
    return all;
}

std::string tinySafetensors(const std::vector<TinyTensor>& tensors)
{
    std::string header = "{", data;
    for (const auto& t : tensors) {
        const auto begin = data.size();
        for (const float v : t.values) {
            const std::uint16_t half = bfloat(v);
            data += static_cast<char>(half & 0xff);
            data += static_cast<char>(half >> 8);
        }
        header += (header.size() > 1 ? ",\"" : "\"") + t.name + "\":{\"dtype\":\"BF16\",\"shape\":[";
        for (std::size_t i = 0; i < t.dims.size(); ++i)
            header += (i > 0 ? "," : "") + std::to_string(t.dims[i]);
        header += "],\"data_offsets\":[" + std::to_string(begin) + "," + std::to_string(data.size()) + "]}";
    }
    header += "}";
    header.resize((header.size() + 7) / 8 * 8, ' ');
    std::string out;
    for (int i = 0; i < 8; ++i)
        out += static_cast<char>(static_cast<std::uint64_t>(header.size()) >> (8 * i) & 0xff);
    return out + header + data;
}

std::filesystem::path writeTinyModel(const std::filesystem::path& folder,
                                     const std::vector<TinyTensor>& tensors, std::int64_t ffn)
{
    std::filesystem::create_directories(folder);
    writeBytes(folder / "model.safetensors", tinySafetensors(tensors));
    writeBytes(
        folder / "config.json",
        R"({"architectures":["LlamaForCausalLM"],"model_type":"llama","hidden_size":64,"num_hidden_layers":2,)"
        R"("num_attention_heads":8,"num_key_value_heads":4,"intermediate_size":)" +
            std::to_string(ffn) +
            R"(,"vocab_size":512,"max_position_embeddings":256,"rms_norm_eps":1e-5,"rope_theta":10000.0,)"
            R"("tie_word_embeddings":false,"torch_dtype":"bfloat16"})");
    return folder;
}

void writeBytes(const std::filesystem::path& path, const std::string& bytes)
{
    std::ofstream out(path, std::ios::binary | std::ios::trunc);
    out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

} // namespace halftone::test
