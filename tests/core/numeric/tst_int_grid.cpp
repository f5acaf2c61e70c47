// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/numeric/int_grid.h"

#include "tests/support/main.h"
#include "tests/support/packed_rows.h"
#include "tests/support/samples.h"

#include <cmath>
#include <cstring>
#include <limits>

using namespace halftone;

Q_DECLARE_METATYPE(halftone::GridRule)

class TstIntGrid : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void roundsHalvesToEven();
    void golden_data();
    void golden();
    void zeroGroup();
    void tinyAndHugeScales();
    void packsDenseLittleEndian_data();
    void packsDenseLittleEndian();
    void walkOfOneWeight();
    void shortLastGroup();
    void wholeRowAndWholeTensor();
    void errorIsAtMostHalfAStep_data();
    void errorIsAtMostHalfAStep();
    void encodesItsOwnValuesUnchanged_data();
    void encodesItsOwnValuesUnchanged();
    void mirrorsOnSymmetricGrids();
};

void TstIntGrid::roundsHalvesToEven()
{
    QCOMPARE(roundEven(0.5f), 0);
    QCOMPARE(roundEven(1.5f), 2);
    QCOMPARE(roundEven(2.5f), 2);
    QCOMPARE(roundEven(-0.5f), 0);
    QCOMPARE(roundEven(-1.5f), -2);
    QCOMPARE(roundEven(0.49999997f), 0);
    QCOMPARE(roundEven(4194303.0f), 4194303);
    QCOMPARE(roundEven(-4194303.0f), -4194303);
}

// The row [-1, -0.5, 0, 0.3, 0.75, 1.5] on all grids.
void TstIntGrid::golden_data()
{
    QTest::addColumn<int>("bits");
    QTest::addColumn<GridRule>("rule");
    QTest::addColumn<double>("scale");
    QTest::addColumn<int>("zero");
    QTest::addColumn<QList<int>>("codes");
    const auto sym = [](int bits, double s, QList<int> q) {
        QTest::addRow("sym %d", bits) << bits << GridRule::SymRestricted << s << 0 << q;
    };
    const auto full = [](int bits, double s, QList<int> q) {
        QTest::addRow("full %d", bits) << bits << GridRule::SymFull << s << 0 << q;
    };
    const auto asym = [](int bits, double s, int z, QList<int> q) {
        QTest::addRow("asym %d", bits) << bits << GridRule::Asym << s << z << q;
    };
    sym(2, 1.5, {-1, 0, 0, 0, 0, 1});
    sym(3, 0.5, {-2, -1, 0, 1, 2, 3});
    sym(4, .214285714, {-5, -2, 0, 1, 4, 7});
    sym(5, .1, {-10, -5, 0, 3, 8, 15});
    sym(6, .0483870968, {-21, -10, 0, 6, 16, 31});
    sym(7, .0238095238, {-42, -21, 0, 13, 32, 63});
    sym(8, .0118110236, {-85, -42, 0, 25, 64, 127});
    asym(2, .833333, 1, {0, 0, 1, 1, 2, 3});
    asym(3, .357142857, 3, {0, 2, 3, 4, 5, 7});
    asym(4, .166666667, 6, {0, 3, 6, 8, 10, 15});
    asym(5, .0806451613, 12, {0, 6, 12, 16, 21, 31});
    asym(6, .0396825397, 25, {0, 12, 25, 33, 44, 63});
    asym(7, .0196850394, 51, {0, 26, 51, 66, 89, 127});
    asym(8, .00980392157, 102, {0, 51, 102, 133, 178, 255});
    full(2, 1, {-1, 0, 0, 0, 1, 1});
    full(3, .428571, {-2, -1, 0, 1, 2, 3});
    full(4, .2, {-5, -2, 0, 1, 4, 7});
    full(5, .0967741935, {-10, -5, 0, 3, 8, 15});
    full(6, .0476190476, {-21, -10, 0, 6, 16, 31});
    full(7, .0236220472, {-42, -21, 0, 13, 32, 63});
    full(8, .0117647059, {-85, -42, 0, 26, 64, 127});
}

