// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/fixtures.h"

#include "core/io/writer.h"
#include "core/numeric/small_float.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>

namespace halftone::test {

namespace {

// "model.layers.3.self_attn.q_proj.weight" to "blk.3.attn_q.weight"; experts lose their number.
std::string ggufName(const std::string& name)
{
    static const std::map<std::string, std::string, std::less<>> kWhole{
        {"model.embed_tokens.weight", "token_embd.weight"},
        {"model.norm.weight", "output_norm.weight"},
        {"lm_head.weight", "output.weight"}};
    static const std::map<std::string, std::string, std::less<>> kParts{
        {"input_layernorm", "attn_norm"},    {"self_attn.q_proj", "attn_q"},
        {"self_attn.k_proj", "attn_k"},      {"self_attn.v_proj", "attn_v"},
        {"self_attn.o_proj", "attn_output"}, {"post_attention_layernorm", "ffn_norm"},
        {"mlp.gate_proj", "ffn_gate"},       {"mlp.up_proj", "ffn_up"},
        {"mlp.down_proj", "ffn_down"},       {"mlp.gate", "ffn_gate_inp"},
        {"gate_proj", "ffn_gate_exps"},      {"up_proj", "ffn_up_exps"},
        {"down_proj", "ffn_down_exps"}};
    if (const auto at = kWhole.find(name); at != kWhole.end()) return at->second;
    const std::string start = "model.layers.";
    const auto dot = name.find('.', start.size());
    auto part = name.substr(dot + 1, name.size() - dot - 1 - std::strlen(".weight"));
    if (const std::string experts = "mlp.experts."; part.starts_with(experts))
        part = part.substr(part.find('.', experts.size()) + 1);
    return "blk." + name.substr(start.size(), dot - start.size()) + "." + kParts.at(part) + ".weight";
}

// llama.cpp rotates neighbouring pairs, Hugging Face halves: row r of a head goes to
// 2 (r mod D/2) + floor(r / (D/2)).
Bytes permuteRows(const FixtureTensor& t, std::int64_t headRows)
{
    const auto rowBytes = t.bytes.size() / static_cast<std::size_t>(t.shape[0]);
    Bytes out(t.bytes.size());
    for (std::int64_t r = 0; r < t.shape[0]; ++r) {
        const std::int64_t inHead = r % headRows, half = headRows / 2;
        const auto to = static_cast<std::size_t>(r - inHead + 2 * (inHead % half) + inHead / half);
        std::memcpy(out.data() + to * rowBytes, t.bytes.data() + static_cast<std::size_t>(r) * rowBytes,
                    rowBytes);
    }
    return out;
}

Bytes widen(const Bytes& bfloats)
{
    Bytes out(bfloats.size() * 2);
    for (std::size_t i = 0; i < bfloats.size() / 2; ++i) {
        std::uint16_t h = 0;
        std::memcpy(&h, bfloats.data() + 2 * i, 2);
        const float x = bfloatToFloat(h);
        std::memcpy(out.data() + 4 * i, &x, 4);
    }
    return out;
}

std::uint32_t ggufType(const FixtureTensor& t) { return t.dtype == DType::F32 ? 0u : 30u; }

struct Key {
    std::string name, text;
    std::uint32_t number = 0;
    float real = 0;
    enum class Kind : std::uint8_t { Text, Number, Real } kind = Kind::Text;
};

std::vector<Key> keysOf(const Fixture& f)
{
    const std::string arch = f.experts > 0 ? "qwen3moe" : "llama";
    std::vector<Key> keys{{"general.architecture", arch, 0, 0, Key::Kind::Text},
                          {"general.name", "fixture", 0, 0, Key::Kind::Text},
                          {"general.file_type", "", 32, 0, Key::Kind::Number}};
    const auto number = [&](const char* key, std::int64_t value) {
        keys.push_back({arch + "." + key, "", static_cast<std::uint32_t>(value), 0, Key::Kind::Number});
    };
    number("block_count", f.layers);
    number("context_length", 128);
    number("embedding_length", f.hidden);
    number("feed_forward_length", f.ffn);
    number("attention.head_count", f.heads);
    number("attention.head_count_kv", f.kvHeads);
    number("rope.dimension_count", f.hidden / f.heads);
    number("vocab_size", f.vocab);
    if (f.experts > 0) {
        number("expert_count", f.experts);
        number("expert_used_count", 1);
        number("expert_feed_forward_length", f.ffn);
    }
    keys.push_back({arch + ".attention.layer_norm_rms_epsilon", "", 0, 1e-5f, Key::Kind::Real});
    keys.push_back({arch + ".rope.freq_base", "", 0, 10000.0f, Key::Kind::Real});
    return keys;
}

} // namespace

Fixture ggufTwin(const Fixture& fixture)
{
    Fixture twin = fixture;
    twin.tensors.clear();
    const std::int64_t headRows = fixture.hidden / fixture.heads;
    for (const auto& t : fixture.tensors) {
        FixtureTensor out{ggufName(t.name), t.shape, t.dtype, t.bytes};
        const bool rotated =
            t.name.find("q_proj") != std::string::npos || t.name.find("k_proj") != std::string::npos;
        // Only the llama architecture is permuted.
        if (rotated && fixture.experts == 0) out.bytes = permuteRows(t, headRows);
        if (t.shape.rank() == 1 || t.name.ends_with("mlp.gate.weight")) {
            out.bytes = widen(out.bytes);
            out.dtype = DType::F32;
        }
        if (t.name.find(".experts.") == std::string::npos) {
            twin.tensors.push_back(std::move(out));
            continue;
        }
        // Experts come in order: each one is appended to the stack of its matrix.
        const auto stack =
            std::ranges::find_if(twin.tensors, [&](const FixtureTensor& s) { return s.name == out.name; });
        if (stack == twin.tensors.end()) {
            out.shape = {1, t.shape[0], t.shape[1]};
            twin.tensors.push_back(std::move(out));
        } else {
            stack->shape = {stack->shape[0] + 1, t.shape[0], t.shape[1]};
            stack->bytes.insert(stack->bytes.end(), out.bytes.begin(), out.bytes.end());
        }
    }
    return twin;
}

Bytes ggufBytes(const Fixture& fixture, int part, int parts)
{
    const Fixture twin = ggufTwin(fixture);
    GgufBuilder b;
    if (part == 0)
        for (const auto& k : keysOf(fixture)) {
            if (k.kind == Key::Kind::Text) b.text(k.name, k.text);
            if (k.kind == Key::Kind::Number) b.u32(k.name, k.number);
            if (k.kind == Key::Kind::Real) b.f32(k.name, k.real);
        }
    if (parts > 1)
        b.u16("split.no", static_cast<std::uint16_t>(part))
            .u16("split.count", static_cast<std::uint16_t>(parts))
            .i32("split.tensors.count", static_cast<std::int32_t>(twin.tensors.size()));
    const auto n = twin.tensors.size();
    const auto at = [&](int p) { return n * static_cast<std::size_t>(p) / static_cast<std::size_t>(parts); };
    for (std::size_t i = at(part); i < at(part + 1); ++i) {
        const auto& t = twin.tensors[i];
        std::vector<std::uint64_t> dims;
        for (int d = t.shape.rank() - 1; d >= 0; --d)
            dims.push_back(static_cast<std::uint64_t>(t.shape[d]));
        b.tensor(t.name, dims, ggufType(t), t.bytes);
    }
    return b.finish();
}

std::filesystem::path writeGguf(const Fixture& fixture, const std::filesystem::path& file)
{
    writeBytes(file, ggufBytes(fixture));
    return file;
}

std::vector<std::filesystem::path> writeGgufParts(const Fixture& fixture, const std::filesystem::path& folder,
                                                  int parts)
{
    std::filesystem::create_directories(folder);
    std::vector<std::filesystem::path> out;
    for (int p = 0; p < parts; ++p) {
        char name[64];
        std::snprintf(name, sizeof name, "model-%05d-of-%05d.gguf", p + 1, parts);
        out.push_back(folder / name);
        writeBytes(out.back(), ggufBytes(fixture, p, parts));
    }
    return out;
}

Status writeGgufByProduct(const Fixture& fixture, const std::filesystem::path& file)
{
    const Fixture twin = ggufTwin(fixture);
    std::vector<OutputMeta> metadata;
    for (const auto& k : keysOf(fixture)) {
        if (k.kind == Key::Kind::Text) metadata.push_back(metaOf(k.name, k.text));
        if (k.kind == Key::Kind::Number) metadata.push_back(metaOfU32(k.name, k.number));
        if (k.kind == Key::Kind::Real) metadata.push_back(metaOfF32(k.name, k.real));
    }
    std::vector<OutputTensor> tensors;
    for (const auto& t : twin.tensors)
        tensors.push_back({t.name, t.shape, t.dtype, ggufType(t), t.bytes.size()});
    HALFTONE_TRY(layout, layoutFile(Container::Gguf, tensors, metadata));
    HALFTONE_TRY(writer, CheckpointWriter::create(file, layout));
    for (std::size_t i = 0; i < twin.tensors.size(); ++i)
        HALFTONE_CHECK(writer->write(i, twin.tensors[i].bytes));
    return writer->finish({});
}

} // namespace halftone::test
