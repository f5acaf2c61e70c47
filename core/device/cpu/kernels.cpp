// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/device/cpu/kernels.h"

#include "core/device/cpu/matmul.h"
#include "core/device/cpu/simd_blocks.h"

namespace halftone::cpu {

// Best first. A new kernel is declared in its own header and gets its line here.

template <> std::span<const Kernel<CopyOp>> kernelsOf<CopyOp>()
{
    static constexpr Kernel<CopyOp> kList[]{{"reference", referenceSupportsCopy, referenceCopy}};
    return kList;
}

template <> std::span<const Kernel<FillOp>> kernelsOf<FillOp>()
{
    static constexpr Kernel<FillOp> kList[]{{"reference", referenceSupportsFill, referenceFill}};
    return kList;
}

template <> std::span<const Kernel<CastOp>> kernelsOf<CastOp>()
{
    static constexpr Kernel<CastOp> kList[]{{"reference", referenceSupportsCast, referenceCast}};
    return kList;
}

template <> std::span<const Kernel<MatmulOp>> kernelsOf<MatmulOp>()
{
    static constexpr Kernel<MatmulOp> kList[]{{"onednn", onednnSupportsMatmul, onednnMatmul},
                                              {"reference", referenceSupportsMatmul, referenceMatmul}};
    return kList;
}

template <> std::span<const Kernel<QuantizeBlocksOp>> kernelsOf<QuantizeBlocksOp>()
{
    static constexpr Kernel<QuantizeBlocksOp> kList[]{
        {"simd", simdSupportsQuantizeBlocks, simdQuantizeBlocks},
        {"reference", referenceSupportsQuantizeBlocks, referenceQuantizeBlocks}};
    return kList;
}

template <> std::span<const Kernel<DequantizeBlocksOp>> kernelsOf<DequantizeBlocksOp>()
{
    static constexpr Kernel<DequantizeBlocksOp> kList[]{
        {"simd", simdSupportsDequantizeBlocks, simdDequantizeBlocks},
        {"reference", referenceSupportsDequantizeBlocks, referenceDequantizeBlocks}};
    return kList;
}

template <> std::span<const Kernel<BlockErrorsOp>> kernelsOf<BlockErrorsOp>()
{
    static constexpr Kernel<BlockErrorsOp> kList[]{
        {"simd", simdSupportsBlockErrors, simdBlockErrors},
        {"reference", referenceSupportsBlockErrors, referenceBlockErrors}};
    return kList;
}

} // namespace halftone::cpu
