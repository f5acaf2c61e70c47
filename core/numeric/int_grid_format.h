// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/numeric/block_format.h"

namespace halftone {

/// Uniform integer grids with planes of codes, scales and zero points.
class IntGridFormat final : public BlockFormat {
public:
    /// bits 2..8; blockSize > 0, kWholeRow or kWholeTensor: checked by intGridFormat().
    IntGridFormat(int bits, GridRule rule, std::int64_t blockSize, ScaleType scale);
    const std::string& name() const override { return m_name; }
    const std::string& title() const override { return m_title; }
    const FormatDesc& desc() const override { return m_desc; }
    std::optional<std::uint32_t> ggufType() const override { return std::nullopt; }
    Status encodeRow(std::span<const float> in, std::int64_t row, ValueRange range,
                     PackedRows out) const override;
    void decodeRow(ConstPackedRows in, std::span<float> out) const override;
    void inspectRow(ConstPackedRows in, std::int64_t cols, std::span<std::int32_t> codes,
                    std::span<GridPoint> points) const override;
    std::vector<float> codeValues(std::int32_t zero) const override;
    /// Minimum and maximum, multiply, two clamps, round, pack.
    double encodeFlops() const override { return 7; }

private:
    GridPoint pointAt(const ConstPackedRows& in, std::size_t group) const;
    FormatDesc m_desc;
    std::string m_name, m_title;
};

/// "int4a.g128.f16": the stable id of a grid.
std::string intGridName(const FormatDesc& desc);

} // namespace halftone
