// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/io/compressed_tensors.h"

#include "core/io/layout_list.h"
#include "core/io/text_names.h"

#include <algorithm>
#include <fmt/core.h>
#include <new>
#include <nlohmann/json.hpp>

namespace halftone {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kMethod = "compressed-tensors";
constexpr const char* kPack = "pack-quantized";

Json schemeOf(const FormatDesc& desc)
{
    const bool group = desc.blockSize > 0;
    Json w;
    w["num_bits"] = static_cast<int>(desc.bits);
    w["type"] = desc.element == Element::Int ? "int" : "float";
    w["symmetric"] = !desc.zeroPoint;
    w["strategy"] = desc.shared == FormatDesc::Shared::TensorScale ? "tensor_group"
                    : group                                        ? "group"
                    : desc.blockSize == FormatDesc::kWholeRow      ? "channel"
                                                                   : "tensor";
    w["group_size"] = group ? Json(desc.blockSize) : Json(nullptr);
    w["block_structure"] = nullptr;
    w["dynamic"] = false;
    w["actorder"] = nullptr;
    if (desc.scale == ScaleType::E4M3) w["scale_dtype"] = "torch.float8_e4m3fn";
    if (desc.scale == ScaleType::E8M0) w["scale_dtype"] = "torch.uint8";
    return w;
}

// Embeddings are no "Linear" modules, nor can a name be told from a class when formats are mixed.
bool needsNames(std::span<const CompressedWeight> weights)
{
    return std::ranges::any_of(weights, [&](const CompressedWeight& w) {
        return w.format != weights.front().format || w.layout != weights.front().layout ||
               w.name.find("embed") != std::string::npos;
    });
}

std::string memberText(const Json& object, const char* key)
{
    const auto at = object.find(key);
    return at != object.end() && at->is_string() ? at->get<std::string>() : std::string();
}

// One config group, or why it can't be read.
Result<CompressedScheme> readGroup(const Json& group)
{
    const auto weights = group.find("weights");
    if (weights == group.end() || !weights->is_object())
        return Error(Errc::Unsupported, "a config group has no \"weights\"");
    CompressedScheme scheme;
    const auto type = memberText(*weights, "type"), strategy = memberText(*weights, "strategy");
    const auto bits = weights->find("num_bits");
    if (!type.empty() && type != "int")
        return Error(Errc::Unsupported, fmt::format("weights of type {} are not supported", shownName(type)));
    if (bits == weights->end() || !bits->is_number_unsigned() || bits->get<std::uint64_t>() > 8)
        return Error(Errc::Unsupported, "num_bits is no number up to 8");
    scheme.bits = bits->get<int>();
    const auto symmetric = weights->find("symmetric");
    scheme.symmetric = symmetric == weights->end() || !symmetric->is_boolean() || symmetric->get<bool>();
    const auto size = weights->find("group_size");
    const bool sized = size != weights->end() && size->is_number_integer() && size->get<std::int64_t>() > 0;
    if (strategy == "group" || (strategy.empty() && sized)) {
        if (!sized) return Error(Errc::Unsupported, "strategy group without a group_size");
        scheme.strategy = CompressedScheme::Strategy::Group;
        scheme.groupSize = size->get<std::int64_t>();
    } else if (strategy == "channel") {
        scheme.strategy = CompressedScheme::Strategy::Channel;
    } else if (strategy == "tensor" || strategy.empty()) {
        scheme.strategy = CompressedScheme::Strategy::Tensor;
    } else {
        return Error(Errc::Unsupported, fmt::format("strategy {} is not supported", shownName(strategy)));
    }
    if (const auto targets = group.find("targets"); targets != group.end() && targets->is_array())
        for (const auto& t : *targets)
            if (t.is_string()) scheme.targets.push_back(t.get<std::string>());
    return scheme;
}

std::vector<CompressedScheme> readConfig(const Json& root, std::string& why)
{
    const Json* config = &root;
    for (const char* key : {"quantization_config", "compression_config"})
        if (const auto at = root.find(key); at != root.end() && at->is_object()) {
            config = &*at;
            break;
        }
    const auto method = memberText(*config, "quant_method");
    const auto groups = config->find("config_groups");
    if ((!method.empty() && method != kMethod) || groups == config->end() || !groups->is_object()) {
        why = method.empty() || method == kMethod
                  ? "there is no quantization_config with config_groups"
                  : fmt::format("quantization_config is of the method {}", shownName(method));
        return {};
    }
    const auto common = memberText(*config, "format");
    std::vector<CompressedScheme> schemes;
    for (const auto& [name, group] : groups->items()) {
        if (!group.is_object()) continue;
        const auto own = memberText(group, "format");
        const auto& format = own.empty() && common != "mixed-precision" ? common : own;
        if (!format.empty() && format != kPack) {
            why = fmt::format("the format {} is not supported", shownName(format));
            continue;
        }
        auto scheme = readGroup(group);
        if (scheme)
            schemes.push_back(std::move(*scheme));
        else
            why = fmt::format("{}: {}", shownName(name), scheme.error().what());
    }
    return schemes;
}

} // namespace

