// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/io/quant_config.h"

#include "core/io/text_names.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

namespace halftone {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t kMostBlock = std::int64_t(1) << 32;

std::string textOf(const Json& object, std::initializer_list<const char*> keys)
{
    for (const char* key : keys)
        if (const auto at = object.find(key); at != object.end() && at->is_string())
            return at->get<std::string>();
    return {};
}

// A whole number in [least, most]; the text of `why` says what else stands there.
std::optional<std::int64_t> wholeOf(const Json& object, const char* key, std::int64_t least,
                                    std::int64_t most, std::string& why)
{
    const auto at = object.find(key);
    if (at == object.end() || at->is_null()) return std::nullopt;
    if (at->is_number_integer()) {
        const bool fits =
            !at->is_number_unsigned() || at->get<std::uint64_t>() <= static_cast<std::uint64_t>(most);
        const auto value = fits ? at->get<std::int64_t>() : 0;
        if (fits && value >= least && value <= most) return value;
    }
    why = fmt::format("quantization_config: {} is {}, a whole number from {} to {} was expected", key,
                      shownName(at->dump(-1, ' ', false, Json::error_handler_t::replace)), least, most);
    return std::nullopt;
}

void readMembers(const Json& object, QuantConfig& out)
{
    out.method = textOf(object, {"quant_method", "method"});
    out.format = textOf(object, {"checkpoint_format", "packing_format", "version", "format"});
    if (const auto bits = wholeOf(object, object.contains("w_bit") ? "w_bit" : "bits", 2, 8, out.why))
        out.bits = static_cast<int>(*bits);
    const char* group = object.contains("q_group_size") ? "q_group_size" : "group_size";
    if (const auto size = wholeOf(object, group, -1, kMostBlock, out.why)) {
        if (*size == 0)
            out.why = fmt::format("quantization_config: {} is 0", group);
        else
            out.groupSize = size;
    }
    if (const auto at = object.find("sym"); at != object.end() && at->is_boolean())
        out.symmetric = at->get<bool>();
    if (const auto at = object.find("zero_point"); at != object.end() && at->is_boolean())
        out.symmetric = !at->get<bool>();
    const auto block = object.find("weight_block_size");
    if (block == object.end() || !block->is_array()) return;
    const Json pair{{"rows", block->size() == 2 ? (*block)[0] : Json()},
                    {"columns", block->size() == 2 ? (*block)[1] : Json()}};
    const auto rows = wholeOf(pair, "rows", 1, kMostBlock, out.why),
               cols = wholeOf(pair, "columns", 1, kMostBlock, out.why);
    if (rows && cols) {
        out.blockRows = *rows;
        out.blockCols = *cols;
    }
}

} // namespace

std::string quantConfigText(const Checkpoint& checkpoint)
{
    const auto* own = checkpoint.meta("quantization_config");
    if (auto text = own != nullptr ? metaString(*own) : std::nullopt) return *text;
    if (checkpoint.configJson().find("\"quantization_config\"") == std::string::npos &&
        !checkpoint.quantizeConfigJson().empty())
        return checkpoint.quantizeConfigJson();
    return checkpoint.configJson();
}

QuantConfig readQuantConfig(const Checkpoint& checkpoint)
{
    QuantConfig out;
    const auto text = quantConfigText(checkpoint);
    if (text.empty()) return out;
    try {
        const Json root = Json::parse(text, nullptr, false);
        if (!root.is_object()) return out;
        const Json* config = &root;
        for (const char* key : {"quantization_config", "compression_config"})
            if (const auto at = root.find(key); at != root.end() && at->is_object()) {
                config = &*at;
                break;
            }
        // A config.json without the object has members of its own that happen to share names.
        if (config != &root || root.contains("quant_method") || root.contains("bits") ||
            root.contains("w_bit"))
            readMembers(*config, out);
    } catch (const std::exception& e) {
        out.why = fmt::format("quantization_config can't be read: {}", shownName(e.what()));
    }
    return out;
}

} // namespace halftone
