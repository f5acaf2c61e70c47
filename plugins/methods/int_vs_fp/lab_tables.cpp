// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/methods/int_vs_fp/lab_tables.h"

#include "core/method/weight_columns.h"

#include <cmath>
#include <fmt/format.h>
#include <limits>

namespace halftone::int_vs_fp {

namespace {

using Type = Column::Type;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

std::vector<Column> spreadColumns(const std::string& what)
{
    return {{"blocks", Type::Integer, "", "Blocks that are not all zero."},
            {"crest_mean", Type::Real, "", what + ": mean."},
            {"crest_least", Type::Real, "", what + ": smallest."},
            {"crest_lower", Type::Real, "", what + ": lower quartile."},
            {"crest_median", Type::Real, "", what + ": median."},
            {"crest_upper", Type::Real, "", what + ": upper quartile."},
            {"crest_most", Type::Real, "", what + ": largest."}};
}

TableRow& addSpread(TableRow& row, const Spread& s)
{
    row.number(s.count);
    for (const double v : {s.mean, s.least, s.lower, s.median, s.upper, s.most})
        row.number(v);
    return row;
}

/// Columns of one of the two formats of a pair.
std::vector<Column> lossColumns(const std::string& key, const std::string& what)
{
    return {
        {key + "_qsnr_db", Type::Real, "dB", what + ": signal to quantization noise over the whole weight."},
        {key + "_theory_db", Type::Real, "dB", what + ": what theory gives at the mean crest factor."},
        {key + "_block_lower_db", Type::Real, "dB", what + ": lower quartile over blocks."},
        {key + "_block_median_db", Type::Real, "dB", what + ": median over blocks."},
        {key + "_block_upper_db", Type::Real, "dB", what + ": upper quartile over blocks."},
        {key + "_clipped", Type::Real, "", what + ": share of values beyond the ends of the grid."},
        {key + "_underflowed", Type::Real, "", what + ": share of values that read back as 0."}};
}

void addLoss(TableRow& row, const FormatLoss& loss, const std::optional<double>& theory)
{
    const auto count = static_cast<double>(loss.total.count);
    row.number(loss.total.sqnr()).number(theory.value_or(kNaN));
    row.number(loss.blocks.lower).number(loss.blocks.median).number(loss.blocks.upper);
    row.number(count > 0 ? static_cast<double>(loss.total.clipped) / count : 0.0);
    row.number(count > 0 ? static_cast<double>(loss.total.underflowed) / count : 0.0);
}

double meanOf(double sum, std::int64_t count) { return count == 0 ? kNaN : sum / static_cast<double>(count); }

} // namespace

std::string rotationNote(std::string_view rotation)
{
    return rotation == "none" ? std::string() : fmt::format(", rotated by {}", rotation);
}

std::string blockName(std::int64_t block) { return block > 0 ? fmt::format("{}", block) : "row"; }

std::string curveName(std::string_view head, const PairRun& run)
{
    return fmt::format("{}, blocks of {}, {}", headTitle(head), run.block, run.analysis());
}

std::string rangeName(int bits, bool full)
{
    return fmt::format("INT{}, {}", bits, full ? "full range" : "symmetric");
}

std::string driftName(int bits, bool full, std::int64_t block)
{
    return fmt::format("{}, blocks of {}", rangeName(bits, full), block);
}

std::string PairRun::set() const
{
    return fmt::format("{}, {}, {}{}", pair->title(), block, rule, rotationNote(rotation));
}

std::string PairRun::analysis() const { return rules + rotationNote(rotation); }

std::string PairRun::group() const
{
    return fmt::format("{}, {}", usual() ? "usual blocks" : "other blocks", analysis());
}

std::string PairRun::line() const
{
    return fmt::format("{}, {}{}", pair->title(), rule, rotationNote(rotation));
}

void PairSummary::add(const PairLoss& loss)
{
    const double a = loss.integer.total.sqnr(), b = loss.floating.total.sqnr();
    if (loss.crest.count == 0) return; // a weight of zeros says nothing
    ++weights;
    weightWins += loss.integer.total.noise < loss.floating.total.noise ? 1 : 0;
    crestSum += loss.crest.mean;
    blocks += static_cast<double>(loss.crest.count);
    blockWins += loss.winShare() * static_cast<double>(loss.crest.count);
    if (!std::isfinite(a) || !std::isfinite(b)) return;
    ++finite;
    integerSum += a;
    floatSum += b;
}

double PairSummary::weightShare() const { return meanOf(static_cast<double>(weightWins), weights); }
double PairSummary::blockShare() const { return blocks == 0 ? kNaN : blockWins / blocks; }
double PairSummary::integerMean() const { return meanOf(integerSum, finite); }
double PairSummary::floatMean() const { return meanOf(floatSum, finite); }
double PairSummary::crestMean() const { return meanOf(crestSum, weights); }

TableSchema pairSchema()
{
    return {"pairs", "Loss of both formats of each pair on each operand.",
            joinColumns(
                {weightColumns(),
                 {{"operand", Type::Name, "",
                   "Which operand of the layer: weight. Activations and gradients need calibration data."},
                  {"set", Type::Name, "", "Pair, block size, rule of the scales and rotation."},
                  {"pair", Type::Name, "", "Whole numbers / floats."},
                  {"block_size", Type::Integer, "", "Columns under one scale."},
                  {"scale_rule", Type::Name, "", "Rule of the scales."},
                  {"rotated_by", Type::Integer, "", "Length of the Hadamard transform; 0: none."},
                  {"zero_blocks", Type::Integer, "", "Blocks of zeros, which are in no statistics."}},
                 spreadColumns("Crest factor of a block"),
                 lossColumns("int", "Whole numbers"),
                 lossColumns("fp", "Floats"),
                 {{"int_wins", Type::Integer, "", "1 where the whole numbers lose less on the weight."},
                  {"int_win_share", Type::Real, "",
                   "Share of blocks in which the whole numbers lose less; ties count half."}}})};
}

TableSchema crestSchema()
{
    return {"crest", "Crest factors of the blocks of each operand, by block size.",
            joinColumns({weightColumns(),
                         {{"operand", Type::Name, "", "Which operand of the layer."},
                          {"rotation", Type::Name, "", "none, block or row."},
                          {"block", Type::Name, "", "Columns of a block, or row."}},
                         spreadColumns("Crest factor")})};
}

TableSchema layerCrestSchema()
{
    return {"layer_crest", "Crest factors of all blocks of a layer.",
            joinColumns({{{"layer", Type::Name, "", "Layer, or what stands outside of layers."},
                          {"set", Type::Name, "", "Block size and rotation."},
                          {"block", Type::Name, "", "Columns of a block."}},
                         spreadColumns("Crest factor")})};
}

TableSchema crestSpreadSchema()
{
    return {"crest_spread", "Mean crest factor of a weight, over all weights, beside the published one.",
            joinColumns({{{"source", Type::Name, "", "This checkpoint, or as published."},
                          {"block", Type::Name, "", "Columns of a block, or row."}},
                         spreadColumns("Mean crest factor of a weight")})};
}

TableSchema summarySchema()
{
    return {
        "pair_summary",
        "What each pair comes to on this checkpoint, and what was published for Llama-3.1-8B.",
        {{"pair", Type::Name, "", "Whole numbers / floats."},
         {"group", Type::Name, "", "Whether the blocks are the usual ones, rules and rotation."},
         {"line", Type::Name, "", "Pair, rule and rotation."},
         {"block_size", Type::Integer, "", "Columns under one scale."},
         {"scale_rule", Type::Name, "", "Rule of the scales."},
         {"weights", Type::Integer, "", "Weights that are not all zero."},
         {"crest_mean", Type::Real, "", "Mean over weights of the mean crest factor."},
         {"int_qsnr_db", Type::Real, "dB", "Whole numbers: mean over weights."},
         {"fp_qsnr_db", Type::Real, "dB", "Floats: mean over weights."},
         {"int_wins_weights", Type::Real, "%", "Weights on which the whole numbers lose less."},
         {"int_wins_blocks", Type::Real, "%", "Blocks in which the whole numbers lose less."},
         {"crossing_crest", Type::Real, "", "Theory: below this crest factor the whole numbers lose less."},
         {"crossing_db", Type::Real, "dB", "Theory: the ratio of both there."},
         {"published_int_qsnr_db", Type::Real, "dB", "Published for usual blocks: whole numbers."},
         {"published_fp_qsnr_db", Type::Real, "dB", "Published for usual blocks: floats."},
         {"published_int_wins", Type::Real, "%", "Published: tensors on which the whole numbers lose less."},
         {"published_cast_wins", Type::Real, "",
          "Published: of 12 models cast directly, those where whole numbers lose less."}}};
}

TableSchema theorySchema()
{
    return {"theory",
            "What theory gives over the crest factor of a block.",
            {{"curve", Type::Name, "", "Format and block size."},
             {"reachable", Type::Name, "", "The curve as far as blocks of its size get; else empty."},
             {"crest_factor", Type::Real, "", "Largest magnitude over rms."},
             {"qsnr_db", Type::Real, "dB", "Signal to quantization noise ratio."}}};
}

TableSchema crossingSchema()
{
    return {"crossings",
            "Where the curves of a pair cross: below, whole numbers lose less.",
            {{"pair", Type::Name, "", "Whole numbers / floats."},
             {"label", Type::Name, "", "Whole numbers and crest factor: what figures write."},
             {"analysis", Type::Name, "", "Rules of the scales and rotation."},
             {"set", Type::Name, "", "Pair, block size, rule of the scales and rotation."},
             {"block_size", Type::Integer, "", "Columns under one scale."},
             {"crest_factor", Type::Real, "", "Largest magnitude over rms."},
             {"qsnr_db", Type::Real, "dB", "Signal to quantization noise ratio."},
             {"reachable", Type::Name, "", "yes where a block can have this crest factor."}}};
}

TableSchema rangeSchema()
{
    return {"integer_range",
            "Whole numbers with and without the code -2^(b-1), groups of 32 with BF16 scales.",
            joinColumns({weightColumns(),
                         {{"bits", Type::Integer, "bit", "Bits of a code."},
                          {"symmetric_db", Type::Real, "dB", "Ends +-(2^(b-1) - 1)."},
                          {"full_db", Type::Real, "dB", "Ends -2^(b-1) and 2^(b-1) - 1."}}})};
}

TableSchema driftSchema()
{
    return {"gradient_drift",
            "Mean error of added-up gradients over the steps of a small training.",
            {{"range", Type::Name, "", "Bits and range of the codes, and block size."},
             {"step", Type::Integer, "step", "Steps so far."},
             {"drift", Type::Real, "rms", "Mean over all parameters, in the rms of one gradient."}}};
}

TableSchema biasSchema()
{
    return {"gradient_bias",
            "Mean error of one quantized gradient.",
            {{"format", Type::Name, "", "Format in the registry."},
             {"range", Type::Name, "", "Bits and range of the codes."},
             {"block", Type::Name, "", "Columns of a block."},
             {"steps", Type::Integer, "step", "Steps that were taken."},
             {"bias", Type::Real, "rms/1000", "Mean error, in thousandths of the rms."},
             {"standard_error", Type::Real, "rms/1000", "Of the bias: what chance alone gives."}}};
}

std::vector<TableSchema> allSchemas()
{
    return {pairSchema(),   crestSchema(),    layerCrestSchema(), crestSpreadSchema(), summarySchema(),
            theorySchema(), crossingSchema(), rangeSchema(),      driftSchema(),       biasSchema()};
}

Status addPair(TableWriter& table, std::string_view weight, const WeightRole& role, const PairRun& run,
               std::int64_t rotatedBy, const PairLoss& loss, const TheoryOptions& options)
{
    const auto theory = [&](const BlockFormat& format) {
        return theoreticalQsnr(modelOf(format.desc()), loss.crest.mean, options);
    };
    TableRow row(table);
    row.weight(weight, role).name("weight").name(run.set()).name(run.pair->title()).number(run.block);
    row.name(run.rule).number(rotatedBy).number(loss.zeroBlocks);
    addSpread(row, loss.crest);
    addLoss(row, loss.integer, theory(*run.formats.integer));
    addLoss(row, loss.floating, theory(*run.formats.floating));
    const bool wins = loss.integer.total.noise < loss.floating.total.noise;
    return row.number(std::int64_t{wins}).number(loss.winShare()).append();
}

Status addCrest(TableWriter& table, std::string_view weight, const WeightRole& role,
                std::string_view rotation, std::int64_t block, const Spread& spread)
{
    TableRow row(table);
    row.weight(weight, role).name("weight").name(rotation).name(blockName(block));
    return addSpread(row, spread).append();
}

Status addLayerCrest(TableWriter& table, std::string_view layer, std::string_view rotation,
                     std::int64_t block, const Spread& spread)
{
    TableRow row(table);
    row.name(layer).name(blockName(block) + rotationNote(rotation));
    return addSpread(row.name(blockName(block)), spread).append();
}

Status addCrestSpread(TableWriter& table, std::string_view source, std::int64_t block, const Spread& spread)
{
    TableRow row(table);
    return addSpread(row.name(source).name(blockName(block)), spread).append();
}

Status addSummary(TableWriter& table, const PairRun& run, const PairSummary& s,
                  const std::optional<Crossing>& crossing)
{
    TableRow row(table);
    row.name(run.pair->title())
        .name(run.group())
        .name(run.line())
        .number(run.block)
        .name(run.rule)
        .number(s.weights);
    row.number(s.crestMean()).number(s.integerMean()).number(s.floatMean());
    row.number(100 * s.weightShare()).number(100 * s.blockShare());
    row.number(crossing ? crossing->crest : kNaN).number(crossing ? crossing->qsnr : kNaN);
    const Published& p = run.pair->published(run.rotated());
    const bool same = run.usual() && (run.rule == "ceil" || run.rule == "nearest") && run.rotation != "row";
    row.number(same ? p.integerQsnr : kNaN).number(same ? p.floatQsnr : kNaN);
    return row.number(same ? 100 * p.integerWins : kNaN)
        .number(same ? static_cast<double>(p.castWins) : kNaN)
        .append();
}

Status addCurves(TableWriter& table, const PairRun& run, double most, const TheoryOptions& options)
{
    constexpr int kPoints = 300;
    for (const auto& [head, format] : {std::pair{run.pair->integer, run.formats.integer},
                                       std::pair{run.pair->floating, run.formats.floating}}) {
        const QuantizerModel model = modelOf(format->desc());
        const std::string name = curveName(head, run);
        for (int i = 0; i <= kPoints; ++i) {
            const double crest = std::exp(std::log(most) * i / kPoints);
            const auto qsnr = theoreticalQsnr(model, crest, options);
            if (!qsnr) continue;
            TableRow row(table);
            row.name(name).name(crest <= largestCrest(model.block) ? name : "");
            HALFTONE_CHECK(row.number(crest).number(*qsnr).append());
        }
    }
    return Ok{};
}

Status addCrossing(TableWriter& table, const PairRun& run, const Crossing& crossing)
{
    TableRow row(table);
    row.name(run.pair->title()).name(fmt::format("{} {:.2f}", headTitle(run.pair->integer), crossing.crest));
    row.name(run.analysis()).name(run.set()).number(run.block);
    row.number(crossing.crest).number(crossing.qsnr);
    return row.name(crossing.crest <= largestCrest(run.block) ? "yes" : "no").append();
}

Status addRange(TableWriter& table, std::string_view weight, const WeightRole& role, int bits,
                const ErrorStats& symmetric, const ErrorStats& full)
{
    TableRow row(table);
    return row.weight(weight, role)
        .number(std::int64_t{bits})
        .number(symmetric.sqnr())
        .number(full.sqnr())
        .append();
}

Status addBias(TableWriter& drift, TableWriter& bias, const BiasTrial& trial, const BiasResult& result)
{
    const std::string name = driftName(trial.bits, trial.fullRange, trial.block);
    for (std::size_t step = 0; step < result.drift.size(); ++step) {
        TableRow row(drift);
        row.name(name).number(static_cast<std::int64_t>(step + 1));
        HALFTONE_CHECK(row.number(result.drift[step]).append());
    }
    TableRow row(bias);
    row.name(result.format).name(rangeName(trial.bits, trial.fullRange)).name(blockName(trial.block));
    row.number(std::int64_t{trial.steps});
    return row.number(1000 * result.perStep).number(1000 * result.standardError).append();
}

} // namespace halftone::int_vs_fp
