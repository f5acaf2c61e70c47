// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/base/result.h"
#include "core/numeric/dtype.h"
#include "core/tensor/shape.h"
#include "tests/support/byte_writer.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace halftone::test {

// Small Llama-like checkpoints, the same bytes on every machine. Values are 0.02 N(0, 1), from Box-Muller on
// SplitMix64 seeded with the FNV-1a hash of the tensor's name, rounded to BF16; norm weights are 1.

enum class FixtureKind : std::uint8_t {
    Tiny,    ///< hidden 64, 8 heads, 4 KV heads, FFN 172 (no multiple of 32), vocabulary 512, 2 layers
    Tiny256, ///< hidden 256, KV 128, FFN 512: every row length is a multiple of 256
    Tied,    ///< Tiny without lm_head.weight
    Moe,     ///< Tiny with 4 experts a layer (FFN 96); experts 2 and 3 can never win
    Mtp,     ///< Tiny plus a block model.layers.2.* that the forward pass never runs
    Big      ///< hidden 1024, FFN 2816, 8 layers: about 190 MB
};

struct FixtureTensor {
    std::string name;
    Shape shape;
    DType dtype = DType::BF16;
    Bytes bytes;
};

struct Fixture {
    std::vector<FixtureTensor> tensors;
    std::int64_t hidden = 64, kv = 32, heads = 8, kvHeads = 4, ffn = 172, vocab = 512, layers = 2;
    std::int64_t experts = 0;
    bool tied = false;
    const FixtureTensor& tensor(std::string_view name) const; ///< throws std::out_of_range
    std::int64_t parameters() const;
};

Fixture makeFixture(FixtureKind kind);
/// Values of the fill rule before rounding.
std::vector<float> fixtureValues(std::string_view name, std::int64_t count);
/// config.json of the fixture.
std::string configJson(const Fixture& fixture);

/// One safetensors file with the tensors in the given order.
Bytes safetensorsBytes(const std::vector<FixtureTensor>& tensors);
/// model.safetensors and config.json in a new folder; the path of the weights.
std::filesystem::path writeModel(const Fixture& fixture, const std::filesystem::path& folder);
/// model-0000i-of-0000n.safetensors with index and config.json in a new folder; the path of the index.
std::filesystem::path writeSharded(const Fixture& fixture, const std::filesystem::path& folder, int shards);

/// The same model with GGUF's names, Q and K rows permuted, norms in F32, experts stacked.
Fixture ggufTwin(const Fixture& fixture);
/// The twin as bytes, by the independent writer; part `part` of `parts` of a split file when parts > 1.
Bytes ggufBytes(const Fixture& fixture, int part = 0, int parts = 1);
/// One file; its path.
std::filesystem::path writeGguf(const Fixture& fixture, const std::filesystem::path& file);
/// model-0000i-of-0000n.gguf in a new folder; their paths.
std::vector<std::filesystem::path> writeGgufParts(const Fixture& fixture, const std::filesystem::path& folder,
                                                  int parts);
/// The same file by the product's writer.
Status writeGgufByProduct(const Fixture& fixture, const std::filesystem::path& file);

} // namespace halftone::test
