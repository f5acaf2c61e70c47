// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/numeric/int_grid_format.h"

#include "core/numeric/bit_stream.h"
#include "core/numeric/encode_errors.h"
#include "core/numeric/planar_rows.h"

#include <algorithm>
#include <cmath>
#include <fmt/core.h>

namespace halftone {

namespace {

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
    return fmt::format("INT{}, {}, {}, {} scales", d.bits, rule, groupTitle(d.blockSize),
                       scaleTypeTitle(d.scale));
}

} // namespace

std::string intGridName(const FormatDesc& d)
{
    const char* rule = d.rule == GridRule::SymRestricted ? "" : d.rule == GridRule::SymFull ? "f" : "a";
    return fmt::format("int{}{}.{}.{}", d.bits, rule, groupName(d.blockSize), scaleTypeName(d.scale));
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
                "scale", exact.scale, scaleTypeTitle(m_desc.scale),
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