void TstIntGrid::golden()
{
    QFETCH(int, bits);
    QFETCH(GridRule, rule);
    QFETCH(double, scale);
    QFETCH(int, zero);
    QFETCH(QList<int>, codes);
    const float x[]{-1, -0.5f, 0, 0.3f, 0.75f, 1.5f};
    const GridPoint g = gridOf(-1, 1.5f, rule, bits, ScaleType::F32);
    QVERIFY(std::fabs(static_cast<double>(g.scale) - scale) < 1e-6 * scale + 5e-7);
    QCOMPARE(g.zero, zero);
    for (int i = 0; i < 6; ++i) {
        const int code =
            gridCode(x[i], inverseOf(g.scale), g.zero, gridLow(rule, bits), gridHigh(rule, bits));
        // Where x / s is a tie, float order decides: one code either way is right.
        const double t = static_cast<double>(x[i]) / scale;
        const bool tie = std::fabs(std::fabs(t - std::floor(t)) - 0.5) < 1e-4;
        QVERIFY2(tie ? std::abs(code - codes[i]) <= 1 : code == codes[i],
                 qPrintable(QString::asprintf("x[%d]: code %d, expected %d", i, code, codes[i])));
    }
}

void TstIntGrid::zeroGroup()
{
    for (const auto rule : {GridRule::SymRestricted, GridRule::SymFull, GridRule::Asym})
        for (const auto type : {ScaleType::F32, ScaleType::F16, ScaleType::BF16}) {
            const GridPoint g = gridOf(0, -0.0f, rule, 4, type);
            QCOMPARE(g.scale, 1.0f);
            QCOMPARE(g.zero, 0);
            QCOMPARE(gridCode(0, inverseOf(g.scale), g.zero, gridLow(rule, 4), gridHigh(rule, 4)), 0);
        }
}

void TstIntGrid::tinyAndHugeScales()
{
    for (const auto rule : {GridRule::SymRestricted, GridRule::SymFull, GridRule::Asym}) {
        // Below half of 2^-24 an F16 scale is 0: all codes read as 0.
        const GridPoint flushed = gridOf(-1e-8f, 1e-8f, rule, 4, ScaleType::F16);
        QCOMPARE(flushed.scale, 0.0f);
        const int code =
            gridCode(1e-8f, inverseOf(flushed.scale), flushed.zero, gridLow(rule, 4), gridHigh(rule, 4));
        QCOMPARE(gridValue(code, flushed), 0.0f);
        // The inverse of the smallest floats overflows: zeros again, never NaN.
        const float tiny = std::numeric_limits<float>::denorm_min();
        const GridPoint denormal = gridOf(-tiny, tiny, rule, 8, ScaleType::F32);
        QVERIFY(std::isfinite(inverseOf(denormal.scale)));
        QVERIFY(std::isinf(gridOf(-4e6f, 4e6f, rule, 4, ScaleType::F16).scale));
        const float big = std::numeric_limits<float>::max();
        for (int bits = 2; bits <= 8; ++bits)
            QVERIFY(std::isfinite(gridOf(-big, big, rule, bits, ScaleType::F32).scale));
    }
}

void TstIntGrid::packsDenseLittleEndian_data()
{
    QTest::addColumn<int>("bits");
    QTest::addColumn<QList<int>>("codes");
    QTest::addColumn<QString>("words");
    const auto list = [](int count, auto f) {
        QList<int> q;
        for (int i = 0; i < count; ++i)
            q << f(i);
        return q;
    };
    const auto row = [](const char* name, int bits, QList<int> codes, const char* words) {
        QTest::newRow(name) << bits << codes << QString::fromLatin1(words);
    };
    row("4 low", 4, list(8, [](int i) { return i - 8; }), "76543210");
    row("4 high", 4, list(8, [](int i) { return i; }), "FEDCBA98");
    row("8", 8, {-128, -1, 0, 127}, "FF807F00");
    row("2", 2, list(16, [](int i) { return i % 4 - 2; }), "E4E4E4E4");
    row("3", 3, list(32, [](int i) { return i % 8 - 4; }), "88FAC688 C688FAC6 FAC688FA");
    row("6", 6, list(32, [](int i) { return 5 * i % 64 - 32; }),
        "543CA140 2B688DE6 2C607CDF 647DA550 2F78CEEA 6D644C1C");
}

