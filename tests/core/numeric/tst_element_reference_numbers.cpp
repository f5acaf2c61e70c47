// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/numeric/block_format.h"
#include "core/numeric/error_stats.h"
#include "tests/support/main.h"
#include "tests/support/packed_rows.h"
#include "tests/support/reference_inputs.h"

#include <cmath>

using namespace halftone;

class TstElementReferenceNumbers : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void sqnr_data();
    void sqnr();
};

// dB over 2^20 values: normal, Laplace, normal with outliers, and those rotated. Measured in double.
void TstElementReferenceNumbers::sqnr_data()
{
    QTest::addColumn<QString>("name");
    QTest::addColumn<QList<double>>("decibels");
    const auto row = [](const char* name, QList<double> decibels) {
        QTest::newRow(name) << QString::fromLatin1(name) << decibels;
    };
    row("mxint8.g32.ceil", {41.609, 39.909, 37.073, 42.643});
    row("mxint8.g32.floor", {41.659, 39.975, 37.141, 42.698});
    row("mxfp8_e4m3.g32.ceil", {31.516, 31.527, 31.527, 31.553});
    row("mxfp8_e4m3.g32.floor", {30.644, 29.975, 29.077, 30.730});
    row("mxfp8_e5m2.g32.ceil", {25.543, 25.572, 25.623, 25.541});
    row("mxfp8_e5m2.g32.floor", {25.360, 25.223, 25.011, 25.380});
    row("mxint6.g32.ceil", {29.411, 27.649, 24.839, 30.436});
    row("mxint6.g32.floor", {29.616, 27.934, 25.092, 30.648});
    row("mxfp6_e2m3.g32.ceil", {30.952, 30.222, 28.509, 31.089});
    row("mxfp6_e2m3.g32.floor", {30.938, 30.267, 28.650, 31.084});
    row("mxint4.g32.ceil", {16.838, 14.891, 13.090, 17.647});
    row("mxint4.g32.floor", {17.545, 15.985, 13.863, 18.578});
    row("mxfp4_e2m1.g32.ceil", {18.752, 17.575, 15.593, 18.889});
    row("mxfp4_e2m1.g32.floor", {18.786, 17.939, 16.185, 18.907});
    row("nvfp4_e2m1.g16.nearest", {20.438, 20.666, 20.565, 19.897});
    row("nvint4.g16.nearest", {21.277, 19.760, 18.246, 22.662});
    row("nf4.g64.f32", {20.726, 19.677, 16.903, 20.329});
}

void TstElementReferenceNumbers::sqnr()
{
    QFETCH(QString, name);
    QFETCH(QList<double>, decibels);
    const auto format = formatNamed(name.toStdString());
    HALFTONE_VERIFY(format);
    constexpr std::int64_t kCols = 1024;
    for (int i = 0; i < 4; ++i) {
        const auto& values = test::referenceInput(i);
        auto planes = test::encode(**format, values, kCols);
        HALFTONE_VERIFY(planes);
        const double got = compare(values, test::decode(**format, *planes, values.size(), kCols)).sqnr();
        QVERIFY2(std::fabs(got - decibels[i]) <= 0.02,
                 qPrintable(QString::asprintf("input %d: %.4f dB, expected %.3f", i, got, decibels[i])));
    }
}

QTEST_GUILESS_MAIN(TstElementReferenceNumbers)
#include "tst_element_reference_numbers.moc"
