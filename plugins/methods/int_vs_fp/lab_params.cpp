// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/methods/int_vs_fp/lab_params.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>

namespace halftone::int_vs_fp {

const ParamTable<LabParams>& labTable()
{
    static const ParamTable<LabParams> t = [] {
        std::vector<std::string> pairs{"all"};
        for (const Pair& pair : allPairs())
            pairs.push_back(pair.id());
        ParamTable<LabParams> made;
        made.field(&LabParams::pairs, {.key = "pairs",
                                       .label = "Pairs",
                                       .help = "Which whole numbers are held against which floats.",
                                       .choices = std::move(pairs)});
        made.field(
            &LabParams::scaleRule,
            {.key = "scale-rule",
             .label = "MX scales",
             .help = "How powers of two are chosen: the paper rounds up, OCP MX rounds down and clips.",
             .choices = scaleRulesOf(allPairs().front().integer)});
        made.field(&LabParams::nvScales, {.key = "nv-scales",
                                          .label = "NV scales",
                                          .help = "How E4M3 scales are rounded; up never clips.",
                                          .choices = scaleRulesOf(allPairs().back().integer)});
        made.field(&LabParams::hadamard,
                   {.key = "hadamard",
                    .label = "Random Hadamard",
                    .help =
                        "Rotates the inputs of each weight: in pieces of a block as in the paper, or in the "
                        "longest pieces that divide the row.",
                    .choices = {"none", "block", "row"}});
        made.field(&LabParams::blockSizes,
                   {.key = "block-sizes",
                    .label = "Block sizes",
                    .help = "Block sizes, with commas, for crest factors, the sweep and the gradients."});
        made.field(&LabParams::sweep,
                   {.key = "sweep",
                    .label = "Sweep block sizes",
                    .help = "Measures each pair at all these block sizes, not only at its own."});
        made.field(&LabParams::rows,
                   {.key = "rows",
                    .label = "Rows of a weight",
                    .help = "At most that many rows of each weight, spread evenly; 0 takes all.",
                    .unit = "rows",
                    .min = 0,
                    .max = 16777216});
        made.field(&LabParams::clipping,
                   {.key = "clipping",
                    .label = "Symmetric against full range",
                    .help = "Measures what the code -2^(b-1) does to weights and to added-up gradients."});
        made.field(&LabParams::biasBits, {.key = "bias-bits",
                                          .label = "Bits of the gradients",
                                          .help = "Bits of the quantized gradients.",
                                          .unit = "bit",
                                          .min = 2,
                                          .max = 8,
                                          .level = ParamSpec::Level::Advanced,
                                          .enabledBy = "clipping"});
        made.field(&LabParams::biasSteps, {.key = "bias-steps",
                                           .label = "Steps of the gradients",
                                           .help = "Gradients that are added up.",
                                           .unit = "step",
                                           .min = 1,
                                           .max = 10000,
                                           .logScale = true,
                                           .level = ParamSpec::Level::Advanced,
                                           .enabledBy = "clipping"});
        made.field(&LabParams::rhoMx,
                   {.key = "rho-mx",
                    .label = "Slack of MX scales",
                    .help = "Theory: stored over ideal scale for powers of two; 1.5 in the paper's figure.",
                    .min = 1,
                    .max = 2,
                    .level = ParamSpec::Level::Advanced});
        made.field(
            &LabParams::rhoNv,
            {.key = "rho-nv",
             .label = "Slack of NV scales",
             .help = "Theory: the same for E4M3 scales; 1.05 gives the crossing of the paper's figure.",
             .min = 1,
             .max = 2,
             .level = ParamSpec::Level::Advanced});
        made.field(&LabParams::exactSteps,
                   {.key = "exact-steps",
                    .label = "Exact steps",
                    .help = "Theory: whole numbers with 2^(b-1) - 1 steps, not the paper's 2^(b-1).",
                    .level = ParamSpec::Level::Advanced});
        return made;
    }();
    return t;
}

Result<std::vector<std::int64_t>> blockSizesOf(const LabParams& params)
{
    constexpr std::size_t kMost = 16;
    std::vector<std::int64_t> sizes;
    const std::string& text = params.blockSizes;
    for (std::size_t begin = 0; begin <= text.size();) {
        const std::size_t end = std::min(text.find(',', begin), text.size());
        std::size_t first = begin, last = end;
        while (first < last && text[first] == ' ')
            ++first;
        while (last > first && text[last - 1] == ' ')
            --last;
        std::int64_t size = 0;
        const auto [stop, error] = std::from_chars(text.data() + first, text.data() + last, size);
        if (error != std::errc() || stop != text.data() + last || size < 2 || size > 65536)
            return Error(Errc::InvalidArgument,
                         fmt::format("block-sizes: '{}' is not a whole number in 2..65536",
                                     text.substr(first, last - first)));
        sizes.push_back(size);
        begin = end + 1;
    }
    std::sort(sizes.begin(), sizes.end());
    sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
    if (sizes.size() > kMost)
        return Error(Errc::InvalidArgument,
                     fmt::format("block-sizes: {} sizes, at most {} are possible", sizes.size(), kMost));
    return sizes;
}

Result<std::vector<PairRun>> pairRunsOf(const LabParams& p, const std::vector<std::int64_t>& sizes)
{
    std::vector<PairRun> runs;
    for (const Pair* pair : pairsNamed(p.pairs)) {
        std::vector<std::int64_t> blocks{pair->usualBlock()};
        if (p.sweep) blocks.insert(blocks.end(), sizes.begin(), sizes.end());
        std::sort(blocks.begin(), blocks.end());
        blocks.erase(std::unique(blocks.begin(), blocks.end()), blocks.end());
        const std::string& rule = pair->fineScale() ? p.nvScales : p.scaleRule;
        for (const std::int64_t block : blocks) {
            HALFTONE_TRY(formats, formatsOf(*pair, block, rule));
            runs.push_back({pair, formats, block, rule, p.scaleRule + ", " + p.nvScales, p.hadamard});
        }
    }
    return runs;
}

} // namespace halftone::int_vs_fp
