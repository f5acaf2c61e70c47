// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/numeric/q_formats.h"

#include "core/numeric/encode_errors.h"
#include "core/numeric/gguf_blocks.h"

#include <cmath>

namespace halftone {

namespace {

using Family = FormatDesc::Family;

// All that differs between the five.
struct Kind {
    const char* name;
    const char* title;
    Family family;
    std::uint32_t ggufType;
    std::uint8_t bits;
    std::uint32_t bytes;
    std::int32_t zero; ///< code that stands for 0; unused with a minimum
    bool minimum;
    bool (*encode)(const float*, std::uint8_t*);
    void (*decode)(const std::uint8_t*, float*);
    std::int32_t (*codeAt)(const std::uint8_t*, int);
};

const Kind kKinds[]{
    {"q4_0", "Q4_0: 4 bits, blocks of 32 with a scale (GGUF)", Family::Q4_0, 2, 4, kQ4_0Bytes, 8, false,
     encodeQ4_0, decodeQ4_0, [](const std::uint8_t* b, int j) { return nibbleAt(b + 2, j); }},
    {"q4_1", "Q4_1: 4 bits, blocks of 32 with a scale and a minimum (GGUF)", Family::Q4_1, 3, 4, kQ4_1Bytes,
     0, true, encodeQ4_1, decodeQ4_1, [](const std::uint8_t* b, int j) { return nibbleAt(b + 4, j); }},
    {"q5_0", "Q5_0: 5 bits, blocks of 32 with a scale (GGUF)", Family::Q5_0, 6, 5, kQ5_0Bytes, 16, false,
     encodeQ5_0, decodeQ5_0, [](const std::uint8_t* b, int j) { return fiveBitsAt(b + 2, b + 6, j); }},
    {"q5_1", "Q5_1: 5 bits, blocks of 32 with a scale and a minimum (GGUF)", Family::Q5_1, 7, 5, kQ5_1Bytes,
     0, true, encodeQ5_1, decodeQ5_1,
     [](const std::uint8_t* b, int j) { return fiveBitsAt(b + 4, b + 8, j); }},
    {"q8_0", "Q8_0: 8 bits, blocks of 32 with a scale (GGUF)", Family::Q8_0, 8, 8, kQ8_0Bytes, 0, false,
     encodeQ8_0, decodeQ8_0,
     [](const std::uint8_t* b, int j) -> std::int32_t { return static_cast<std::int8_t>(b[2 + j]); }},
};

class QFormat final : public BlockFormat {
public:
    explicit QFormat(const Kind& kind) : m_kind(kind), m_name(kind.name), m_title(kind.title)
    {
        m_desc.layout = FormatDesc::Layout::Interleaved;
        m_desc.family = kind.family;
        m_desc.bits = kind.bits;
        m_desc.blockSize = kGgufBlock;
        m_desc.blockBytes = kind.bytes;
        m_desc.rule = kind.minimum ? GridRule::Asym : GridRule::SymFull;
        m_desc.scale = ScaleType::F16;
        m_desc.zeroPoint = false;
    }
    const std::string& name() const override { return m_name; }
    const std::string& title() const override { return m_title; }
    const FormatDesc& desc() const override { return m_desc; }
    std::optional<std::uint32_t> ggufType() const override { return m_kind.ggufType; }

    Status encodeRow(std::span<const float> in, std::int64_t row, ValueRange, PackedRows out) const override
    {
        if (const auto bad = firstNonFinite(in))
            return notFiniteError(row, static_cast<std::int64_t>(*bad), in[*bad]);
        auto* block = reinterpret_cast<std::uint8_t*>(out.codes.data());
        for (std::size_t begin = 0; begin < in.size(); begin += kGgufBlock, block += m_kind.bytes)
            if (!m_kind.encode(in.data() + begin, block)) return overflow(in.data() + begin, row, begin);
        return Ok{};
    }

    void decodeRow(ConstPackedRows in, std::span<float> out) const override
    {
        const auto* block = reinterpret_cast<const std::uint8_t*>(in.codes.data());
        for (std::size_t begin = 0; begin < out.size(); begin += kGgufBlock, block += m_kind.bytes)
            m_kind.decode(block, out.data() + begin);
    }

    void inspectRow(ConstPackedRows in, std::int64_t cols, std::span<std::int32_t> codes,
                    std::span<GridPoint> points) const override
    {
        const auto* bytes = reinterpret_cast<const std::uint8_t*>(in.codes.data());
        for (std::size_t i = 0; i < static_cast<std::size_t>(cols); ++i) {
            const auto* block = bytes + i / kGgufBlock * m_kind.bytes;
            codes[i] = m_kind.codeAt(block, static_cast<int>(i % kGgufBlock));
            points[i].scale = halfToFloat(loadHalfBits(block));
            points[i].zero = m_kind.zero;
            points[i].offset = m_kind.minimum ? halfToFloat(loadHalfBits(block + 2)) : 0.0f;
        }
    }

    std::vector<float> codeValues(std::int32_t zero) const override
    {
        std::vector<float> values;
        for (std::int32_t code = lowestCode(m_desc); code <= highestCode(m_desc); ++code)
            values.push_back(static_cast<float>(code - zero));
        return values;
    }

private:
    Error overflow(const float* x, std::int64_t row, std::size_t begin) const
    {
        const BlockRange r = rangeOf(x);
        const bool minimum = m_kind.minimum && !isFiniteHalf(floatToHalf(r.min));
        const auto column = static_cast<std::int64_t>(begin);
        return scaleOverflowError(
            row, column, column + kGgufBlock, minimum ? "the minimum" : "a block with the value",
            minimum || -r.min > r.max ? r.min : r.max, "what the F16 scale of this block can hold",
            "keep this tensor in bf16 or f32, or choose an integer grid with bf16 or f32 scales");
    }
    const Kind& m_kind;
    std::string m_name, m_title;
    FormatDesc m_desc;
};

} // namespace

std::vector<std::unique_ptr<const BlockFormat>> makeQFormats()
{
    std::vector<std::unique_ptr<const BlockFormat>> formats;
    for (const auto& kind : kKinds)
        formats.push_back(std::make_unique<QFormat>(kind));
    return formats;
}

} // namespace halftone
