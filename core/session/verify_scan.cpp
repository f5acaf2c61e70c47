// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/verify_scan.h"

#include "core/method/weight_errors.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <limits>
#include <new>
#include <vector>

namespace halftone {

namespace {

constexpr std::int64_t kManyScales = 16;

// Powers of two often agree: that says nothing.
bool scalesAreFine(const FormatDesc& desc) { return desc.scale != ScaleType::E8M0; }

TableSchema scanSchema()
{
    using Type = Column::Type;
    return {"scan",
            "Each weight of a checkpoint by itself.",
            {{"name", Type::Name, "", "Name of the weight."},
             {"id", Type::Name, "", "Stable id, independent of container and sharding."},
             {"type", Type::Name, "", "Type it is stored in."},
             {"elements", Type::Integer, "", "Number of values."},
             {"not_finite", Type::Integer, "", "Values that are NaN or Inf."},
             {"zeros", Type::Integer, "", "Values that are 0."},
             {"peak", Type::Real, "", "Largest magnitude."},
             {"rms", Type::Real, "", "Root of the mean square."},
             {"verdict", Type::Name, "", "ok, look or failed."}}};
}

struct ValueScan {
    std::int64_t count = 0, notFinite = 0, zeros = 0, badRow = -1, badColumn = -1;
    double peak = 0, squares = 0;
};

Result<ValueScan> scanValues(const WeightSet& weights, const WeightInfo& info, JobContext& ctx)
{
    ValueScan sum;
    const std::int64_t rows = info.shape.rows(), cols = std::max<std::int64_t>(1, info.shape.cols());
    const std::int64_t piece = rowsPerPiece(cols);
    for (std::int64_t begin = 0; begin < rows; begin += piece) {
        HALFTONE_CHECK(ctx.checkpoint());
        HALFTONE_TRY(part, weights.loadRows(info, begin, std::min(rows, begin + piece), DType::F32,
                                            cpuDevice(), ctx.stop));
        for (const float x : std::as_const(part).values<float>()) {
            if (!std::isfinite(x)) {
                if (sum.notFinite++ == 0) {
                    sum.badRow = sum.count / cols;
                    sum.badColumn = sum.count % cols;
                }
            } else {
                sum.zeros += x == 0.0f ? 1 : 0;
                sum.peak = std::max(sum.peak, std::fabs(static_cast<double>(x)));
                sum.squares += static_cast<double>(x) * x;
            }
            ++sum.count;
        }
    }
    return sum;
}

class Scanner {
public:
    Scanner(const Model& model, JobContext& ctx) : m_model(model), m_weights(*model.weights()), m_ctx(ctx) {}

    Result<VerifyReport> run()
    {
        HALFTONE_TRY(table, m_ctx.results.table(scanSchema()));
        m_table = std::move(table);
        std::int64_t total = 0;
        for (const auto& info : m_weights.all())
            total += info.count();
        m_ctx.progress.enter("Verify", std::max<std::int64_t>(1, total));
        m_report.worstSqnr = std::numeric_limits<double>::quiet_NaN(); // there is nothing to compare with
        for (const auto& issue : m_weights.checkpoint()->issues()) {
            if (issue.severity == CheckpointIssue::Severity::Error) ++m_report.failed;
            m_report.findings.push_back(issue.text);
        }
        for (const auto& role : m_model.roles()) {
            HALFTONE_CHECK(m_ctx.checkpoint());
            const WeightInfo& info = m_weights.all()[role.weight];
            m_ctx.progress.detail(role.id);
            HALFTONE_CHECK(one(role, info));
            m_ctx.progress.advance(info.count());
        }
        HALFTONE_CHECK(checkTie());
        return std::move(m_report);
    }

private:
    void find(const WeightInfo& info, const std::string& what)
    {
        m_report.findings.push_back(info.name + ": " + what);
    }

    Status one(const WeightRole& role, const WeightInfo& info)
    {
        ++m_report.compared;
        if (!info.whyOpaque.empty()) {
            find(info, "can't be read: " + info.whyOpaque);
            return row(role, info, {}, "look");
        }
        if (!info.isDecodable()) return row(role, info, {}, "ok"); // counters, tables of indices
        HALFTONE_TRY(values, scanValues(m_weights, info, m_ctx));
        HALFTONE_TRY(codes, scanCodes(m_weights, info, m_ctx));
        HALFTONE_CHECK(m_weights.intact(info));
        m_weights.release(info);
        std::string problem = codes.problem(), remark = codes.remark();
        if (values.notFinite > 0)
            problem = fmt::format("{} values are NaN or Inf, the first at row {}, column {}",
                                  values.notFinite, values.badRow, values.badColumn);
        if (problem.empty() && info.isMatrix() && values.count > 0 && values.zeros == values.count)
            problem = "all values are zero";
        if (remark.empty()) remark = info.note;
        if (!problem.empty()) {
            ++m_report.failed;
            find(info, problem);
            return row(role, info, values, "failed");
        }
        if (!remark.empty()) find(info, remark);
        return row(role, info, values, remark.empty() ? "ok" : "look");
    }

