// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/result/picture.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>

namespace halftone {

namespace {

// A tick that rounding put a hair outside still belongs to the axis.
constexpr double kSlack = 1e-9;

std::string superscript(int value)
{
    constexpr std::array<const char*, 10> kDigits{"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
    std::string out = value < 0 ? "⁻" : "";
    for (char c : std::to_string(std::abs(value)))
        out += kDigits[static_cast<std::size_t>(c - '0')];
    return out;
}

std::string powerLabel(int mantissa, int exponent)
{
    const std::string power = "10" + superscript(exponent);
    return mantissa == 1 ? power : fmt::format("{}×{}", mantissa, power);
}

double power10(int exponent)
{
    // Division keeps negative powers correctly rounded, as if they had been typed.
    return exponent >= 0 ? std::pow(10.0, exponent) : 1 / std::pow(10.0, -exponent);
}

/// One label for each tick with the same prefix and the same number of decimals: 0, 50k, 100k.
void labelLinear(Ticks& ticks, double step)
{
    double largest = 0;
    for (double v : ticks.at)
        largest = std::max(largest, std::fabs(v));
    constexpr std::array<const char*, 5> kPrefixes{"", "k", "M", "G", "T"};
    std::size_t prefix = 0;
    double unit = 1;
    if (largest >= 1e4)
        while (largest / unit >= 1000 && prefix + 1 < kPrefixes.size()) {
            unit *= 1000;
            ++prefix;
        }
    if (largest >= 1e15 || (largest > 0 && largest < 1e-3)) {
        for (double v : ticks.at)
            ticks.labels.push_back(v == 0 ? "0" : fmt::format("{:.3g}", v));
        return;
    }
    const int decimals = std::max(0, -static_cast<int>(std::floor(std::log10(step / unit) + kSlack)));
    for (double v : ticks.at)
        ticks.labels.push_back(v == 0 ? "0"
                                      : fmt::format("{:.{}f}{}", v / unit, decimals, kPrefixes[prefix]));
}

Ticks linearTicks(double min, double max, int most)
{
    Ticks ticks;
    const double range = max - min;
    if (!std::isfinite(range)) return ticks;
    int exponent = static_cast<int>(std::floor(std::log10(range))) - 2;
    for (;; ++exponent)
        for (int mantissa : {1, 2, 5}) {
            const double step = mantissa * power10(exponent);
            if (!(step > 0) || !std::isfinite(step)) continue;
            const double first = std::ceil(min / step - kSlack), last = std::floor(max / step + kSlack);
            if (last - first + 1 > most) continue;
            // From whole multiples: adding steps up would drift.
            const double divisor = power10(-exponent);
            const int count = static_cast<int>(last - first) + 1;
            for (int i = 0; i < count; ++i) {
                const double k = first + i;
                const bool small = exponent < 0 && std::isfinite(divisor);
                const double v = small ? k * mantissa / divisor : k * step;
                ticks.at.push_back(std::clamp(v, min, max) + 0.0); // + 0.0: no -0
            }
            labelLinear(ticks, step);
            return ticks;
        }
}

Ticks logTicks(double min, double max, int most)
{
    Ticks ticks;
    const int first = static_cast<int>(std::ceil(std::log10(min) - kSlack));
    const int last = static_cast<int>(std::floor(std::log10(max) + kSlack));
    const int decades = last - first + 1;
    if (decades >= 2) {
        const int stride = (decades + most - 1) / most;
        for (int e = first; e <= last; ++e)
            if (e % stride == 0) {
                ticks.at.push_back(std::clamp(power10(e), min, max));
                ticks.labels.push_back(powerLabel(1, e));
            }
        return ticks;
    }
    // Less than two powers are inside: 1-2-5 within them, as far as they fit.
    for (int e = first - 1; e <= last; ++e)
        for (int mantissa : {1, 2, 5}) {
            const double v = mantissa * power10(e);
            if (v < min * (1 - kSlack) || v > max * (1 + kSlack)) continue;
            ticks.at.push_back(std::clamp(v, min, max));
            // Plain numbers read better than powers as long as they are short.
            ticks.labels.push_back(v >= 1e-3 && v < 1e4 ? fmt::format("{:g}", v) : powerLabel(mantissa, e));
        }
    if (ticks.at.size() >= 2 && ticks.at.size() <= static_cast<std::size_t>(most)) return ticks;
    return linearTicks(min, max, most);
}

} // namespace

Ticks ticksFor(double min, double max, bool log, int most)
{
    if (!std::isfinite(min) || !std::isfinite(max) || most < 1) return {};
    if (min > max) std::swap(min, max);
    if (log && min <= 0) return {};
    if (min == max) return {{min}, {fmt::format("{:.4g}", min)}};
    return log ? logTicks(min, max, most) : linearTicks(min, max, most);
}

} // namespace halftone
