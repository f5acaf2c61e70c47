// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/row_order.h"

#include <fmt/format.h>

namespace halftone {

Result<RowOrder> ropeRowOrder(std::int64_t rows, std::int64_t heads, RowMove move)
{
    if (heads <= 0 || rows <= 0 || rows % heads != 0 || rows / heads % 2 != 0)
        return Error(Errc::InvalidArgument,
                     fmt::format("{} rows don't divide into {} heads of even size: the config's head counts "
                                 "don't belong to these weights",
                                 rows, heads));
    const std::int64_t dim = rows / heads;
    RowOrder order(static_cast<std::size_t>(rows));
    for (std::int64_t head = 0; head < heads; ++head)
        for (std::int64_t r = 0; r < dim; ++r) {
            const std::int64_t hf = head * dim + r;
            const std::int64_t gguf = head * dim + 2 * (r % (dim / 2)) + r / (dim / 2);
            if (move == RowMove::HfToGguf)
                order[static_cast<std::size_t>(gguf)] = hf;
            else
                order[static_cast<std::size_t>(hf)] = gguf;
        }
    return order;
}

bool movesRows(const WeightRole& role) { return role.role == Role::AttnQ || role.role == Role::AttnK; }

} // namespace halftone
