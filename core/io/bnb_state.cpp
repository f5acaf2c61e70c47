// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/io/bnb_state.h"

#include "core/io/stored_weight.h"
#include "core/io/text_names.h"

#include <cmath>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

namespace halftone {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t kMostBlock = std::int64_t(1) << 20;

Result<std::int64_t> blockNamed(const Json& state, const char* key)
{
    const auto at = state.find(key);
    const bool whole = at != state.end() && at->is_number_unsigned();
    const auto value = whole ? at->get<std::uint64_t>() : 0;
    if (value == 0 || value > static_cast<std::uint64_t>(kMostBlock))
        return unsupported(fmt::format("quant_state: {} is no number from 1 to {}", key, kMostBlock));
    return static_cast<std::int64_t>(value);
}

Result<BnbState> readObject(const Json& state)
{
    BnbState out;
    const auto text = [&](const char* key) {
        const auto at = state.find(key);
        return at != state.end() && at->is_string() ? at->get<std::string>() : std::string();
    };
    out.type = text("quant_type");
    if (out.type != "nf4" && out.type != "fp4")
        return unsupported(fmt::format("quant_state: the type {} is not supported", shownName(out.type)));
    out.dtype = text("dtype");
    HALFTONE_TRY(block, blockNamed(state, "blocksize"));
    out.blockSize = block;
    const auto shape = state.find("shape");
    if (shape == state.end() || !shape->is_array() || shape->empty() || shape->size() > Shape::kMaxRank)
        return unsupported("quant_state: shape is no list of numbers");
    std::vector<std::int64_t> dims;
    for (const auto& d : *shape) {
        const bool fits = d.is_number_unsigned() && d.get<std::uint64_t>() < (std::uint64_t(1) << 62);
        if (!fits) return unsupported("quant_state: shape is no list of numbers");
        dims.push_back(d.get<std::int64_t>());
    }
    const auto checked = Shape::checked(dims);
    if (!checked || checked->count() == 0) return unsupported("quant_state: shape can't be");
    out.shape = *checked;
    if (!state.contains("nested_blocksize")) return out;
    HALFTONE_TRY(nested, blockNamed(state, "nested_blocksize"));
    out.nestedBlock = nested;
    const auto offset = state.find("nested_offset");
    if (offset == state.end() || !offset->is_number() || !std::isfinite(offset->get<float>()))
        return unsupported("quant_state: nested_offset is no number");
    out.nestedOffset = offset->get<float>();
    return out;
}

} // namespace

Result<BnbState> readBnbState(std::string_view json)
{
    try {
        const Json state = Json::parse(json.begin(), json.end(), nullptr, false);
        if (!state.is_object()) return unsupported("quant_state is no JSON object");
        return readObject(state);
    } catch (const std::exception& e) {
        return unsupported(fmt::format("quant_state can't be read: {}", shownName(e.what())));
    }
}

std::string bnbStateText(const BnbState& state, std::size_t size)
{
    std::string dims;
    for (const auto d : state.shape.dims())
        dims += fmt::format("{}{}", dims.empty() ? "" : ", ", d);
    std::string text = fmt::format(R"({{"quant_type": "{}", "blocksize": {}, "dtype": "{}", "shape": [{}])",
                                   state.type, state.blockSize, state.dtype, dims);
    if (state.nestedBlock > 0)
        text += fmt::format(R"(, "nested_blocksize": {}, "nested_dtype": "float32", "nested_offset": {:.9e})",
                            state.nestedBlock, state.nestedOffset);
    text += '}';
    if (text.size() < size) text.resize(size, ' ');
    return text;
}

std::size_t bnbStateSize(const BnbState& state)
{
    BnbState longest = state;
    // The sign and the exponent make the longest number.
    longest.nestedOffset = -1.17549435e-38f;
    return bnbStateText(longest, 0).size();
}

} // namespace halftone
