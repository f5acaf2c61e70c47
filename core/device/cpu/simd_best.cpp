// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/device/cpu/best_blocks.h"

// The fallback target is then vectors of one lane: plain arithmetic, which all widths are compared with.
#define HWY_BROKEN_EMU128 1
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/device/cpu/simd_best.cpp"
#include "hwy/foreach_target.h" // IWYU pragma: keep

#include "core/device/cpu/best_stream-inl.h"

#if HWY_ONCE
namespace halftone::cpu {

HWY_EXPORT(encodeBestRows);

bool encodeBestSimd(FormatDesc::Family family, const BestRows& rows, std::uint8_t* out)
{
    return HWY_DYNAMIC_DISPATCH(encodeBestRows)(family, rows, out);
}

bool encodeBestOneLane(FormatDesc::Family family, const BestRows& rows, std::uint8_t* out)
{
    return N_SCALAR::encodeBestRows(family, rows, out);
}

} // namespace halftone::cpu
#endif
