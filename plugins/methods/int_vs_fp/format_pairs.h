// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/numeric/block_format.h"

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace halftone::int_vs_fp {

/// What the paper measured for a pair: six operands of each linear layer of Llama-3.1-8B, the mean over
/// tensors, scales rounded up (arXiv 2510.25602, QSNR and win-rate tables).
struct Published {
    double integerQsnr, floatQsnr; ///< dB
    double integerWins;            ///< share of tensors, 0..1
    int castWins;                  ///< of 12 models cast directly, those where the whole numbers lose less
};

/// Whole numbers and floats of the same bits under the same scales. The heads name them in the registry.
struct Pair {
    std::string_view integer, floating;
    Published plain, rotated;
    std::string id() const { return std::string(integer) + "_" + std::string(floating); }
    /// "MXINT8 / MXFP8 E4M3".
    std::string title() const;
    std::int64_t usualBlock() const;
    /// Whether its scales are E4M3 under a scale of the tensor.
    bool fineScale() const;
    const Published& published(bool rotatedBlocks) const { return rotatedBlocks ? rotated : plain; }
};
std::span<const Pair> allPairs();
/// The pair of this id, or all for "all".
std::vector<const Pair*> pairsNamed(std::string_view id);

/// Rules of a family's scales, the usual ones first.
std::vector<std::string> scaleRulesOf(std::string_view head);

struct PairFormats {
    const BlockFormat* integer = nullptr;
    const BlockFormat* floating = nullptr;
};
Result<PairFormats> formatsOf(const Pair& pair, std::int64_t block, std::string_view rule);

/// "MXINT8": title of a head in the registry.
std::string headTitle(std::string_view head);

/// Spread over tensors of their mean crest factor, as published: least, lower quartile, median, upper
/// quartile, most.
struct PublishedCrest {
    std::int64_t block; ///< FormatDesc::kWholeRow: one scale a channel
    bool rotated;
    std::array<double, 5> spread;
};
std::span<const PublishedCrest> publishedCrests();

} // namespace halftone::int_vs_fp
