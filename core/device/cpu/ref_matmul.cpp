// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/device/cpu/kernels.h"
#include "core/device/cpu/parallel.h"

namespace halftone::cpu {

bool referenceSupportsMatmul(DType dtype, const BlockFormat*) { return dtype == DType::F32; }

// Sums in double, k upwards: the value that faster products are measured against.
Status referenceMatmul(const MatmulOp& op)
{
    const auto a = op.a.values<const float>();
    const auto b = op.b.values<const float>();
    const auto c = op.c.values<float>();
    const std::int64_t inner = op.a.shape()[1], cols = op.c.shape()[1];
    return forRows(op.c.shape()[0], cols * inner, 0, [&](std::int64_t i, float*) {
        for (std::int64_t j = 0; j < cols; ++j) {
            double sum = 0;
            for (std::int64_t k = 0; k < inner; ++k) {
                const std::int64_t at = op.transB ? j * inner + k : k * cols + j;
                sum += static_cast<double>(a[static_cast<std::size_t>(i * inner + k)]) *
                       static_cast<double>(b[static_cast<std::size_t>(at)]);
            }
            c[static_cast<std::size_t>(i * cols + j)] = static_cast<float>(sum);
        }
    });
}

} // namespace halftone::cpu
