// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/numeric/element_format.h"

#include "core/base/checked.h"
#include "core/numeric/bit_stream.h"
#include "core/numeric/double_quant.h"
#include "core/numeric/element_group.h"
#include "core/numeric/encode_errors.h"
#include "core/numeric/planar_rows.h"

#include <cmath>

namespace halftone {

namespace {

// Of formats that have one; it comes first in the plane.
float tensorScaleIn(std::span<const std::byte> shared)
{
    float value = 1.0f;
    if (!shared.empty()) std::memcpy(&value, shared.data(), sizeof value);
    return value;
}

// Place of a group among those of the whole matrix.
std::size_t groupOf(std::int64_t row, std::size_t groups, std::size_t group)
{
    return static_cast<std::size_t>(row) * groups + group;
}

} // namespace

ElementFormat::ElementFormat(const FormatDesc& desc, std::string name, std::string title)
    : m_desc(desc), m_name(std::move(name)), m_title(std::move(title)), m_bias(elementBias(desc)),
      m_largest(largestOf(desc.element, desc.bits))
{
    for (std::int32_t code = m_desc.lowest; code <= m_desc.highest; ++code)
        m_values.push_back(elementValue(code, m_desc.element));
}

void ElementFormat::encodeShared(const ValueRange& range, std::span<const float> groupPeaks,
                                 std::span<std::byte> shared) const
{
    if (m_desc.shared == FormatDesc::Shared::TensorScale) {
        const float scale = tensorScaleOf(range.peak(), m_largest);
        std::memcpy(shared.data(), &scale, sizeof scale);
    }
    if (m_desc.shared == FormatDesc::Shared::NestedScales) {
        std::vector<float> nested(shared.size() / sizeof(float));
        makeNested(groupPeaks, nested);
        std::memcpy(shared.data(), nested.data(), shared.size());
    }
}

// Makes and stores the scale of one group from its largest (or mean) magnitude.
GroupScale ElementFormat::encodeScale(float measure, const PackedRows& out, std::size_t group,
                                      std::size_t groups) const
{
    std::byte* at = out.scales.data() + group * static_cast<std::size_t>(bytesOfScale(m_desc.scale));
    if (m_desc.scale == ScaleType::Dynamic8) {
        nestScales({&measure, 1}, out.shared, groupOf(out.firstRow, groups, group), {at, 1});
        // The codes are made with the exact scale, as bitsandbytes makes them.
        return {measure, inverseOf(measure)};
    }
    const float tensorScale = tensorScaleIn(out.shared);
    const std::uint32_t bits = groupScaleBits(m_desc, measure, tensorScale);
    std::memcpy(at, &bits, static_cast<std::size_t>(bytesOfScale(m_desc.scale)));
    return groupScaleOf(m_desc, bits, tensorScale);
}

Status ElementFormat::encodeRow(std::span<const float> in, std::int64_t row, ValueRange range,
                                PackedRows out) const
{
    if (const auto bad = firstNonFinite(in))
        return notFiniteError(row, static_cast<std::int64_t>(*bad), in[*bad]);
    const bool byMean = m_desc.scaleRule == ScaleRule::AbsMean;
    const std::size_t size = groupSize(m_desc, in.size()), groups = ceilDiv(in.size(), size);
    BitWriter writer(out.codes.data(), m_desc.highNibbleFirst);
    for (std::size_t begin = 0, group = 0; begin < in.size(); begin += size, ++group) {
        // A short last group has its own scale: padding never enters.
        const auto values = in.subspan(begin, std::min(size, in.size() - begin));
        const ValueRange mine = m_desc.blockSize == FormatDesc::kWholeTensor ? range : rangeOfRow(values);
        const float measure = byMean ? mine.meanMagnitude() : mine.peak();
        const GroupScale g = encodeScale(measure, out, group, groups);
        if (!std::isfinite(g.scale))
            return scaleOverflowError(
                row, static_cast<std::int64_t>(begin), static_cast<std::int64_t>(begin + values.size()),
                "scale", byMean ? measure : measure / m_largest, scaleTypeTitle(m_desc.scale),
                m_desc.scale == ScaleType::F16 ? "choose bf16 or f32 scales" : "choose f32 scales");
        for (const float x : values)
            writer.put(static_cast<std::uint32_t>(codeInGroup(m_desc, x, g) + m_bias), m_desc.bits);
    }
    writer.finish();
    return Ok{};
}

float ElementFormat::scaleAt(const ConstPackedRows& in, std::size_t group, std::size_t groups) const
{
    const std::byte* at = in.scales.data() + group * static_cast<std::size_t>(bytesOfScale(m_desc.scale));
    if (m_desc.scale == ScaleType::Dynamic8) {
        float scale = 0;
        unnestScales({at, 1}, in.shared, groupOf(in.firstRow, groups, group), {&scale, 1});
        return scale;
    }
    std::uint32_t bits = 0;
    std::memcpy(&bits, at, static_cast<std::size_t>(bytesOfScale(m_desc.scale)));
    return groupScaleOf(m_desc, bits, tensorScaleIn(in.shared)).scale;
}

void ElementFormat::decodeRow(ConstPackedRows in, std::span<float> out) const
{
    const std::size_t size = groupSize(m_desc, out.size()),
                      groups = out.empty() ? 0 : ceilDiv(out.size(), size);
    BitReader reader(in.codes.data(), m_desc.highNibbleFirst);
    for (std::size_t begin = 0, group = 0; begin < out.size(); begin += size, ++group) {
        const float scale = scaleAt(in, group, groups);
        for (float& y : out.subspan(begin, std::min(size, out.size() - begin)))
            y = valueOf(reader.get(m_desc.bits)) * scale;
    }
}

void ElementFormat::inspectRow(ConstPackedRows in, std::int64_t cols, std::span<std::int32_t> codes,
                               std::span<GridPoint> points) const
{
    const auto count = static_cast<std::size_t>(cols);
    const std::size_t size = groupSize(m_desc, count), groups = count == 0 ? 0 : ceilDiv(count, size);
    BitReader reader(in.codes.data(), m_desc.highNibbleFirst);
    for (std::size_t i = 0; i < count; ++i) {
        codes[i] = codeFrom(reader.get(m_desc.bits));
        points[i] = {i % size == 0 ? scaleAt(in, i / size, groups) : points[i - 1].scale, 0, 0.0f};
    }
}

std::vector<float> ElementFormat::codeValues(std::int32_t zero) const
{
    std::vector<float> values = m_values;
    for (float& value : values)
        value -= static_cast<float>(zero);
    return values;
}

} // namespace halftone
