// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/checked.h"
#include "core/device/cpu/parallel.h"
#include "core/io/bnb_state.h"
#include "core/io/le_bytes.h"
#include "core/io/planar_weight.h"
#include "core/io/stored_weight.h"
#include "core/io/text_names.h"
#include "core/numeric/convert.h"
#include "core/numeric/double_quant.h"
#include "core/numeric/element.h"

#include <algorithm>
#include <fmt/core.h>

// 4-bit weights of bitsandbytes. A weight X.weight becomes
//   X.weight U8 [n / 2, 1]             codes over all of the weight, the first of two in the high half
//   X.weight.absmax                    F32, one a block; U8 when they are quantized again:
//   X.weight.nested_absmax F32, X.weight.nested_quant_map F32 [256]
//   X.weight.quant_map F32 [16]
//   X.weight.quant_state.bitsandbytes__nf4   U8, JSON: type, block, shape

namespace halftone {

namespace {

struct BnbParts {
    const TensorInfo* codes = nullptr;
    const TensorInfo* absmax = nullptr;
    const TensorInfo* map = nullptr;
    const TensorInfo* nestedAbsmax = nullptr;
    const TensorInfo* nestedMap = nullptr;
    const TensorInfo* state = nullptr;
};

Result<std::vector<float>> floatsOf(const Checkpoint& checkpoint, const TensorInfo* t, const char* what,
                                    std::int64_t count)
{
    if (t == nullptr) return unsupported(fmt::format("{} is missing", what));
    if (t->stored.plain != DType::F32 || t->shape.count() != count)
        return unsupported(fmt::format("{} is {}, {} F32 were expected", what, shownType(*t), count));
    HALFTONE_TRY(bytes, checkpoint.raw(*t));
    std::vector<float> out(static_cast<std::size_t>(count));
    toFloats(DType::F32, bytes, 0, out);
    HALFTONE_CHECK(checkpoint.intact(*t));
    return out;
}

/// Any table, any block: where a block runs over the end of a row, no format of ours holds it.
class TableWeight final : public StoredWeight {
public:
    TableWeight(std::shared_ptr<const Checkpoint> checkpoint, const BnbParts& parts, const BnbState& state,
                std::vector<float> map, std::vector<float> nestedMap, std::vector<float> nestedAbsmax)
        : m_checkpoint(std::move(checkpoint)), m_parts(parts), m_state(state), m_map(std::move(map)),
          m_nestedMap(std::move(nestedMap)), m_nestedAbsmax(std::move(nestedAbsmax))
    {
    }

    Status decode(std::int64_t begin, std::int64_t end, std::span<float> out) const override
    {
        HALFTONE_TRY(codes, m_checkpoint->raw(*m_parts.codes));
        HALFTONE_TRY(absmax, m_checkpoint->raw(*m_parts.absmax));
        const std::int64_t cols = m_state.shape.cols();
        return cpu::forRows(end - begin, cols, 0, [&](std::int64_t row, float*) {
            const std::int64_t first = (begin + row) * cols;
            std::int64_t block = -1;
            float scale = 0;
            for (std::int64_t i = first; i < first + cols; ++i) {
                if (i / m_state.blockSize != block) {
                    block = i / m_state.blockSize;
                    scale = scaleOf(absmax, block);
                }
                const auto byte = std::to_integer<std::uint32_t>(codes[static_cast<std::size_t>(i / 2)]);
                const auto code = i % 2 == 0 ? byte >> 4 : byte & 15u;
                out[static_cast<std::size_t>(row * cols + i - first)] = m_map[code] * scale;
            }
        });
    }

private:
    float scaleOf(std::span<const std::byte> absmax, std::int64_t block) const
    {
        const auto i = static_cast<std::size_t>(block);
        if (m_state.nestedBlock == 0) return readLe<float>(absmax.subspan(4 * i));
        return m_nestedMap[std::to_integer<std::size_t>(absmax[i])] *
                   m_nestedAbsmax[static_cast<std::size_t>(block / m_state.nestedBlock)] +
               m_state.nestedOffset;
    }

