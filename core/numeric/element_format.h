// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/numeric/block_format.h"
#include "core/numeric/element_group.h"

#include <memory>

namespace halftone {

/// Planar formats of the families from Scaled on.
class ElementFormat final : public BlockFormat {
public:
    /// Numbers that elementFormatNamed() has checked.
    ElementFormat(const FormatDesc& desc, std::string name, std::string title);
    const std::string& name() const override { return m_name; }
    const std::string& title() const override { return m_title; }
    const FormatDesc& desc() const override { return m_desc; }
    std::optional<std::uint32_t> ggufType() const override { return std::nullopt; }
    void encodeShared(const ValueRange& range, std::span<const float> groupPeaks,
                      std::span<std::byte> shared) const override;
    Status encodeRow(std::span<const float> in, std::int64_t row, ValueRange range,
                     PackedRows out) const override;
    void decodeRow(ConstPackedRows in, std::span<float> out) const override;
    void inspectRow(ConstPackedRows in, std::int64_t cols, std::span<std::int32_t> codes,
                    std::span<GridPoint> points) const override;
    std::vector<float> codeValues(std::int32_t zero) const override;
    /// Magnitude and maximum, divide, two clamps, round, pack.
    double encodeFlops() const override { return 10; }

private:
    GroupScale encodeScale(float measure, const PackedRows& out, std::size_t group, std::size_t groups) const;
    float scaleAt(const ConstPackedRows& in, std::size_t group, std::size_t groups) const;
    std::int32_t codeFrom(std::uint32_t stored) const { return static_cast<std::int32_t>(stored) - m_bias; }
    // Of every stored code, also those that the encoder never writes.
    float valueOf(std::uint32_t stored) const
    {
        return m_desc.uniform ? static_cast<float>(codeFrom(stored)) : m_values[stored];
    }
    const FormatDesc m_desc;
    const std::string m_name, m_title;
    const std::int32_t m_bias; ///< added to signed codes where they are stored
    const float m_largest;     ///< element
    std::vector<float> m_values;
};

/// The format "<head>.<group>.<tail>" of formatHeads(), or why there is none: the part after the format's
/// name in an error.
Result<std::unique_ptr<const BlockFormat>> elementFormatNamed(std::string_view head, std::int64_t blockSize,
                                                              std::string_view tail);
/// The usual shapes of all heads.
std::vector<std::string> usualElementFormats();

} // namespace halftone
