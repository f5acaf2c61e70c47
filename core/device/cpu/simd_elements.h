// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/device/cpu/simd_int_grid.h"
#include "core/numeric/block_format.h"

#include <cstring>

namespace halftone::cpu {

/// Small floats, table entries or whole numbers under the scales of their family (Scaled, Mx, Nv, Lookup).
struct ElementJob {
    FormatDesc::Family family = FormatDesc::Family::Mx;
    Element element = Element::E2M1;
    int bits = 4;
    ScaleType scale = ScaleType::E8M0;
    ScaleRule rule = ScaleRule::Floor;
    bool highNibbleFirst = false;
    float tensorScale = 1.0f; ///< multiplies the stored scales
    bool aroundCaches = false;
};

/// The families that an ElementJob is about.
inline bool isElements(FormatDesc::Family family)
{
    return family == FormatDesc::Family::Scaled || family == FormatDesc::Family::Mx ||
           family == FormatDesc::Family::Nv || family == FormatDesc::Family::Lookup;
}

/// `shared` may be empty while it is not yet made.
inline ElementJob elementJobOf(const FormatDesc& desc, std::span<const std::byte> shared)
{
    ElementJob job{desc.family, desc.element, desc.bits, desc.scale, desc.scaleRule, desc.highNibbleFirst};
    // Scales that are quantized in turn are seen as floats.
    if (desc.shared == FormatDesc::Shared::NestedScales) job.scale = ScaleType::F32;
    if (desc.shared == FormatDesc::Shared::TensorScale && !shared.empty())
        std::memcpy(&job.tensorScale, shared.data(), sizeof job.tensorScale);
    return job;
}

// As the functions of simd_int_grid.h, for elements; there are no zero points. Scales are F32 where the
// format quantizes them in turn.

bool quantizeGridSpan(const ElementJob& job, DType dtype, const std::byte* in, std::int64_t n,
                      std::int64_t group, GridPlanes out);
void encodeGridSpan(const ElementJob& job, DType dtype, const std::byte* in, std::int64_t n, GridPoint point,
                    std::uint8_t* codes);
void decodeGridSpan(const ElementJob& job, ConstGridPlanes in, std::int64_t n, std::int64_t group,
                    float* out);

} // namespace halftone::cpu
