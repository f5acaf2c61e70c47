// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/numeric/block_format.h"
#include "core/numeric/error_stats.h"
#include "tests/support/main.h"
#include "tests/support/packed_rows.h"
#include "tests/support/reference_inputs.h"

#include <cmath>

using namespace halftone;

namespace {

constexpr std::int64_t kCols = 1024;

double sqnrOf(const BlockFormat& format, const std::vector<float>& values)
{
    auto planes = test::encode(format, values, kCols);
    if (!planes) return std::nan("");
    return compare(values, test::decode(format, *planes, values.size(), kCols)).sqnr();
}

} // namespace

class TstReferenceNumbers : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void inputs();
    void sqnr_data();
    void sqnr();
    void asymmetricBeatsSymmetric();
    void normalisedError_data();
    void normalisedError();
};

void TstReferenceNumbers::inputs()
{
    const float normal[]{.5625435f, 1.927994f, .9228022f, 1.842987f};
    for (std::size_t i = 0; i < 4; ++i)
        QVERIFY(std::fabs(test::referenceInput(0)[i] - normal[i]) < 1e-6f);
    QVERIFY(std::fabs(test::referenceInput(1)[0] - .8910845f) < 1e-6f &&
            std::fabs(test::referenceInput(1)[1] + 1.902481f) < 1e-6f);
    QVERIFY(std::fabs(test::referenceInput(2)[0] + .9656106f) < 1e-6f &&
            std::fabs(test::referenceInput(2)[1] - 1.162805f) < 1e-6f);
}

// dB over 2^20 values; measured with ggml's own code for the block types, in double for the grids.
void TstReferenceNumbers::sqnr_data()
{
    QTest::addColumn<QString>("name");
    QTest::addColumn<QList<double>>("decibels");
    const auto row = [](const char* name, QList<double> decibels) {
        QTest::newRow(name) << QString::fromLatin1(name) << decibels;
    };
    row("int4.g128.f32", {18.613, 15.879, 10.811, 17.868});
    row("int4a.g128.f32", {19.959, 17.663, 14.593, 19.135});
    row("int4.g32.f32", {20.261, 18.323, 15.783, 21.097});
    row("int4a.g32.f32", {21.853, 20.498, 19.782, 22.526});
    row("int3.g128.f32", {11.258, 8.938, 6.369, 10.602});
    row("int3a.g128.f32", {13.335, 11.253, 8.812, 12.544});
    row("int2.g128.f32", {2.307, 2.109, 3.468, 3.152});
    row("int2a.g128.f32", {5.967, 4.918, 4.917, 6.039});
    row("int8.g128.f32", {43.785, 40.957, 35.563, 43.045});
    row("int8a.g128.f32", {44.566, 42.204, 39.176, 43.748});
    row("q4_0", {21.322, 19.411, 16.788, 22.104});
    row("q4_1", {22.134, 20.757, 20.026, 22.790});
    row("q5_0", {27.390, 25.423, 22.603, 28.195});
    row("q5_1", {28.440, 27.051, 26.335, 29.106});
    row("q8_0", {45.432, 43.429, 40.599, 46.272});
}

void TstReferenceNumbers::sqnr()
{
    QFETCH(QString, name);
    QFETCH(QList<double>, decibels);
    const auto format = formatNamed(name.toStdString());
    HALFTONE_VERIFY(format);
    for (int i = 0; i < 4; ++i) {
        const double got = sqnrOf(**format, test::referenceInput(i));
        QVERIFY2(std::fabs(got - decibels[i]) <= 0.02,
                 qPrintable(QString::asprintf("input %d: %.4f dB, expected %.3f", i, got, decibels[i])));
    }
}

void TstReferenceNumbers::asymmetricBeatsSymmetric()
{
    const std::vector<float> part(test::referenceInput(0).begin(), test::referenceInput(0).begin() + 65536);
    double before = 0;
    for (int bits = 2; bits <= 8; ++bits) {
        const auto sym = intGridFormat(bits, GridRule::SymRestricted, 128, ScaleType::F16);
        const auto asym = intGridFormat(bits, GridRule::Asym, 128, ScaleType::F16);
        HALFTONE_VERIFY(sym);
        HALFTONE_VERIFY(asym);
        const double low = sqnrOf(**sym, part), high = sqnrOf(**asym, part);
        QVERIFY(high > low);
        QVERIFY(low > before); // and more bits are better
        before = low;
    }
}

// Error over signal of asymmetric rounding on fresh draws; one draw scatters by 1 to 2 %.
void TstReferenceNumbers::normalisedError_data()
{
    QTest::addColumn<bool>("heavy");
    QTest::addColumn<int>("group");
    QTest::addColumn<int>("bits");
    QTest::addColumn<double>("error");
    const auto row = [](const char* source, int group, int bits, double error) {
        QTest::addRow("%s g%d b%d", source, group, bits) << (*source == 'L') << group << bits << error;
    };
    row("Gauss", 32, 2, 0.1643);
    row("Gauss", 32, 3, 0.0296);
    row("Gauss", 32, 4, 0.00645);
    row("Gauss", 64, 2, 0.2088);
    row("Gauss", 64, 3, 0.0380);
    row("Gauss", 64, 4, 0.00828);
    row("Laplace", 64, 2, 0.2539);
    row("Laplace", 128, 3, 0.0750);
    row("Laplace", 128, 4, 0.01695);
}

void TstReferenceNumbers::normalisedError()
{
    QFETCH(bool, heavy);
    QFETCH(int, group);
    QFETCH(int, bits);
    QFETCH(double, error);
    const auto values = heavy ? test::laplace(131072, 31) : test::gaussian(131072, 30);
    const auto format = intGridFormat(bits, GridRule::Asym, group, ScaleType::F32);
    HALFTONE_VERIFY(format);
    auto planes = test::encode(**format, values, kCols);
    HALFTONE_VERIFY(planes);
    const double got = compare(values, test::decode(**format, *planes, values.size(), kCols)).normalisedMse();
    QVERIFY2(std::fabs(got / error - 1) < 0.04, qPrintable(QString::number(got)));
}

QTEST_GUILESS_MAIN(TstReferenceNumbers)
#include "tst_reference_numbers.moc"
