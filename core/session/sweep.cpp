// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/sweep.h"

#include "core/base/text.h"
#include "core/method/importance_files.h"
#include "core/method/weight_errors.h"
#include "core/result/picture.h"
#include "core/session/quantize.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <limits>

namespace halftone {

namespace {

using Type = Column::Type;

TableSchema sweepSchema()
{
    return {"sweep",
            "Every weight under every setting.",
            {{"point", Type::Integer, "", "Number of the setting, from 0."},
             {"label", Type::Name, "", "The setting in words."},
             {"weight", Type::Integer, "", "Index of the weight in the checkpoint."},
             {"name", Type::Name, "", "Name of the weight."},
             {"format", Type::Name, "", "Format it gets, after substitutions."},
             {"elements", Type::Integer, "", "Number of values."},
             {"bytes", Type::Integer, "B", "Bytes with scales."},
             {"payload_bits", Type::Integer, "bit", "Bits of the codes alone."},
             {"signal", Type::Real, "", "Sum of squares of the values."},
             {"noise", Type::Real, "", "Sum of squares of the errors."},
             {"nmse", Type::Real, "", "Noise over signal."},
             {"sqnr_db", Type::Real, "dB", "Signal to quantization noise ratio."},
             {"max_error", Type::Real, "", "Largest absolute error."}}};
}

TableSchema paretoSchema()
{
    return {"pareto",
            "One row a setting: what the whole model costs and what it loses.",
            {{"point", Type::Integer, "", "Number of the setting, from 0."},
             {"label", Type::Name, "", "The setting in words."},
             {"method", Type::Name, "", "Method."},
             {"bits_per_weight", Type::Real, "bit", "Bits a weight of the whole model, with scales."},
             {"payload_bits", Type::Real, "bit", "Bits of the codes alone, over the swept weights."},
             {"bytes", Type::Integer, "B", "Bytes of all tensors of the model."},
             {"fixed_bytes", Type::Integer, "B", "The part of bytes that no setting changes."},
             {"sqnr_db", Type::Real, "dB", "Summed signal over summed noise of the swept weights."},
             {"nmse", Type::Real, "", "Summed noise over summed signal."},
             {"weighted_error", Type::Real, "", "Mean of the weights' own nmse, by number of values."},
             {"weighted_sqnr_db", Type::Real, "dB", "-10 log10 of the weighted error."},
             {"hull", Type::Integer, "", "1 on the convex hull of bits and SQNR, else 0."}}};
}

/// What one weight becomes at one point.
struct Target {
    const BlockFormat* format = nullptr; ///< null: kept as plain values
    std::optional<DType> keptAs;
    std::uint64_t bytes = 0, payloadBits = 0;
    std::size_t params = 0; ///< index into PointPlan::params
};

/// A point's plan, reduced to what the sweep needs: a model of 100,000 tensors times 50 points must fit.
struct PointPlan {
    std::vector<ParamList> params; ///< the point's own first, then overrides
    std::vector<Target> targets;   ///< one a swept weight
    std::uint64_t fixedBytes = 0;  ///< of weights that are not swept
    double signal = 0, noise = 0;  ///< sums over finished weights
    double weighted = 0;           ///< sum of elements * nmse
    std::uint64_t bytes = 0, payloadBits = 0;
};

std::string inPoint(const SweepPoint& point) { return fmt::format("sweep point \"{}\"", point.label); }

Result<QuantizePlan> planOf(const SweepRequest& request, const SweepPoint& point)
{
    QuantizeRequest one;
    one.model = request.model;
    one.method = point.method;
    one.params = point.params;
    return planQuantize(one).in(inPoint(point));
}

/// Error of plain values written in another type.
Result<ErrorStats> castError(const Tensor& source, DType kept, JobContext& ctx)
{
    HALFTONE_TRY(original, makeTensor(ctx.device, DType::F32, source.shape()));
    HALFTONE_TRY(narrow, makeTensor(ctx.device, kept, source.shape()));
    HALFTONE_TRY(back, makeTensor(ctx.device, DType::F32, source.shape()));
    HALFTONE_CHECK(ctx.device.run(CastOp{source, original}, ctx.stream));
    HALFTONE_CHECK(ctx.device.run(CastOp{source, narrow}, ctx.stream));
    HALFTONE_CHECK(ctx.device.run(CastOp{narrow, back}, ctx.stream));
    Tensor originalHost = original, backHost = back;
    if (&ctx.device != &cpuDevice()) {
        HALFTONE_TRY(a, makeTensor(cpuDevice(), DType::F32, source.shape()));
        HALFTONE_TRY(b, makeTensor(cpuDevice(), DType::F32, source.shape()));
        HALFTONE_CHECK(ctx.device.run(CopyOp{original, a}, ctx.stream));
        HALFTONE_CHECK(ctx.device.run(CopyOp{back, b}, ctx.stream));
        originalHost = a;
        backHost = b;
    }
    HALFTONE_CHECK(ctx.device.synchronize(ctx.stream));
    return compare(std::as_const(originalHost).values<float>(), std::as_const(backHost).values<float>());
}

class Sweep {
public:
    Sweep(const SweepRequest& request, JobContext& ctx)
        : m_request(request), m_ctx(ctx), m_weights(*request.model->weights()), m_importance(*request.model)
    {
    }

