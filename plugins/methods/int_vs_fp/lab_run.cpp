// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/methods/int_vs_fp/lab_run.h"

#include "plugins/methods/int_vs_fp/rotation.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <set>
#include <tuple>

namespace halftone::int_vs_fp {

namespace {

constexpr std::int64_t kRow = FormatDesc::kWholeRow;
/// The figure of the paper ends a little behind its last crossing.
constexpr double kMostCrest = 12;

/// Block sizes that pairs have by nature, of those that are measured.
std::vector<std::int64_t> usualBlocks(const std::vector<PairRun>& runs)
{
    std::set<std::int64_t> blocks;
    for (const PairRun& run : runs)
        if (run.usual()) blocks.insert(run.block);
    return {blocks.begin(), blocks.end()};
}

std::optional<Crossing> crossingOfRun(const PairRun& run, const TheoryOptions& options)
{
    return crossingOf(modelOf(run.formats.integer->desc()), modelOf(run.formats.floating->desc()), kMostCrest,
                      options);
}

std::string sourceName(std::string_view rotation) { return "This checkpoint" + rotationNote(rotation); }
std::string publishedName(std::string_view rotation)
{
    return std::string("Published, Llama-3.1-8B") + (rotation == "none" ? "" : ", rotated");
}

} // namespace

std::vector<FigureSpec> figuresOf(const LabParams& p, const std::vector<std::int64_t>& sizes,
                                  const std::vector<PairRun>& runs, std::span<const PairSummary> summaries)
{
    std::vector<FigureSpec> all;
    all.push_back(theoryFigure(runs));
    const PairRun* first = nullptr;
    for (std::size_t i = 0; i < runs.size(); ++i) {
        if (!runs[i].usual()) continue;
        if (first == nullptr) first = &runs[i];
        all.push_back(pairFigure(runs[i], i < summaries.size() ? &summaries[i] : nullptr,
                                 crossingOfRun(runs[i], p.theory())));
    }
    if (first != nullptr) all.push_back(winFigure(*first));
    all.push_back(layerFigure(usualBlocks(runs), p.hadamard));
    all.push_back(crestFigure(sourceName(p.hadamard), publishedName(p.hadamard)));
    if (p.sweep) all.push_back(sweepFigure(runs));
    if (p.clipping) {
        all.push_back(biasFigure(p.biasBits));
        all.push_back(driftFigure(p.biasBits, sizes));
    }
    return all;
}

LabRun::LabRun(const Model& model, LabParams params, std::vector<std::int64_t> sizes,
               std::vector<PairRun> runs, JobContext& ctx)
    : m_model(model), m_params(std::move(params)), m_sizes(std::move(sizes)), m_runs(std::move(runs)),
      m_ctx(ctx), m_summaries(m_runs.size())
{
}

Status LabRun::theory()
{
    HALFTONE_TRY(pairs, open(pairSchema()));
    m_pairs = pairs;
    HALFTONE_TRY(crestTable, open(crestSchema()));
    m_crests = crestTable;
    HALFTONE_TRY(curves, open(theorySchema()));
    HALFTONE_TRY(crossings, open(crossingSchema()));
    for (const PairRun& run : m_runs) {
        HALFTONE_CHECK(addCurves(*curves, run, kMostCrest, m_params.theory()));
        const auto crossing = crossingOfRun(run, m_params.theory());
        if (crossing && run.usual()) HALFTONE_CHECK(addCrossing(*crossings, run, *crossing));
    }
    // Those whose tables are there already: what a run that is cut off leaves to look at.
    const std::set<std::string> there{pairSchema().name, theorySchema().name, crossingSchema().name};
    for (const FigureSpec& figure : figuresOf(m_params, m_sizes, m_runs, {}))
        if (std::all_of(figure.traces.begin(), figure.traces.end(),
                        [&](const Trace& t) { return there.contains(t.table); }))
            HALFTONE_CHECK(m_ctx.results.figure(figure));
    return Ok{};
}

Status LabRun::weight(std::uint32_t index)
{
    const auto& info = m_model.weights()->all()[index];
    m_ctx.progress.detail(m_model.roles()[index].id);
    if (auto done = measure(index); !done) return m_model.weights()->placed(info, std::move(done).error());
    m_model.weights()->release(info);
    return m_model.weights()->intact(info);
}

Status LabRun::measure(std::uint32_t index)
{
    const auto& info = m_model.weights()->all()[index];
    const auto& role = m_model.roles()[index];
    HALFTONE_TRY(rows, OperandRows::load(*m_model.weights(), info, role, m_params.rows, m_ctx));
    const std::int64_t cols = rows.values().shape().cols();
    std::set<std::int64_t> blocks(m_sizes.begin(), m_sizes.end());
    for (const PairRun& run : m_runs)
        blocks.insert(run.block);
    blocks.insert(kRow);
    for (const std::int64_t block : blocks) {
        HALFTONE_CHECK(m_ctx.checkpoint());
        Tensor matrix = rows.values();
        std::int64_t rotatedBy = 0;
        if (m_params.hadamard != "none") {
            rotatedBy = rotationSize(cols, m_params.hadamard == "block" && block > 0 ? block : 0);
            HALFTONE_TRY(turned, rows.rotated(rotatedBy, m_ctx));
            matrix = turned;
        }
        HALFTONE_CHECK(crests(index, matrix, block));
        for (std::size_t i = 0; i < m_runs.size(); ++i) {
            const PairRun& run = m_runs[i];
            if (run.block != block) continue;
            HALFTONE_CHECK(m_ctx.checkpoint());
            auto loss = measurePair(matrix, run.formats, m_ctx);
            if (!loss) return std::move(loss).error().in(run.pair->title());
            m_summaries[i].add(*loss);
            HALFTONE_CHECK(addPair(*m_pairs, info.name, role, run, rotatedBy, *loss, m_params.theory()));
            m_ctx.progress.advance();
        }
    }
    return m_params.clipping ? ranges(index, rows.values()) : Status(Ok{});
}

Status LabRun::crests(std::uint32_t index, const Tensor& matrix, std::int64_t block)
{
    const auto& role = m_model.roles()[index];
    HALFTONE_TRY(factors, crestFactors(matrix, block, m_ctx));
    const bool byLayer = std::any_of(m_runs.begin(), m_runs.end(),
                                     [&](const PairRun& run) { return run.usual() && run.block == block; });
    if (byLayer) {
        CrestCounts& layer = m_layers[{role.layer, block}];
        for (const double crest : factors)
            layer.add(crest);
    }
    const Spread spread = spreadOf(factors);
    if (spread.count > 0) m_means[block].push_back(spread.mean);
    return addCrest(*m_crests, m_model.weights()->all()[index].name, role, m_params.hadamard, block, spread);
}

Status LabRun::ranges(std::uint32_t index, const Tensor& matrix)
{
    HALFTONE_TRY(table, open(rangeSchema()));
    for (const int bits : {8, 6, 4}) {
        HALFTONE_TRY(symmetric, intGridFormat(bits, GridRule::SymRestricted, 32, ScaleType::BF16));
        HALFTONE_TRY(full, intGridFormat(bits, GridRule::SymFull, 32, ScaleType::BF16));
        HALFTONE_TRY(a, measureFormat(matrix, *symmetric, m_ctx));
        HALFTONE_TRY(b, measureFormat(matrix, *full, m_ctx));
        HALFTONE_CHECK(
            addRange(*table, m_model.weights()->all()[index].name, m_model.roles()[index], bits, a, b));
    }
    return Ok{};
}

Status LabRun::writeCrests()
{
    HALFTONE_TRY(layers, open(layerCrestSchema()));
    for (const auto& [key, counts] : m_layers) {
        const std::string name = key.first < 0 ? "other" : fmt::format("layer {}", key.first);
        HALFTONE_CHECK(addLayerCrest(*layers, name, m_params.hadamard, key.second, counts.spread()));
    }
    HALFTONE_TRY(spreads, open(crestSpreadSchema()));
    // Whole rows come last, as the largest blocks.
    std::vector<std::int64_t> order = m_sizes;
    for (const std::int64_t block : usualBlocks(m_runs))
        if (std::find(order.begin(), order.end(), block) == order.end()) order.push_back(block);
    std::sort(order.begin(), order.end());
    order.push_back(kRow);
    for (const std::int64_t block : order) {
        const auto means = m_means.find(block);
        if (means == m_means.end()) continue;
        HALFTONE_CHECK(
            addCrestSpread(*spreads, sourceName(m_params.hadamard), block, spreadOf(means->second)));
        for (const PublishedCrest& p : publishedCrests()) {
            if (p.block != block || p.rotated == (m_params.hadamard == "none")) continue;
            Spread s;
            std::tie(s.least, s.lower, s.median, s.upper, s.most) =
                std::tie(p.spread[0], p.spread[1], p.spread[2], p.spread[3], p.spread[4]);
            HALFTONE_CHECK(addCrestSpread(*spreads, publishedName(m_params.hadamard), block, s));
        }
    }
    return Ok{};
}

Status LabRun::gradients()
{
    HALFTONE_TRY(drift, open(driftSchema()));
    HALFTONE_TRY(bias, open(biasSchema()));
    m_ctx.progress.enter("Gradients", static_cast<std::int64_t>(2 * m_sizes.size()));
    for (const std::int64_t block : m_sizes)
        for (const bool full : {true, false}) {
            BiasTrial trial;
            trial.bits = m_params.biasBits;
            trial.block = block;
            trial.fullRange = full;
            trial.steps = m_params.biasSteps;
            trial.seed = m_ctx.rng.seed();
            HALFTONE_TRY(result, gradientBias(trial, m_ctx));
            HALFTONE_CHECK(addBias(*drift, *bias, trial, result));
            m_ctx.progress.advance();
        }
    return m_ctx.results.line(
        LogLevel::Info, fmt::format("in BF16, x / (x / 127) comes out as 128 for {:.2f} % of normal values",
                                    100 * shareBeyondTop()));
}

Status LabRun::finish()
{
    HALFTONE_TRY(summary, open(summarySchema()));
    for (std::size_t i = 0; i < m_runs.size(); ++i)
        HALFTONE_CHECK(
            addSummary(*summary, m_runs[i], m_summaries[i], crossingOfRun(m_runs[i], m_params.theory())));
    HALFTONE_CHECK(writeCrests());
    if (m_params.clipping) HALFTONE_CHECK(gradients());
    for (const FigureSpec& figure : figuresOf(m_params, m_sizes, m_runs, m_summaries))
        HALFTONE_CHECK(m_ctx.results.figure(figure));
    HALFTONE_CHECK(m_ctx.results.line(LogLevel::Info, kFourBitNote));
    return m_ctx.results.line(
        LogLevel::Info, "operands: weights only; activations and gradients need calibration data, which this "
                        "version can't record");
}

} // namespace halftone::int_vs_fp
