// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/io/indexed_grid.h"

#include "core/device/cpu/parallel.h"
#include "core/device/ops.h"
#include "core/io/decode.h"
#include "core/io/le_bytes.h"
#include "core/io/text_names.h"

#include <fmt/core.h>

namespace halftone {

namespace {

class IndexedGrid final : public StoredWeight {
public:
    IndexedGrid(std::shared_ptr<const StoredWeight> grid, const BlockFormat& format,
                std::vector<std::int32_t> group)
        : m_grid(std::move(grid)), m_format(format), m_group(std::move(group))
    {
    }

    Status decode(std::int64_t begin, std::int64_t end, std::span<float> out) const override
    {
        HALFTONE_TRY(planes, m_grid->planes(begin, end));
        const PackedTensor& packed = planes;
        const auto all = planesOf(packed);
        const auto cols = static_cast<std::int64_t>(m_group.size());
        HALFTONE_TRY(layout, m_format.layout(end - begin, cols));
        const auto width = m_group.size();
        const auto block = static_cast<std::size_t>(m_format.desc().blockSize);
        return cpu::forRows(end - begin, cols, 0, [&](std::int64_t row, float*) {
            // Memory of the row's own: the codes and grid points of its columns.
            std::vector<std::int32_t> codes(width);
            std::vector<GridPoint> points(width);
            m_format.inspectRow(rowsOf(all, layout, row, row + 1), cols, codes, points);
            const auto to = out.subspan(static_cast<std::size_t>(row) * width, width);
            for (std::size_t c = 0; c < width; ++c)
                to[c] = gridValue(codes[c], points[static_cast<std::size_t>(m_group[c]) * block]);
        });
    }

private:
    std::shared_ptr<const StoredWeight> m_grid;
    const BlockFormat& m_format;
    std::vector<std::int32_t> m_group;
};

} // namespace

std::shared_ptr<const StoredWeight> indexedGrid(std::shared_ptr<const StoredWeight> grid,
                                                const BlockFormat& format, std::vector<std::int32_t> group)
{
    return std::make_shared<IndexedGrid>(std::move(grid), format, std::move(group));
}

Result<std::vector<std::int32_t>> readGroupIndex(const Checkpoint& checkpoint, const TensorInfo& index,
                                                 std::int64_t cols, std::int64_t groups, std::int64_t block)
{
    const bool wide = index.stored.plain == DType::I64;
    if ((!wide && index.stored.plain != DType::I32) || index.shape.rank() != 1 || index.shape[0] != cols)
        return unsupported(
            fmt::format("{} is {}, {} I32 were expected", shownName(index.name), shownType(index), cols));
    HALFTONE_TRY(bytes, checkpoint.raw(index));
    std::vector<std::int32_t> group(static_cast<std::size_t>(cols));
    bool runs = true;
    for (std::size_t c = 0; c < group.size(); ++c) {
        const std::int64_t g =
            wide ? readLe<std::int64_t>(bytes.subspan(8 * c)) : readLe<std::int32_t>(bytes.subspan(4 * c));
        if (g < 0 || g >= groups)
            return unsupported(fmt::format("{} sends column {} to group {}, there are {} groups",
                                           shownName(index.name), c, g, groups));
        group[c] = static_cast<std::int32_t>(g);
        runs = runs && g == (block > 0 ? static_cast<std::int64_t>(c) / block : 0);
    }
    HALFTONE_CHECK(checkpoint.intact(index));
    if (runs) group.clear();
    return group;
}

} // namespace halftone
