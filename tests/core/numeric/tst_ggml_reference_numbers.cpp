// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/numeric/block_format.h"
#include "core/numeric/error_stats.h"
#include "tests/support/main.h"
#include "tests/support/packed_rows.h"
#include "tests/support/reference_inputs.h"

#include <cmath>
#include <map>

using namespace halftone;

namespace {

constexpr std::int64_t kCols = 1024;

// Measured once for all tests: the searches take most of the time.
double sqnrOf(const std::string& name, int input)
{
    static std::map<std::pair<std::string, int>, double> known;
    const auto [at, isNew] = known.try_emplace({name, input}, std::nan(""));
    if (!isNew) return at->second;
    const auto format = formatNamed(name);
    if (!format) return at->second;
    const auto& values = test::referenceInput(input);
    auto planes = test::encode(**format, values, kCols);
    if (planes) at->second = compare(values, test::decode(**format, *planes, values.size(), kCols)).sqnr();
    return at->second;
}

} // namespace

// The block types of ggml with searched scales, ternary and E2M1 codes.
class TstGgmlReferenceNumbers : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void sqnr_data();
    void sqnr();
    void orderings();
};

// dB over 2^20 values: normal, Laplace, with outliers, rotated; measured with ggml's own code.
void TstGgmlReferenceNumbers::sqnr_data()
{
    QTest::addColumn<QString>("name");
    QTest::addColumn<QList<double>>("decibels");
    const auto row = [](const char* name, QList<double> decibels) {
        QTest::newRow(name) << QString::fromLatin1(name) << decibels;
    };
    row("iq4_nl", {22.078, 20.961, 19.001, 22.510});
    row("iq4_xs", {22.295, 21.038, 18.897, 22.774});
    row("q2_k", {10.558, 9.285, 9.831, 12.092});
    row("q3_k", {16.424, 15.078, 14.455, 17.677});
    row("q4_k", {22.936, 21.459, 20.637, 23.542});
    row("q5_k", {28.842, 27.370, 26.603, 29.447});
    row("q6_k", {35.023, 33.267, 31.229, 36.474});
    row("mxfp4", {18.786, 17.939, 16.185, 18.907});
    row("nvfp4", {20.433, 20.671, 20.571, 19.901});
    row("tq1_0", {1.859, 1.598, 2.745, 2.486});
    row("tq2_0", {1.859, 1.598, 2.745, 2.486});
}

void TstGgmlReferenceNumbers::sqnr()
{
    QFETCH(QString, name);
    QFETCH(QList<double>, decibels);
    for (int i = 0; i < 4; ++i) {
        const double got = sqnrOf(name.toStdString(), i);
        QVERIFY2(std::fabs(got - decibels[i]) <= 0.02,
                 qPrintable(QString::asprintf("input %d: %.4f dB, expected %.3f", i, got, decibels[i])));
    }
}

void TstGgmlReferenceNumbers::orderings()
{
    for (int i = 0; i < 4; ++i) {
        // At equal 4.5 bits, and at 4.25.
        QVERIFY(sqnrOf("q4_k", i) > sqnrOf("q4_0", i));
        QVERIFY(sqnrOf("iq4_xs", i) >= sqnrOf("q4_0", i));
        // The same ternary values, packed in two ways.
        QCOMPARE(sqnrOf("tq1_0", i), sqnrOf("tq2_0", i));
        const char* const ascending[]{"tq1_0", "q2_k", "q3_k", "q4_k", "q5_k", "q6_k", "q8_0"};
        for (std::size_t k = 1; k < std::size(ascending); ++k)
            QVERIFY2(sqnrOf(ascending[k], i) > sqnrOf(ascending[k - 1], i), ascending[k]);
    }
}

QTEST_GUILESS_MAIN(TstGgmlReferenceNumbers)
#include "tst_ggml_reference_numbers.moc"
