// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/job/job.h"

#include <cstdint>
#include <vector>

namespace halftone::int_vs_fp {

/// A small piece of training: gradients that are normal with mean 0 are quantized at each step and added up.
/// A grid whose codes reach further down than up pushes every sum down, step by step; a symmetric one
/// doesn't.
struct BiasTrial {
    int bits = 8;
    std::int64_t block = 32;
    bool fullRange = false; ///< whether the code -2^(bits-1) is allowed
    int steps = 64;
    std::int64_t parameters = 16384; ///< at least that many: whole rows of blocks
    std::uint64_t seed = 0;
};
struct BiasResult {
    std::string format;
    std::vector<double> drift; ///< after each step: mean over all parameters of the sum of errors, in rms
    double perStep = 0;        ///< mean error of one gradient, in rms
    double standardError = 0;  ///< of perStep
};
/// The quantizer is the registry's grid with BF16 scales: "int8.g32.bf16" or "int8f.g32.bf16".
Result<BiasResult> gradientBias(const BiasTrial& trial, JobContext& ctx);

} // namespace halftone::int_vs_fp
