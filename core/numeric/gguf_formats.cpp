// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/numeric/gguf_formats.h"

#include "core/numeric/encode_errors.h"
#include "core/numeric/fp4_blocks.h"
#include "core/numeric/iq4_blocks.h"
#include "core/numeric/ternary_blocks.h"

#include <algorithm>
#include <cmath>
#include <fmt/core.h>

namespace halftone {

namespace {

using Family = FormatDesc::Family;

// What differs between the types: their names and numbers, and the constants and functions of their blocks.
struct Kind {
    const char* name;
    const char* title;
    Family family;
    std::uint32_t ggufType;
    FormatDesc desc;
    bool minimum;
    double flops, bestFlops;
    bool (*encode)(const float*, std::uint8_t*); ///< null: only read
    void (*decode)(const std::uint8_t*, float*);
    void (*inspect)(const std::uint8_t*, std::int32_t*, GridPoint*);
    float (*valueOf)(std::int32_t); ///< null: uniform
};

template <class Block>
concept Encodes = requires(const float* x, std::uint8_t* block)
{
    Block::encode(x, block);
};

template <class Block>
concept HasBest = requires
{
    Block::kBestFlops;
};

template <class Block> Kind kindOf(const char* name, const char* title, Family family, std::uint32_t type)
{
    Kind kind{name,
              title,
              family,
              type,
              {},
              Block::kMinimum,
              Block::kFlops,
              Block::kFlops,
              nullptr,
              decodeBlockOf<Block>,
              inspectBlockOf<Block>,
              nullptr};
    if constexpr (Encodes<Block>) kind.encode = Block::encode;
    if constexpr (!Block::kUniform) kind.valueOf = Block::valueOf;
    FormatDesc& d = kind.desc;
    d.layout = FormatDesc::Layout::Interleaved;
    d.family = family;
    d.bits = Block::kBits;
    d.blockSize = Block::kElements;
    d.blockBytes = Block::kBytes;
    d.codeBytes = Block::kCodeBytes;
    d.rule = Block::kMinimum ? GridRule::Asym : GridRule::SymFull;
    d.scale = ScaleType::F16;
    d.zeroPoint = false;
    d.lowest = Block::kLowest;
    d.highest = Block::kHighest;
    d.uniform = Block::kUniform;
    d.readOnly = !Encodes<Block>;
    if constexpr (HasBest<Block>) {
        d.best = true;
        kind.bestFlops = Block::kBestFlops;
    }
    return kind;
}

std::vector<Kind> allKinds()
{
    return {
        kindOf<Q4_0Block>("q4_0", "Q4_0: 4 bits, blocks of 32 with a scale (GGUF)", Family::Q4_0, 2),
        kindOf<Q4_1Block>("q4_1", "Q4_1: 4 bits, blocks of 32 with a scale and a minimum (GGUF)",
                          Family::Q4_1, 3),
        kindOf<Q5_0Block>("q5_0", "Q5_0: 5 bits, blocks of 32 with a scale (GGUF)", Family::Q5_0, 6),
        kindOf<Q5_1Block>("q5_1", "Q5_1: 5 bits, blocks of 32 with a scale and a minimum (GGUF)",
                          Family::Q5_1, 7),
        kindOf<Q8_0Block>("q8_0", "Q8_0: 8 bits, blocks of 32 with a scale (GGUF)", Family::Q8_0, 8),
        kindOf<Q2_KBlock>("q2_k", "Q2_K: 2 bits, searched; 256 in parts of 16 with scale and minimum (GGUF)",
                          Family::Q2_K, 10),
        kindOf<Q3_KBlock>("q3_k", "Q3_K: 3 bits, searched; 256 in parts of 16 with a scale (GGUF)",
                          Family::Q3_K, 11),
        kindOf<Q4_KBlock>("q4_k", "Q4_K: 4 bits, searched; 256 in parts of 32 with scale and minimum (GGUF)",
                          Family::Q4_K, 12),
        kindOf<Q5_KBlock>("q5_k", "Q5_K: 5 bits, searched; 256 in parts of 32 with scale and minimum (GGUF)",
                          Family::Q5_K, 13),
        kindOf<Q6_KBlock>("q6_k", "Q6_K: 6 bits, searched; 256 in parts of 16 with a scale (GGUF)",
                          Family::Q6_K, 14),
        kindOf<Iq4NlBlock>("iq4_nl", "IQ4_NL: 16 uneven values, blocks of 32 with a scale (GGUF)",
                           Family::IQ4_NL, 20),
        kindOf<Iq4XsBlock>("iq4_xs", "IQ4_XS: 16 uneven values, searched; 256 in parts of 32 (GGUF)",
                           Family::IQ4_XS, 23),
        kindOf<Tq1_0Block>("tq1_0", "TQ1_0: ternary, five to a byte, blocks of 256 with a scale (GGUF)",
                           Family::TQ1_0, 34),
        kindOf<Tq2_0Block>("tq2_0", "TQ2_0: ternary in 2 bits, blocks of 256 with a scale (GGUF)",
                           Family::TQ2_0, 35),
        kindOf<MxFp4Block>("mxfp4", "MXFP4: E2M1 floats, blocks of 32 under a power of two (GGUF)",
                           Family::MXFP4, 39),
        kindOf<NvFp4Block>("nvfp4", "NVFP4: E2M1 floats, parts of 16 under an E4M3 scale (GGUF)",
                           Family::NVFP4, 40),
        kindOf<Q8_1Block>("q8_1", "Q8_1: 8 bits, blocks of 32 for activations (GGUF, only read)",
                          Family::Q8_1, 9),
        kindOf<Q8_KBlock>("q8_k", "Q8_K: 8 bits, blocks of 256 for activations (GGUF, only read)",
                          Family::Q8_K, 15),
        kindOf<Q1_0Block>("q1_0", "Q1_0: 1 bit, blocks of 128 with a scale (GGUF, only read)", Family::Q1_0,
                          41),
        kindOf<Q2_0Block>("q2_0", "Q2_0: 2 bits, blocks of 64 with a scale (GGUF, only read)", Family::Q2_0,
                          42),
    };
}

/// One class for all types. Blocks follow each other along a row.
class GgufFormat final : public BlockFormat {
public:
    explicit GgufFormat(const Kind& kind) : m_kind(kind), m_name(kind.name), m_title(kind.title) {}
    const std::string& name() const override { return m_name; }
    const std::string& title() const override { return m_title; }
    const FormatDesc& desc() const override { return m_kind.desc; }
    std::optional<std::uint32_t> ggufType() const override { return m_kind.ggufType; }
    double encodeFlops() const override { return m_kind.flops; }
    double encodeFlops(Encoder encoder) const override
    {
        return encoder == Encoder::Best ? m_kind.bestFlops : m_kind.flops;
    }

