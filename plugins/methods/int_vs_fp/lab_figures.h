// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "plugins/methods/int_vs_fp/lab_tables.h"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace halftone::int_vs_fp {

/// Curves of all pairs at their usual blocks, with their crossings.
FigureSpec theoryFigure(std::span<const PairRun> runs);
/// One pair: curves as far as its blocks get, and a dot a weight and format. `summary` gives the words.
FigureSpec pairFigure(const PairRun& run, const PairSummary* summary,
                      const std::optional<Crossing>& crossing);
/// Boxes of crest factors by layer, for these block sizes.
FigureSpec layerFigure(std::span<const std::int64_t> blocks, std::string_view rotation);
/// Boxes of the weights' mean crest factors by block size, beside the published ones.
FigureSpec crestFigure(std::string_view source, std::string_view published);
/// Bars: on how many blocks and weights the whole numbers win, and the published share.
FigureSpec winFigure(const PairRun& run);
/// Mean ratio over the block size.
FigureSpec sweepFigure(std::span<const PairRun> runs);
FigureSpec driftFigure(int bits, std::span<const std::int64_t> blocks);
FigureSpec biasFigure(int bits);

/// What is told about 4 bits wherever they show.
extern const char* const kFourBitNote;

} // namespace halftone::int_vs_fp
