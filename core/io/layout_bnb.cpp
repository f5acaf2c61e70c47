// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/checked.h"
#include "core/io/bnb_state.h"
#include "core/io/layout_list.h"
#include "core/io/le_bytes.h"
#include "core/numeric/double_quant.h"
#include "core/numeric/element.h"

#include <fmt/core.h>

namespace halftone {

namespace {

BnbState stateOf(const BlockFormat& format, const Shape& shape)
{
    const auto& d = format.desc();
    BnbState state;
    state.type = d.element == Element::NF4 ? "nf4" : "fp4";
    state.blockSize = d.blockSize;
    state.shape = shape;
    state.nestedBlock = d.shared == FormatDesc::Shared::NestedScales ? kNestedBlock : 0;
    return state;
}

/// 4-bit weights of bitsandbytes: codes and absmax are our planes, the table and a JSON text go along.
class BitsAndBytes final : public WeightLayout {
public:
    std::string_view name() const override { return "bitsandbytes"; }
    std::string whyNot(const BlockFormat& format, const Shape& shape) const override
    {
        const auto& d = format.desc();
        if (d.family != FormatDesc::Family::Lookup || d.blockSize <= 0)
            return fmt::format("bitsandbytes holds NF4 and its own FP4, not {}", format.name());
        // Blocks run over all of the weight there: only whole ones in a row mean the same.
        if (shape.rank() == 2 && shape[1] % d.blockSize != 0)
            return fmt::format("blocks of {} don't divide {} columns", d.blockSize, shape[1]);
        return {};
    }
    Result<std::vector<OutputTensor>> tensors(const std::string& name, const BlockFormat& format,
                                              const Shape& shape) const override
    {
        HALFTONE_TRY(layout, format.layout(shape.rows(), shape.cols()));
        const bool nested = format.desc().shared == FormatDesc::Shared::NestedScales;
        const std::int64_t groups = layout.rows * layout.groupsPerRow;
        const auto state = stateOf(format, shape);
        std::vector<OutputTensor> list{
            outputTensor(name, {shape.count() / 2, 1}, DType::U8),
            outputTensor(name + ".absmax", {groups}, nested ? DType::U8 : DType::F32),
            outputTensor(name + ".quant_map", {16}, DType::F32),
            outputTensor(name + ".quant_state.bitsandbytes__" + state.type,
                         {static_cast<std::int64_t>(bnbStateSize(state))}, DType::U8)};
        if (nested) {
            list.push_back(outputTensor(name + ".nested_absmax", {nestedCount(groups) - 1}, DType::F32));
            list.push_back(outputTensor(name + ".nested_quant_map", {256}, DType::F32));
        }
        return list;
    }
    Status write(const PackedTensor& planes, const Sink& sink) const override
    {
        const auto& format = *planes.format;
        std::vector<std::byte> buffer;
        HALFTONE_CHECK(sink(0, bareCodes(planes, buffer)));
        HALFTONE_CHECK(sink(1, planeBytes(planes.scales)));
        std::vector<float> map;
        for (std::int32_t code = 0; code < 16; ++code)
            map.push_back(elementValue(code, format.desc().element));
        HALFTONE_CHECK(sink(2, std::as_bytes(std::span(map))));
        auto state = stateOf(format, planes.logical);
        const auto shared = planeBytes(planes.shared);
        if (state.nestedBlock > 0) state.nestedOffset = readLe<float>(shared);
        const auto text = bnbStateText(state, bnbStateSize(state));
        HALFTONE_CHECK(sink(3, std::as_bytes(std::span(text))));
        if (state.nestedBlock == 0) return Ok{};
        HALFTONE_CHECK(sink(4, shared.subspan(sizeof(float))));
        return sink(5, std::as_bytes(std::span(dynamicMap())));
    }
};

} // namespace

const WeightLayout& bitsAndBytesLayout()
{
    static const BitsAndBytes layout;
    return layout;
}

} // namespace halftone
