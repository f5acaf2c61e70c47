// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/methods/int_vs_fp/lab_figures.h"

#include "core/base/text.h"

#include <algorithm>
#include <fmt/format.h>

namespace halftone::int_vs_fp {

namespace {

using Mark = Trace::Mark;

Trace curveTrace(std::string_view head, const PairRun& run, const char* column)
{
    return {.label = headTitle(head),
            .table = "theory",
            .x = "crest_factor",
            .y = "qsnr_db",
            .mark = Mark::Line,
            .where = column,
            .is = curveName(head, run)};
}

Trace crossingTrace(const char* column, std::string is)
{
    return {.label = "Crossing",
            .table = "crossings",
            .x = "crest_factor",
            .y = "qsnr_db",
            .text = "label",
            .mark = Mark::Points,
            .where = column,
            .is = std::move(is)};
}

Trace boxTrace(std::string label, std::string table, std::string x, std::string where, std::string is)
{
    return {.label = std::move(label),
            .table = std::move(table),
            .x = std::move(x),
            .y = "crest_median",
            .mark = Mark::Boxes,
            .where = std::move(where),
            .is = std::move(is),
            .spread = {"crest_least", "crest_lower", "crest_upper", "crest_most"}};
}

std::string rotationId(std::string_view rotation)
{
    return rotation == "none" ? std::string() : fmt::format("_rotated_{}", rotation);
}

} // namespace

const char* const kFourBitNote = "For 4 bits the published tables, not the abstract, are the reference: cast "
                                 "directly, MXFP4 and NVFP4 win on "
                                 "all 12 models, and NVINT4 does when rotated.";

FigureSpec theoryFigure(std::span<const PairRun> runs)
{
    FigureSpec f{.id = "qsnr_theory",
                 .title = "Whole numbers against floats in theory",
                 .kind = "curve",
                 .x = {.label = "Crest factor of a block"},
                 .y = {"QSNR", "dB"}};
    std::string analysis;
    for (const PairRun& run : runs) {
        if (!run.usual()) continue;
        analysis = run.analysis();
        for (const auto head : {run.pair->integer, run.pair->floating})
            f.traces.push_back(curveTrace(head, run, "curve"));
    }
    f.traces.push_back(crossingTrace("analysis", std::move(analysis)));
    f.caption = fmt::format("Left of a crossing the whole numbers lose less. {}", kFourBitNote);
    return f;
}

FigureSpec pairFigure(const PairRun& run, const PairSummary* summary, const std::optional<Crossing>& crossing)
{
    const Pair& pair = *run.pair;
    FigureSpec f{.id = fmt::format("pair_{}{}", pair.integer, rotationId(run.rotation)),
                 .title = fmt::format("{}{}", pair.title(), rotationNote(run.rotation)),
                 .kind = "scatter",
                 .x = {.label = fmt::format("Crest factor, blocks of {}", run.block)},
                 .y = {"QSNR", "dB"}};
    for (const auto& [head, column] :
         {std::pair{pair.integer, "int_qsnr_db"}, std::pair{pair.floating, "fp_qsnr_db"}}) {
        Trace curve = curveTrace(head, run, "reachable");
        curve.label += ", theory";
        f.traces.push_back(std::move(curve));
        f.traces.push_back({.label = headTitle(head) + ", weights",
                            .table = "pairs",
                            .x = "crest_mean",
                            .y = column,
                            .text = "name",
                            .mark = Mark::Points,
                            .where = "set",
                            .is = run.set()});
    }
    const bool reached = crossing && crossing->crest <= largestCrest(run.block);
    if (reached) f.traces.push_back(crossingTrace("set", run.set()));
    if (summary != nullptr && summary->weights > 0)
        f.caption = fmt::format("{} loses less on {} of {} weights and in {:.1f} % of their blocks.",
                                headTitle(pair.integer), summary->weightWins, summary->weights,
                                100 * summary->blockShare());
    else
        f.caption = "Each dot is a weight at its mean crest factor.";
    if (crossing)
        f.caption += fmt::format(" In theory that is so up to a crest factor of {:.2f}{}.", crossing->crest,
                                 reached ? "" : ", which no such block reaches");
    if (run.formats.integer->desc().bits == 4) f.caption += fmt::format(" {}", kFourBitNote);
    return f;
}

FigureSpec layerFigure(std::span<const std::int64_t> blocks, std::string_view rotation)
{
    FigureSpec f{.id = "crest_by_layer" + rotationId(rotation),
                 .title = "Crest factors by layer" + rotationNote(rotation),
                 .kind = "boxes",
                 .x = {"Layer"},
                 .y = {.label = "Crest factor"},
                 .caption = "Quartiles and ends over all blocks of a layer's weights."};
    for (const std::int64_t block : blocks)
        f.traces.push_back(boxTrace(fmt::format("Blocks of {}", block), "layer_crest", "layer", "set",
                                    blockName(block) + rotationNote(rotation)));
    return f;
}

FigureSpec crestFigure(std::string_view source, std::string_view published)
{
    return {
        .id = "crest_by_block",
        .title = "Crest factors by block size",
        .kind = "boxes",
        .x = {"Columns of a block"},
        .y = {.label = "Mean crest factor of a weight", .log = true},
        .traces = {boxTrace(std::string(source), "crest_spread", "block", "source", std::string(source)),
                   boxTrace(std::string(published), "crest_spread", "block", "source",
                            std::string(published))},
        .caption =
            "Quartiles and ends over weights; published are all six operands of Llama-3.1-8B. Smaller blocks "
            "have smaller crest factors, which suits whole numbers."};
}

FigureSpec winFigure(const PairRun& run)
{
    const auto bars = [&](const char* label, const char* column) {
        return Trace{.label = label,
                     .table = "pair_summary",
                     .x = "pair",
                     .y = column,
                     .mark = Mark::Bars,
                     .where = "group",
                     .is = run.group()};
    };
    return {.id = "win_rate" + rotationId(run.rotation),
            .title = "How often whole numbers win" + rotationNote(run.rotation),
            .kind = "bars",
            .x = {"Pair"},
            .y = {"Won by whole numbers", "%"},
            .traces = {bars("Blocks", "int_wins_blocks"), bars("Weights", "int_wins_weights"),
                       bars("Published, Llama-3.1-8B", "published_int_wins")},
            .caption = fmt::format(
                "Weights only: activations and gradients need calibration data, which this version "
                "can't record. {}",
                kFourBitNote)};
}

FigureSpec sweepFigure(std::span<const PairRun> runs)
{
    FigureSpec f{.id = "block_sweep",
                 .title = "Loss by block size",
                 .kind = "curve",
                 .x = {.label = "Columns of a block", .log = true},
                 .y = {"Mean QSNR of the weights", "dB"},
                 .caption = "Where the two curves of a pair cross, larger blocks suit the floats."};
    std::vector<std::string> seen;
    for (const PairRun& run : runs) {
        const std::string line = run.line();
        if (std::find(seen.begin(), seen.end(), line) != seen.end()) continue;
        seen.push_back(line);
        for (const auto& [head, column] :
             {std::pair{run.pair->integer, "int_qsnr_db"}, std::pair{run.pair->floating, "fp_qsnr_db"}})
            f.traces.push_back({.label = headTitle(head),
                                .table = "pair_summary",
                                .x = "block_size",
                                .y = column,
                                .mark = Mark::Line,
                                .where = "line",
                                .is = line});
    }
    return f;
}

FigureSpec driftFigure(int bits, std::span<const std::int64_t> blocks)
{
    FigureSpec f{.id = "gradient_drift",
                 .title = fmt::format("Drift of added-up gradients, INT{}", bits),
                 .kind = "curve",
                 .x = {.label = "Step"},
                 .y = {"Mean error of the sum", "rms"},
                 .caption =
                     "Gradients of mean 0, quantized and added up. The code that only negative values have "
                     "pushes every sum down; symmetric codes don't."};
    const auto add = [&](bool full, std::int64_t block) {
        f.traces.push_back({.label = fmt::format("{}, {}", full ? "Full range" : "Symmetric", block),
                            .table = "gradient_drift",
                            .x = "step",
                            .y = "drift",
                            .mark = Mark::Line,
                            .where = "range",
                            .is = driftName(bits, full, block)});
    };
    for (const std::int64_t block : blocks)
        add(true, block);
    if (!blocks.empty()) add(false, blocks.front());
    return f;
}

FigureSpec biasFigure(int bits)
{
    const auto bars = [&](const char* label, bool full) {
        return Trace{.label = label,
                     .table = "gradient_bias",
                     .x = "block",
                     .y = "bias",
                     .mark = Mark::Bars,
                     .where = "range",
                     .is = rangeName(bits, full)};
    };
    return {
        .id = "gradient_bias",
        .title = fmt::format("Bias of quantized gradients, INT{}", bits),
        .kind = "bars",
        .x = {"Columns of a block"},
        .y = {"Mean error of a gradient", "rms/1000"},
        .traces = {bars("Full range", true), bars("Symmetric", false)},
        .caption =
            "The smaller the blocks, the more values are the largest of theirs, and the larger the bias."};
}

} // namespace halftone::int_vs_fp
