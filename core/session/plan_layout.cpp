// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/plan_layout.h"

#include "core/base/checked.h"
#include "core/io/weight_layout.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>
#include <unordered_map>

namespace halftone {

namespace {

using Json = nlohmann::json;
using How = PlannedOutput::How;

class FileBuilder {
public:
    FileBuilder(OutputPlan& out, const Model& model, const OutputTarget& target, const OutputNaming& naming,
                bool untied)
        : m_out(out), m_plan(out.plan), m_model(model), m_source(*model.weights()->checkpoint()),
          m_target(target), m_naming(naming), m_untied(untied)
    {
    }

    Status run()
    {
        if (m_target.container == Container::Gguf && m_source.container() == Container::Safetensors)
            orderByLayer();
        addRopeFactors();
        std::vector<std::vector<std::string>> names;
        for (auto& output : m_out.outputs) {
            HALFTONE_TRY(tensors, tensorsOf(output));
            std::vector<std::string> list;
            for (auto& tensor : tensors) {
                list.push_back(tensor.name);
                m_tensors.push_back(std::move(tensor));
            }
            names.push_back(std::move(list));
        }
        std::vector<OutputMeta> metadata;
        if (m_target.container == Container::Gguf) {
            HALFTONE_TRY(made, ggufEntries());
            metadata = std::move(made);
        } else {
            HALFTONE_TRY(made, safetensorsEntries());
            metadata = std::move(made);
        }
        HALFTONE_TRY(layout, layoutFile(m_target.container, std::move(m_tensors), metadata));
        m_plan.layout = std::move(layout);
        m_plan.outputBytes = m_plan.layout.totalBytes;
        // safetensors are sorted: outputs find their tensors again by name.
        std::unordered_map<std::string_view, std::size_t> byName;
        for (std::size_t i = 0; i < m_plan.layout.tensors.size(); ++i)
            byName.emplace(m_plan.layout.tensors[i].name, i);
        for (std::size_t i = 0; i < names.size(); ++i)
            for (const auto& name : names[i])
                m_out.outputs[i].tensors.push_back(byName.at(name));
        return Ok{};
    }

private:
    PlannedWeight& weightOf(const PlannedOutput& output) { return m_plan.weights[output.planned]; }