    std::shared_ptr<const Checkpoint> m_checkpoint;
    BnbParts m_parts;
    BnbState m_state;
    std::vector<float> m_map, m_nestedMap, m_nestedAbsmax;
};

// The format whose planes these are, or null: its tables, and rows of whole blocks.
const BlockFormat* formatOf(const BnbState& state, std::span<const float> map,
                            std::span<const float> nestedMap)
{
    const auto element = state.type == "nf4" ? Element::NF4 : Element::BnbFP4;
    for (std::int32_t code = 0; code < 16; ++code)
        if (map[static_cast<std::size_t>(code)] != elementValue(code, element)) return nullptr;
    if (state.shape.rank() != 2 || state.shape[1] % state.blockSize != 0 || state.shape[1] % 2 != 0)
        return nullptr;
    const bool nested = state.nestedBlock > 0;
    if (nested && (state.nestedBlock != kNestedBlock || !std::ranges::equal(nestedMap, dynamicMap())))
        return nullptr;
    const auto name = fmt::format("{}.g{}.{}", state.type == "nf4" ? "nf4" : "bnbfp4", state.blockSize,
                                  nested ? "dq" : "f32");
    const auto format = formatNamed(name);
    return format ? *format : nullptr;
}

Result<ReadableWeight> readable(const StoredGroups& groups, const BnbParts& parts)
{
    const auto& checkpoint = *groups.checkpoint();
    HALFTONE_TRY(text, checkpoint.raw(*parts.state));
    if (parts.state->stored.plain != DType::U8 || text.size() > 65536)
        return unsupported("quant_state is no text of U8");
    HALFTONE_TRY(state, readBnbState(asText(text)));
    const std::int64_t count = state.shape.count(), blocks = ceilDiv(count, state.blockSize);
    if (parts.codes->stored.plain != DType::U8 ||
        parts.codes->bytes != static_cast<std::uint64_t>(ceilDiv(count, std::int64_t{2})))
        return unsupported(fmt::format("the codes are {}, {} weights need {} U8", shownType(*parts.codes),
                                       state.shape.text(), ceilDiv(count, std::int64_t{2})));
    const auto absmaxType = state.nestedBlock > 0 ? DType::U8 : DType::F32;
    if (parts.absmax == nullptr || parts.absmax->stored.plain != absmaxType ||
        parts.absmax->shape.count() != blocks)
        return unsupported(fmt::format("absmax is {}, {} {} were expected",
                                       parts.absmax == nullptr ? "missing" : shownType(*parts.absmax), blocks,
                                       nameOf(absmaxType)));
    HALFTONE_TRY(map, floatsOf(checkpoint, parts.map, "quant_map", 16));
    std::vector<float> nestedMap, nestedAbsmax;
    if (state.nestedBlock > 0) {
        HALFTONE_TRY(table, floatsOf(checkpoint, parts.nestedMap, "nested_quant_map", 256));
        HALFTONE_TRY(peaks, floatsOf(checkpoint, parts.nestedAbsmax, "nested_absmax",
                                     ceilDiv(blocks, state.nestedBlock)));
        nestedMap = std::move(table);
        nestedAbsmax = std::move(peaks);
    }
    ReadableWeight out;
    out.shape = state.shape;
    out.format = formatOf(state, map, nestedMap);
    out.type = out.format != nullptr
                   ? out.format->name()
                   : fmt::format("{} of bitsandbytes, {} a block", state.type, state.blockSize);
    if (out.format != nullptr) {
        PlanarParts planes{parts.codes, parts.absmax, out.format, state.shape[0], state.shape[1], {}};
        if (state.nestedBlock > 0) {
            appendLe(planes.shared, state.nestedOffset);
            for (const float peak : nestedAbsmax)
                appendLe(planes.shared, peak);
        }
        HALFTONE_TRY(weight, planarWeight(groups.checkpoint(), std::move(planes)));
        out.weight = std::move(weight);
    } else {
        out.weight = std::make_shared<TableWeight>(groups.checkpoint(), parts, state, std::move(map),
                                                   std::move(nestedMap), std::move(nestedAbsmax));
    }
    return out;
}

} // namespace

void findBitsAndBytes(StoredGroups& groups)
{
    const auto tensors = groups.checkpoint()->tensors();
    for (std::uint32_t i = 0; i < tensors.size(); ++i) {
        std::string base(stemOf(tensors[i].name, ".quant_state.bitsandbytes__nf4"));
        if (base.empty()) base = stemOf(tensors[i].name, ".quant_state.bitsandbytes__fp4");
        if (base.empty() || !groups.isFree(i)) continue;
        const auto part = [&](const char* suffix) { return groups.free(base + suffix); };
        const BnbParts parts{part(""),
                             part(".absmax"),
                             part(".quant_map"),
                             part(".nested_absmax"),
                             part(".nested_quant_map"),
                             &tensors[i]};
        if (parts.codes == nullptr) continue;
        groups.add(base, "bitsandbytes",
                   {parts.codes, parts.absmax, parts.map, parts.nestedAbsmax, parts.nestedMap, parts.state},
                   readable(groups, parts));
    }
}

} // namespace halftone
