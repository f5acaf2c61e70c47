// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/io/planar_weight.h"

#include "core/base/checked.h"
#include "core/io/le_bytes.h"
#include "core/io/mapped_storage.h"
#include "core/io/text_names.h"
#include "core/numeric/convert.h"

#include <algorithm>
#include <cmath>
#include <fmt/core.h>

namespace halftone {

namespace {

class PlanarWeight final : public StoredWeight {
public:
    PlanarWeight(std::shared_ptr<const Checkpoint> checkpoint, PlanarParts parts, const PackedLayout& layout)
        : m_checkpoint(std::move(checkpoint)), m_parts(std::move(parts)), m_layout(layout)
    {
    }

    Result<PackedTensor> planes(std::int64_t begin, std::int64_t end) const override
    {
        HALFTONE_TRY(codes, m_checkpoint->raw(*m_parts.codes));
        HALFTONE_TRY(scales, m_checkpoint->raw(*m_parts.scales));
        const auto rows = [&](std::span<const std::byte> plane, std::uint64_t rowBytes) {
            return plane.subspan(static_cast<std::size_t>(begin) * rowBytes,
                                 static_cast<std::size_t>(end - begin) * rowBytes);
        };
        PackedTensor out;
        out.format = m_parts.format;
        out.logical = {end - begin, m_parts.cols};
        out.firstRow = begin;
        const std::uint64_t bare = codes.size() / static_cast<std::uint64_t>(m_parts.rows);
        if (bare == m_layout.codeRowBytes) {
            out.codes = mappedPlane(m_checkpoint, rows(codes, bare), end - begin);
        } else {
            HALFTONE_TRY(padded, makeTensor(cpuDevice(), DType::U8,
                                            {end - begin, static_cast<std::int64_t>(m_layout.codeRowBytes)}));
            const auto to = padded.mutableBytes();
            std::ranges::fill(to, std::byte{0});
            for (std::int64_t r = begin; r < end; ++r)
                std::ranges::copy(
                    codes.subspan(static_cast<std::size_t>(r) * bare, bare),
                    to.subspan(static_cast<std::size_t>(r - begin) * m_layout.codeRowBytes).begin());
            out.codes = padded;
        }
        out.scales = m_layout.scaleRowBytes > 0
                         ? mappedPlane(m_checkpoint, rows(scales, m_layout.scaleRowBytes), end - begin)
                         : mappedPlane(m_checkpoint, scales, 1);
        if (m_parts.shared.empty()) return out;
        HALFTONE_TRY(shared, makeTensor(cpuDevice(), DType::U8,
                                        {1, static_cast<std::int64_t>(m_parts.shared.size())}));
        std::ranges::copy(m_parts.shared, shared.mutableBytes().begin());
        out.shared = shared;
        return out;
    }

private:
    std::shared_ptr<const Checkpoint> m_checkpoint;
    PlanarParts m_parts;
    PackedLayout m_layout;
};

} // namespace

std::optional<std::uint64_t> bareRowBytes(const FormatDesc& desc, std::int64_t cols)
{
    const auto bits = checkedMul<std::int64_t>(cols, desc.bits);
    if (!bits || *bits % 8 != 0) return std::nullopt;
    return static_cast<std::uint64_t>(*bits / 8);
}

Result<std::shared_ptr<const StoredWeight>> planarWeight(const std::shared_ptr<const Checkpoint>& checkpoint,
                                                         PlanarParts parts)
{
    HALFTONE_TRY(layout, parts.format->layout(parts.rows, parts.cols));
    const auto bare = bareRowBytes(parts.format->desc(), parts.cols);
    const auto codes = bare ? checkedMul(*bare, static_cast<std::uint64_t>(parts.rows)) : std::nullopt;
    if (parts.rows <= 0 || parts.cols <= 0 || codes != parts.codes->bytes ||
        layout.scaleBytes != parts.scales->bytes || layout.sharedBytes != parts.shared.size())
        return unsupported(fmt::format("{} and {} don't have the sizes of {} x {} in {}",
                                       shownType(*parts.codes), shownType(*parts.scales), parts.rows,
                                       parts.cols, parts.format->name()));
    return std::shared_ptr<const StoredWeight>(
        std::make_shared<PlanarWeight>(checkpoint, std::move(parts), layout));
}

Result<float> readTensorScale(const Checkpoint& checkpoint, const TensorInfo& scale)
{
    if (scale.shape.count() != 1 || scale.stored.plain != DType::F32)
        return unsupported(
            fmt::format("{} is {}, one F32 was expected", shownName(scale.name), shownType(scale)));
    HALFTONE_TRY(bytes, checkpoint.raw(scale));
    const auto value = readLe<float>(bytes);
    HALFTONE_CHECK(checkpoint.intact(scale));
    if (!std::isfinite(value) || value <= 0)
        return unsupported(
            fmt::format("{} is {}, a scale above 0 was expected", shownName(scale.name), value));
    return value;
}

std::vector<std::byte> sharedOf(float value)
{
    std::vector<std::byte> out;
    appendLe(out, value);
    return out;
}

} // namespace halftone