    Status run()
    {
        const std::array<std::pair<std::string_view, double>, 2> stages{{{"Plan", 0.02}, {"Sweep", 0.98}}};
        m_ctx.progress.declare(stages);
        HALFTONE_CHECK(makePlans());
        HALFTONE_TRY(table, m_ctx.results.table(sweepSchema()));
        m_table = std::move(table);
        m_ctx.progress.enter("Sweep", static_cast<std::int64_t>(m_swept.size() * m_points.size()));
        for (std::size_t w = 0; w < m_swept.size(); ++w) {
            HALFTONE_CHECK(m_ctx.checkpoint());
            const auto& info = m_weights.all()[m_swept[w]];
            auto done = measure(w, info);
            if (!done) return m_weights.placed(info, std::move(done).error());
            HALFTONE_CHECK(m_weights.intact(info));
            m_weights.release(info);
        }
        return writePareto();
    }

private:
    /// Plans every point and finds the weights that any of them changes.
    Status makePlans()
    {
        const auto all = m_weights.all();
        std::vector<bool> wanted(all.size(), m_request.weights.empty());
        for (const auto index : m_request.weights) {
            if (index >= all.size())
                return Error(Errc::InvalidArgument,
                             fmt::format("weight {} does not exist: the model has {}", index, all.size()));
            wanted[index] = true;
        }
        std::vector<bool> swept(all.size(), false);
        m_ctx.progress.enter("Plan", static_cast<std::int64_t>(m_request.points.size()));
        for (const auto& point : m_request.points) {
            HALFTONE_CHECK(m_ctx.checkpoint());
            HALFTONE_TRY(plan, planOf(m_request, point));
            for (const auto& w : plan.weights)
                if (wanted[w.weight] && w.action != PlannedWeight::Action::Keep) swept[w.weight] = true;
            HALFTONE_CHECK(reduce(plan, point));
            m_ctx.progress.advance();
        }
        for (std::uint32_t i = 0; i < all.size(); ++i)
            if (swept[i]) m_swept.push_back(i);
        if (m_swept.empty())
            return Error(Errc::InvalidArgument,
                         "no setting of the sweep quantizes any of the chosen weights");
        for (auto& point : m_points)
            keepSwept(point, swept);
        return Ok{};
    }

    Status reduce(const QuantizePlan& plan, const SweepPoint& point)
    {
        const auto all = m_weights.all();
        PointPlan reduced;
        reduced.params.push_back(point.params);
        reduced.targets.resize(all.size());
        for (std::uint32_t i = 0; i < all.size(); ++i)
            reduced.targets[i] = {nullptr, all[i].plain, 0, 0, 0};
        std::vector<bool> seen(all.size(), false);
        for (const auto& w : plan.weights) {
            if (seen[w.weight]) { // a second copy of a tied weight
                reduced.fixedBytes += w.bytesAfter;
                continue;
            }
            seen[w.weight] = true;
            auto& target = reduced.targets[w.weight];
            target = {w.format, w.keptAs, w.bytesAfter, w.payloadBits, 0};
            if (w.params.empty() || w.params == point.params) continue;
            const auto known = std::find(reduced.params.begin(), reduced.params.end(), w.params);
            target.params = static_cast<std::size_t>(known - reduced.params.begin());
            if (known == reduced.params.end()) reduced.params.push_back(w.params);
        }
        m_points.push_back(std::move(reduced));
        return Ok{};
    }