// Codes that are whole numbers of a known scale: the largest magnitude of a full-range grid is
// (2^b - 1) / 2 steps, which one extra value at the end of the row provides.
void TstIntGrid::packsDenseLittleEndian()
{
    QFETCH(int, bits);
    QFETCH(QList<int>, codes);
    QFETCH(QString, words);
    const auto format = intGridFormat(bits, GridRule::SymFull, FormatDesc::kWholeTensor, ScaleType::F32);
    HALFTONE_VERIFY(format);
    std::vector<float> row;
    for (const int code : codes)
        row.push_back(static_cast<float>(code));
    const auto layout = (*format)->layout(1, static_cast<std::int64_t>(row.size()));
    HALFTONE_VERIFY(layout);
    test::Planes planes(*layout);
    // One scale a tensor takes its range from outside: this one gives a scale of exactly 1.
    const float end = static_cast<float>((1 << bits) - 1) * 0.5f;
    HALFTONE_VERIFY((*format)->encodeRow(row, 0, {-end, end}, planes.rows()));
    QString text;
    for (std::size_t at = 0; at < planes.codes.size(); at += 4) {
        std::uint32_t word = 0;
        std::memcpy(&word, planes.codes.data() + at, 4);
        text += QString::asprintf(at == 0 ? "%08X" : " %08X", word);
    }
    QCOMPARE(text, words);
    QCOMPARE(test::decode(**format, planes, row.size(), static_cast<std::int64_t>(row.size())), row);
}

// A BF16 weight 9A 3E in a group whose largest magnitude is 1.2.
void TstIntGrid::walkOfOneWeight()
{
    std::vector<float> row(32, 0.0f);
    row[17] = bfloatToFloat(0x3E9A);
    row[5] = -1.2f;
    QVERIFY(row[17] == 0.30078125f);
    const auto format = formatNamed("int4.g32.f16");
    HALFTONE_VERIFY(format);
    auto planes = test::encode(**format, row, 32);
    HALFTONE_VERIFY(planes);
    QCOMPARE(test::toHex(planes->scales.data(), 2), std::string("7c31"));
    QCOMPARE(std::to_integer<int>(planes->codes[8]) >> 4, 10);
    std::vector<std::int32_t> codes(32);
    std::vector<GridPoint> points(32);
    (*format)->inspectRow(planes->rows(), 32, codes, points);
    QCOMPARE(codes[17], 2);
    QCOMPARE(codes[5], -7);
    QVERIFY(points[17].scale == 0.17138671875f);
    const auto decoded = test::decode(**format, *planes, 32, 32);
    QVERIFY(decoded[17] == 0.3427734375f);
    QVERIFY(decoded[17] - row[17] == 0.0419921875f);
}

void TstIntGrid::shortLastGroup()
{
    // All positive: padding with zeros would show in the range of a min-max grid that did not force zero,
    // and a tail of large values must not see its neighbours.
    std::vector<float> row(40, 0.5f);
    for (std::size_t i = 32; i < 40; ++i)
        row[i] = -100.0f - static_cast<float>(i);
    for (const char* name : {"int8.g32.f32", "int8a.g32.f32", "int8f.g32.f32"}) {
        const auto format = formatNamed(name);
        HALFTONE_VERIFY(format);
        const auto layout = (*format)->layout(1, 40);
        HALFTONE_VERIFY(layout);
        QCOMPARE(layout->groupsPerRow, 2);
        auto whole = test::encode(**format, row, 40);
        HALFTONE_VERIFY(whole);
        auto tail = test::encode(**format, std::vector<float>(row.begin() + 32, row.end()), 8);
        HALFTONE_VERIFY(tail);
        const auto a = test::decode(**format, *whole, 40, 40), b = test::decode(**format, *tail, 8, 8);
        QCOMPARE(std::vector<float>(a.begin() + 32, a.end()), b);
        QVERIFY(std::fabs(a[0] - 0.5f) < 0.003f);
    }
}

void TstIntGrid::wholeRowAndWholeTensor()
{
    const std::vector<float> values{1, -2, 3, 10, 20, -40};
    const auto row = formatNamed("int8.c.f32"), tensor = formatNamed("int8.t.f32");
    HALFTONE_VERIFY(row);
    HALFTONE_VERIFY(tensor);
    auto a = test::encode(**row, values, 3), b = test::encode(**tensor, values, 3);
    HALFTONE_VERIFY(a);
    HALFTONE_VERIFY(b);
    QCOMPARE(a->scales.size(), std::size_t{8});
    QCOMPARE(b->scales.size(), std::size_t{4});
    float scales[3];
    std::memcpy(scales, a->scales.data(), 8);
    std::memcpy(scales + 2, b->scales.data(), 4);
    QCOMPARE(scales[0], 3.0f / 127.0f);
    QCOMPARE(scales[1], 40.0f / 127.0f);
    QCOMPARE(scales[2], 40.0f / 127.0f);
    std::vector<std::int32_t> codes(3);
    std::vector<GridPoint> points(3);
    const auto layout = (*tensor)->layout(2, 3);
    HALFTONE_VERIFY(layout);
    (*tensor)->inspectRow(rowsOf(b->rows(), *layout, 1, 2), 3, codes, points);
    QCOMPARE(codes, (std::vector<std::int32_t>{32, 64, -127}));
}

