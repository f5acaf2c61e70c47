// SPDX-License-Identifier: GPL-3.0-or-later
// Golden values: the figure and tables of arXiv 2510.25602, and its formulas evaluated by hand.
#include "plugins/methods/int_vs_fp/format_pairs.h"
#include "plugins/methods/int_vs_fp/qsnr_theory.h"
#include "plugins/methods/int_vs_fp/spread.h"
#include "tests/support/main.h"

#include <cmath>
#include <limits>

using namespace halftone;
using namespace halftone::int_vs_fp;

namespace {

QuantizerModel model(const char* format)
{
    const auto found = formatNamed(format);
    return found ? modelOf((*found)->desc()) : QuantizerModel{};
}

constexpr TheoryOptions kTextRho{.rhoFine = 1.0};

} // namespace

class TestIntVsFpTheory : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void models()
    {
        const auto fp4 = model("nvfp4_e2m1.g16.nearest");
        QCOMPARE(fp4.element, Element::E2M1);
        QCOMPARE(fp4.block, 16);
        QVERIFY(fp4.fineScale);
        const auto int6 = model("mxint6.g32.ceil");
        QCOMPARE(int6.bits, 6);
        QVERIFY(!int6.fineScale);
    }

    void crossings_data()
    {
        QTest::addColumn<QString>("integer");
        QTest::addColumn<QString>("floating");
        QTest::addColumn<double>("rhoFine");
        QTest::addColumn<double>("crest");
        QTest::addColumn<double>("qsnr");
        // As published to two digits: 7.55 and 31.86, 1.96 and 31.54, 2.04 and 19.14, 2.39 and 21.14.
        QTest::newRow("8 bits") << "mxint8.g32.ceil"
                                << "mxfp8_e4m3.g32.ceil" << 1.05 << 7.5459 << 31.8639;
        QTest::newRow("6 bits") << "mxint6.g32.ceil"
                                << "mxfp6_e2m3.g32.ceil" << 1.05 << 1.9592 << 31.5364;
        QTest::newRow("4 bits") << "mxint4.g32.ceil"
                                << "mxfp4_e2m1.g32.ceil" << 1.05 << 2.0416 << 19.1386;
        QTest::newRow("NV as drawn") << "nvint4.g16.nearest"
                                     << "nvfp4_e2m1.g16.nearest" << 1.05 << 2.3913 << 21.1438;
        QTest::newRow("NV as written") << "nvint4.g16.nearest"
                                       << "nvfp4_e2m1.g16.nearest" << 1.0 << 2.4641 << 21.3071;
    }
    void crossings()
    {
        QFETCH(QString, integer);
        QFETCH(QString, floating);
        QFETCH(double, rhoFine);
        QFETCH(double, crest);
        QFETCH(double, qsnr);
        const TheoryOptions options{.rhoFine = rhoFine};
        const auto a = model(qPrintable(integer)), b = model(qPrintable(floating));
        const auto found = crossingOf(a, b, 12, options);
        QVERIFY(found.has_value());
        QVERIFY2(std::abs(found->crest - crest) < 1e-3, qPrintable(QString::number(found->crest, 'f', 6)));
        QVERIFY2(std::abs(found->qsnr - qsnr) < 1e-3, qPrintable(QString::number(found->qsnr, 'f', 6)));
        // Below it the whole numbers lead, above it the floats.
        QVERIFY(*theoreticalQsnr(a, crest * 0.99, options) > *theoreticalQsnr(b, crest * 0.99, options));
        QVERIFY(*theoreticalQsnr(a, crest * 1.01, options) < *theoreticalQsnr(b, crest * 1.01, options));
    }

    void noCrossingWhereThereIsNone()
    {
        QVERIFY(!crossingOf(model("mxint8.g32.ceil"), model("mxfp8_e4m3.g32.ceil"), 5));
        // Eight bits of whole numbers lead four bits of floats in all blocks of 32.
        QVERIFY(!crossingOf(model("mxint8.g32.ceil"), model("mxfp4_e2m1.g32.ceil"), 12));
    }

    void grid_data()
    {
        QTest::addColumn<QString>("format");
        QTest::addColumn<double>("crest");
        QTest::addColumn<double>("qsnr");
        struct Row {
            double crest;
            double values[8];
        };
        constexpr const char* kFormats[8]{
            "mxint8.g32.ceil", "mxfp8_e4m3.g32.ceil", "mxint6.g32.ceil",    "mxfp6_e2m3.g32.ceil",
            "mxint4.g32.ceil", "mxfp4_e2m1.g32.ceil", "nvint4.g16.nearest", "nvfp4_e2m1.g16.nearest"};
        constexpr double kNone = -1; // the formula does not hold there
        constexpr Row kRows[]{{1.5, {45.896, 31.864, 33.856, 31.713, 21.816, 19.534, 25.618, 20.378}},
                              {2, {43.398, 31.864, 31.358, 31.517, 19.318, 19.176, 23.120, 20.800}},
                              {2.39, {41.850, 31.864, 29.810, 31.292, 17.770, 18.784, 21.572, 21.218}},
                              {2.96, {39.992, 31.864, 27.952, 30.850, 15.912, 18.060, 19.714, 21.992}},
                              {4, {37.377, 31.864, 25.337, 29.756, 13.297, 16.465, 17.099, kNone}},
                              {8, {31.356, 31.864, 19.316, 24.854, 7.276, 10.848, kNone, kNone}},
                              {12, {27.835, 31.864, 15.795, 21.274, 3.755, 7.275, kNone, kNone}}};
        for (const Row& row : kRows)
            for (std::size_t i = 0; i < 8; ++i)
                QTest::addRow("%s at %g", kFormats[i], row.crest)
                    << kFormats[i] << row.crest << row.values[i];
    }
    void grid()
    {
        QFETCH(QString, format);
        QFETCH(double, crest);
        QFETCH(double, qsnr);
        const auto found = theoreticalQsnr(model(qPrintable(format)), crest, kTextRho);
        QCOMPARE(found.has_value(), qsnr > 0);
        if (found) QVERIFY2(std::abs(*found - qsnr) < 1e-3, qPrintable(QString::number(*found, 'f', 6)));
    }

    void floatsOfEightBitsAreFlat()
    {
        for (double crest = 1.5; crest <= 12; crest += 0.25)
            QVERIFY(std::abs(*theoreticalQsnr(model("mxfp8_e4m3.g32.ceil"), crest) - 31.864) < 1e-3);
        // Ample range: 13.80 + 6.02 M.
        QVERIFY(std::abs(*theoreticalQsnr(model("mxfp8_e4m3.g32.ceil"), 2) - (13.80 + 6.02 * 3)) < 0.01);
    }

    void oneBitIsSixDecibels()
    {
        for (int bits = 5; bits <= 8; ++bits) {
            const QuantizerModel more{Element::Int, bits, 32, false}, less{Element::Int, bits - 1, 32, false};
            QVERIFY(std::abs(*theoreticalQsnr(more, 2.5) - *theoreticalQsnr(less, 2.5) - 6.02) < 1e-9);
        }
    }

    void exactSteps_data()
    {
        QTest::addColumn<int>("bits");
        QTest::addColumn<double>("lower");
        QTest::newRow("4") << 4 << 1.16;
        QTest::newRow("6") << 6 << 0.28;
        QTest::newRow("8") << 8 << 0.07;
    }
    void exactSteps()
    {
        QFETCH(int, bits);
        QFETCH(double, lower);
        const QuantizerModel m{Element::Int, bits, 32, false};
        const double difference = *theoreticalQsnr(m, 3) - *theoreticalQsnr(m, 3, {.exactSteps = true});
        QVERIFY2(std::abs(difference - lower) < 0.011, qPrintable(QString::number(difference)));
    }

    void holdsOnlyWhereItCan()
    {
        const auto nv = model("nvfp4_e2m1.g16.nearest");
        QVERIFY(!theoreticalQsnr(nv, 0.5));
        QVERIFY(!theoreticalQsnr(nv, std::nan("")));
        QVERIFY(!theoreticalQsnr(nv, std::numeric_limits<double>::infinity()));
        QVERIFY(!theoreticalQsnr(nv, 4.01));
        QVERIFY(!theoreticalQsnr(model("nvint4.g16.nearest"), 4.01));
        QVERIFY(theoreticalQsnr(model("nvint4.g16.nearest"), 4.0));
        QVERIFY(!theoreticalQsnr({Element::Int, 4, 1, true}, 1.0));
        // No infinity and no NaN on the way to the end of what holds.
        for (double crest = 1; crest < 4; crest += 1e-3)
            if (const auto found = theoreticalQsnr(nv, crest)) QVERIFY(std::isfinite(*found));
        QCOMPARE(largestCrest(16), 4.0);
        QVERIFY(std::abs(largestCrest(32) - 5.657) < 1e-3);
    }

    // In BF16 some values divided by a 127th of themselves are rounded to 128.
    void roundingBeyondTheTop()
    {
        QVERIFY(std::abs(shareBeyondTop() - 0.1682) < 1e-4);
        for (int mantissa = 0; mantissa < 128; ++mantissa) {
            const float x = static_cast<float>(128 + mantissa) / 128.0f;
            const auto rounded = [](float v) { return bfloatToFloat(floatToBfloat(v)); };
            const bool beyond = std::nearbyint(rounded(x / rounded(x / 127.0f))) > 127.0f;
            QCOMPARE(beyond, mantissa >= 42 && mantissa <= 62);
            QVERIFY(std::nearbyint(x / (x / 127.0f)) == 127.0f); // in F32 never
        }
    }

    // The published means lie where theory puts the published crest factors, and the winner is the same.
    void publishedNumbersAgree()
    {
        for (const bool rotated : {false, true})
            for (const Pair& pair : allPairs()) {
                double crest = 0;
                for (const auto& p : publishedCrests())
                    if (p.block == pair.usualBlock() && p.rotated == rotated) crest = p.spread[2];
                const auto formats =
                    formatsOf(pair, pair.usualBlock(), pair.fineScale() ? "nearest" : "ceil");
                HALFTONE_VERIFY(formats);
                const TheoryOptions exact{.exactSteps = true};
                const double a = *theoreticalQsnr(modelOf(formats->integer->desc()), crest, exact);
                const double b = *theoreticalQsnr(modelOf(formats->floating->desc()), crest, exact);
                const auto& published = pair.published(rotated);
                QVERIFY2(std::abs(a - published.integerQsnr) < 1.5, qPrintable(QString::number(a)));
                QVERIFY2(std::abs(b - published.floatQsnr) < 1.0, qPrintable(QString::number(b)));
                const double lead = published.integerQsnr - published.floatQsnr;
                if (std::abs(lead) > 0.1) QCOMPARE(a > b, lead > 0);
                if (std::abs(lead) > 0.1) QCOMPARE(published.integerWins > 0.5, lead > 0);
            }
    }

    void quartiles()
    {
        std::vector<double> values{5, 1, 4, 2, 3, 6, 7, 8};
        const auto s = spreadOf(values);
        QCOMPARE(s.count, 8);
        QCOMPARE(s.least, 1.0);
        QCOMPARE(s.lower, 2.75);
        QCOMPARE(s.median, 4.5);
        QCOMPARE(s.upper, 6.25);
        QCOMPARE(s.most, 8.0);
        QCOMPARE(s.mean, 4.5);
        std::vector<double> none;
        QVERIFY(std::isnan(spreadOf(none).median));
        const double inf = std::numeric_limits<double>::infinity();
        std::vector<double> withoutError{1, inf, inf, inf};
        QCOMPARE(spreadOf(withoutError).median, inf);
        std::vector<double> one{3};
        QCOMPARE(spreadOf(one).upper, 3.0);
    }

    void countsAgreeWithValues()
    {
        CrestCounts counts;
        std::vector<double> values;
        for (int i = 0; i < 5000; ++i) {
            const double crest = 1.0 + 4.0 * std::fmod(i * 0.6180339887, 1.0);
            counts.add(crest);
            values.push_back(crest);
        }
        const auto a = counts.spread(), b = spreadOf(values);
        QCOMPARE(a.least, b.least);
        QCOMPARE(a.most, b.most);
        QVERIFY(std::abs(a.lower / b.lower - 1) < 2e-3);
        QVERIFY(std::abs(a.median / b.median - 1) < 2e-3);
        QVERIFY(std::abs(a.upper / b.upper - 1) < 2e-3);
        QVERIFY(std::isnan(CrestCounts().spread().median));
    }
};

QTEST_GUILESS_MAIN(TestIntVsFpTheory)
#include "tst_int_vs_fp_theory.moc"
