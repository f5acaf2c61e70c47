// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace halftone::int_vs_fp {

/// Where the values of a set lie. All nan when it is empty.
struct Spread {
    std::int64_t count = 0;
    double least, lower, median, upper, most; ///< ends and quartiles
    double mean;
    Spread();
};
/// Quartiles between two values are taken on the line between them. Reorders the values.
Spread spreadOf(std::span<double> values);

/// Counts crest factors, so that the quartiles of any number of blocks need no memory. Quartiles are exact to
/// 0.2 %, ends and mean are exact.
class CrestCounts {
public:
    CrestCounts();
    void add(double crest);
    Spread spread() const;

private:
    std::vector<std::int64_t> m_bins;
    std::int64_t m_count = 0;
    double m_least, m_most, m_sum = 0;
};

} // namespace halftone::int_vs_fp