void TstIntGrid::errorIsAtMostHalfAStep_data()
{
    QTest::addColumn<QString>("name");
    for (const BlockFormat* format : listedFormats())
        QTest::newRow(format->name().c_str()) << QString::fromStdString(format->name());
}

void TstIntGrid::errorIsAtMostHalfAStep()
{
    QFETCH(QString, name);
    const auto format = formatNamed(name.toStdString());
    HALFTONE_VERIFY(format);
    const FormatDesc& d = (*format)->desc();
    constexpr std::int64_t kCols = 256;
    const auto values = test::gaussian(4 * kCols, 9);
    auto planes = test::encode(**format, values, kCols);
    HALFTONE_VERIFY(planes);
    const auto decoded = test::decode(**format, *planes, values.size(), kCols);
    const auto layout = (*format)->layout(4, kCols);
    const auto table = (*format)->codeValues(0);
    std::vector<std::int32_t> codes(kCols);
    std::vector<GridPoint> points(kCols);
    for (std::int64_t row = 0; row < 4; ++row) {
        (*format)->inspectRow(rowsOf(planes->rows(), *layout, row, row + 1), kCols, codes, points);
        for (std::size_t i = 0; i < kCols; ++i) {
            const std::size_t at = static_cast<std::size_t>(row) * kCols + i;
            const GridPoint& g = points[i];
            QVERIFY(codes[i] >= d.lowest && codes[i] <= d.highest);
            const float code =
                d.uniform ? static_cast<float>(codes[i] - g.zero) : table[static_cast<std::size_t>(codes[i])];
            QVERIFY(code * g.scale + g.offset == decoded[at]);
            if (!d.uniform || codes[i] == d.lowest || codes[i] == d.highest) continue; // may be cut off
            // The stored scale is rounded after the codes in the block types: up to 2^-11 a code more.
            const double slack = d.layout == FormatDesc::Layout::Planar ? 1e-3 : 0.5 + d.highest / 512.0;
            const double step = std::fabs(static_cast<double>(g.scale));
            QVERIFY(std::fabs(static_cast<double>(values[at]) - static_cast<double>(decoded[at])) <=
                    step * (0.5 + slack));
        }
    }
}

void TstIntGrid::encodesItsOwnValuesUnchanged_data()
{
    QTest::addColumn<QString>("name");
    // Not the full-range grids: their largest value lies between two codes, so the range shrinks once.
    // Not BF16 scales with 8-bit zero points: the rounded scale may be half a code too long.
    for (const char* name :
         {"int2.g32.f16", "int3.g128.bf16", "int4.g32.f16", "int4.c.bf16", "int5.g64.f16", "int8.g128.f16",
          "int8.t.bf16", "int3a.g32.f16", "int4a.g128.f16", "q4_0", "q5_0", "q8_0"})
        QTest::newRow(name) << QString::fromLatin1(name);
}

void TstIntGrid::encodesItsOwnValuesUnchanged()
{
    QFETCH(QString, name);
    const auto format = formatNamed(name.toStdString());
    HALFTONE_VERIFY(format);
    const auto values = test::gaussian(4096, 21);
    auto first = test::encode(**format, values, 512);
    HALFTONE_VERIFY(first);
    auto second = test::encode(**format, test::decode(**format, *first, values.size(), 512), 512);
    HALFTONE_VERIFY(second);
    QVERIFY(*first == *second);
}

void TstIntGrid::mirrorsOnSymmetricGrids()
{
    const auto values = test::laplace(1024, 4);
    std::vector<float> mirrored;
    for (const float x : values)
        mirrored.push_back(-x);
    for (const char* name : {"int2.g32.f16", "int4.g128.f16", "int8.c.f32"}) {
        const auto format = formatNamed(name);
        HALFTONE_VERIFY(format);
        auto a = test::encode(**format, values, 256), b = test::encode(**format, mirrored, 256);
        HALFTONE_VERIFY(a);
        HALFTONE_VERIFY(b);
        const auto x = test::decode(**format, *a, 1024, 256), y = test::decode(**format, *b, 1024, 256);
        for (std::size_t i = 0; i < x.size(); ++i)
            QCOMPARE(x[i], -y[i]);
    }
}

QTEST_GUILESS_MAIN(TstIntGrid)
#include "tst_int_grid.moc"
