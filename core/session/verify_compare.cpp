// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/verify_compare.h"

#include "core/base/text.h"
#include "core/method/weight_errors.h"
#include "core/session/row_order.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <vector>

namespace halftone {

namespace {

bool isGguf(const Model& model) { return model.weights()->checkpoint()->container() == Container::Gguf; }

// Rows of Q and K are interleaved in GGUF files of the llama architecture, and in what keeps their names.
bool interleaved(const WeightSlice& slice)
{
    return slice.info->name.starts_with("blk.") &&
           (!isGguf(*slice.model) || slice.model->config().architecture == "llama");
}

void add(WeightComparison& sum, std::span<const float> written, std::span<const float> source,
         std::int64_t firstRow, std::int64_t cols)
{
    for (std::size_t i = 0; i < source.size(); ++i) {
        const double x = source[i], y = written[i];
        ++sum.count;
        if (!std::isfinite(x)) continue;
        if (!std::isfinite(y)) {
            if (sum.notFinite++ == 0) {
                sum.badRow = firstRow + static_cast<std::int64_t>(i) / cols;
                sum.badColumn = static_cast<std::int64_t>(i) % cols;
            }
            continue;
        }
        const double e = x - y;
        sum.signal += x * x;
        sum.writtenSquares += y * y;
        sum.product += x * y;
        sum.noise += e * e;
        sum.maxError = std::max(sum.maxError, std::fabs(e));
        if (e != 0 && sum.differingRow < 0) sum.differingRow = firstRow + static_cast<std::int64_t>(i) / cols;
    }
}

Result<WeightComparison> compareInOrder(const WeightSlice& written, const WeightSlice& source,
                                        JobContext& ctx)
{
    WeightComparison sum;
    const std::int64_t rows = source.end - source.begin,
                       cols = std::max<std::int64_t>(1, source.info->shape.cols());
    const std::int64_t piece = rowsPerPiece(cols);
    for (std::int64_t begin = 0; begin < rows; begin += piece) {
        HALFTONE_CHECK(ctx.checkpoint());
        const std::int64_t end = std::min(rows, begin + piece);
        HALFTONE_TRY(a, written.model->weights()->loadRows(*written.info, written.begin + begin,
                                                           written.begin + end, DType::F32, cpuDevice(),
                                                           ctx.stop));
        HALFTONE_TRY(b,
                     source.model->weights()->loadRows(*source.info, source.begin + begin, source.begin + end,
                                                       DType::F32, cpuDevice(), ctx.stop));
        add(sum, std::as_const(a).values<float>(), std::as_const(b).values<float>(), begin, cols);
    }
    return sum;
}

// Both whole (Q and K are small), the source's rows in the order of the output.
Result<WeightComparison> compareMoved(const WeightSlice& written, const WeightSlice& source,
                                      const RowOrder& order, JobContext& ctx)
{
    WeightComparison sum;
    HALFTONE_TRY(a, written.model->weights()->loadRows(*written.info, written.begin, written.end, DType::F32,
                                                       cpuDevice(), ctx.stop));
    HALFTONE_TRY(b, source.model->weights()->loadRows(*source.info, source.begin, source.end, DType::F32,
                                                      cpuDevice(), ctx.stop));
    const auto made = std::as_const(a).values<float>();
    const auto original = std::as_const(b).values<float>();
    const std::size_t width = original.size() / order.size();
    for (std::size_t r = 0; r < order.size(); ++r)
        add(sum, made.subspan(r * width, width),
            original.subspan(static_cast<std::size_t>(order[r]) * width, width), static_cast<std::int64_t>(r),
            static_cast<std::int64_t>(width));
    return sum;
}

// The order that should hold, or the other one, to find out why a weight does not fit.
Result<RowOrder> orderFor(const WeightSlice& written, const WeightSlice& source, const WeightRole& role,
                          bool other)
{
    if (!movesRows(role) || source.info->shape.rank() == 0) return RowOrder{};
    const bool moved = interleaved(written) != interleaved(source);
    if (moved == other) return RowOrder{};
    const ModelConfig& c = source.model->config();
    const auto heads = role.role == Role::AttnQ ? c.heads : c.kvHeads;
    const RowMove move = interleaved(written) || !moved ? RowMove::HfToGguf : RowMove::GgufToHf;
    return ropeRowOrder(source.info->shape[0], heads, move);
}

Result<WeightComparison> compareAs(const WeightSlice& written, const WeightSlice& source,
                                   const RowOrder& order, JobContext& ctx)
{
    return order.empty() ? compareInOrder(written, source, ctx) : compareMoved(written, source, order, ctx);
}

Status comparable(const WeightSlice& written, const WeightSlice& source)
{
    const WeightInfo& a = *written.info;
    const WeightInfo& b = *source.info;
    if (!a.whyOpaque.empty()) return Error(Errc::CheckFailed, "can't be read: " + a.whyOpaque);
    if (!b.whyOpaque.empty()) return Error(Errc::CheckFailed, "the source can't be read: " + b.whyOpaque);
    if (a.shape.cols() != b.shape.cols() || written.end - written.begin != source.end - source.begin)
        return Error(Errc::CheckFailed,
                     fmt::format("is {}, the source's is {}", a.shape.text(), b.shape.text()));
    return Ok{};
}

// Bytes that neither of us can read may still be compared with each other.
Result<bool> sameOpaqueBytes(const WeightSlice& written, const WeightSlice& source)
{
    const auto& a = *written.info;
    const auto& b = *source.info;
    if (a.whyOpaque.empty() || b.whyOpaque.empty() || a.parts.size() != 1 || b.parts.size() != 1)
        return false;
    const Checkpoint& ca = *written.model->weights()->checkpoint();
    const Checkpoint& cb = *source.model->weights()->checkpoint();
    HALFTONE_TRY(rawA, ca.raw(ca.tensors()[a.parts[0]]));
    HALFTONE_TRY(rawB, cb.raw(cb.tensors()[b.parts[0]]));
    return a.shape == b.shape && std::equal(rawA.begin(), rawA.end(), rawB.begin(), rawB.end());
}

} // namespace

double WeightComparison::sqnr() const
{
    if (noise == 0) return std::numeric_limits<double>::infinity();
    return signal == 0 ? -std::numeric_limits<double>::infinity() : 10 * std::log10(signal / noise);
}

double WeightComparison::cosine() const
{
    const double both = std::sqrt(signal) * std::sqrt(writtenSquares);
    return both == 0 ? (signal == writtenSquares ? 1.0 : 0.0) : product / both;
}

std::string WeightComparison::problem(const WeightSlice& written, const WeightSlice& source,
                                      double minSqnr) const
{
    if (notFinite > 0)
        return fmt::format(
            "{} values are NaN or Inf where the source's are finite, the first at row {}, column {}",
            notFinite, badRow, badColumn);
    const bool plainBoth = !written.info->isPacked() && !source.info->isPacked();
    // The same type was copied: one bit that differs is an error. Another plain type only rounds.
    constexpr double kPlainSqnr = 20;
    const double limit = plainBoth ? std::max(minSqnr, kPlainSqnr) : minSqnr;
    if (plainBoth && written.info->plain == source.info->plain && noise > 0 && !otherOrder)
        return fmt::format("was to be kept as {}, but differs from row {} on (SQNR {} dB)",
                           written.info->type, differingRow, shortNumber(sqnr()));
    if (codes.constantCodes && signal > 0 && noise > 0)
        return fmt::format("all codes are the same, the source's values are not (SQNR {} dB)",
                           shortNumber(sqnr()));
    if (const auto wrong = codes.problem(); !wrong.empty() && signal > 0 && noise > 0)
        return fmt::format("{} (SQNR {} dB)", wrong, shortNumber(sqnr()));
    if (sqnr() >= limit) return {};
    std::string text = fmt::format("SQNR {} dB is below {} dB, cosine {}", shortNumber(sqnr()),
                                   shortNumber(limit), shortNumber(cosine()));
    if (otherOrder)
        return text + ": the rows fit in the other rotary order, Q and K were (not) permuted by mistake";
    if (writtenSquares == 0) return text + ": all values are zero";
    if (std::fabs(cosine()) < 0.1) return text + ": these look like another tensor's values";
    return text;
}

Result<WeightComparison> compareWeights(const WeightSlice& written, const WeightSlice& source,
                                        const WeightRole& role, JobContext& ctx)
{
    HALFTONE_TRY(same, sameOpaqueBytes(written, source));
    if (same) {
        WeightComparison equal;
        equal.count = source.info->count();
        return equal;
    }
    HALFTONE_CHECK(comparable(written, source));
    HALFTONE_TRY(order, orderFor(written, source, role, false));
    HALFTONE_TRY(sum, compareAs(written, source, order, ctx));
    HALFTONE_TRY(scan, scanCodes(*written.model->weights(), *written.info, ctx));
    sum.codes = scan;
    if (movesRows(role) && sum.sqnr() < 3) {
        auto other = orderFor(written, source, role, true);
        if (other && !(other->empty() && order.empty())) {
            HALFTONE_TRY(second, compareAs(written, source, *other, ctx));
            sum.otherOrder = second.sqnr() > sum.sqnr() + 6;
        }
    }
    HALFTONE_CHECK(written.model->weights()->intact(*written.info));
    HALFTONE_CHECK(source.model->weights()->intact(*source.info));
    written.model->weights()->release(*written.info);
    source.model->weights()->release(*source.info);
    return sum;
}

} // namespace halftone
