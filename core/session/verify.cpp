// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/verify.h"

#include "core/base/text.h"
#include "core/method/weight_errors.h"
#include "core/session/verify_compare.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <new>

namespace halftone {

namespace {

TableSchema verifySchema()
{
    using Type = Column::Type;
    return {"verify",
            "Each weight of a written checkpoint against its source.",
            {{"name", Type::Name, "", "Name of the weight in the written checkpoint."},
             {"id", Type::Name, "", "Stable id, independent of container and sharding."},
             {"type", Type::Name, "", "Type it is stored in."},
             {"elements", Type::Integer, "", "Number of values."},
             {"sqnr_db", Type::Real, "dB", "Signal to quantization noise ratio."},
             {"cosine", Type::Real, "", "Cosine of the angle between the two."},
             {"max_error", Type::Real, "", "Largest absolute error."},
             {"not_finite", Type::Integer, "", "Values that are NaN or Inf where the source's are finite."},
             {"verdict", Type::Name, "", "ok or failed."}}};
}

// Tables that every runtime computes by itself may be missing or extra.
bool isDerived(const WeightRole& role, std::string_view name)
{
    return role.role == Role::RopeFactors || name.ends_with(".rotary_emb.inv_freq");
}

class Verifier {
public:
    Verifier(const Model& written, const Model& source, VerifyLimits limits, JobContext& ctx)
        : m_written(written), m_source(source), m_limits(limits), m_ctx(ctx)
    {
    }

    Result<VerifyReport> run()
    {
        HALFTONE_TRY(table, m_ctx.results.table(verifySchema()));
        m_table = std::move(table);
        m_report.worstSqnr = std::numeric_limits<double>::infinity();
        m_matched.assign(m_written.roles().size(), false);
        std::int64_t total = 0;
        for (const auto& info : m_source.weights()->all())
            total += info.count();
        m_ctx.progress.enter("Verify", std::max<std::int64_t>(1, total));
        checkTie();
        for (const auto& role : m_source.roles()) {
            HALFTONE_CHECK(m_ctx.checkpoint());
            const WeightInfo& info = m_source.weights()->all()[role.weight];
            m_ctx.progress.detail(role.id);
            HALFTONE_CHECK(one(role, info));
            m_ctx.progress.advance(info.count());
        }
        HALFTONE_CHECK(untiedHead());
        countExtra();
        return std::move(m_report);
    }

private:
    void find(std::string text) { m_report.findings.push_back(std::move(text)); }

    void checkTie()
    {
        const bool before = m_source.config().tiedHead, after = m_written.config().tiedHead;
        if (before && !after && m_written.byId("head") != nullptr)
            find("the head was tied to the embedding and has a tensor of its own now");
        if (!before && after && m_source.byId("head") != nullptr)
            find("the head had a tensor of its own and is tied to the embedding now");
    }

    Status one(const WeightRole& role, const WeightInfo& info)
    {
        // Whole weights first; then experts, which one naming stacks in one tensor and the other does not.
        if (const WeightRole* there = m_written.byId(role.id)) {
            m_matched[there->weight] = true;
            return pair(slice(m_written, *there), slice(m_source, role), role);
        }
        if (role.expert >= 0) {
            const std::string stack = stackIdOf(role);
            if (const WeightRole* there = m_written.byId(stack)) {
                m_matched[there->weight] = true;
                const std::int64_t rows = info.shape.rows();
                WeightSlice part = slice(m_written, *there);
                if ((role.expert + 1) * rows <= part.end) {
                    part.begin = role.expert * rows;
                    part.end = part.begin + rows;
                    return pair(part, slice(m_source, role), role);
                }
            }
        } else if (info.shape.rank() == 3 && role.linear) {
            HALFTONE_TRY(done, unstacked(role, info));
            if (done) return Ok{};
        }
        if (isDerived(role, info.name)) return Ok{};
        ++m_report.missing;
        find(fmt::format("{}: missing in the written checkpoint (id {})", info.name, role.id));
        return Ok{};
    }

    static std::string stackIdOf(const WeightRole& role)
    {
        std::string id = role.id;
        const std::string number = "." + std::to_string(role.expert) + ".";
        if (const auto at = id.rfind(number); at != std::string::npos) id.replace(at, number.size(), ".");
        return id;
    }

