// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/methods/int_vs_fp/qsnr_theory.h"

#include <cmath>
#include <numbers>

namespace halftone::int_vs_fp {

namespace {

double decibels(double noiseOverSignal) { return -10.0 * std::log10(noiseOverSignal); }

double normalDensity(double t) { return std::exp(-t * t / 2) / std::sqrt(2 * std::numbers::pi); }

/// 12 Q^2 / (rho kappa)^2: the paper writes it as 4.78 + 6.02 b - 20 log10(rho kappa).
double integerQsnr(const QuantizerModel& m, double crest, double rho, bool exactSteps)
{
    const double steps = static_cast<double>(largestOf(Element::Int, m.bits));
    const double loss = 20.0 * std::log10(rho * crest);
    const double rest = static_cast<double>(m.block - 1) / static_cast<double>(m.block);
    const double gain = exactSteps ? decibels(1.0 / (12.0 * steps * steps)) : 4.78 + 6.02 * m.bits;
    return gain - loss + (m.fineScale ? decibels(rest) : 0.0);
}

std::optional<double> floatQsnr(const QuantizerModel& m, double crest, double rho)
{
    const SmallFloat f = smallFloatOf(m.element);
    const double largest = static_cast<double>(largestOf(m.element, m.bits));
    // Relative error of normals, absolute error of subnormals, and the threshold between them in rms.
    const double alpha = 1.0 / (24.0 * std::ldexp(1.0, 2 * f.mantissaBits));
    const double beta = std::ldexp(1.0, 2 * (1 - f.bias - f.mantissaBits)) / (12.0 * largest * largest);
    const double t = rho * crest * std::ldexp(1.0, 1 - f.bias) / largest;
    double normal = 2.0 * t * normalDensity(t) + std::erfc(t / std::numbers::sqrt2);
    const double subnormal = std::erf(t / std::numbers::sqrt2);
    if (m.fineScale) {
        normal -= crest * crest / static_cast<double>(m.block);
        if (!(normal > 0)) return std::nullopt;
    }
    return decibels(alpha * normal + beta * rho * rho * crest * crest * subnormal);
}

} // namespace

QuantizerModel modelOf(const FormatDesc& desc)
{
    return {desc.element, desc.bits, desc.blockSize, desc.family == FormatDesc::Family::Nv};
}

double largestCrest(std::int64_t block) { return std::sqrt(static_cast<double>(block)); }

std::optional<double> theoreticalQsnr(const QuantizerModel& m, double crest, const TheoryOptions& options)
{
    // A block of one value is stored without error.
    if (!(crest >= 1) || !std::isfinite(crest) || m.block < 2) return std::nullopt;
    if (m.fineScale && crest > largestCrest(m.block)) return std::nullopt;
    const double rho = options.rhoOf(m);
    if (m.element == Element::Int) return integerQsnr(m, crest, rho, options.exactSteps);
    return floatQsnr(m, crest, rho);
}

std::optional<Crossing> crossingOf(const QuantizerModel& integer, const QuantizerModel& floating, double most,
                                   const TheoryOptions& options)
{
    const auto lead = [&](double crest) -> std::optional<double> {
        const auto a = theoreticalQsnr(integer, crest, options),
                   b = theoreticalQsnr(floating, crest, options);
        if (!a || !b) return std::nullopt;
        return *a - *b;
    };
    // The lead of the whole numbers falls with the crest factor: one change of sign.
    constexpr int kSteps = 256;
    double low = 1;
    auto before = lead(low);
    for (int i = 1; i <= kSteps && before; ++i) {
        double high = 1 + (most - 1) * i / kSteps;
        const auto now = lead(high);
        if (!now) break;
        if (*before >= 0 && *now < 0) {
            while (high - low > 1e-12 * high) {
                const double middle = low + (high - low) / 2;
                if (middle <= low || middle >= high) break;
                (*lead(middle) >= 0 ? low : high) = middle;
            }
            return Crossing{low, *theoreticalQsnr(integer, low, options)};
        }
        low = high;
        before = now;
    }
    return std::nullopt;
}

double shareBeyondTop()
{
    const auto rounded = [](float x) { return bfloatToFloat(floatToBfloat(x)); };
    double share = 0;
    for (int exponent = -40; exponent <= 4; ++exponent)
        for (int mantissa = 0; mantissa < 128; ++mantissa) {
            const float x = std::ldexp(static_cast<float>(128 + mantissa), exponent - 7);
            if (std::nearbyint(rounded(x / rounded(x / 127.0f))) < 128.0f) continue;
            // All reals that round to x; below a power of two they lie closer.
            const double step = std::ldexp(1.0, exponent - 7);
            const double low = static_cast<double>(x) - (mantissa == 0 ? step / 4 : step / 2);
            const double high = static_cast<double>(x) + step / 2;
            share += std::erf(high / std::numbers::sqrt2) - std::erf(low / std::numbers::sqrt2);
        }
    return share;
}

} // namespace halftone::int_vs_fp
