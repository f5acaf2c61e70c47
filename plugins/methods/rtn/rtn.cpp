// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/methods/rtn/rtn.h"

#include "core/method/weight_errors.h"
#include "core/param/table.h"

#include <string>
#include <vector>

namespace halftone {

namespace {

struct RtnParams {
    std::string format = "int";
    int bits = 4;
    std::string symmetry = "restricted";
    std::string granularity = "group";
    int groupSize = 32;
    std::string scaleType = "f16";
};

const ParamTable<RtnParams>& table()
{
    static const ParamTable<RtnParams> t = [] {
        std::vector<std::string> formats{"int"};
        for (const auto* format : listedFormats())
            if (format->ggufType()) formats.push_back(format->name());
        ParamTable<RtnParams> made;
        made.field(&RtnParams::format,
                   {.key = "format",
                    .label = "Format",
                    .help = "An integer grid with free bits and groups, or a GGUF block type as ggml's "
                            "reference quantizers write it, without an importance matrix.",
                    .choices = std::move(formats)});
        made.field(&RtnParams::bits, {.key = "bits",
                                      .label = "Bits",
                                      .help = "Bits of one code.",
                                      .unit = "bit",
                                      .min = 2,
                                      .max = 8,
                                      .enabledBy = "format=int"});
        made.field(&RtnParams::symmetry,
                   {.key = "symmetry",
                    .label = "Symmetry",
                    .help =
                        "Equally many codes on both sides of 0 (restricted), one more below 0 (full), or a "
                        "zero point a group (asymmetric).",
                    .choices = {"restricted", "full", "asymmetric"},
                    .enabledBy = "format=int"});
        made.field(&RtnParams::granularity,
                   {.key = "granularity",
                    .label = "One scale for each",
                    .help = "What shares a scale: the tensor, an output channel (row), or "
                            "a group of columns of one row.",
                    .choices = {"tensor", "channel", "group"},
                    .enabledBy = "format=int"});
        made.field(&RtnParams::groupSize,
                   {.key = "group-size",
                    .label = "Group size",
                    .help = "Columns under one scale; the last group of a row may be short.",
                    .unit = "columns",
                    .min = 1,
                    .max = 65536,
                    .logScale = true,
                    .enabledBy = "granularity=group"});
        made.field(&RtnParams::scaleType, {.key = "scale-type",
                                           .label = "Scale type",
                                           .help = "Number type of a stored scale.",
                                           .level = ParamSpec::Level::Advanced,
                                           .choices = {"f32", "f16", "bf16"},
                                           .enabledBy = "format=int"});
        return made;
    }();
    return t;
}

GridRule ruleOf(const std::string& symmetry)
{
    return symmetry == "asymmetric" ? GridRule::Asym
           : symmetry == "full"     ? GridRule::SymFull
                                    : GridRule::SymRestricted;
}

ScaleType scaleOf(const std::string& type)
{
    return type == "f32" ? ScaleType::F32 : type == "bf16" ? ScaleType::BF16 : ScaleType::F16;
}

} // namespace

RtnMethod::RtnMethod()
{
    m_info.id = "rtn";
    m_info.title = "Round to nearest";
    m_info.summary =
        "Rounds every weight to the nearest code of a grid whose scale follows from the range of "
        "its group, or is searched (K types of GGUF).";
    m_info.reference = "Jacob et al., Quantization and Training of Neural Networks for Efficient "
                       "Integer-Arithmetic-Only Inference, CVPR 2018; ggml block types";
    m_info.family = MethodFamily::Quantize;
    m_info.ops = {OpId::QuantizeBlocks};
}

const ParamSchema& RtnMethod::schema() const { return table().schema(); }

Result<const BlockFormat*> RtnMethod::target(const WeightInfo&, const ParamList& params) const
{
    const RtnParams p = table().bind(params);
    if (p.format != "int") return formatNamed(p.format);
    const std::int64_t block = p.granularity == "tensor"    ? FormatDesc::kWholeTensor
                               : p.granularity == "channel" ? FormatDesc::kWholeRow
                                                            : std::int64_t{p.groupSize};
    return intGridFormat(p.bits, ruleOf(p.symmetry), block, scaleOf(p.scaleType));
}

Status RtnMethod::quantize(const Tensor& weight, PackedTensor& packed, const ParamList&,
                           JobContext& ctx) const
{
    return quantizeBlocks(weight, packed, ctx);
}

double RtnMethod::flopsPerWeight(const ParamList& params) const
{
    const auto format = target({}, params);
    return format ? (*format)->encodeFlops() : 0;
}

} // namespace halftone
