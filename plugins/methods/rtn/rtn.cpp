// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/methods/rtn/rtn.h"

#include "core/method/weight_errors.h"
#include "core/param/table.h"

#include <algorithm>
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
    int blockSize = 0;
    std::string powerRule = "floor";
    std::string scaleRounding = "nearest";
    bool doubleQuant = false;
    std::string encoder = "best";
    std::string imatrix;
};

// The heads whose scales are a power of two, and so on, told apart by the tails that they take.
std::vector<std::string> headsWith(std::string_view tail)
{
    std::vector<std::string> names;
    for (const FormatHead& head : formatHeads())
        if (std::ranges::find(head.tails, tail) != head.tails.end()) names.push_back(head.name);
    return names;
}

std::string anyOf(const std::vector<std::string>& names)
{
    std::string rule = "format=";
    for (const std::string& name : names)
        rule += (&name == &names.front() ? "" : "|") + name;
    return rule;
}

// Heads that a granularity and a scale type describe, as they do integer grids.
std::vector<std::string> likeGrids()
{
    std::vector<std::string> names{"int"};
    for (const FormatHead& head : formatHeads())
        if (head.wholeRows) names.push_back(head.name);
    return names;
}

std::vector<std::string> withBlocks()
{
    std::vector<std::string> names;
    for (const FormatHead& head : formatHeads())
        if (!head.wholeRows) names.push_back(head.name);
    return names;
}

const ParamTable<RtnParams>& table()
{
    static const ParamTable<RtnParams> t = [] {
        std::vector<std::string> formats{"int"};
        for (const FormatHead& head : formatHeads())
            formats.push_back(head.name);
        const std::string grids = anyOf(likeGrids());
        for (const auto* format : listedFormats())
            if (format->ggufType()) formats.push_back(format->name());
        ParamTable<RtnParams> made;
        made.field(&RtnParams::format,
                   {.key = "format",
                    .label = "Format",
                    .help = "An integer grid with free bits and groups, small floats or table entries under "
                            "scales of a standard (MX, NVFP4, NF4) or free ones, or a GGUF block type.",
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
                    .enabledBy = grids});
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
                                           .enabledBy = grids});
        made.field(
            &RtnParams::blockSize,
            {.key = "block-size",
             .label = "Block size",
             .help = "Columns under one scale; 0 takes the standard's: 32 for MX, 16 for NVFP4, 64 for NF4.",
             .unit = "columns",
             .min = 0,
             .max = 65536,
             .level = ParamSpec::Level::Advanced,
             .enabledBy = anyOf(withBlocks())});
        made.field(&RtnParams::powerRule,
                   {.key = "scale-rule",
                    .label = "Scale rule",
                    .help =
                        "Power of two for a block: the standard's, which may clip its largest value (floor), "
                        "one that never clips (ceil), or as compressed-tensors (ct) or ggml round it.",
                    .choices = {"floor", "ceil", "ct", "ggml"},
                    .enabledBy = anyOf(headsWith("floor"))});
        made.field(&RtnParams::scaleRounding,
                   {.key = "scale-rounding",
                    .label = "Scale rounding",
                    .help =
                        "Rounding of a block's E4M3 scale: to the nearest, which clips half of the blocks a "
                        "little, or up.",
                    .choices = {"nearest", "up"},
                    .enabledBy = anyOf(headsWith("nearest"))});
        made.field(
            &RtnParams::doubleQuant,
            {.key = "double-quant",
             .label = "Double quantization",
             .help = "Scales in 8 bits, under an F32 scale for each 256 of them and their common mean.",
             .enabledBy = anyOf(headsWith("dq"))});
        made.field(&RtnParams::encoder,
                   {.key = "encoder",
                    .label = "Encoder",
                    .help =
                        "For block types: a wide search for scales of the least squared error (best), or the "
                        "bytes of ggml's reference quantizers without an importance matrix (reference).",
                    .level = ParamSpec::Level::Advanced,
                    .choices = {"best", "reference"}});
        made.field(
            &RtnParams::imatrix,
            {.key = "imatrix",
             .label = "Importance matrix",
             .help = "A file of llama.cpp's imatrix tool (GGUF or the older form): how much errors in each "
                     "column count.",
             .kind = ParamSpec::Kind::File,
             .level = ParamSpec::Level::Advanced,
             .enabledBy = "encoder=best"});
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

Encoder encoderOf(const RtnParams& params)
{
    return params.encoder == "best" ? Encoder::Best : Encoder::Reference;
}

} // namespace

RtnMethod::RtnMethod()
{
    m_info.id = "rtn";
    m_info.version = 2;
    m_info.title = "Round to nearest";
    m_info.summary =
        "Rounds every weight to the nearest code of a grid whose scale follows from the range of "
        "its group, or is searched (K types of GGUF), or of a small float.";
    m_info.reference = "Jacob et al., Quantization and Training of Neural Networks for Efficient "
                       "Integer-Arithmetic-Only Inference, CVPR 2018; ggml block types";
    m_info.family = MethodFamily::Quantize;
    m_info.ops = {OpId::QuantizeBlocks};
}

const ParamSchema& RtnMethod::schema() const { return table().schema(); }

Result<const BlockFormat*> RtnMethod::target(const WeightInfo&, const ParamList& params) const
{
    const RtnParams p = table().bind(params);
    const auto& heads = formatHeads();
    const auto head = std::ranges::find(heads, p.format, &FormatHead::name);
    if (p.format != "int" && head == heads.end()) return formatNamed(p.format);
    if (head != heads.end() && !head->wholeRows) {
        const std::int64_t size = p.blockSize > 0 ? p.blockSize : head->usualBlock;
        const auto takes = [&](std::string_view tail) {
            return std::ranges::find(head->tails, tail) != head->tails.end();
        };
        const std::string tail = takes(p.powerRule)             ? p.powerRule
                                 : takes(p.scaleRounding)       ? p.scaleRounding
                                 : p.doubleQuant && takes("dq") ? "dq"
                                                                : head->tails.front();
        return formatNamed(p.format + "." + groupName(size) + "." + tail);
    }
    const std::int64_t block = p.granularity == "tensor"    ? FormatDesc::kWholeTensor
                               : p.granularity == "channel" ? FormatDesc::kWholeRow
                                                            : std::int64_t{p.groupSize};
    if (head != heads.end()) return formatNamed(p.format + "." + groupName(block) + "." + p.scaleType);
    return intGridFormat(p.bits, ruleOf(p.symmetry), block, scaleOf(p.scaleType));
}

Status RtnMethod::quantize(const Tensor& weight, PackedTensor& packed, const ParamList& params,
                           std::span<const float> importance, JobContext& ctx) const
{
    return quantizeBlocks(weight, packed, ctx, {encoderOf(table().bind(params)), importance});
}

std::string RtnMethod::importanceFile(const ParamList& params) const
{
    // Nothing but the better encoder of a block type heeds it.
    const RtnParams p = table().bind(params);
    const auto format = target({}, params);
    const bool heeded = encoderOf(p) == Encoder::Best && format && (*format)->desc().best;
    return heeded ? p.imatrix : std::string();
}

double RtnMethod::flopsPerWeight(const ParamList& params) const
{
    const auto format = target({}, params);
    return format ? (*format)->encodeFlops(encoderOf(table().bind(params))) : 0;
}

} // namespace halftone
