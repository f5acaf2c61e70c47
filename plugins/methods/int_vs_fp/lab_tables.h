// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/model/model.h"
#include "core/result/writer.h"
#include "plugins/methods/int_vs_fp/format_pairs.h"
#include "plugins/methods/int_vs_fp/gradient_bias.h"
#include "plugins/methods/int_vs_fp/pair_measure.h"
#include "plugins/methods/int_vs_fp/qsnr_theory.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace halftone::int_vs_fp {

/// One pair under one block size, rule and rotation: rows of the tables that belong together.
struct PairRun {
    const Pair* pair = nullptr;
    PairFormats formats;
    std::int64_t block = 0;
    std::string rule;
    std::string rules;    ///< of all pairs of the analysis: "ceil, nearest"
    std::string rotation; ///< "none", "block", "row"
    bool rotated() const { return rotation != "none"; }
    bool usual() const { return block == pair->usualBlock(); }
    /// "MXINT8 / MXFP8 E4M3, 32, ceil": what figures choose rows by.
    std::string set() const;
    /// Rules and rotation: what all runs of an analysis share.
    std::string analysis() const;
    /// "usual blocks" or "other blocks" with the rules and the rotation: the bars of one figure.
    std::string group() const;
    /// Pair, rule and rotation: the blocks of one curve.
    std::string line() const;
};

/// What the weights of one run came to.
struct PairSummary {
    std::int64_t weights = 0, weightWins = 0;
    double integerSum = 0, floatSum = 0, crestSum = 0, blockWins = 0, blocks = 0;
    std::int64_t finite = 0; ///< weights whose two ratios are finite: the means are over them
    void add(const PairLoss& loss);
    double weightShare() const;
    double blockShare() const;
    double integerMean() const;
    double floatMean() const;
    double crestMean() const;
};

TableSchema pairSchema();
TableSchema crestSchema();
TableSchema layerCrestSchema();
TableSchema crestSpreadSchema();
TableSchema summarySchema();
TableSchema theorySchema();
TableSchema crossingSchema();
TableSchema rangeSchema();
TableSchema driftSchema();
TableSchema biasSchema();
std::vector<TableSchema> allSchemas();

/// ", rotated by block"; empty for "none".
std::string rotationNote(std::string_view rotation);

/// What stands for the whole row in columns of names, and "16" for blocks.
std::string blockName(std::int64_t block);

Status addPair(TableWriter& table, std::string_view weight, const WeightRole& role, const PairRun& run,
               std::int64_t rotatedBy, const PairLoss& loss, const TheoryOptions& options);
Status addCrest(TableWriter& table, std::string_view weight, const WeightRole& role,
                std::string_view rotation, std::int64_t block, const Spread& spread);
/// `name` names a layer; columns as in crestSchema() without a weight.
Status addLayerCrest(TableWriter& table, std::string_view layer, std::string_view rotation,
                     std::int64_t block, const Spread& spread);
Status addCrestSpread(TableWriter& table, std::string_view source, std::int64_t block, const Spread& spread);
Status addSummary(TableWriter& table, const PairRun& run, const PairSummary& summary,
                  const std::optional<Crossing>& crossing);
/// The two curves of a pair; crest factors up to `most`.
Status addCurves(TableWriter& table, const PairRun& run, double most, const TheoryOptions& options);
Status addCrossing(TableWriter& table, const PairRun& run, const Crossing& crossing);
Status addRange(TableWriter& table, std::string_view weight, const WeightRole& role, int bits,
                const ErrorStats& symmetric, const ErrorStats& full);
Status addBias(TableWriter& drift, TableWriter& bias, const BiasTrial& trial, const BiasResult& result);

/// "MXINT8, blocks of 32, ceil, nearest": names the curve of one head of a pair.
std::string curveName(std::string_view head, const PairRun& run);
/// "INT8, full range".
std::string rangeName(int bits, bool full);
/// "INT8, full range, blocks of 16".
std::string driftName(int bits, bool full, std::int64_t block);

} // namespace halftone::int_vs_fp
