// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/batch/value_stats.h"

#include "core/device/device.h"
#include "core/method/weight_errors.h"

#include <algorithm>
#include <cmath>

namespace halftone::batch {

namespace {

void addValues(std::span<const float> values, ValueStats& s)
{
    for (const float v : values) {
        if (!std::isfinite(v)) {
            ++s.nonFinite;
            continue;
        }
        const auto x = static_cast<double>(v);
        if (s.count == 0) s.min = s.max = x;
        ++s.count;
        s.zeros += x == 0 ? 1 : 0;
        s.min = std::min(s.min, x);
        s.max = std::max(s.max, x);
        s.sum += x;
        s.squares += x * x;
    }
}

} // namespace

double ValueStats::mean() const { return count == 0 ? 0 : sum / static_cast<double>(count); }

double ValueStats::rms() const { return count == 0 ? 0 : std::sqrt(squares / static_cast<double>(count)); }

double ValueStats::crestFactor() const
{
    return rms() > 0 ? std::max(std::abs(min), std::abs(max)) / rms() : 0;
}

Status valueStats(const Model& model, const std::vector<std::uint32_t>& weights,
                  std::vector<ValueStats>& stats, JobContext& ctx)
{
    stats.assign(weights.size(), {});
    ctx.progress.enter("Statistics", static_cast<std::int64_t>(weights.size()));
    for (std::size_t i = 0; i < weights.size(); ++i) {
        const auto& info = model.weights()->all()[weights[i]];
        ctx.progress.detail(info.name);
        if (info.whyOpaque.empty()) {
            const std::int64_t rows = info.shape.rows();
            const std::int64_t piece = rowsPerPiece(info.shape.cols());
            for (std::int64_t begin = 0; begin < rows; begin += piece) {
                HALFTONE_CHECK(ctx.checkpoint());
                auto part = model.weights()->loadRows(info, begin, std::min(rows, begin + piece), DType::F32,
                                                      cpuDevice(), ctx.stop);
                if (!part) return std::move(part).error();
                addValues(std::as_const(*part).values<float>(), stats[i]);
            }
            HALFTONE_CHECK(model.weights()->intact(info));
            model.weights()->release(info);
        }
        ctx.progress.advance();
    }
    return Ok{};
}

} // namespace halftone::batch
