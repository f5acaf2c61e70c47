// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/base/export.h"
#include "core/base/result.h"
#include "core/io/weights.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace halftone {

/// What a weight is in its network.
enum class Role : std::uint8_t {
    Embedding,
    Position,
    TokenType,
    Head,
    AttnQ,
    AttnK,
    AttnV,
    AttnO,
    AttnQkv,
    FfnGate,
    FfnUp,
    FfnGateUp,
    FfnDown,
    Router,
    Norm,
    RopeFactors,
    Pooler,
    Other
};
HALFTONE_API std::string_view nameOf(Role role);

/// Broad classes with a fixed colour each (window.md).
enum class RoleClass : std::uint8_t { Attention, Ffn, Embedding, Expert, Norm, Other };
HALFTONE_API std::string_view nameOf(RoleClass c);

/// A weight with its place in the network. Unknown names are Role::Other with layer -1.
struct WeightRole {
    std::uint32_t weight = 0; ///< index into WeightSet::all()
    std::string id;           ///< stable: "layers.3.attn.q"; the name itself when unknown
    Role role = Role::Other;
    RoleClass roleClass = RoleClass::Other;
    int layer = -1;
    int expert = -1; ///< -1: not an expert's; stacked experts of one tensor are -1 with rank 3
    bool bias = false;
    /// A matrix product inside a block: what quantizers take by default. The head and the routers are
    /// products too, but small errors there cost most: they are taken only when asked for.
    bool linear = false;
    bool transposed = false; ///< stored [in, out] (GPT-2's Conv1D)
    std::string fusedGroup;  ///< "layers.3.qkv", "layers.3.gate_up": runtimes fuse these; empty: none
};

/// Numbers of the architecture, from config.json or GGUF keys; 0 or empty when unknown.
struct ModelConfig {
    std::string architecture; ///< "llama", "qwen2", "bert"; empty when unknown
    std::int64_t layers = 0, hidden = 0, heads = 0, kvHeads = 0, headDim = 0, ffn = 0, vocab = 0, context = 0;
    std::int64_t experts = 0;
    double normEps = 0, ropeBase = 0;
    bool tiedHead = false; ///< the head is the embedding
};

/// A network seen over the weights of one checkpoint. Immutable; any thread.
class HALFTONE_API Model {
public:
    /// Never fails for unknown architectures: they are plain tensors.
    static Result<std::shared_ptr<const Model>> read(std::shared_ptr<const WeightSet> weights);
    virtual ~Model() = default;
    virtual const std::shared_ptr<const WeightSet>& weights() const = 0;
    virtual const ModelConfig& config() const = 0;
    virtual std::span<const WeightRole> roles() const = 0; ///< one a weight, same order
    virtual const WeightRole* byId(std::string_view id) const = 0;
    /// "llama, 6 layers, 5.0 M weights, 10.1 MB, 16.0 bits per weight".
    virtual std::string summary() const = 0;
    virtual std::int64_t weightCount() const = 0;
    /// What a person should know about how the names and the config were read, one line each: a config
    /// that contradicts the tensors, a tie that is assumed.
    virtual std::span<const std::string> notes() const = 0;
};

/// Role and place read from a tensor name alone (Hugging Face or GGUF naming).
HALFTONE_API WeightRole roleOfName(std::string_view name);

} // namespace halftone
