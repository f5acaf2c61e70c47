// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace halftone::test {

/// Writes a safetensors file of two small layers with names as in Llama models, F32, values from a simple
/// generator, and one value of `outlier` at row 5, column 70 of layer 1's down projection.
inline void writeSmallCheckpoint(const std::filesystem::path& path, float outlier = 40.0F)
{
    std::vector<std::pair<std::string, std::pair<int, int>>> weights{
        {"model.embed_tokens.weight", {128, 64}}};
    for (int layer = 0; layer < 2; ++layer) {
        const std::string prefix = "model.layers." + std::to_string(layer) + ".";
        for (const char* name :
             {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj"})
            weights.push_back({prefix + name + ".weight", {64, 64}});
        weights.push_back({prefix + "mlp.gate_proj.weight", {128, 64}});
        weights.push_back({prefix + "mlp.up_proj.weight", {128, 64}});
        weights.push_back({prefix + "mlp.down_proj.weight", {64, 128}});
        weights.push_back({prefix + "input_layernorm.weight", {1, 64}});
    }
    weights.push_back({"model.norm.weight", {1, 64}});
    std::string header = "{";
    std::vector<float> values;
    std::uint32_t state = 1;
    for (const auto& [name, shape] : weights) {
        const auto [rows, cols] = shape;
        const std::size_t begin = values.size() * 4;
        for (int i = 0; i < rows * cols; ++i) {
            state = state * 1664525U + 1013904223U;
            values.push_back((static_cast<float>(state >> 8) / 16777216.0F - 0.5F) * 0.2F);
        }
        if (name == "model.layers.1.mlp.down_proj.weight")
            values[begin / 4 + static_cast<std::size_t>(5 * cols + 70)] = outlier;
        const std::string shapeText = rows == 1
                                          ? "[" + std::to_string(cols) + "]"
                                          : "[" + std::to_string(rows) + "," + std::to_string(cols) + "]";
        header += (header.size() > 1 ? ",\"" : "\"") + name + "\":{\"dtype\":\"F32\",\"shape\":" + shapeText +
                  ",\"data_offsets\":[" + std::to_string(begin) + "," + std::to_string(values.size() * 4) +
                  "]}";
    }
    header += "}";
    while (header.size() % 8 != 0)
        header += ' ';
    std::ofstream file(path, std::ios::binary);
    const std::uint64_t length = header.size();
    file.write(reinterpret_cast<const char*>(&length), 8);
    file.write(header.data(), static_cast<std::streamsize>(header.size()));
    file.write(reinterpret_cast<const char*>(values.data()), static_cast<std::streamsize>(values.size() * 4));
}

} // namespace halftone::test
