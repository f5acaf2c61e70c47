// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/numeric/hd.h"
#include "core/numeric/int_grid.h"
#include "core/numeric/lookup_codes.h"
#include "core/numeric/small_float.h"

#include <cstdint>

namespace halftone {

/// What one code stands for before its scale: a whole number, a small float, or an entry of a table.
enum class Element : std::uint8_t {
    Int,  ///< symmetric, +-(2^(bits-1) - 1)
    E4M3, ///< OFP8
    E5M2, ///< OFP8
    E2M3,
    E3M2,
    E2M1,
    NF4,   ///< quantiles of a normal distribution (bitsandbytes)
    BnbFP4 ///< bitsandbytes' 4-bit float, which is not E2M1
};

HALFTONE_HD SmallFloat smallFloatOf(Element element)
{
    switch (element) {
    case Element::E4M3:
        return kE4M3;
    case Element::E5M2:
        return kE5M2;
    case Element::E2M3:
        return kE2M3;
    case Element::E3M2:
        return kE3M2;
    default:
        return kE2M1;
    }
}

HALFTONE_HD std::int32_t bitsOfElement(Element element)
{
    const SmallFloat f = smallFloatOf(element);
    return element >= Element::NF4 ? 4 : 1 + f.exponentBits + f.mantissaBits;
}

/// Value of a code: signed for Int, else the bits of the code.
HALFTONE_HD float elementValue(std::int32_t code, Element element)
{
    if (element == Element::Int) return static_cast<float>(code);
    if (element == Element::NF4) return nf4Value(code);
    if (element == Element::BnbFP4) return bnbFp4Value(code);
    return smallFloatValue(static_cast<std::uint32_t>(code), smallFloatOf(element));
}

/// Largest value of an element; `bits` counts for Int only.
HALFTONE_HD float largestOf(Element element, std::int32_t bits)
{
    if (element == Element::Int) return static_cast<float>(gridHigh(GridRule::SymRestricted, bits));
    if (element >= Element::NF4) return 1.0f;
    const SmallFloat f = smallFloatOf(element);
    return smallFloatValue(f.maxCode, f);
}

/// Code of the nearest value, ties to even (towards the smaller entry in tables), saturating. `t` is finite
/// or infinite, not NaN.
HALFTONE_HD std::int32_t elementCode(float t, Element element, std::int32_t bits)
{
    if (element == Element::Int) {
        const std::int32_t top = gridHigh(GridRule::SymRestricted, bits);
        return gridCode(t, 1.0f, 0, -top, top);
    }
    if (element == Element::NF4) return nf4Code(t);
    if (element == Element::BnbFP4) return bnbFp4Code(t);
    return static_cast<std::int32_t>(smallFloatCode(t, smallFloatOf(element)));
}

} // namespace halftone