    // Safetensors are sorted by name; people and runtimes read a GGUF from the embedding to the head.
    void orderByLayer()
    {
        const auto roles = m_model.roles();
        const auto rank = [&](const PlannedOutput& output) {
            const auto& weight = m_plan.weights[output.planned];
            const auto& role = roles[weight.weight];
            if (weight.id == "head" || role.id == "head") return 1 << 30;
            if (role.layer >= 0) return 1 + role.layer;
            return role.roleClass == RoleClass::Embedding ? 0 : 1 << 29;
        };
        std::stable_sort(m_out.outputs.begin(), m_out.outputs.end(),
                         [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
    }

    void addRopeFactors()
    {
        if (m_naming.ropeFactors.empty()) return;
        PlannedOutput output;
        output.how = How::Inline;
        const auto bytes = std::as_bytes(std::span(m_naming.ropeFactors));
        output.inlineBytes.assign(bytes.begin(), bytes.end());
        m_out.outputs.push_back(std::move(output));
    }

    Result<std::vector<OutputTensor>> tensorsOf(const PlannedOutput& output)
    {
        std::vector<OutputTensor> list;
        if (output.how == How::Inline) {
            OutputTensor tensor;
            tensor.name = "rope_freqs.weight";
            tensor.shape = Shape{static_cast<std::int64_t>(m_naming.ropeFactors.size())};
            tensor.ggufType = ggufTypeOf(DType::F32).value_or(0);
            tensor.bytes = output.inlineBytes.size();
            list.push_back(std::move(tensor));
            return list;
        }
        PlannedWeight& weight = weightOf(output);
        const WeightInfo& info = m_model.weights()->all()[weight.weight];
        const std::string where = "tensor " + info.name;
        const bool laidOut = output.how == How::Quantize || output.how == How::Repack;
        if (laidOut && output.layout != nullptr) {
            HALFTONE_TRY(
                made,
                output.layout->tensors(weight.name, output.layout->storedFormat(*weight.format), info.shape)
                    .in(where));
            list = std::move(made);
        } else if (output.how == How::Quantize) {
            HALFTONE_TRY(layout, weight.format->layout(info.shape.rows(), info.shape.cols()).in(where));
            OutputTensor tensor;
            tensor.name = weight.name;
            tensor.shape = info.shape;
            tensor.ggufType = weight.format->ggufType().value_or(0);
            tensor.bytes = layout.total();
            list.push_back(std::move(tensor));
        } else if (output.how == How::Convert) {
            OutputTensor tensor;
            tensor.name = weight.name;
            tensor.shape = info.shape;
            tensor.dtype = output.convertTo;
            tensor.ggufType = ggufTypeOf(output.convertTo).value_or(0);
            const auto bytes = bytesOf(output.convertTo, static_cast<std::uint64_t>(info.count()));
            if (!bytes) return Error(Errc::BadFormat, "the size overflows").in(where);
            tensor.bytes = *bytes;
            list.push_back(std::move(tensor));
        } else {
            list = copiedTensors(weight, info);
        }
        weight.bytesAfter = 0;
        for (const auto& tensor : list)
            weight.bytesAfter += tensor.bytes;
        return list;
    }

    // The parts as they are stored. Parts of a packed weight keep their own names; a single tensor takes
    // the output's name.
    std::vector<OutputTensor> copiedTensors(const PlannedWeight& weight, const WeightInfo& info) const
    {
        std::vector<OutputTensor> list;
        for (const auto part : info.parts) {
            const TensorInfo& stored = m_source.tensors()[part];
            OutputTensor tensor;
            tensor.name = info.parts.size() == 1 ? weight.name : stored.name;
            tensor.shape = stored.shape;
            tensor.dtype = stored.stored.plain.value_or(DType::U8);
            tensor.ggufType = m_source.container() == Container::Gguf ? stored.stored.ggufId
                                                                      : ggufTypeOf(tensor.dtype).value_or(0);
            tensor.bytes = stored.bytes;
            list.push_back(std::move(tensor));
        }
        return list;
    }

    Result<std::vector<OutputMeta>> ggufEntries()
    {
        GgufFacts facts;
        // general.file_type names the type that most weights have.
        std::map<std::uint32_t, std::uint64_t> bytesOfType;
        for (const auto& tensor : m_tensors) {
            const GgufTypeInfo* type = ggufTypeInfo(tensor.ggufType);
            if (type != nullptr && !type->plain) facts.quantized = true;
            if (type != nullptr && type->fileType != 0xffffffffu)
                bytesOfType[type->fileType] += static_cast<std::uint64_t>(tensor.shape.count());
        }
        std::uint64_t most = 0;
        for (const auto& [type, count] : bytesOfType)
            if (count > most) {
                most = count;
                facts.fileType = type;
            }
        if (m_source.container() == Container::Gguf) return copiedGgufMetadata(m_source, facts);
        return ggufMetadata(m_model, m_naming, facts, m_plan.warnings);
    }

    // Text of quantization_config, or empty when nothing is packed.
    Result<std::string> quantizationConfig() const
    {
        const auto infos = m_model.weights()->all();
        const auto roles = m_model.roles();
        std::vector<LaidOutWeight> packed;
        std::vector<std::string> ignored;
        bool head = false;
        for (const auto& output : m_out.outputs) {
            const PlannedWeight& weight = m_plan.weights[output.planned];
            const WeightInfo& info = infos[weight.weight];
            const WeightRole& role = roles[weight.weight];
            const bool isHead = weight.id == "head";
            if (output.layout != nullptr) {
                packed.push_back({weight.name, &output.layout->storedFormat(*weight.format), output.layout});
                head = head || isHead;
                continue;
            }
            // What loaders take for a linear layer and would look for packed tensors of.
            const bool module = info.shape.rank() == 2 && weight.name.ends_with(".weight") &&
                                (role.linear || isHead || role.role == Role::Router ||
                                 role.role == Role::Pooler || role.role == Role::Other);
            if (module) ignored.push_back(weight.name);
            head = head || (module && isHead);
        }
        if (packed.empty()) return std::string();
        // A tied head is a linear module, too, without a tensor.
        if (!head && m_model.config().tiedHead) ignored.emplace_back("lm_head");
        return layoutConfig(packed, ignored);
    }

    Result<std::vector<OutputMeta>> safetensorsEntries()
    {
        std::vector<OutputMeta> out;
        bool format = false;
        if (m_source.container() == Container::Safetensors)
            for (const auto& entry : m_source.metadata()) {
                if (entry.key == "quantization_config") continue;
                format = format || entry.key == "format";
                out.push_back(metaCopy(entry));
            }
        if (!format) out.push_back(metaOf("format", "pt")); // some loaders ask for it
        HALFTONE_TRY(config, quantizationConfig());
        if (m_target.folder) {
            HALFTONE_CHECK(folderFiles(config));
        } else if (!config.empty()) {
            out.push_back(metaOf("quantization_config", config));
        }
        return out;
    }

    Status folderFiles(const std::string& quantization)
    {
        try {
            std::string text = m_source.configJson();
            if (m_source.container() == Container::Gguf) text = configJsonOfGguf(m_model, m_naming);
            Json config = Json::parse(text, nullptr, false);
            if (!config.is_object()) {
                if (!text.empty())
                    m_plan.warnings.emplace_back("config.json is not a JSON object: a new one is written");
                config = Json::object();
            }
            config.erase("quantization_config");
            if (!quantization.empty())
                config["quantization_config"] = Json::parse(quantization, nullptr, false);
            if (m_untied) {
                config["tie_word_embeddings"] = false;
                if (const auto it = config.find("text_config");
                    it != config.end() && it->is_object() && it->contains("tie_word_embeddings"))
                    (*it)["tie_word_embeddings"] = false;
            }
            m_plan.textFiles.emplace_back("config.json",
                                          config.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
        } catch (const std::exception&) {
            return Error(Errc::BadFormat,
                         "config.json can't be rewritten: write a .safetensors file instead");
        }
        for (const auto& path : m_source.sidecars()) {
            const std::string name = path.filename().string();
            if (name != "config.json" && !name.ends_with(".index.json")) m_plan.copiedFiles.push_back(path);
        }
        return Ok{};
    }

    OutputPlan& m_out;
    QuantizePlan& m_plan;
    const Model& m_model;
    const Checkpoint& m_source;
    const OutputTarget& m_target;
    const OutputNaming& m_naming;
    bool m_untied;
    std::vector<OutputTensor> m_tensors;
};

} // namespace

Status layOutFile(OutputPlan& out, const Model& model, const OutputTarget& target, const OutputNaming& naming,
                  bool untied)
{
    return FileBuilder(out, model, target, naming, untied).run();
}

} // namespace halftone
