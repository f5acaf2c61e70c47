// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/base/result.h"
#include "core/param/table.h"
#include "plugins/methods/int_vs_fp/lab_tables.h"

#include <cstdint>
#include <string>
#include <vector>

namespace halftone::int_vs_fp {

struct LabParams {
    std::string pairs = "all";
    std::string scaleRule = "ceil";
    std::string nvScales = "nearest";
    std::string hadamard = "none";
    std::string blockSizes = "16,32,64,128,256";
    bool sweep = false;
    std::int64_t rows = 1024;
    bool clipping = true;
    int biasBits = 8;
    int biasSteps = 64;
    double rhoMx = TheoryOptions{}.rhoPowerOfTwo;
    double rhoNv = TheoryOptions{}.rhoFine;
    bool exactSteps = TheoryOptions{}.exactSteps;
    TheoryOptions theory() const { return {rhoMx, rhoNv, exactSteps}; }
};
const ParamTable<LabParams>& labTable();

/// "16,32" as numbers that ascend, each once; 1 to 16 of them between 2 and 65536.
Result<std::vector<std::int64_t>> blockSizesOf(const LabParams& params);
/// What is measured of each weight: each pair at its usual block, or at all sizes.
Result<std::vector<PairRun>> pairRunsOf(const LabParams& params, const std::vector<std::int64_t>& sizes);

} // namespace halftone::int_vs_fp