    /// Sums up what is not swept and lets go of it.
    void keepSwept(PointPlan& point, const std::vector<bool>& swept) const
    {
        const auto all = m_weights.all();
        std::vector<Target> targets;
        targets.reserve(m_swept.size());
        for (std::size_t i = 0; i < all.size(); ++i) {
            if (swept[i])
                targets.push_back(point.targets[i]);
            else if (point.targets[i].format != nullptr) // quantized by the plan, but not chosen here
                point.fixedBytes += all[i].bytes;
            else
                point.fixedBytes += point.targets[i].bytes;
        }
        point.targets = std::move(targets);
        point.bytes = point.fixedBytes;
    }

    Status measure(std::size_t w, const WeightInfo& info)
    {
        m_ctx.progress.detail(m_request.model->roles()[m_swept[w]].id);
        HALFTONE_TRY(source, m_weights.source(info, m_ctx.device, m_ctx.stop));
        for (std::size_t p = 0; p < m_points.size(); ++p) {
            HALFTONE_CHECK(m_ctx.checkpoint());
            auto stats =
                error(m_points[p], m_points[p].targets[w], *m_request.points[p].method, source, m_swept[w]);
            if (!stats) return std::move(stats).error().in(inPoint(m_request.points[p]));
            HALFTONE_CHECK(addRow(p, w, info, *stats));
            m_ctx.progress.advance();
        }
        return Ok{};
    }

    Result<ErrorStats> error(const PointPlan& point, const Target& target, const QuantizeMethod& method,
                             const Tensor& source, std::uint32_t weight)
    {
        if (target.format != nullptr) {
            const ParamList& params = point.params[target.params];
            HALFTONE_TRY(columns, m_importance.values(method, params, weight));
            HALFTONE_TRY(done, quantizeAndMeasure(method, source, *target.format, params, columns, m_ctx));
            return done.stats;
        }
        return castError(source, target.keptAs.value_or(source.dtype()), m_ctx);
    }

    Status addRow(std::size_t p, std::size_t w, const WeightInfo& info, const ErrorStats& stats)
    {
        auto& point = m_points[p];
        const auto& target = point.targets[w];
        const auto elements = static_cast<double>(info.count());
        point.signal += stats.signal;
        point.noise += stats.noise;
        point.weighted += elements * stats.normalisedMse();
        point.bytes += target.bytes;
        point.payloadBits += target.payloadBits;
        const std::string_view format = target.format   ? std::string_view(target.format->name())
                                        : target.keptAs ? nameOf(*target.keptAs)
                                                        : std::string_view(info.type);
        const std::array row{static_cast<double>(p),
                             m_table->nameId(1, m_request.points[p].label),
                             static_cast<double>(m_swept[w]),
                             m_table->nameId(3, info.name),
                             m_table->nameId(4, format),
                             elements,
                             static_cast<double>(target.bytes),
                             static_cast<double>(target.payloadBits),
                             stats.signal,
                             stats.noise,
                             stats.normalisedMse(),
                             stats.sqnr(),
                             stats.maxError};
        return m_table->append(row);
    }

