// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/quantize_check.h"

#include "core/method/weight_errors.h"
#include "core/session/quantize_write.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace halftone {

namespace {

Status checkFinite(const PackedTensor& packed, JobContext& ctx)
{
    const std::int64_t rows = packed.logical.rows(), cols = packed.logical.cols();
    const std::int64_t piece = rowsPerPiece(cols);
    HALFTONE_TRY(stream, cpuDevice().makeStream());
    HALFTONE_TRY(out, makeTensor(cpuDevice(), DType::F32, Shape{std::min(piece, rows), cols}));
    for (std::int64_t begin = 0; begin < rows; begin += piece) {
        HALFTONE_CHECK(ctx.checkpoint());
        const std::int64_t end = std::min(rows, begin + piece);
        HALFTONE_TRY(part, packedRows(packed, begin, end));
        Tensor values = out.rows(0, end - begin);
        HALFTONE_CHECK(cpuDevice().run(DequantizeBlocksOp{part, values}, *stream));
        const auto list = std::as_const(values).values<float>();
        const auto bad = std::find_if(list.begin(), list.end(), [](float x) { return !std::isfinite(x); });
        if (bad != list.end()) {
            const auto at = bad - list.begin();
            return Error(Errc::CheckFailed,
                         fmt::format("row {}, column {} reads back as {}: the scale is broken",
                                     begin + at / cols, at % cols, std::isnan(*bad) ? "NaN" : "Inf"));
        }
    }
    return Ok{};
}

Status checkOne(const WeightSet& weights, const WrittenWeight& expected, JobContext& ctx)
{
    const WeightInfo* info = weights.find(expected.name);
    if (info == nullptr) return Error(Errc::CheckFailed, "is not found in the written file");
    // The same grid may go by another name once it is read back (both symmetric conventions decode alike).
    if (info->format == nullptr)
        return Error(Errc::CheckFailed,
                     fmt::format("reads back as {}, not as {}", info->type, expected.format->name()));
    HALFTONE_TRY(packed, weights.packed(*info));
    if (HostPlanes{packed}.hash() != expected.hash)
        return Error(Errc::CheckFailed, "reads back with other codes or scales than were encoded");
    HALFTONE_CHECK(checkFinite(packed, ctx));
    weights.release(*info);
    return Ok{};
}

} // namespace

Status checkWritten(const Checkpoint& written, const std::vector<WrittenWeight>& expected, JobContext& ctx)
{
    std::int64_t total = 0;
    for (const auto& weight : expected)
        total += weight.elements;
    ctx.progress.enter("Verify", std::max<std::int64_t>(1, total));
    if (expected.empty()) return Ok{};
    // The writer owns the checkpoint for the time of this call.
    const std::shared_ptr<const Checkpoint> borrowed(std::shared_ptr<void>(), &written);
    HALFTONE_TRY(weights, WeightSet::of(borrowed));
    for (const auto& weight : expected) {
        HALFTONE_CHECK(ctx.checkpoint());
        ctx.progress.detail(weight.name);
        if (auto one = checkOne(*weights, weight, ctx); !one)
            return std::move(one).error().in("tensor " + weight.name);
        ctx.progress.advance(weight.elements);
    }
    return Ok{};
}

} // namespace halftone
