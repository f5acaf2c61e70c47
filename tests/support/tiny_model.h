// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

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

/// The tiny fixture with its values at hand, to plant something in them; `ffn` is 172 (no multiple of 32)
/// or what a test would rather have.
std::vector<TinyTensor> tinyLlama(std::int64_t ffn = 172);
/// Bytes of a safetensors file with BF16 values.
std::string tinySafetensors(const std::vector<TinyTensor>& tensors);
/// A model folder: model.safetensors and config.json. Returns the folder.
std::filesystem::path writeTinyModel(const std::filesystem::path& folder,
                                     const std::vector<TinyTensor>& tensors, std::int64_t ffn = 172);
void writeText(const std::filesystem::path& path, const std::string& text);

} // namespace halftone::test