    // A head that is stored beside an equal embedding, or one that config.json calls tied and that differs.
    Status checkTie()
    {
        const WeightRole* head = m_model.byId("head");
        const WeightRole* embed = m_model.byId("embed");
        if (head == nullptr || embed == nullptr) return Ok{};
        const WeightInfo& a = m_weights.all()[head->weight];
        const WeightInfo& b = m_weights.all()[embed->weight];
        if (!a.isDecodable() || !b.isDecodable() || !(a.shape == b.shape)) return Ok{};
        const std::int64_t rows = a.shape.rows(), piece = rowsPerPiece(a.shape.cols());
        for (std::int64_t begin = 0; begin < rows; begin += piece) {
            HALFTONE_CHECK(m_ctx.checkpoint());
            const std::int64_t end = std::min(rows, begin + piece);
            HALFTONE_TRY(x, m_weights.loadRows(a, begin, end, DType::F32, cpuDevice(), m_ctx.stop));
            HALFTONE_TRY(y, m_weights.loadRows(b, begin, end, DType::F32, cpuDevice(), m_ctx.stop));
            const auto xs = std::as_const(x).bytes(), ys = std::as_const(y).bytes();
            if (std::memcmp(xs.data(), ys.data(), xs.size()) == 0) continue;
            if (m_model.config().tiedHead)
                find(a, fmt::format("config.json says that it is tied to {}, but it differs from row {} on: "
                                    "runtimes use the embedding",
                                    b.name, begin));
            return Ok{};
        }
        find(a, fmt::format("equals {}: the head is tied, and stored twice", b.name));
        return Ok{};
    }

    Status row(const WeightRole& role, const WeightInfo& info, const ValueScan& v, std::string_view verdict)
    {
        const auto finite = static_cast<double>(std::max<std::int64_t>(1, v.count - v.notFinite));
        const std::array values{m_table->nameId(0, info.name),
                                m_table->nameId(1, role.id),
                                m_table->nameId(2, info.type),
                                static_cast<double>(info.count()),
                                static_cast<double>(v.notFinite),
                                static_cast<double>(v.zeros),
                                v.peak,
                                std::sqrt(v.squares / finite),
                                m_table->nameId(8, verdict)};
        return m_table->append(values);
    }

    const Model& m_model;
    const WeightSet& m_weights;
    JobContext& m_ctx;
    std::shared_ptr<TableWriter> m_table;
    VerifyReport m_report;
};

} // namespace

std::string CodeScan::problem() const
{
    if (zeroScales) return scales == 1 ? "its scale is zero" : fmt::format("all {} scales are zero", scales);
    if (constantCodes) return "all codes are the same";
    if (wrappedZeros > 0)
        return fmt::format("{} zero points lie beyond the codes: 0 was stored as -1, which wraps",
                           wrappedZeros);
    return {};
}

std::string CodeScan::remark() const
{
    return equalScales ? fmt::format("all {} scales are the same", scales) : std::string();
}

Result<CodeScan> scanCodes(const WeightSet& weights, const WeightInfo& info, JobContext& ctx)
{
    CodeScan out;
    if (info.format == nullptr || info.count() == 0) return out;
    const auto& desc = info.format->desc();
    HALFTONE_TRY(packed, weights.packed(info));
    const std::int64_t rows = info.shape.rows(), cols = info.shape.cols();
    const std::int64_t step = desc.blockSize > 0 ? std::min(desc.blockSize, cols) : cols;
    if (desc.zeroPoint)
        for (const std::uint8_t zero : planesOf(std::as_const(packed)).zeros)
            out.wrappedZeros += zero > desc.highest ? 1 : 0;
    std::vector<std::int32_t> codes(static_cast<std::size_t>(cols));
    std::vector<GridPoint> points(static_cast<std::size_t>(cols));
    bool first = true, sameCodes = true, sameScales = true, zeroScales = true;
    std::int32_t code = 0;
    float scale = 0;
    for (std::int64_t r = 0; r < rows && (sameCodes || sameScales || zeroScales); ++r) {
        HALFTONE_CHECK(ctx.checkpoint());
        HALFTONE_TRY(row, packedRows(packed, r, r + 1));
        info.format->inspectRow(planesOf(std::as_const(row)), cols, codes, points);
        if (first) {
            code = codes[0];
            scale = points[0].scale;
            first = false;
        }
        for (const std::int32_t c : codes)
            sameCodes = sameCodes && c == code;
        for (std::int64_t c = 0; c < cols; c += step) {
            const float s = points[static_cast<std::size_t>(c)].scale;
            sameScales = sameScales && s == scale;
            zeroScales = zeroScales && s == 0.0f;
        }
    }
    out.scales = desc.blockSize == FormatDesc::kWholeTensor ? 1 : rows * ((cols + step - 1) / step);
    out.constantCodes = sameCodes && info.count() > 1;
    out.zeroScales = zeroScales;
    out.equalScales = sameScales && !zeroScales && out.scales >= kManyScales && scalesAreFine(desc);
    return out;
}

Result<VerifyReport> scanCheckpoint(const Model& model, JobContext& ctx)
{
    try {
        return Scanner(model, ctx).run();
    } catch (const std::bad_alloc&) {
        return Error(Errc::OutOfMemory, "not enough memory for one weight");
    }
}

} // namespace halftone