    Status encodeRow(std::span<const float> in, std::int64_t row, ValueRange, PackedRows out) const override
    {
        if (m_kind.encode == nullptr)
            return Error(Errc::Unsupported, m_name + " can only be read: choose another format");
        if (const auto bad = firstNonFinite(in))
            return notFiniteError(row, static_cast<std::int64_t>(*bad), in[*bad]);
        auto* block = reinterpret_cast<std::uint8_t*>(out.codes.data());
        for (std::size_t begin = 0; begin < in.size(); begin += size(), block += m_kind.desc.blockBytes)
            if (!m_kind.encode(in.data() + begin, block))
                return overflow(in.subspan(begin, size()), row, begin);
        return Ok{};
    }

    void decodeRow(ConstPackedRows in, std::span<float> out) const override
    {
        const auto* block = reinterpret_cast<const std::uint8_t*>(in.codes.data());
        for (std::size_t begin = 0; begin < out.size(); begin += size(), block += m_kind.desc.blockBytes)
            m_kind.decode(block, out.data() + begin);
    }

    void inspectRow(ConstPackedRows in, std::int64_t cols, std::span<std::int32_t> codes,
                    std::span<GridPoint> points) const override
    {
        const auto* block = reinterpret_cast<const std::uint8_t*>(in.codes.data());
        for (std::size_t i = 0; i < static_cast<std::size_t>(cols); i += size()) {
            m_kind.inspect(block, codes.data() + i, points.data() + i);
            block += m_kind.desc.blockBytes;
        }
    }

    std::vector<float> codeValues(std::int32_t zero) const override
    {
        std::vector<float> values;
        for (std::int32_t code = m_kind.desc.lowest; code <= m_kind.desc.highest; ++code)
            values.push_back(m_kind.valueOf != nullptr ? m_kind.valueOf(code)
                                                       : static_cast<float>(code - zero));
        return values;
    }

private:
    std::size_t size() const { return static_cast<std::size_t>(m_kind.desc.blockSize); }
    Error overflow(std::span<const float> block, std::int64_t row, std::size_t begin) const
    {
        const auto [low, high] = std::ranges::minmax(block);
        // A minimum above 0 is not what overflows: K types store none above 0, and the value says it all.
        const bool minimum = m_kind.minimum && low < 0 && !isFiniteHalf(floatToHalf(low));
        const auto column = static_cast<std::int64_t>(begin);
        return scaleOverflowError(
            row, column, column + m_kind.desc.blockSize, minimum ? "the minimum" : "a block with the value",
            minimum || -low > high ? low : high,
            m_kind.family == Family::NVFP4 ? "what the E4M3 scales of this block can hold"
                                           : "what the F16 scale of this block can hold",
            "keep this tensor in bf16 or f32, or choose an integer grid with bf16 or f32 scales");
    }
    const Kind m_kind;
    std::string m_name, m_title;
};

} // namespace

std::vector<std::unique_ptr<const BlockFormat>> makeGgufFormats()
{
    std::vector<std::unique_ptr<const BlockFormat>> formats;
    for (const Kind& kind : allKinds())
        formats.push_back(std::make_unique<GgufFormat>(kind));
    return formats;
}

} // namespace halftone
