// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/numeric/element_format.h"
#include "core/numeric/planar_rows.h"

#include <fmt/core.h>

namespace halftone {

namespace {

using Shared = FormatDesc::Shared;

// The last part of a name: the type or rule of the scales.
struct Tail {
    const char* text;
    ScaleType scale;
    ScaleRule rule;
    Shared shared;
    const char* title;
};

constexpr Tail kFloatTails[]{
    {"f32", ScaleType::F32, ScaleRule::AbsMax, Shared::None, "F32 scales"},
    {"f16", ScaleType::F16, ScaleRule::AbsMax, Shared::None, "F16 scales"},
    {"bf16", ScaleType::BF16, ScaleRule::AbsMax, Shared::None, "BF16 scales"},
};
constexpr Tail kMeanTails[]{
    {"f32", ScaleType::F32, ScaleRule::AbsMean, Shared::None, "F32 mean magnitudes"},
    {"f16", ScaleType::F16, ScaleRule::AbsMean, Shared::None, "F16 mean magnitudes"},
    {"bf16", ScaleType::BF16, ScaleRule::AbsMean, Shared::None, "BF16 mean magnitudes"},
};
constexpr Tail kMxTails[]{
    {"floor", ScaleType::E8M0, ScaleRule::Floor, Shared::None, "E8M0 scales rounded down (OCP MX)"},
    {"ceil", ScaleType::E8M0, ScaleRule::Ceil, Shared::None, "E8M0 scales rounded up"},
    {"ct", ScaleType::E8M0, ScaleRule::RoundedUp, Shared::None,
     "E8M0 scales as compressed-tensors rounds them"},
    {"ggml", ScaleType::E8M0, ScaleRule::Ggml, Shared::None, "E8M0 scales as ggml rounds them"},
};
constexpr Tail kNvTails[]{
    {"nearest", ScaleType::E4M3, ScaleRule::Nearest, Shared::TensorScale,
     "nearest E4M3 scales and a tensor scale"},
    {"up", ScaleType::E4M3, ScaleRule::Up, Shared::TensorScale, "E4M3 scales rounded up and a tensor scale"},
};
constexpr Tail kLookupTails[]{
    {"f32", ScaleType::F32, ScaleRule::AbsMax, Shared::None, "F32 scales"},
    {"dq", ScaleType::Dynamic8, ScaleRule::AbsMax, Shared::NestedScales,
     "8-bit scales (double quantization)"},
};

struct Head {
    const char* text;
    const char* title;
    FormatDesc::Family family;
    Element element;
    std::uint8_t bits;
    std::int64_t usualBlock;
};

constexpr std::int64_t kRow = FormatDesc::kWholeRow, kTensor = FormatDesc::kWholeTensor;

constexpr Head kHeads[]{
    {"e4m3", "FP8 E4M3", FormatDesc::Family::Scaled, Element::E4M3, 8, kRow},
    {"e5m2", "FP8 E5M2", FormatDesc::Family::Scaled, Element::E5M2, 8, kRow},
    {"e2m3", "FP6 E2M3", FormatDesc::Family::Scaled, Element::E2M3, 6, 32},
    {"e3m2", "FP6 E3M2", FormatDesc::Family::Scaled, Element::E3M2, 6, 32},
    {"e2m1", "FP4 E2M1", FormatDesc::Family::Scaled, Element::E2M1, 4, 32},
    {"mxfp8_e4m3", "MXFP8 E4M3", FormatDesc::Family::Mx, Element::E4M3, 8, 32},
    {"mxfp8_e5m2", "MXFP8 E5M2", FormatDesc::Family::Mx, Element::E5M2, 8, 32},
    {"mxfp6_e2m3", "MXFP6 E2M3", FormatDesc::Family::Mx, Element::E2M3, 6, 32},
    {"mxfp6_e3m2", "MXFP6 E3M2", FormatDesc::Family::Mx, Element::E3M2, 6, 32},
    {"mxfp4_e2m1", "MXFP4 E2M1", FormatDesc::Family::Mx, Element::E2M1, 4, 32},
    {"mxint8", "MXINT8", FormatDesc::Family::Mx, Element::Int, 8, 32},
    {"mxint6", "MXINT6", FormatDesc::Family::Mx, Element::Int, 6, 32},
    {"mxint4", "MXINT4", FormatDesc::Family::Mx, Element::Int, 4, 32},
    {"nvfp4_e2m1", "NVFP4 E2M1", FormatDesc::Family::Nv, Element::E2M1, 4, 16},
    {"nvint4", "NVINT4", FormatDesc::Family::Nv, Element::Int, 4, 16},
    {"nf4", "NF4 (bitsandbytes)", FormatDesc::Family::Lookup, Element::NF4, 4, 64},
    {"bnbfp4", "FP4 of bitsandbytes", FormatDesc::Family::Lookup, Element::BnbFP4, 4, 64},
    {"ternary", "Ternary (BitNet b1.58)", FormatDesc::Family::Ternary, Element::Int, 2, kTensor},
};

std::span<const Tail> tailsOf(const Head& head)
{
    switch (head.family) {
    case FormatDesc::Family::Mx:
        return kMxTails;
    case FormatDesc::Family::Nv:
        return kNvTails;
    case FormatDesc::Family::Lookup:
        return kLookupTails;
    case FormatDesc::Family::Ternary:
        return kMeanTails;
    default:
        return kFloatTails;
    }
}

bool takesRows(const Head& head)
{
    return head.family == FormatDesc::Family::Scaled || head.family == FormatDesc::Family::Ternary;
}

FormatDesc descOf(const Head& head, const Tail& tail, std::int64_t blockSize)
{
    FormatDesc d;
    d.layout = FormatDesc::Layout::Planar;
    d.family = head.family;
    d.bits = head.bits;
    d.blockSize = blockSize;
    d.scale = tail.scale;
    d.element = head.element;
    d.scaleRule = tail.rule;
    d.shared = tail.shared;
    d.highNibbleFirst = head.family == FormatDesc::Family::Lookup;
    d.uniform = head.element == Element::Int;
    const std::int32_t top = gridHigh(GridRule::SymRestricted, head.bits);
    d.lowest = static_cast<std::int16_t>(d.uniform ? -top : 0);
    d.highest = static_cast<std::int16_t>(d.uniform ? top : (1 << head.bits) - 1);
    return d;
}

} // namespace

std::string groupName(std::int64_t blockSize)
{
    return blockSize == kTensor ? "t" : blockSize == kRow ? "c" : fmt::format("g{}", blockSize);
}

std::string groupTitle(std::int64_t blockSize)
{
    return blockSize == kTensor ? "one scale a tensor"
           : blockSize == kRow  ? "one scale a row"
                                : fmt::format("groups of {}", blockSize);
}

const std::vector<FormatHead>& formatHeads()
{
    static const std::vector<FormatHead> all = [] {
        std::vector<FormatHead> made;
        for (const Head& head : kHeads) {
            std::vector<std::string> tails;
            for (const Tail& tail : tailsOf(head))
                tails.emplace_back(tail.text);
            made.push_back({head.text, head.title, std::move(tails), head.usualBlock, takesRows(head)});
        }
        return made;
    }();
    return all;
}

Result<std::unique_ptr<const BlockFormat>> elementFormatNamed(std::string_view name, std::int64_t blockSize,
                                                              std::string_view tailName)
{
    for (const Head& head : kHeads) {
        if (head.text != name) continue;
        if (blockSize <= 0 && !takesRows(head))
            return Error(Errc::InvalidArgument,
                         fmt::format("{} takes groups: g{} is usual", name, head.usualBlock));
        std::string known;
        for (const Tail& tail : tailsOf(head)) {
            known += known.empty() ? tail.text : fmt::format(", {}", tail.text);
            if (tail.text != tailName) continue;
            return std::unique_ptr<const BlockFormat>(std::make_unique<ElementFormat>(
                descOf(head, tail, blockSize), fmt::format("{}.{}.{}", name, groupName(blockSize), tailName),
                fmt::format("{}, {}, {}", head.title, groupTitle(blockSize), tail.title)));
        }
        return Error(Errc::InvalidArgument, fmt::format("scales '{}' must be one of {}", tailName, known));
    }
    return Error(Errc::InvalidArgument, "no such format");
}

std::vector<std::string> usualElementFormats()
{
    std::vector<std::string> names{"e4m3.t.f32", "e4m3.c.f32",   "e4m3.g128.f32", "e5m2.t.f32",
                                   "e5m2.c.f32", "e2m1.g32.f16", "ternary.t.f32", "ternary.g128.f16"};
    for (const Head& head : kHeads) {
        if (takesRows(head)) continue;
        // Two rules of MX are for files of others.
        const auto tails = tailsOf(head).first(2);
        for (const Tail& tail : tails)
            names.push_back(fmt::format("{}.{}.{}", head.text, groupName(head.usualBlock), tail.text));
    }
    return names;
}

} // namespace halftone