    // A stack in the source whose experts are single tensors in the output.
    Result<bool> unstacked(const WeightRole& role, const WeightInfo& info)
    {
        const auto dot = role.id.rfind('.');
        if (dot == std::string::npos) return false;
        const std::int64_t experts = info.shape[0], rows = info.shape[1];
        for (std::int64_t e = 0; e < experts; ++e) {
            const WeightRole* there =
                m_written.byId(fmt::format("{}.{}{}", role.id.substr(0, dot), e, role.id.substr(dot)));
            if (there == nullptr) return e > 0 ? Result<bool>(missingExpert(role, e)) : Result<bool>(false);
            m_matched[there->weight] = true;
            WeightSlice part = slice(m_source, role);
            part.begin = e * rows;
            part.end = part.begin + rows;
            HALFTONE_CHECK(pair(slice(m_written, *there), part, *there));
        }
        return true;
    }

    bool missingExpert(const WeightRole& role, std::int64_t expert)
    {
        ++m_report.missing;
        find(fmt::format("{}: expert {} is missing in the written checkpoint", role.id, expert));
        return true;
    }

    // A head that was made by untying holds the embedding's values.
    Status untiedHead()
    {
        const WeightRole* head = m_written.byId("head");
        const WeightRole* embed = m_source.byId("embed");
        if (head == nullptr || embed == nullptr || m_matched[head->weight] || !m_source.config().tiedHead)
            return Ok{};
        m_matched[head->weight] = true;
        return pair(slice(m_written, *head), slice(m_source, *embed), *head);
    }

    void countExtra()
    {
        for (const auto& role : m_written.roles()) {
            const auto& name = m_written.weights()->all()[role.weight].name;
            if (m_matched[role.weight] || isDerived(role, name)) continue;
            ++m_report.extra;
            find(fmt::format("{}: not in the source", name));
        }
    }

    Status pair(const WeightSlice& written, const WeightSlice& source, const WeightRole& role)
    {
        auto found = compareWeights(written, source, role, m_ctx);
        if (!found) {
            if (found.error().code() == Errc::Cancelled) return std::move(found).error();
            return fail(written, role, WeightComparison{}, found.error().what());
        }
        ++m_report.compared;
        const double sqnr = found->sqnr();
        if (sqnr < m_report.worstSqnr) {
            m_report.worstSqnr = sqnr;
            m_report.worst = written.info->name;
        }
        const std::string problem = found->problem(written, source, m_limits.minSqnr);
        if (!problem.empty()) return fail(written, role, *found, problem, true);
        return row(written, role, *found, "ok");
    }

    Status fail(const WeightSlice& written, const WeightRole& role, const WeightComparison& found,
                const std::string& why, bool counted = false)
    {
        if (!counted) ++m_report.compared;
        ++m_report.failed;
        find(fmt::format("{}: {}", written.info->name, why));
        return row(written, role, found, "failed");
    }

    Status row(const WeightSlice& written, const WeightRole& role, const WeightComparison& found,
               std::string_view verdict)
    {
        const std::array values{m_table->nameId(0, written.info->name),
                                m_table->nameId(1, role.id),
                                m_table->nameId(2, written.info->type),
                                static_cast<double>(found.count),
                                found.sqnr(),
                                found.cosine(),
                                found.maxError,
                                static_cast<double>(found.notFinite),
                                m_table->nameId(8, verdict)};
        return m_table->append(values);
    }

    static WeightSlice slice(const Model& model, const WeightRole& role)
    {
        const WeightInfo& info = model.weights()->all()[role.weight];
        return {&model, &info, 0, info.shape.rows()};
    }

    const Model& m_written;
    const Model& m_source;
    VerifyLimits m_limits;
    JobContext& m_ctx;
    std::shared_ptr<TableWriter> m_table;
    std::vector<bool> m_matched; // weights of the output that some source weight was compared with
    VerifyReport m_report;
};

} // namespace

Result<VerifyReport> verifyCheckpoint(const Model& written, const Model& source, VerifyLimits limits,
                                      JobContext& ctx)
{
    try {
        return Verifier(written, source, limits, ctx).run();
    } catch (const std::bad_alloc&) {
        return Error(Errc::OutOfMemory, "not enough memory to compare two weights");
    }
}

} // namespace halftone
