// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/quantize.h"

#include <chrono>
#include <nlohmann/json.hpp>

namespace halftone {

namespace {

using OrderedJson = nlohmann::ordered_json;

const char* nameOf(PlannedWeight::Action action)
{
    switch (action) {
    case PlannedWeight::Action::Quantize:
        return "quantize";
    case PlannedWeight::Action::Keep:
        return "keep";
    case PlannedWeight::Action::Substitute:
        return "substitute";
    }
    return "keep";
}

OrderedJson jsonOf(const PlannedWeight& weight)
{
    OrderedJson j;
    j["name"] = weight.name;
    j["id"] = weight.id;
    j["action"] = nameOf(weight.action);
    if (weight.format != nullptr) j["format"] = weight.format->name();
    if (weight.keptAs) j["kept_as"] = nameOf(*weight.keptAs);
    j["bytes_before"] = weight.bytesBefore;
    j["bytes_after"] = weight.bytesAfter;
    if (weight.format != nullptr) j["payload_bits"] = weight.payloadBits;
    if (weight.format != nullptr) {
        OrderedJson params = OrderedJson::object();
        for (const auto& [key, value] : weight.params)
            std::visit([&, &k = key](const auto& v) { params[k] = v; }, value);
        j["params"] = std::move(params);
    }
    return j;
}

OrderedJson jsonOf(const Substitution& s)
{
    return {{"name", s.name},
            {"axis", s.axis},
            {"length", s.length},
            {"block", s.block},
            {"remainder", s.remainder},
            {"wanted", s.wanted},
            {"replacement", s.replacement},
            {"wanted_bytes", s.wantedBytes},
            {"bytes", s.bytes},
            {"padded_bytes", s.paddedBytes},
            {"text", s.text}};
}

} // namespace

std::string planJson(const QuantizePlan& plan)
{
    try {
        OrderedJson j;
        j["container"] = plan.container == Container::Gguf ? "gguf" : "safetensors";
        j["folder"] = plan.folder;
        j["output_bytes"] = plan.outputBytes;
        j["weight_count"] = plan.weightCount;
        j["quantized_count"] = plan.quantizedCount;
        j["bits_per_weight"] = plan.bitsPerWeight;
        j["payload_bits_per_weight"] = plan.payloadBitsPerWeight;
        j["nominal_bits_per_weight"] = plan.nominalBitsPerWeight;
        j["peak_bytes"] = plan.peakBytes;
        j["disk_bytes"] = plan.diskBytes;
        j["estimate_seconds"] = std::chrono::duration<double>(plan.estimate).count();
        j["warnings"] = plan.warnings;
        j["substitutions"] = OrderedJson::array();
        for (const auto& s : plan.substitutions)
            j["substitutions"].push_back(jsonOf(s));
        j["weights"] = OrderedJson::array();
        for (const auto& weight : plan.weights)
            j["weights"].push_back(jsonOf(weight));
        OrderedJson files = OrderedJson::array();
        for (const auto& [name, text] : plan.textFiles)
            files.push_back({{"name", name}, {"bytes", text.size()}});
        for (const auto& path : plan.copiedFiles)
            files.push_back({{"name", path.filename().string()}, {"copied_from", path.string()}});
        j["other_files"] = std::move(files);
        return j.dump(2, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
    } catch (const std::exception&) { // out of memory
        return "{}\n";
    }
}

} // namespace halftone
