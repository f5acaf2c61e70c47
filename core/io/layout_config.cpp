// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/io/layout_list.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

// quantization_config as transformers, vLLM and the programs themselves read it: only what was written, and
// which linear modules were left as they are.

namespace halftone {

namespace {

using Json = nlohmann::ordered_json;

Result<std::string> textOf(const Json& config)
{
    try {
        return config.dump(2);
    } catch (const std::exception& e) {
        return Error(Errc::InvalidArgument, fmt::format("can't write quantization_config: {}", e.what()));
    }
}

Json modulesOf(std::span<const std::string> names)
{
    Json list = Json::array();
    for (const auto& name : names)
        list.push_back(moduleOf(name));
    return list;
}

// A module's name as a regular expression that matches it alone.
std::string exactly(const std::string& module)
{
    std::string out = "-:^";
    for (const char c : module) {
        if (std::string_view(".^$|()[]{}*+?\\").find(c) != std::string_view::npos) out += '\\';
        out += c;
    }
    return out + "$";
}

std::int64_t groupSizeOf(const BlockFormat& format)
{
    return format.desc().blockSize > 0 ? format.desc().blockSize : -1;
}

} // namespace

std::string moduleOf(std::string_view weight)
{
    constexpr std::string_view kWeightSuffix = ".weight";
    if (weight.ends_with(kWeightSuffix)) weight.remove_suffix(kWeightSuffix.size());
    return std::string(weight);
}

Result<std::string> gptqConfig(std::span<const LaidOutWeight> weights, std::span<const std::string> ignored)
{
    const auto& format = *weights.front().format;
    bool head = false;
    for (const auto& w : weights)
        head = head || w.name.starts_with("lm_head.");
    // Loaders look for packed tensors of every linear module but the head.
    Json dynamic = Json::object();
    for (const auto& name : ignored)
        if (const auto module = moduleOf(name); module != "lm_head")
            dynamic[exactly(module)] = Json::object();
    Json config;
    config["quant_method"] = "gptq";
    config["bits"] = static_cast<int>(format.desc().bits);
    config["group_size"] = groupSizeOf(format);
    config["desc_act"] = false;
    config["sym"] = !format.desc().zeroPoint;
    config["lm_head"] = head;
    config["checkpoint_format"] = weights.front().layout == &gptqLayout(true) ? "gptq_v2" : "gptq";
    config["true_sequential"] = true;
    if (!dynamic.empty()) config["dynamic"] = std::move(dynamic);
    return textOf(config);
}

Result<std::string> awqConfig(std::span<const LaidOutWeight> weights, std::span<const std::string> ignored)
{
    Json config;
    config["quant_method"] = "awq";
    config["bits"] = 4;
    config["group_size"] = groupSizeOf(*weights.front().format);
    config["zero_point"] = true;
    config["version"] = "gemm";
    config["modules_to_not_convert"] = ignored.empty() ? Json(nullptr) : modulesOf(ignored);
    return textOf(config);
}

Result<std::string> bitsAndBytesConfig(std::span<const LaidOutWeight> weights,
                                       std::span<const std::string> ignored)
{
    const auto& d = weights.front().format->desc();
    Json config;
    config["quant_method"] = "bitsandbytes";
    config["load_in_4bit"] = true;
    config["load_in_8bit"] = false;
    config["bnb_4bit_quant_type"] = d.element == Element::NF4 ? "nf4" : "fp4";
    config["bnb_4bit_use_double_quant"] = d.shared == FormatDesc::Shared::NestedScales;
    config["bnb_4bit_compute_dtype"] = "bfloat16";
    config["bnb_4bit_quant_storage"] = "uint8";
    config["llm_int8_skip_modules"] = ignored.empty() ? Json(nullptr) : modulesOf(ignored);
    return textOf(config);
}

} // namespace halftone
