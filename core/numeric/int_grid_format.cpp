// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/numeric/int_grid_format.h"

#include "core/numeric/encode_errors.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <fmt/core.h>

namespace halftone {

static_assert(std::endian::native == std::endian::little, "packed planes are little-endian");

namespace {

const char* typeName(ScaleType type)
{
    return type == ScaleType::F32 ? "F32" : type == ScaleType::F16 ? "F16" : "BF16";
}

void storeScale(std::byte* at, float scale, ScaleType type)
{
    if (type == ScaleType::F32) {
        std::memcpy(at, &scale, sizeof scale);
        return;
    }
    const std::uint16_t bits = type == ScaleType::F16 ? floatToHalf(scale) : floatToBfloat(scale);
    std::memcpy(at, &bits, sizeof bits);
}

float loadScale(const std::byte* at, ScaleType type)
{
    if (type == ScaleType::F32) {
        float scale;
        std::memcpy(&scale, at, sizeof scale);
        return scale;
    }
    std::uint16_t bits;
    std::memcpy(&bits, at, sizeof bits);
    return type == ScaleType::F16 ? halfToFloat(bits) : bfloatToFloat(bits);
}

// The bit stream of one row, written in whole 32-bit words.
class BitWriter {
public:
    explicit BitWriter(std::byte* out) : m_out(out) {}
    void put(std::uint32_t value, int bits)
    {
        m_pending |= static_cast<std::uint64_t>(value) << m_count;
        m_count += bits;
        if (m_count >= 32) flushWord();
    }
    void finish()
    {
        if (m_count > 0) flushWord();
    }

private:
    void flushWord()
    {
        const auto word = static_cast<std::uint32_t>(m_pending);
        std::memcpy(m_out, &word, sizeof word);
        m_out += sizeof word;
        m_pending >>= 32;
        m_count -= 32;
    }
    std::byte* m_out;
    std::uint64_t m_pending = 0;
    int m_count = 0;
};

class BitReader {
public:
    explicit BitReader(const std::byte* in) : m_in(in) {}
    std::uint32_t get(int bits)
    {
        if (m_count < bits) {
            std::uint32_t word;
            std::memcpy(&word, m_in, sizeof word);
            m_in += sizeof word;
            m_pending |= static_cast<std::uint64_t>(word) << m_count;
            m_count += 32;
        }
        const auto value = static_cast<std::uint32_t>(m_pending) & ((1u << bits) - 1u);
        m_pending >>= bits;
        m_count -= bits;
        return value;
    }

private:
    const std::byte* m_in;
    std::uint64_t m_pending = 0;
    int m_count = 0;
};

std::size_t groupSize(const FormatDesc& desc, std::size_t cols)
{
    return desc.blockSize > 0 ? std::min(static_cast<std::size_t>(desc.blockSize), cols) : cols;
}

// Signed codes are stored with this added.
std::int32_t codeBias(const FormatDesc& desc)
{
    return desc.rule == GridRule::Asym ? 0 : 1 << (desc.bits - 1);
}

std::string titleOf(const FormatDesc& d)
{
    const char* rule = d.rule == GridRule::SymRestricted ? "symmetric"
                       : d.rule == GridRule::SymFull     ? "symmetric full range"
                                                         : "asymmetric";
    const std::string block = d.blockSize == FormatDesc::kWholeTensor ? "one scale a tensor"
                              : d.blockSize == FormatDesc::kWholeRow
                                  ? "one scale a row"
                                  : fmt::format("groups of {}", d.blockSize);
    return fmt::format("INT{}, {}, {}, {} scales", d.bits, rule, block, typeName(d.scale));
}

} // namespace

std::string intGridName(const FormatDesc& d)
{
    const char* rule = d.rule == GridRule::SymRestricted ? "" : d.rule == GridRule::SymFull ? "f" : "a";
    const std::string block = d.blockSize == FormatDesc::kWholeTensor ? "t"
                              : d.blockSize == FormatDesc::kWholeRow  ? "c"
                                                                      : fmt::format("g{}", d.blockSize);
    const char* scale = d.scale == ScaleType::F32 ? "f32" : d.scale == ScaleType::F16 ? "f16" : "bf16";
    return fmt::format("int{}{}.{}.{}", d.bits, rule, block, scale);
}

IntGridFormat::IntGridFormat(int bits, GridRule rule, std::int64_t blockSize, ScaleType scale)
{
    m_desc.layout = FormatDesc::Layout::Planar;
    m_desc.family = FormatDesc::Family::IntGrid;
    m_desc.bits = static_cast<std::uint8_t>(bits);
    m_desc.blockSize = blockSize;
    m_desc.blockBytes = 0;
    m_desc.rule = rule;
    m_desc.scale = scale;
    m_desc.zeroPoint = rule == GridRule::Asym;
    m_desc.lowest = static_cast<std::int16_t>(gridLow(rule, bits));
    m_desc.highest = static_cast<std::int16_t>(gridHigh(rule, bits));
    m_name = intGridName(m_desc);
    m_title = titleOf(m_desc);
}

Status IntGridFormat::encodeRow(std::span<const float> in, std::int64_t row, ValueRange range,
                                PackedRows out) const
{
    if (const auto bad = firstNonFinite(in))
        return notFiniteError(row, static_cast<std::int64_t>(*bad), in[*bad]);
    const int bits = m_desc.bits;
    const std::int32_t low = m_desc.lowest, high = m_desc.highest;
    const std::int32_t bias = codeBias(m_desc);
    const std::size_t size = groupSize(m_desc, in.size());
    BitWriter writer(out.codes.data());
    for (std::size_t begin = 0, group = 0; begin < in.size(); begin += size, ++group) {
        // A short last group has its own range: padding never enters.
        const auto values = in.subspan(begin, std::min(size, in.size() - begin));
        float min = range.min, max = range.max;
        if (m_desc.blockSize != FormatDesc::kWholeTensor) {
            min = max = values[0];
            for (const float x : values) {
                min = std::min(min, x);
                max = std::max(max, x);
            }
        }
        const GridPoint g = gridOf(min, max, m_desc.rule, bits, m_desc.scale);
        if (!std::isfinite(g.scale)) {
            const GridPoint exact = gridOf(min, max, m_desc.rule, bits, ScaleType::F32);
            return scaleOverflowError(
                row, static_cast<std::int64_t>(begin), static_cast<std::int64_t>(begin + values.size()),
                "scale", exact.scale, typeName(m_desc.scale),
                m_desc.scale == ScaleType::F16 ? "choose bf16 or f32 scales" : "choose f32 scales");
        }
        storeScale(out.scales.data() + group * static_cast<std::size_t>(bytesOfScale(m_desc.scale)), g.scale,
                   m_desc.scale);
        if (m_desc.zeroPoint) out.zeros[group] = static_cast<std::uint8_t>(g.zero);
        const float inverse = inverseOf(g.scale);
        for (const float x : values)
            writer.put(static_cast<std::uint32_t>(gridCode(x, inverse, g.zero, low, high) + bias), bits);
    }
    writer.finish();
    return Ok{};
}

GridPoint IntGridFormat::pointAt(const ConstPackedRows& in, std::size_t group) const
{
    GridPoint g;
    g.scale = loadScale(in.scales.data() + group * static_cast<std::size_t>(bytesOfScale(m_desc.scale)),
                        m_desc.scale);
    if (m_desc.zeroPoint) g.zero = in.zeros[group];
    return g;
}

void IntGridFormat::decodeRow(ConstPackedRows in, std::span<float> out) const
{
    const std::int32_t bias = codeBias(m_desc);
    const std::size_t size = groupSize(m_desc, out.size());
    BitReader reader(in.codes.data());
    for (std::size_t begin = 0, group = 0; begin < out.size(); begin += size, ++group) {
        const GridPoint g = pointAt(in, group);
        for (float& y : out.subspan(begin, std::min(size, out.size() - begin)))
            y = gridValue(static_cast<std::int32_t>(reader.get(m_desc.bits)) - bias, g);
    }
}

void IntGridFormat::inspectRow(ConstPackedRows in, std::int64_t cols, std::span<std::int32_t> codes,
                               std::span<GridPoint> points) const
{
    const auto count = static_cast<std::size_t>(cols);
    const std::int32_t bias = codeBias(m_desc);
    const std::size_t size = groupSize(m_desc, count);
    BitReader reader(in.codes.data());
    for (std::size_t i = 0; i < count; ++i) {
        codes[i] = static_cast<std::int32_t>(reader.get(m_desc.bits)) - bias;
        points[i] = pointAt(in, i / size);
    }
}

std::vector<float> IntGridFormat::codeValues(std::int32_t zero) const
{
    std::vector<float> values;
    for (std::int32_t code = m_desc.lowest; code <= m_desc.highest; ++code)
        values.push_back(static_cast<float>(code - zero));
    return values;
}

} // namespace halftone
