// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace halftone::test {

struct TinyTensor {
    std::string name;
    std::vector<std::int64_t> dims;
    std::vector<float> values;
};

/// A Llama-like network with random weights: hidden 64, 8 heads of which 4 for keys and values, FFN 172 (no
/// multiple of 32), vocabulary 512, 2 layers, untied head: 21 tensors, 156,480 weights.
std::vector<TinyTensor> tinyLlama(std::int64_t ffn = 172);
/// Bytes of a safetensors file with BF16 values, written without our own writer.
std::string tinySafetensors(const std::vector<TinyTensor>& tensors);
/// A model folder: model.safetensors and config.json. Returns the folder.
std::filesystem::path writeTinyModel(const std::filesystem::path& folder,
                                     const std::vector<TinyTensor>& tensors, std::int64_t ffn = 172);
void writeBytes(const std::filesystem::path& path, const std::string& bytes);

} // namespace halftone::test
