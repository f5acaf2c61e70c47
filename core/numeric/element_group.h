// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/numeric/block_format.h"
#include "core/numeric/element.h"
#include "core/numeric/group_scale.h"
#include "core/numeric/hd.h"

#include <cstdint>

namespace halftone {

// One group of a planar format of the families from Scaled on, but for scales that are nested (Dynamic8).
// `tensorScale` is that of the whole tensor where the format has one, else unused.

/// Bits of the scale of a group with this largest (or mean) magnitude.
HALFTONE_HD std::uint32_t groupScaleBits(const FormatDesc& desc, float measure, float tensorScale)
{
    const float largest = largestOf(desc.element, desc.bits);
    switch (desc.family) {
    case FormatDesc::Family::Mx:
        return mxScaleCode(measure, desc.scaleRule, largest);
    case FormatDesc::Family::Nv:
        return nvScaleCode(measure, desc.scaleRule, largest, tensorScale);
    case FormatDesc::Family::Lookup:
        return scaleBits(measure, desc.scale);
    default:
        if (measure == 0.0f) return scaleBits(1.0f, desc.scale);
        return scaleBits(desc.family == FormatDesc::Family::Ternary ? measure : measure / largest,
                         desc.scale);
    }
}

/// What values are divided by, and multiplied with where that is what the family does.
struct GroupScale {
    float scale = 1.0f, inverse = 1.0f;
};

HALFTONE_HD GroupScale groupScaleOf(const FormatDesc& desc, std::uint32_t bits, float tensorScale)
{
    const float scale = scaleOfBits(bits, desc.scale);
    switch (desc.family) {
    case FormatDesc::Family::Mx:
        return {scale, mxInverse(static_cast<std::uint8_t>(bits))};
    case FormatDesc::Family::Nv:
        return {scale * tensorScale, 0.0f};
    case FormatDesc::Family::Lookup:
        return {scale, inverseOf(scale)};
    default:
        return {scale, 0.0f};
    }
}

/// Code of a value of the group.
HALFTONE_HD std::int32_t codeInGroup(const FormatDesc& desc, float x, const GroupScale& g)
{
    const bool multiplies =
        desc.family == FormatDesc::Family::Mx || desc.family == FormatDesc::Family::Lookup;
    return elementCode(multiplies ? x * g.inverse : overScale(x, g.scale), desc.element, desc.bits);
}

/// What is added to a code where it is stored.
HALFTONE_HD std::int32_t elementBias(const FormatDesc& desc)
{
    return desc.element == Element::Int ? 1 << (desc.bits - 1) : 0;
}

} // namespace halftone
