// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/job/job.h"
#include "core/model/model.h"
#include "plugins/methods/int_vs_fp/lab_figures.h"
#include "plugins/methods/int_vs_fp/lab_params.h"

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace halftone::int_vs_fp {

/// All figures of an analysis, in the order in which they are looked at. With summaries (one a run) their
/// captions tell what came out.
std::vector<FigureSpec> figuresOf(const LabParams& params, const std::vector<std::int64_t>& sizes,
                                  const std::vector<PairRun>& runs, std::span<const PairSummary> summaries);

/// One analysis: the tables it has open and what it found so far.
class LabRun {
public:
    LabRun(const Model& model, LabParams params, std::vector<std::int64_t> sizes, std::vector<PairRun> runs,
           JobContext& ctx);
    /// Curves and crossings, and the figures that need no more than the pairs beside them.
    Status theory();
    /// All pairs and crest factors of one weight.
    Status weight(std::uint32_t index);
    /// What needs all weights, then the gradients.
    Status finish();

private:
    Status measure(std::uint32_t index);
    Status crests(std::uint32_t index, const Tensor& matrix, std::int64_t block);
    Status ranges(std::uint32_t index, const Tensor& matrix);
    Status writeCrests();
    Status gradients();
    Result<std::shared_ptr<TableWriter>> open(const TableSchema& schema)
    {
        return m_ctx.results.table(schema);
    }

    const Model& m_model;
    const LabParams m_params;
    const std::vector<std::int64_t> m_sizes;
    const std::vector<PairRun> m_runs;
    JobContext& m_ctx;
    std::shared_ptr<TableWriter> m_pairs, m_crests;
    std::vector<PairSummary> m_summaries; ///< one a run
    /// By layer (-1: outside of layers) and block size.
    std::map<std::pair<int, std::int64_t>, CrestCounts> m_layers;
    std::map<std::int64_t, std::vector<double>> m_means; ///< mean crest factor of each weight, by block
};

} // namespace halftone::int_vs_fp
