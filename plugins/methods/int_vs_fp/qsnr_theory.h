// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/numeric/block_format.h"

#include <cstdint>
#include <optional>

namespace halftone::int_vs_fp {

/// A block format in the terms of the formulas. They hold for independent normal values, an error that is
/// uniform inside each step, and scales anywhere between two powers of two (arXiv 2510.25602, appendix B).
struct QuantizerModel {
    Element element = Element::Int;
    int bits = 8;
    std::int64_t block = 32;
    /// E4M3 scales: the largest value of a block has no error. Else the scale is a power of two.
    bool fineScale = false;
};
QuantizerModel modelOf(const FormatDesc& desc);

/// How the curves are drawn.
struct TheoryOptions {
    double rhoPowerOfTwo = 1.5; ///< stored scale / ideal scale, for powers of two
    double rhoFine = 1.05;      ///< the same for E4M3 scales: the paper's figure has 1.05, its text 1
    /// Whole numbers with their 2^(b-1) - 1 steps instead of the paper's approximation by 2^(b-1).
    bool exactSteps = false;
    double rhoOf(const QuantizerModel& model) const { return model.fineScale ? rhoFine : rhoPowerOfTwo; }
};

/// Signal to quantization noise ratio in dB of blocks with this crest factor (largest magnitude / rms, 1 or
/// more). Nothing where the formula does not hold: below 1, and for fine scales beyond sqrt(block), which no
/// block reaches, and where the block's largest value would carry more than all that is above the subnormals.
std::optional<double> theoreticalQsnr(const QuantizerModel& model, double crest,
                                      const TheoryOptions& options = {});

struct Crossing {
    double crest, qsnr;
};
/// The crest factor up to `most` below which the whole numbers lose less, to 1e-12; nothing when there is
/// none.
std::optional<Crossing> crossingOf(const QuantizerModel& integer, const QuantizerModel& floating, double most,
                                   const TheoryOptions& options = {});

/// The largest crest factor that a block can have: all of it in one value.
double largestCrest(std::int64_t block);

/// The share of normal values x for which x / (x / 127), each step rounded to BF16, comes out as 128: they
/// take the code -128 when they are negative and it is allowed.
double shareBeyondTop();

} // namespace halftone::int_vs_fp
