// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/numeric/block_format.h"
#include "core/numeric/fp4_blocks.h"
#include "core/numeric/gguf_blocks.h"
#include "core/numeric/iq4_blocks.h"
#include "core/numeric/k_blocks.h"
#include "core/numeric/ternary_blocks.h"

namespace halftone {

/// Carries a block type to a generic function.
template <class Block> struct BlockType {
    using Type = Block;
};

/// Types that can be written.
template <class Block>
concept Encodes = requires(const float* x, std::uint8_t* block)
{
    Block::encode(x, block);
};

/// f(BlockType<Block>()) with the block type of an interleaved family; false for the planar ones.
template <class F> bool withBlockType(FormatDesc::Family family, F f)
{
    using Family = FormatDesc::Family;
    switch (family) {
    case Family::Q4_0:
        return f(BlockType<Q4_0Block>()), true;
    case Family::Q4_1:
        return f(BlockType<Q4_1Block>()), true;
    case Family::Q5_0:
        return f(BlockType<Q5_0Block>()), true;
    case Family::Q5_1:
        return f(BlockType<Q5_1Block>()), true;
    case Family::Q8_0:
        return f(BlockType<Q8_0Block>()), true;
    case Family::Q2_K:
        return f(BlockType<Q2_KBlock>()), true;
    case Family::Q3_K:
        return f(BlockType<Q3_KBlock>()), true;
    case Family::Q4_K:
        return f(BlockType<Q4_KBlock>()), true;
    case Family::Q5_K:
        return f(BlockType<Q5_KBlock>()), true;
    case Family::Q6_K:
        return f(BlockType<Q6_KBlock>()), true;
    case Family::IQ4_NL:
        return f(BlockType<Iq4NlBlock>()), true;
    case Family::IQ4_XS:
        return f(BlockType<Iq4XsBlock>()), true;
    case Family::TQ1_0:
        return f(BlockType<Tq1_0Block>()), true;
    case Family::TQ2_0:
        return f(BlockType<Tq2_0Block>()), true;
    case Family::MXFP4:
        return f(BlockType<MxFp4Block>()), true;
    case Family::NVFP4:
        return f(BlockType<NvFp4Block>()), true;
    case Family::Q8_1:
        return f(BlockType<Q8_1Block>()), true;
    case Family::Q8_K:
        return f(BlockType<Q8_KBlock>()), true;
    case Family::Q1_0:
        return f(BlockType<Q1_0Block>()), true;
    case Family::Q2_0:
        return f(BlockType<Q2_0Block>()), true;
    case Family::IntGrid:
    case Family::Scaled:
    case Family::Mx:
    case Family::Nv:
    case Family::Lookup:
    case Family::Ternary:
        break;
    }
    return false;
}

} // namespace halftone
