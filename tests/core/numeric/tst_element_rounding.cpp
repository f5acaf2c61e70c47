// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/numeric/element_rounding.h"

#include "core/base/rng.h"
#include "tests/support/main.h"

#include <cmath>
#include <limits>

using namespace halftone;

namespace {

const std::pair<const char*, SmallFloat> kTypes[]{
    {"E4M3", kE4M3}, {"E5M2", kE5M2}, {"E2M3", kE2M3}, {"E3M2", kE3M2}, {"E2M1", kE2M1}};

std::uint32_t codesOf(SmallFloat f) { return 2u << (f.exponentBits + f.mantissaBits); }

} // namespace

class TstElementRounding : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void agreesWithTheFastCode();
    void keepsEveryFiniteCode();
    void overflow_data();
    void overflow();
    void ties();
    void towardsZero();
    void stochasticIsUnbiased();
};

// Random bit patterns, and the neighbourhood of every value and midpoint.
void TstElementRounding::agreesWithTheFastCode()
{
    SplitMix64 rng(5);
    for (const auto& [name, f] : kTypes) {
        const auto same = [&, f = f](float x) {
            return roundedFloatCode(x, f, Rounding::Even, Overflow::Saturate) == smallFloatCode(x, f);
        };
        for (int i = 0; i < 200000; ++i) {
            const float x = bitsFloat(static_cast<std::uint32_t>(rng.next() >> 32));
            if (!std::isnan(x)) QVERIFY2(same(x), name);
        }
        for (std::uint32_t code = 0; code + 1 < codesOf(f); ++code) {
            const float a = smallFloatValue(code, f), b = smallFloatValue(code + 1, f);
            if (!std::isfinite(a) || !std::isfinite(b)) continue;
            const float middle = (a + b) * 0.5f;
            for (const float x : {a, middle, std::nextafter(middle, a), std::nextafter(middle, b)})
                QVERIFY2(same(x), name);
        }
        const float nan = std::numeric_limits<float>::quiet_NaN();
        QCOMPARE(roundedFloatCode(nan, f, Rounding::Even, Overflow::Special), f.nanCode);
    }
}

void TstElementRounding::keepsEveryFiniteCode()
{
    for (const auto& [name, f] : kTypes)
        for (std::uint32_t code = 0; code < codesOf(f); ++code) {
            const float value = smallFloatValue(code, f);
            if (!std::isfinite(value)) continue;
            for (const Rounding r : {Rounding::Even, Rounding::Away, Rounding::Zero, Rounding::Stochastic})
                for (const Overflow o : {Overflow::Saturate, Overflow::Special})
                    QVERIFY2(roundedFloatCode(value, f, r, o, 0xffffffffu) == code, name);
        }
}

void TstElementRounding::overflow_data()
{
    QTest::addColumn<float>("x");
    QTest::addColumn<QList<int>>("saturated");
    QTest::addColumn<QList<int>>("special");
    const float inf = std::numeric_limits<float>::infinity();
    const auto row = [](const char* name, float x, QList<int> saturated, QList<int> special) {
        QTest::newRow(name) << x << saturated << special;
    };
    // E4M3, E5M2, E2M1: OFP8 without saturation gives NaN and Inf; FP4 has neither.
    row("448", 448, {0x7E, 0x5F, 7}, {0x7E, 0x5F, 7});
    row("464", 464, {0x7E, 0x5F, 7}, {0x7E, 0x5F, 7});
    row("465", 465, {0x7E, 0x5F, 7}, {0x7F, 0x5F, 7});
    row("-480", -480, {0xFE, 0xE0, 0xF}, {0xFF, 0xE0, 0xF});
    row("61439", 61439, {0x7E, 0x7B, 7}, {0x7F, 0x7B, 7});
    row("61440", 61440, {0x7E, 0x7B, 7}, {0x7F, 0x7C, 7});
    row("inf", inf, {0x7E, 0x7B, 7}, {0x7F, 0x7C, 7});
    row("-inf", -inf, {0xFE, 0xFB, 0xF}, {0xFF, 0xFC, 0xF});
}

void TstElementRounding::overflow()
{
    QFETCH(float, x);
    QFETCH(QList<int>, saturated);
    QFETCH(QList<int>, special);
    const SmallFloat types[]{kE4M3, kE5M2, kE2M1};
    for (int i = 0; i < 3; ++i) {
        QCOMPARE(static_cast<int>(roundedFloatCode(x, types[i], Rounding::Even, Overflow::Saturate)),
                 saturated[i]);
        QCOMPARE(static_cast<int>(roundedFloatCode(x, types[i], Rounding::Even, Overflow::Special)),
                 special[i]);
    }
}

void TstElementRounding::ties()
{
    const auto e2m1 = [](float x, Rounding r) { return roundedFloatCode(x, kE2M1, r, Overflow::Saturate); };
    // Midpoints of 0, .5, 1, 1.5, 2, 3, 4, 6: codes 0 to 7.
    const float middles[]{0.25f, 0.75f, 1.25f, 1.75f, 2.5f, 3.5f, 5};
    for (std::uint32_t k = 0; k < 7; ++k) {
        QCOMPARE(e2m1(middles[k], Rounding::Even), k % 2 == 0 ? k : k + 1);
        QCOMPARE(e2m1(middles[k], Rounding::Away), k + 1);
        QCOMPARE(e2m1(-middles[k], Rounding::Away), (k + 1) | 8u);
        QCOMPARE(e2m1(middles[k], Rounding::Zero), k);
    }
}

void TstElementRounding::towardsZero()
{
    for (const auto& [name, f] : kTypes)
        for (const float x : {0.3f, -1.3f, 5.01f, 1e-3f, -30.0f, 1e-30f, 1e-40f}) {
            const float y = smallFloatValue(roundedFloatCode(x, f, Rounding::Zero, Overflow::Saturate), f);
            QVERIFY2(std::fabs(y) <= std::fabs(x) && std::signbit(y) == std::signbit(x), name);
        }
}

// The mean of many draws is the value itself, between two codes and below the first.
void TstElementRounding::stochasticIsUnbiased()
{
    SplitMix64 rng(9);
    for (const float x : {0.1f, 0.65f, 2.2f, -3.9f, 5.5f}) {
        double sum = 0;
        constexpr int kDraws = 200000;
        for (int i = 0; i < kDraws; ++i) {
            const auto random = static_cast<std::uint32_t>(rng.next() >> 32);
            sum += static_cast<double>(smallFloatValue(
                roundedFloatCode(x, kE2M1, Rounding::Stochastic, Overflow::Saturate, random), kE2M1));
        }
        // Five deviations of the mean of draws that are at most 2 apart.
        QVERIFY(std::fabs(sum / kDraws - static_cast<double>(x)) < 5.0 / std::sqrt(kDraws));
    }
}

QTEST_GUILESS_MAIN(TstElementRounding)
#include "tst_element_rounding.moc"