    Status writePareto()
    {
        double sweptElements = 0;
        for (const auto index : m_swept)
            sweptElements += static_cast<double>(m_weights.all()[index].count());
        const auto allElements = static_cast<double>(m_request.model->weightCount());
        std::vector<double> bits, sqnr;
        for (const auto& point : m_points) {
            bits.push_back(8.0 * static_cast<double>(point.bytes) / allElements);
            sqnr.push_back(point.noise > 0 ? -10.0 * std::log10(point.noise / point.signal)
                                           : std::numeric_limits<double>::infinity());
        }
        const auto hull = upperLeftHull(bits, sqnr);
        HALFTONE_TRY(table, m_ctx.results.table(paretoSchema()));
        for (std::size_t p = 0; p < m_points.size(); ++p) {
            const auto& point = m_points[p];
            const double weighted = point.weighted / sweptElements;
            const bool onHull = std::find(hull.begin(), hull.end(), p) != hull.end();
            const std::array row{static_cast<double>(p),
                                 table->nameId(1, m_request.points[p].label),
                                 table->nameId(2, m_request.points[p].method->info().id),
                                 bits[p],
                                 static_cast<double>(point.payloadBits) / sweptElements,
                                 static_cast<double>(point.bytes),
                                 static_cast<double>(point.fixedBytes),
                                 sqnr[p],
                                 point.signal > 0 ? point.noise / point.signal : 0,
                                 weighted,
                                 weighted > 0 ? -10.0 * std::log10(weighted)
                                              : std::numeric_limits<double>::infinity(),
                                 onHull ? 1.0 : 0.0};
            HALFTONE_CHECK(table->append(row));
        }
        return writeFigures(hull, bits, sqnr);
    }

    Status writeFigures(std::span<const std::uint32_t> hull, std::span<const double> bits,
                        std::span<const double> sqnr)
    {
        std::string reading = fmt::format("{} settings, {} on the hull", m_points.size(), hull.size());
        if (!hull.empty())
            reading += fmt::format(": from {} ({} bits, {} dB) to {} ({} bits, {} dB)",
                                   m_request.points[hull.front()].label, shortNumber(bits[hull.front()]),
                                   shortNumber(sqnr[hull.front()]), m_request.points[hull.back()].label,
                                   shortNumber(bits[hull.back()]), shortNumber(sqnr[hull.back()]));
        reading += ".";
        const Axis bitAxis{"Bits per weight", "bit", false};
        const Axis byteAxis{"Size", "B", false};
        const Axis sqnrAxis{"SQNR", "dB", false};
        const Axis weightedAxis{"Weighted SQNR", "dB", false};
        HALFTONE_CHECK(
            figure("pareto", "Bits against error", "bits_per_weight", bitAxis, "sqnr_db", sqnrAxis, reading));
        HALFTONE_CHECK(
            figure("pareto_bytes", "Size against error", "bytes", byteAxis, "sqnr_db", sqnrAxis, reading));
        return figure(
            "pareto_weighted", "Bits against weighted error", "bits_per_weight", bitAxis, "weighted_sqnr_db",
            weightedAxis,
            "Every weight counts by its number of values, however large they are; higher is better.");
    }

    Status figure(std::string_view id, std::string_view title, std::string_view x, const Axis& xAxis,
                  std::string_view y, const Axis& yAxis, const std::string& caption)
    {
        return m_ctx.results.figure({.id = std::string(id),
                                     .title = std::string(title),
                                     .kind = "pareto",
                                     .x = xAxis,
                                     .y = yAxis,
                                     .traces = {{.label = "Settings",
                                                 .table = "pareto",
                                                 .x = std::string(x),
                                                 .y = std::string(y),
                                                 .text = "label",
                                                 .mark = Trace::Mark::Points,
                                                 .hull = true}},
                                     .caption = caption});
    }

    const SweepRequest& m_request;
    JobContext& m_ctx;
    const WeightSet& m_weights;
    ImportanceFiles m_importance;
    std::vector<std::uint32_t> m_swept;
    std::vector<PointPlan> m_points;
    std::shared_ptr<TableWriter> m_table;
};

} // namespace

Status runSweep(const SweepRequest& request, JobContext& ctx)
{
    if (request.points.empty()) return Error(Errc::InvalidArgument, "a sweep needs at least one setting");
    if (request.points.size() > kMostSweepPoints)
        return Error(Errc::InvalidArgument, fmt::format("{} settings are more than the {} a sweep may have",
                                                        request.points.size(), kMostSweepPoints));
    return Sweep(request, ctx).run();
}

} // namespace halftone
