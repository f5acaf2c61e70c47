// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/methods/int_vs_fp/spread.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace halftone::int_vs_fp {

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
// Bins over log2(crest): crest factors of blocks of up to 65,536 values lie in 1..256.
constexpr double kBinsPerOctave = 512;
constexpr std::size_t kBins = 8 * 512 + 1;

} // namespace

Spread::Spread() : least(kNaN), lower(kNaN), median(kNaN), upper(kNaN), most(kNaN), mean(kNaN) {}

Spread spreadOf(std::span<double> values)
{
    Spread s;
    if (values.empty()) return s;
    s.count = static_cast<std::int64_t>(values.size());
    double sum = 0;
    for (const double v : values)
        sum += v;
    s.mean = sum / static_cast<double>(values.size());
    std::size_t sorted = 0; // values before it are in their places
    const auto quantile = [&](double q) {
        const double at = q * static_cast<double>(values.size() - 1);
        const auto index = static_cast<std::size_t>(at);
        const auto first = values.begin() + static_cast<std::ptrdiff_t>(std::min(sorted, index));
        const auto place = values.begin() + static_cast<std::ptrdiff_t>(index);
        std::nth_element(first, place, values.end());
        sorted = index;
        const double share = at - static_cast<double>(index);
        if (share == 0 || index + 1 == values.size()) return *place;
        const double next = *std::min_element(place + 1, values.end());
        // Blocks without error are infinitely good: no line leads there.
        return next == *place ? next : *place + share * (next - *place);
    };
    s.lower = quantile(0.25);
    s.median = quantile(0.5);
    s.upper = quantile(0.75);
    s.least = *std::min_element(values.begin(), values.end());
    s.most = *std::max_element(values.begin(), values.end());
    return s;
}

CrestCounts::CrestCounts() : m_bins(kBins), m_least(std::numeric_limits<double>::infinity()), m_most(-m_least)
{
}

void CrestCounts::add(double crest)
{
    const double at = std::clamp(std::log2(crest) * kBinsPerOctave, 0.0, static_cast<double>(kBins - 1));
    ++m_bins[static_cast<std::size_t>(at)];
    ++m_count;
    m_sum += crest;
    m_least = std::min(m_least, crest);
    m_most = std::max(m_most, crest);
}

Spread CrestCounts::spread() const
{
    Spread s;
    if (m_count == 0) return s;
    s.count = m_count;
    s.least = m_least;
    s.most = m_most;
    s.mean = m_sum / static_cast<double>(m_count);
    const auto quantile = [&](double q) {
        const double rank = q * static_cast<double>(m_count);
        double below = 0;
        for (std::size_t bin = 0; bin < kBins; ++bin) {
            const auto here = static_cast<double>(m_bins[bin]);
            if (here > 0 && below + here >= rank)
                return std::clamp(
                    std::exp2((static_cast<double>(bin) + (rank - below) / here) / kBinsPerOctave), m_least,
                    m_most);
            below += here;
        }
        return m_most;
    };
    s.lower = quantile(0.25);
    s.median = quantile(0.5);
    s.upper = quantile(0.75);
    return s;
}

} // namespace halftone::int_vs_fp
