// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/model.h"

#include "core/base/text.h"
#include "core/model/config.h"

#include <algorithm>
#include <fmt/core.h>
#include <set>
#include <unordered_map>
#include <utility>

namespace halftone {

namespace {

class NamedModel final : public Model {
public:
    explicit NamedModel(std::shared_ptr<const WeightSet> weights) : m_weights(std::move(weights)) {}

    Status build()
    {
        const Checkpoint& checkpoint = *m_weights->checkpoint();
        ConfigReading reading;
        if (checkpoint.container() == Container::Gguf)
            reading = configFromGguf(checkpoint);
        else if (!checkpoint.configJson().empty())
            reading = configFromJson(checkpoint.configJson());
        m_config = std::move(reading.config);
        m_notes = std::move(reading.notes);
        readRoles();
        fillFromShapes();
        decideTie(reading.tieFlag);
        return Ok{};
    }

    const std::shared_ptr<const WeightSet>& weights() const override { return m_weights; }
    const ModelConfig& config() const override { return m_config; }
    std::span<const WeightRole> roles() const override { return m_roles; }
    std::span<const std::string> notes() const override { return m_notes; }
    std::int64_t weightCount() const override { return m_weightCount; }

    const WeightRole* byId(std::string_view id) const override
    {
        const auto it = m_byId.find(id);
        return it == m_byId.end() ? nullptr : &m_roles[it->second];
    }

    std::string summary() const override
    {
        const std::string name =
            m_config.architecture.empty() ? "unknown architecture" : m_config.architecture;
        const double bits =
            m_weightCount == 0 ? 0 : 8.0 * static_cast<double>(m_bytes) / static_cast<double>(m_weightCount);
        const std::string layers =
            m_config.layers > 0 ? fmt::format("{} layer{}", m_config.layers, m_config.layers == 1 ? "" : "s")
                                : fmt::format("{} tensor{}", m_roles.size(), m_roles.size() == 1 ? "" : "s");
        return fmt::format("{}, {}, {} weights, {}, {:.1f} bits per weight", name, layers,
                           humanCount(static_cast<std::uint64_t>(m_weightCount)), humanBytes(m_bytes), bits);
    }

private:
    void readRoles()
    {
        const auto infos = m_weights->all();
        m_roles.reserve(infos.size());
        m_byId.reserve(infos.size());
        // Gemma 2 and 3 norm the attention's output, too, under the name that others give to the norm
        // before the FFN: such layers have a pre_feedforward_layernorm.
        std::set<int> fourNorms;
        for (const auto& info : infos)
            if (info.name.find("pre_feedforward_layernorm") != std::string::npos)
                fourNorms.insert(roleOfName(info.name).layer);
        // Starcoder shares GPT-2's names, but stores [out, in].
        const bool conv1d = m_config.architecture.empty() || m_config.architecture == "gpt2";
        for (std::size_t i = 0; i < infos.size(); ++i) {
            WeightRole role = roleOfName(infos[i].name);
            role.weight = static_cast<std::uint32_t>(i);
            if (!fourNorms.empty() && fourNorms.contains(role.layer) &&
                infos[i].name.find("post_attention_layernorm") != std::string::npos)
                role.id = fmt::format("layers.{}.post_attn_norm{}", role.layer, role.bias ? ".bias" : "");
            const int rank = infos[i].shape.rank();
            const bool stacked = rank == 3 && role.expert < 0 && role.roleClass == RoleClass::Expert;
            role.linear = role.linear && (rank == 2 || stacked);
            role.transposed = role.transposed && conv1d && rank == 2;
            // Ids are unique: of two tensors with one id, the later one goes by its own name.
            if (m_byId.contains(role.id)) role.id = infos[i].name;
            while (m_byId.contains(role.id))
                role.id += fmt::format("#{}", i);
            m_roles.push_back(std::move(role));
            m_byId.emplace(m_roles.back().id, i);
            m_weightCount += infos[i].count();
            m_bytes += infos[i].bytes;
        }
    }

    // What the config does not say, the tensors do.
    void fillFromShapes()
    {
        std::int64_t layers = 0;
        for (const auto& role : m_roles)
            layers = std::max<std::int64_t>(layers, role.layer + 1);
        if (m_config.layers == 0) m_config.layers = layers;
        const auto shapeOf = [&](std::string_view id) -> const Shape* {
            const WeightRole* role = byId(id);
            if (role == nullptr) return nullptr;
            const Shape& shape = m_weights->all()[role->weight].shape;
            return shape.rank() == 2 ? &shape : nullptr;
        };
        if (const Shape* embed = shapeOf("embed")) {
            if (m_config.vocab == 0) m_config.vocab = (*embed)[0];
            if (m_config.hidden == 0) m_config.hidden = (*embed)[1];
        }
        if (const Shape* up = shapeOf("layers.0.ffn.up"); up && m_config.ffn == 0) {
            const bool transposed = byId("layers.0.ffn.up")->transposed;
            m_config.ffn = (*up)[transposed ? 1 : 0];
        }
    }

    // A missing head means a tied one: configs are silent or wrong about it too often to go first. A
    // flag that says "tied" beside a stored head is how runtimes load it, so it wins, with a note.
    void decideTie(std::optional<bool> flag)
    {
        const bool head = byId("head") != nullptr;
        const bool embedding = byId("embed") != nullptr;
        const bool encoder = m_config.architecture.find("bert") != std::string::npos;
        m_config.tiedHead = !head && embedding && !encoder;
        if (head && embedding && flag == true) {
            m_config.tiedHead = true;
            m_notes.emplace_back(
                "config.json says tie_word_embeddings, but a head is stored as well: runtimes use "
                "the embedding, the stored head is kept as it is");
        }
        if (m_config.tiedHead && !head && flag == false)
            m_notes.emplace_back(
                "config.json says the head is not tied, but no head is stored: taken as tied to "
                "the embedding");
    }

    std::shared_ptr<const WeightSet> m_weights;
    ModelConfig m_config;
    std::vector<WeightRole> m_roles;
    std::vector<std::string> m_notes;
    struct Hash {
        using is_transparent = void;
        std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
    };
    std::unordered_map<std::string, std::size_t, Hash, std::equal_to<>> m_byId;
    std::int64_t m_weightCount = 0;
    std::uint64_t m_bytes = 0;
};

} // namespace

Result<std::shared_ptr<const Model>> Model::read(std::shared_ptr<const WeightSet> weights)
{
    if (weights == nullptr) return Error(Errc::Internal, "no weights given");
    try {
        auto model = std::make_shared<NamedModel>(std::move(weights));
        HALFTONE_CHECK(model->build());
        return std::shared_ptr<const Model>(std::move(model));
    } catch (const std::bad_alloc&) {
        return Error(Errc::OutOfMemory, "not enough memory for the list of weights");
    }
}

} // namespace halftone
