// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/numeric/small_float.h"

#include "tests/support/main.h"

#include <cmath>
#include <limits>

using namespace halftone;

namespace {

struct Format {
    const char* name;
    SmallFloat f;
    int finiteCodes;
    double positiveSum;
};

const Format kFormats[]{{"E4M3", kE4M3, 254, 5407.875},
                        {"E5M2", kE5M2, 248, 360447.99976},
                        {"E2M3", kE2M3, 64, 84},
                        {"E3M2", kE3M2, 64, 175},
                        {"E2M1", kE2M1, 16, 18}};

std::uint32_t signBit(SmallFloat f) { return 1u << (f.exponentBits + f.mantissaBits); }

} // namespace

class TstSmallFloat : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void encodes_data();
    void encodes();
    void decodesWhatItEncodes();
    void countsAndSums();
    void e2m1Values();
    void fp8SpecialCodes();
    void roundsToBfloat_data();
    void roundsToBfloat();
    void roundsToHalf_data();
    void roundsToHalf();
    void halfRoundTrip();
    void e8m0();
};

// One row a value: the codes of E4M3, E5M2, E2M3, E3M2, E2M1; -1 where the table says nothing.
void TstSmallFloat::encodes_data()
{
    QTest::addColumn<float>("x");
    QTest::addColumn<QList<int>>("codes");
    const auto row = [](const char* name, double x, QList<int> codes) {
        QTest::newRow(name) << static_cast<float>(x) << codes;
    };
    row("0", 0, {0x00, 0x00, 0x00, 0x00, 0});
    row("-0", -0.0, {0x80, 0x80, 0x20, 0x20, 8});
    row("0.25", 0.25, {0x28, 0x34, 0x02, 0x04, 0});
    row("0.75", 0.75, {0x34, 0x3A, 0x06, 0x0A, 2});
    row("1", 1, {0x38, 0x3C, 0x08, 0x0C, 2});
    row("-1.3", -1.3, {0xBA, 0xBD, 0x2A, 0x2D, 0xB});
    row("2.5", 2.5, {0x42, 0x41, 0x12, 0x11, 4});
    row("3.5", 3.5, {0x46, 0x43, 0x16, 0x13, 6});
    row("5", 5, {0x4A, 0x45, 0x1A, 0x15, 6});
    row("5.01", 5.01, {0x4A, 0x45, 0x1A, 0x15, 7});
    row("7.6", 7.6, {0x4F, 0x48, 0x1F, 0x18, 7});
    row("13", 13, {0x55, 0x4A, 0x1F, 0x1A, 7});
    row("30", 30, {0x5F, 0x50, 0x1F, 0x1F, 7});
    row("0.1", 0.1, {0x1D, 0x2E, 0x01, 0x02, 0});
    row("0.0625", 0.0625, {0x18, 0x2C, 0x00, 0x01, 0});
    row("448", 448, {0x7E, 0x5F, -1, -1, -1});
    row("464", 464, {0x7E, 0x5F, -1, -1, -1});
    row("465", 465, {0x7E, 0x5F, -1, -1, -1});
    row("480", 480, {0x7E, 0x60, -1, -1, -1});
    row("0.001", 0.001, {0x01, 0x14, 0x00, 0x00, 0});
    row("2^-10", std::ldexp(1.0, -10), {0x00, 0x14, -1, -1, -1});
    row("1.5 2^-10", std::ldexp(1.5, -10), {0x01, 0x16, -1, -1, -1});
    row("61439", 61439, {0x7E, 0x7B, -1, -1, -1});
    row("61440", 61440, {0x7E, 0x7B, -1, -1, -1});
    row("2^-17", std::ldexp(1.0, -17), {0x00, 0x00, -1, -1, -1});
    row("1.5 2^-17", std::ldexp(1.5, -17), {0x00, 0x01, -1, -1, -1});
    row("inf", std::numeric_limits<double>::infinity(), {0x7E, 0x7B, 0x1F, 0x1F, 7});
    row("-max", -std::numeric_limits<float>::max(), {0xFE, 0xFB, 0x3F, 0x3F, 0xF});
    row("denormal", 1e-40, {0, 0, 0, 0, 0});
}

void TstSmallFloat::encodes()
{
    QFETCH(float, x);
    QFETCH(QList<int>, codes);
    for (int i = 0; i < 5; ++i) {
        if (codes[i] < 0) continue;
        const auto code = static_cast<int>(smallFloatCode(x, kFormats[i].f));
        QVERIFY2(code == codes[i],
                 qPrintable(QString::asprintf("%s: %02X, expected %02X", kFormats[i].name, code, codes[i])));
    }
}

void TstSmallFloat::decodesWhatItEncodes()
{
    for (const Format& format : kFormats)
        for (std::uint32_t code = 0; code < 2 * signBit(format.f); ++code) {
            const float value = smallFloatValue(code, format.f);
            if (std::isfinite(value)) QCOMPARE(smallFloatCode(value, format.f), code);
        }
    for (const SmallFloat f : {kE4M3Fnuz, kE5M2Fnuz})
        for (std::uint32_t code = 0; code < 256; ++code)
            if (code != kFnuzNan) QCOMPARE(smallFloatCode(smallFloatValue(code, f), f), code);
}

void TstSmallFloat::countsAndSums()
{
    for (const Format& format : kFormats) {
        int finite = 0;
        double sum = 0;
        for (std::uint32_t code = 0; code < 2 * signBit(format.f); ++code) {
            const float value = smallFloatValue(code, format.f);
            if (!std::isfinite(value)) continue;
            ++finite;
            if (value > 0) sum += static_cast<double>(value);
        }
        QCOMPARE(finite, format.finiteCodes);
        QVERIFY(std::fabs(sum - format.positiveSum) < 1e-5);
    }
}