Result<std::string> compressedConfig(std::span<const CompressedWeight> weights,
                                     std::span<const std::string> ignored)
{
    std::vector<std::pair<const BlockFormat*, std::string_view>> formats; // in order of first use
    std::vector<std::string_view> layouts;
    for (const auto& w : weights) {
        if (w.format == nullptr || (w.layout == kPack && !isCompressible(w.name, *w.format)))
            return Error(
                       Errc::InvalidArgument,
                       "can't be stored in the compressed-tensors layout: it takes integer grids on weights "
                       "called <module>.weight")
                .in("tensor " + shownName(w.name));
        if (const std::pair both{w.format, w.layout}; std::ranges::find(formats, both) == formats.end())
            formats.push_back(both);
        if (std::ranges::find(layouts, w.layout) == layouts.end()) layouts.push_back(w.layout);
    }
    try {
        const bool byName = needsNames(weights);
        Json groups = Json::object();
        for (const auto& [format, layout] : formats) {
            Json targets = Json::array();
            if (!byName) targets.push_back("Linear");
            for (const auto& w : weights)
                if (byName && w.format == format && w.layout == layout) targets.push_back(moduleOf(w.name));
            Json group;
            group["targets"] = std::move(targets);
            group["weights"] = schemeOf(format->desc());
            group["input_activations"] = nullptr;
            group["output_activations"] = nullptr;
            if (layouts.size() > 1) group["format"] = layout;
            groups[fmt::format("group_{}", groups.size())] = std::move(group);
        }
        Json ignore = Json::array();
        for (const auto& name : ignored)
            ignore.push_back(moduleOf(name));
        Json config;
        config["quant_method"] = kMethod;
        config["format"] = layouts.size() == 1 ? layouts.front() : "mixed-precision";
        config["quantization_status"] = "compressed";
        config["config_groups"] = std::move(groups);
        config["ignore"] = std::move(ignore);
        config["kv_cache_scheme"] = nullptr;
        config["global_compression_ratio"] = nullptr;
        config["version"] = "0.13.0";
        return config.dump(2);
    } catch (const std::exception& e) {
        return Error(Errc::InvalidArgument, fmt::format("can't write quantization_config: {}", e.what()));
    }
}

std::vector<CompressedScheme> compressedSchemes(std::string_view json, std::string& why)
{
    if (json.empty()) {
        why = "there is no config.json with a quantization_config";
        return {};
    }
    try {
        const Json root = Json::parse(json.begin(), json.end(), nullptr, false);
        if (root.is_discarded() || !root.is_object()) {
            why = "the text with quantization_config is no valid JSON";
            return {};
        }
        return readConfig(root, why);
    } catch (const std::exception& e) {
        why = fmt::format("quantization_config can't be read: {}", shownName(e.what()));
        return {};
    }
}

} // namespace halftone