void TstSmallFloat::e2m1Values()
{
    const float values[]{0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
    for (std::uint32_t code = 0; code < 8; ++code) {
        QCOMPARE(smallFloatValue(code, kE2M1), values[code]);
        QCOMPARE(smallFloatValue(code + 8, kE2M1), -values[code]);
    }
}

void TstSmallFloat::fp8SpecialCodes()
{
    QVERIFY(std::isnan(smallFloatValue(0x7F, kE4M3)) && std::isnan(smallFloatValue(0xFF, kE4M3)));
    QVERIFY(std::isinf(smallFloatValue(0x7C, kE5M2)) && smallFloatValue(0xFC, kE5M2) < 0);
    for (const std::uint32_t code : {0x7Du, 0x7Eu, 0x7Fu, 0xFDu, 0xFEu, 0xFFu})
        QVERIFY(std::isnan(smallFloatValue(code, kE5M2)));
    const float nan = std::numeric_limits<float>::quiet_NaN();
    QVERIFY(std::isnan(smallFloatValue(smallFloatCode(nan, kE4M3), kE4M3)));
    QVERIFY(std::isnan(smallFloatValue(smallFloatCode(-nan, kE5M2), kE5M2)));
    QCOMPARE(smallFloatCode(nan, kE2M1), 0u);
    QCOMPARE(smallFloatValue(0x7F, kE4M3Fnuz), 240.0f);
    QCOMPARE(smallFloatValue(0x7F, kE5M2Fnuz), 57344.0f);
    QCOMPARE(smallFloatValue(0x01, kE5M2Fnuz), std::ldexp(1.0f, -17));
}

void TstSmallFloat::roundsToBfloat_data()
{
    QTest::addColumn<quint32>("bits");
    QTest::addColumn<int>("code");
    const auto value = [](const char* name, double x, int code) {
        QTest::newRow(name) << quint32{floatBits(static_cast<float>(x))} << code;
    };
    const auto pattern = [](const char* name, quint32 bits, int code) {
        QTest::newRow(name) << bits << code;
    };
    value("1.00390625", 1.00390625, 0x3F80);
    value("1.01171875", 1.01171875, 0x3F82);
    value("pi", 3.14159265358979, 0x4049);
    value("-0.1", -0.1, 0xBDCD);
    value("65504", 65504, 0x4780);
    value("3.4e38", 3.4e38, 0x7F80);
    value("1e-40", 1e-40, 0x0001);
    pattern("largest float to Inf", 0x7F7FFFFF, 0x7F80);
    pattern("tie to Inf", 0x7F7F8000, 0x7F80);
    pattern("just below the tie", 0x7F7F7FFF, 0x7F7F);
    pattern("NaN stays NaN", 0x7F800001, 0x7FC0);
    pattern("tie to even, down", 0x3F808000, 0x3F80);
    pattern("tie to even, up", 0x3F818000, 0x3F82);
}

void TstSmallFloat::roundsToBfloat()
{
    QFETCH(quint32, bits);
    QFETCH(int, code);
    QCOMPARE(static_cast<int>(floatToBfloat(bitsFloat(bits))), code);
}

void TstSmallFloat::roundsToHalf_data()
{
    QTest::addColumn<float>("x");
    QTest::addColumn<int>("code");
    const auto row = [](const char* name, double x, int code) {
        QTest::newRow(name) << static_cast<float>(x) << code;
    };
    row("0.1", 0.1, 0x2E66);
    row("1/3", 1.0 / 3, 0x3555);
    row("65519", 65519, 0x7BFF);
    row("65520", 65520, 0x7C00);
    row("2^-24", std::ldexp(1.0, -24), 0x0001);
    row("2^-25", std::ldexp(1.0, -25), 0x0000);
    row("1.5 2^-25", std::ldexp(1.5, -25), 0x0001);
    row("2049", 2049, 0x6800);
    row("2051", 2051, 0x6802);
    row("-0", -0.0, 0x8000);
    row("-inf", -std::numeric_limits<double>::infinity(), 0xFC00);
}

void TstSmallFloat::roundsToHalf()
{
    QFETCH(float, x);
    QFETCH(int, code);
    QCOMPARE(static_cast<int>(floatToHalf(x)), code);
}

void TstSmallFloat::halfRoundTrip()
{
    for (std::uint32_t code = 0; code < 65536; ++code) {
        const auto bits = static_cast<std::uint16_t>(code);
        const float half = halfToFloat(bits), brain = bfloatToFloat(bits);
        if (std::isnan(half))
            QVERIFY(std::isnan(halfToFloat(floatToHalf(half))));
        else
            QCOMPARE(floatToHalf(half), bits);
        if (std::isnan(brain))
            QVERIFY(std::isnan(bfloatToFloat(floatToBfloat(brain))));
        else
            QCOMPARE(floatToBfloat(brain), bits);
    }
}

void TstSmallFloat::e8m0()
{
    QCOMPARE(e8m0Value(127), 1.0f);
    QCOMPARE(e8m0Value(0), std::ldexp(1.0f, -127));
    QCOMPARE(e8m0Value(254), std::ldexp(1.0f, 127));
    QVERIFY(std::isnan(e8m0Value(255)));
}

QTEST_GUILESS_MAIN(TstSmallFloat)
#include "tst_small_float.moc"
