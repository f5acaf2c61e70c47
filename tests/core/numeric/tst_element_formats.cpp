// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/numeric/block_format.h"
#include "core/numeric/double_quant.h"
#include "tests/support/main.h"
#include "tests/support/packed_rows.h"
#include "tests/support/samples.h"

#include <cmath>
#include <limits>

using namespace halftone;

namespace {

const BlockFormat& formatOf(const char* name) { return **formatNamed(name); }

/// One encoded row with everything that can be read from it.
struct Row {
    test::Planes planes;
    std::vector<std::int32_t> codes;
    std::vector<GridPoint> points;
    std::vector<float> values;
};

Result<Row> encoded(const BlockFormat& format, const std::vector<float>& x, float tensorPeak = 0)
{
    const auto cols = static_cast<std::int64_t>(x.size());
    HALFTONE_TRY(layout, format.layout(1, cols));
    Row row{test::Planes(layout), std::vector<std::int32_t>(x.size()), std::vector<GridPoint>(x.size()),
            std::vector<float>(x.size())};
    ValueRange range = rangeOfRow(x);
    if (tensorPeak > 0) range.max = tensorPeak;
    HALFTONE_CHECK(format.encodeRows(x, cols, range, row.planes.rows()));
    format.inspectRow(row.planes.rows(), cols, row.codes, row.points);
    format.decodeRows(row.planes.rows(), cols, row.values);
    return row;
}

std::vector<float> blockOf(std::initializer_list<float> head, std::size_t size)
{
    std::vector<float> x(head);
    x.resize(size);
    return x;
}

int byteAt(const std::vector<std::byte>& plane, std::size_t at) { return std::to_integer<int>(plane[at]); }

// Codes as the tables print them: sign and magnitude bits, or signed numbers.
QList<int> firstCodes(const Row& row, qsizetype count)
{
    QList<int> codes;
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i)
        codes << row.codes[i];
    return codes;
}

} // namespace

class TstElementFormats : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void mxBlock_data();
    void mxBlock();
    void ctScale_data();
    void ctScale();
    void ceilNeverClips();
    void powersOfTwoShiftTheScale();
    void ceilIsExactNearPowersOfTwo();
    void nvBlock_data();
    void nvBlock();
    void nvZeros();
    void nvRoundsUp();
    void nvTinyTensors();
    void nf4Block();
    void bnbFp4Codes();
    void dynamicMapValues();
    void doubleQuantFollowsRows();
    void scaledFloats();
    void ternary();
    void shortGroups();
    void readsBackItsPoints_data();
    void readsBackItsPoints();
    void keepsMinusZero();
    void bitsOfScales_data();
    void bitsOfScales();
};

// The block [3.5, -1.3, 0.7, 0.2, 0.05, 0...] in every MX format.
void TstElementFormats::mxBlock_data()
{
    QTest::addColumn<QString>("name");
    QTest::addColumn<int>("scale");
    QTest::addColumn<QList<int>>("codes");
    QTest::addColumn<QList<double>>("values");
    const auto row = [](const char* name, int scale, QList<int> codes, QList<double> values) {
        QTest::newRow(name) << QString::fromLatin1(name) << scale << codes << values;
    };
    row("mxfp4_e2m1.g32.ceil", 127, {0x6, 0xB, 0x1, 0, 0}, {4, -1.5, .5, 0, 0});
    row("mxfp4_e2m1.g32.floor", 126, {0x7, 0xD, 0x3, 0x1, 0}, {3, -1.5, .75, .25, 0});
    row("mxfp4_e2m1.g32.ggml", 126, {0x7, 0xD, 0x3, 0x1, 0}, {3, -1.5, .75, .25, 0});
    row("mxfp4_e2m1.g32.ct", 127, {0x6, 0xB, 0x1, 0, 0}, {4, -1.5, .5, 0, 0});
    for (const char* name : {"mxfp6_e2m3.g32.ceil", "mxfp6_e2m3.g32.floor"})
        row(name, 126, {0x1E, 0x32, 0x0B, 0x03, 0x01}, {3.5, -1.25, .6875, .1875, .0625});
    for (const char* name : {"mxfp6_e3m2.g32.ceil", "mxfp6_e3m2.g32.floor"})
        row(name, 124, {0x1F, 0x39, 0x16, 0x0E, 0x06}, {3.5, -1.25, .75, .1875, .046875});
    for (const char* name : {"mxfp8_e4m3.g32.ceil", "mxfp8_e4m3.g32.floor"})
        row(name, 120, {0x7E, 0xF2, 0x6B, 0x5D, 0x4D}, {3.5, -1.25, .6875, .203125, .05078125});
    for (const char* name : {"mxfp8_e5m2.g32.ceil", "mxfp8_e5m2.g32.floor"})
        row(name, 113, {0x7B, 0xF5, 0x72, 0x6A, 0x62}, {3.5, -1.25, .75, .1875, .046875});
    for (const char* name : {"mxint8.g32.ceil", "mxint8.g32.floor"})
        row(name, 122, {112, -42, 22, 6, 2}, {3.5, -1.3125, .6875, .1875, .0625});
    for (const char* name : {"mxint6.g32.ceil", "mxint6.g32.floor"})
        row(name, 124, {28, -10, 6, 2, 0}, {3.5, -1.25, .75, .25, 0});
    for (const char* name : {"mxint4.g32.ceil", "mxint4.g32.floor"})
        row(name, 126, {7, -3, 1, 0, 0}, {3.5, -1.5, .5, 0, 0});
}

void TstElementFormats::mxBlock()
{
    QFETCH(QString, name);
    QFETCH(int, scale);
    QFETCH(QList<int>, codes);
    QFETCH(QList<double>, values);
    const auto row =
        encoded(formatOf(name.toLatin1().constData()), blockOf({3.5f, -1.3f, 0.7f, 0.2f, 0.05f}, 32));
    HALFTONE_VERIFY(row);
    QCOMPARE(byteAt(row->planes.scales, 0), scale);
    QCOMPARE(firstCodes(*row, 5), codes);
    for (qsizetype i = 0; i < 5; ++i)
        QCOMPARE(static_cast<double>(row->values[static_cast<std::size_t>(i)]), values[i]);
    QCOMPARE(row->values[31], 0.0f);
}

void TstElementFormats::ctScale_data()
{
    QTest::addColumn<float>("peak");
    QTest::addColumn<int>("scale");
    const std::pair<float, int> rows[]{{1.74f, 125}, {1.75f, 126}, {3.4f, 126},
                                       {3.5f, 127},  {6, 127},     {7, 128}};
    for (const auto& [peak, scale] : rows)
        QTest::addRow("%g", static_cast<double>(peak)) << peak << scale;
}

void TstElementFormats::ctScale()
{
    QFETCH(float, peak);
    QFETCH(int, scale);
    const auto row = encoded(formatOf("mxfp4_e2m1.g32.ct"), blockOf({0.1f, -peak}, 32));
    HALFTONE_VERIFY(row);
    QCOMPARE(byteAt(row->planes.scales, 0), scale);
}

// Under "ceil" no magnitude exceeds the largest element; under "floor" some do.
void TstElementFormats::ceilNeverClips()
{
    const auto x = test::gaussian(32 * 512, 77);
    for (const FormatHead& head : formatHeads()) {
        if (!head.name.starts_with("mx")) continue;
        int clipped = 0;
        for (const char* rule : {"ceil", "floor"}) {
            const BlockFormat& format = formatOf((head.name + ".g32." + rule).c_str());
            const auto row = encoded(format, x);
            HALFTONE_VERIFY(row);
            const FormatDesc& d = format.desc();
            const float largest = largestOf(d.element, d.bits);
            for (std::size_t i = 0; i < x.size(); ++i) {
                const bool above = std::fabs(x[i]) > row->points[i].scale * largest;
                if (std::string_view(rule) == "ceil")
                    QVERIFY2(!above, head.name.c_str());
                else
                    clipped += above ? 1 : 0;
            }
        }
        QVERIFY2(clipped > 0, head.name.c_str());
    }
}

void TstElementFormats::powersOfTwoShiftTheScale()
{
    const auto x = test::laplace(64, 4);
    for (const FormatHead& head : formatHeads()) {
        if (!head.name.starts_with("mx")) continue;
        for (const auto& rule : head.tails) {
            const BlockFormat& format = formatOf((head.name + ".g32." + rule).c_str());
            const auto plain = encoded(format, x);
            auto scaled = x;
            for (float& v : scaled)
                v *= 0x1p-20f;
            const auto shifted = encoded(format, scaled);
            HALFTONE_VERIFY(plain);
            HALFTONE_VERIFY(shifted);
            QVERIFY(plain->planes.codes == shifted->planes.codes);
            QCOMPARE(byteAt(shifted->planes.scales, 1), byteAt(plain->planes.scales, 1) - 20);
        }
    }
}

// A float log2 would take 7.9999995 for 8.
void TstElementFormats::ceilIsExactNearPowersOfTwo()
{
    const auto scaleOf = [](const char* name, float peak) {
        const auto row = encoded(formatOf(name), blockOf({peak}, 32));
        return row ? byteAt(row->planes.scales, 0) : -1;
    };
    QCOMPARE(scaleOf("mxfp4_e2m1.g32.floor", std::nextafter(8.0f, 0.0f)), 127);
    QCOMPARE(scaleOf("mxfp4_e2m1.g32.floor", 8.0f), 128);
    QCOMPARE(scaleOf("mxfp4_e2m1.g32.ggml", std::nextafter(8.0f, 0.0f)), 128);
    QCOMPARE(scaleOf("mxfp4_e2m1.g32.ceil", 6.0f), 127);
    QCOMPARE(scaleOf("mxfp4_e2m1.g32.ceil", std::nextafter(6.0f, 7.0f)), 128);
    // The ends of E8M0: blocks of zeros and of less than it reaches have code 0.
    QCOMPARE(scaleOf("mxfp4_e2m1.g32.ceil", 0.0f), 0);
    QCOMPARE(scaleOf("mxfp4_e2m1.g32.ceil", 1e-40f), 0);
    QCOMPARE(scaleOf("mxfp8_e5m2.g32.floor", std::numeric_limits<float>::max()), 254 - 15);
}

// A block of 16 in a tensor of known largest magnitude: tensor scale, byte and value of the block's scale,
// codes.
void TstElementFormats::nvBlock_data()
{
    QTest::addColumn<QString>("name");
    QTest::addColumn<float>("tensorPeak");
    QTest::addColumn<QList<float>>("x");
    QTest::addColumn<double>("tensorScale");
    QTest::addColumn<int>("byte");
    QTest::addColumn<double>("scale");
    QTest::addColumn<QList<int>>("codes");
    const QList<float> x{3.5f, -1.3f, 0.7f, 0.2f, 0.05f};
    const auto row = [](const char* title, const char* name, float peak, QList<float> values,
                        double tensorScale, int byte, double scale, QList<int> codes) {
        QTest::newRow(title) << QString::fromLatin1(name) << peak << values << tensorScale << byte << scale
                             << codes;
    };
    row("exact", "nvfp4_e2m1.g16.nearest", 10.5f, x, 0.00390625, 0x71, 0.5625, {7, 0xC, 2, 1, 0});
    row("small block", "nvfp4_e2m1.g16.nearest", 10.5f, {0.01f, -0.02f, 0.005f}, 0.00390625, 0x36,
        0.00341796875, {5, 0xF, 3, 0, 0});
    row("peak 10", "nvfp4_e2m1.g16.nearest", 10, x, 0.00372023811, 0x72, 0.595238097, {7, 0xC, 2, 1, 0});
    row("integers", "nvint4.g16.nearest", 10, x, 0.00318877562, 0x72, 0.00318877562 * 160, {7, -3, 1, 0, 0});
}

void TstElementFormats::nvBlock()
{
    QFETCH(QString, name);
    QFETCH(float, tensorPeak);
    QFETCH(QList<float>, x);
    QFETCH(double, tensorScale);
    QFETCH(int, byte);
    QFETCH(double, scale);
    QFETCH(QList<int>, codes);
    std::vector<float> values(x.begin(), x.end());
    values.resize(16);
    const auto row = encoded(formatOf(name.toLatin1().constData()), values, tensorPeak);
    HALFTONE_VERIFY(row);
    float stored;
    std::memcpy(&stored, row->planes.shared.data(), sizeof stored);
    QVERIFY(std::fabs(static_cast<double>(stored) / tensorScale - 1) < 1e-7);
    QCOMPARE(byteAt(row->planes.scales, 0), byte);
    QVERIFY(std::fabs(static_cast<double>(row->points[0].scale) / scale - 1) < 1e-7);
    QCOMPARE(firstCodes(*row, 5), codes);
    if (tensorScale != 0.00390625) return;
    const QList<float> decoded = byte == 0x71
                                     ? QList<float>{3.375f, -1.125f, .5625f, .28125f, 0}
                                     : QList<float>{.01025390625f, -.0205078125f, .005126953125f, 0, 0};
    for (qsizetype i = 0; i < 5; ++i)
        QCOMPARE(row->values[static_cast<std::size_t>(i)], decoded[i]);
}

// A block of zeros before one of 0.6: no NaN byte, and the other block has the largest scale.
void TstElementFormats::nvZeros()
{
    std::vector<float> x(32);
    for (std::size_t i = 16; i < 32; ++i)
        x[i] = 0.6f - 0.05f * static_cast<float>(i - 16);
    for (const char* name : {"nvfp4_e2m1.g16.nearest", "nvfp4_e2m1.g16.up", "nvint4.g16.nearest"}) {
        const auto row = encoded(formatOf(name), x);
        HALFTONE_VERIFY(row);
        QCOMPARE(byteAt(row->planes.scales, 0), 1);
        QCOMPARE(byteAt(row->planes.scales, 1), 0x7E);
        for (std::size_t i = 0; i < 16; ++i)
            QVERIFY(row->codes[i] == 0 && row->values[i] == 0);
        const auto zeros = encoded(formatOf(name), std::vector<float>(32));
        HALFTONE_VERIFY(zeros);
        float tensorScale;
        std::memcpy(&tensorScale, zeros->planes.shared.data(), sizeof tensorScale);
        QCOMPARE(tensorScale, 1.0f);
        for (const float y : zeros->values)
            QCOMPARE(y, 0.0f);
    }
}

void TstElementFormats::nvRoundsUp()
{
    const auto x = test::gaussian(16 * 4096, 6);
    int below = 0, blocks = 0;
    const auto up = encoded(formatOf("nvfp4_e2m1.g16.up"), x);
    const auto nearest = encoded(formatOf("nvfp4_e2m1.g16.nearest"), x);
    HALFTONE_VERIFY(up);
    HALFTONE_VERIFY(nearest);
    for (std::size_t b = 0; b < x.size(); b += 16, ++blocks) {
        float peak = 0;
        for (std::size_t i = b; i < b + 16; ++i)
            peak = std::max(peak, std::fabs(x[i]));
        // One unit in the last place for the divisions.
        QVERIFY(up->points[b].scale * 6 >= peak * 0.9999998f);
        below += nearest->points[b].scale * 6 < peak ? 1 : 0;
    }
    QVERIFY(std::fabs(static_cast<double>(below) / blocks - 0.505) < 0.02);
}

// Gradient-like tensors have tiny scales, which must not be raised; below the normal floats there is a floor.
void TstElementFormats::nvTinyTensors()
{
    for (const float size : {1e-5f, 1e-9f, 1e-30f}) {
        auto x = test::gaussian(256, 12);
        const auto plain = encoded(formatOf("nvfp4_e2m1.g16.nearest"), x);
        for (float& v : x)
            v *= size;
        const auto small = encoded(formatOf("nvfp4_e2m1.g16.nearest"), x);
        HALFTONE_VERIFY(plain);
        HALFTONE_VERIFY(small);
        double noise = 0, signal = 0, before = 0;
        for (std::size_t i = 0; i < x.size(); ++i) {
            const double d = static_cast<double>(small->values[i] - x[i]) / static_cast<double>(size);
            noise += d * d;
            const double v = static_cast<double>(x[i]) / static_cast<double>(size);
            signal += v * v;
            before += std::pow(static_cast<double>(plain->values[i]) - v, 2);
        }
        QVERIFY(std::fabs(noise - before) < 0.02 * before && noise < 0.02 * signal);
    }
    const auto denormal = encoded(formatOf("nvfp4_e2m1.g16.nearest"), std::vector<float>(32, 1e-41f));
    HALFTONE_VERIFY(denormal);
    for (const float y : denormal->values)
        QVERIFY(std::fabs(y - 1e-41f) <= 0x1p-126f * 0x1p-9f * 0.25f);
}

void TstElementFormats::nf4Block()
{
    std::vector<float> x{1, -2, .5f, .1f, -.1f, 0, 1.5f, -1.2f};
    x.resize(64);
    const auto row = encoded(formatOf("nf4.g64.f32"), x);
    HALFTONE_VERIFY(row);
    QCOMPARE(firstCodes(*row, 8), (QList<int>{12, 0, 10, 8, 6, 7, 14, 2}));
    QCOMPARE(test::toHex(row->planes.codes.data(), 4), std::string("c0a867e2"));
    const double values[]{.8814197, -2, .4922246, .1591606, -.1821001, 0, 1.445914, -1.050146};
    for (std::size_t i = 0; i < 8; ++i)
        QVERIFY(std::fabs(static_cast<double>(row->values[i]) - values[i]) < 1e-6);
    QVERIFY(row->points[0].scale == 2);
    const auto zeros = encoded(formatOf("nf4.g64.f32"), std::vector<float>(64));
    HALFTONE_VERIFY(zeros);
    for (const std::int32_t code : zeros->codes)
        QCOMPARE(code, 7);
    QVERIFY(zeros->points[0].scale == 0 && zeros->values[3] == 0);
    // Every entry of the table is its own code, and a threshold belongs to the lower one.
    for (std::int32_t code = 0; code < 16; ++code) {
        QCOMPARE(nf4Code(nf4Value(code)), code);
        if (code == 15) break;
        QCOMPARE(nf4Code(nf4Threshold(code)), code);
        QCOMPARE(nf4Code(std::nextafter(nf4Threshold(code), 2.0f)), code + 1);
        const float middle = (nf4Value(code) + nf4Value(code + 1)) * 0.5f;
        QVERIFY(std::fabs(middle - nf4Threshold(code)) < 1e-6f);
    }
}

void TstElementFormats::bnbFp4Codes()
{
    // Twelfths of the block's largest magnitude, by code.
    const double twelfths[]{0, 0.0625, 8, 12, 4, 6, 2, 3};
    for (std::int32_t code = 0; code < 8; ++code) {
        QVERIFY(std::fabs(static_cast<double>(bnbFp4Value(code)) - twelfths[code] / 12) < 1e-7);
        QCOMPARE(bnbFp4Code(bnbFp4Value(code)), code);
        if (code > 0) QCOMPARE(bnbFp4Code(bnbFp4Value(code | 8)), code | 8);
    }
    const auto row = encoded(formatOf("bnbfp4.g64.f32"), blockOf({-3, 1.1f, 0.3f, 2.2f, -0.0f}, 64));
    HALFTONE_VERIFY(row);
    QCOMPARE(firstCodes(*row, 5), (QList<int>{0xB, 4, 6, 2, 0}));
}

void TstElementFormats::dynamicMapValues()
{
    const auto& map = dynamicMap();
    QVERIFY(std::ranges::is_sorted(map));
    QVERIFY(map[127] == 0 && map[255] == 1);
    // The largest decade has 64 steps from 0.1 to 1, the smallest a single value.
    QVERIFY(std::fabs(map[0] + 0.99296875f) < 1e-6f && std::fabs(map[254] - 0.99296875f) < 1e-6f);
    QVERIFY(std::fabs(map[128] - 5.5e-7f) < 1e-12f && std::fabs(map[126] + 5.5e-7f) < 1e-12f);
    QVERIFY(std::fabs(map[129] - 3.25e-6f) < 1e-11f && std::fabs(map[130] - 7.75e-6f) < 1e-11f);
    for (int code = 0; code < 256; ++code) {
        QCOMPARE(static_cast<int>(dynamicCode(map[static_cast<std::size_t>(code)])), code);
        if (code == 255) break;
        const float a = map[static_cast<std::size_t>(code)], b = map[static_cast<std::size_t>(code) + 1];
        QCOMPARE(static_cast<int>(dynamicCode(a + (b - a) * 0.3f)), code);
        QCOMPARE(static_cast<int>(dynamicCode(a + (b - a) * 0.7f)), code + 1);
    }
    QVERIFY(dynamicCode(-5) == 0 && dynamicCode(5) == 255);
}

// Runs of 256 scales go on over rows: any slice of rows reads as the whole does.
void TstElementFormats::doubleQuantFollowsRows()
{
    constexpr std::int64_t kRows = 150, kCols = 200;
    const auto x = test::laplace(kRows * kCols, 21);
    for (const char* name : {"nf4.g64.dq", "bnbfp4.g64.dq"}) {
        const BlockFormat& format = formatOf(name);
        auto planes = test::encode(format, x, kCols);
        HALFTONE_VERIFY(planes);
        const auto layout = format.layout(kRows, kCols);
        HALFTONE_VERIFY(layout);
        QCOMPARE(layout->sharedBytes, std::uint64_t{4 * (1 + 3)}); // 600 scales
        QCOMPARE(layout->scaleBytes, std::uint64_t{600});
        const auto whole = test::decode(format, *planes, x.size(), kCols);
        for (const auto& [begin, end] : {std::pair<std::int64_t, std::int64_t>{0, 1}, {63, 65}, {149, 150}}) {
            std::vector<float> part(static_cast<std::size_t>((end - begin) * kCols));
            format.decodeRows(rowsOf(planes->rows(), *layout, begin, end), kCols, part);
            QVERIFY(std::ranges::equal(
                part, std::span(whole).subspan(static_cast<std::size_t>(begin * kCols), part.size())));
        }
        // The scales lose less than the codes do.
        const std::string single = std::string(name).substr(0, std::string_view(name).find('.')) + ".g64.f32";
        auto exact = test::encode(formatOf(single.c_str()), x, kCols);
        HALFTONE_VERIFY(exact);
        QVERIFY(exact->codes == planes->codes);
        const auto fine = test::decode(formatOf(single.c_str()), *exact, x.size(), kCols);
        double lost = 0, noise = 0;
        for (std::size_t i = 0; i < x.size(); ++i) {
            lost += std::pow(static_cast<double>(whole[i]) - static_cast<double>(fine[i]), 2);
            noise += std::pow(static_cast<double>(fine[i]) - static_cast<double>(x[i]), 2);
        }
        QVERIFY(lost > 0 && lost < 0.01 * noise);
    }
}

void TstElementFormats::scaledFloats()
{
    const auto row = encoded(formatOf("e4m3.c.f32"), {224, -1.3f, 0, 0.5f});
    HALFTONE_VERIFY(row);
    QCOMPARE(row->points[0].scale, 0.5f);
    QCOMPARE(firstCodes(*row, 4), (QList<int>{0x7E, 0xC2, 0, 0x38})); // -2.6: nearest are -2.5 and -2.75
    const auto wide = encoded(formatOf("e5m2.t.f32"), {-57344, 1, 2.5f, 5});
    HALFTONE_VERIFY(wide);
    QCOMPARE(wide->points[0].scale, 1.0f);
    QCOMPARE(firstCodes(*wide, 4), (QList<int>{0xFB, 0x3C, 0x41, 0x45}));
    const auto zeros = encoded(formatOf("e4m3.g2.f16"), {0, 0, -0.0f, 1});
    HALFTONE_VERIFY(zeros);
    QVERIFY(zeros->points[0].scale == 1 && zeros->codes[0] == 0 && zeros->codes[2] == 0x80);
    // 60000 / 448 fits F16, 1e8 / 448 does not.
    QVERIFY(static_cast<bool>(encoded(formatOf("e4m3.c.f16"), {60000})));
    const auto large = encoded(formatOf("e4m3.c.f16"), {1, 1e8f});
    QVERIFY(!large && large.error().code() == Errc::Numeric);
    QVERIFY2(large.error().line().find("bf16 or f32") != std::string::npos, large.error().line().c_str());
}

void TstElementFormats::ternary()
{
    // Mean magnitude 0.6.
    const auto row = encoded(formatOf("ternary.c.f32"), {0.2f, -1.0f, 0.31f, -0.29f, 1.2f});
    HALFTONE_VERIFY(row);
    QVERIFY(std::fabs(row->points[0].scale - 0.6f) < 1e-6f);
    QCOMPARE(firstCodes(*row, 5), (QList<int>{0, -1, 1, 0, 1}));
    const auto x = test::gaussian(4096, 2);
    double sum = 0;
    for (const float v : x)
        sum += std::fabs(static_cast<double>(v));
    auto planes = test::encode(formatOf("ternary.t.f32"), x, 64);
    HALFTONE_VERIFY(planes);
    float scale;
    std::memcpy(&scale, planes->scales.data(), sizeof scale);
    QVERIFY(std::fabs(static_cast<double>(scale) - sum / 4096) < 1e-6);
    const auto zeros = encoded(formatOf("ternary.c.f16"), {0, 0, 0});
    HALFTONE_VERIFY(zeros);
    QVERIFY(zeros->values == std::vector<float>(3));
}

// A short last group reads as it would alone: padding never enters.
void TstElementFormats::shortGroups()
{
    const auto x = test::gaussian(83, 40);
    for (const FormatHead& head : formatHeads())
        for (const std::string& tail : head.tails) {
            const BlockFormat& format = formatOf((head.name + ".g32." + tail).c_str());
            if (format.desc().shared == FormatDesc::Shared::NestedScales) continue; // scales of one run
            const float peak = rangeOfRow(x).peak();
            const auto all = encoded(format, x, peak);
            const auto last = encoded(format, {x.begin() + 64, x.end()}, peak);
            HALFTONE_VERIFY(all);
            HALFTONE_VERIFY(last);
            QVERIFY2(std::equal(last->values.begin(), last->values.end(), all->values.begin() + 64),
                     format.name().c_str());
        }
}

void TstElementFormats::readsBackItsPoints_data()
{
    QTest::addColumn<QString>("name");
    for (const FormatHead& head : formatHeads())
        for (const std::string& tail : head.tails) {
            const std::string name = head.name + "." + groupName(head.usualBlock) + "." + tail;
            QTest::newRow(name.c_str()) << QString::fromStdString(name);
        }
}

// value = value of the code * scale, to the bit; codes lie between the ends; a second pass changes nothing.
void TstElementFormats::readsBackItsPoints()
{
    QFETCH(QString, name);
    const BlockFormat& format = formatOf(name.toLatin1().constData());
    const FormatDesc& d = format.desc();
    const auto x = test::studentT3(333, 8);
    const auto row = encoded(format, x);
    HALFTONE_VERIFY(row);
    const auto values = format.codeValues(0);
    QCOMPARE(values.size(), static_cast<std::size_t>(d.highest - d.lowest + 1));
    for (std::size_t i = 0; i < x.size(); ++i) {
        QVERIFY(row->codes[i] >= d.lowest && row->codes[i] <= d.highest);
        const float value = values[static_cast<std::size_t>(row->codes[i] - d.lowest)] * row->points[i].scale;
        QCOMPARE(value, row->values[i]);
        QVERIFY(std::signbit(value) == std::signbit(row->values[i]));
    }
    // The other rules may choose another scale once the largest value is cut off or rounded up.
    if (d.scaleRule != ScaleRule::Floor && d.scaleRule != ScaleRule::Ceil) return;
    const auto again = encoded(format, row->values);
    HALFTONE_VERIFY(again);
    QVERIFY(again->values == row->values);
}

void TstElementFormats::keepsMinusZero()
{
    for (const char* name :
         {"mxfp8_e4m3.g32.floor", "mxfp4_e2m1.g32.ceil", "nvfp4_e2m1.g16.nearest", "e5m2.c.f32"}) {
        const auto row = encoded(formatOf(name), {1.0f, -0.0f, 0.0f, -1e-9f});
        HALFTONE_VERIFY(row);
        QVERIFY2(std::signbit(row->values[1]) && !std::signbit(row->values[2]), name);
        QVERIFY2(row->values[1] == 0 && std::signbit(row->values[3]), name);
    }
}

void TstElementFormats::bitsOfScales_data()
{
    QTest::addColumn<QString>("name");
    QTest::addColumn<double>("bits");
    const auto row = [](const char* name, double bits) {
        QTest::newRow(name) << QString::fromLatin1(name) << bits;
    };
    row("mxfp8_e4m3.g32.floor", 8.25);
    row("mxint6.g32.ceil", 6.25);
    row("mxfp4_e2m1.g32.floor", 4.25);
    row("nvfp4_e2m1.g16.nearest", 4.5);
    row("nf4.g64.f32", 4.5);
    row("nf4.g64.dq", 4 + 0.125 + 32.0 / (256 * 64));
    row("e4m3.g128.f32", 8.25);
    row("ternary.g128.f16", 2.125);
}

void TstElementFormats::bitsOfScales()
{
    QFETCH(QString, name);
    QFETCH(double, bits);
    const BlockFormat& format = formatOf(name.toLatin1().constData());
    QCOMPARE(format.bitsPerWeight(), bits);
    // The few bytes of the whole tensor are not counted.
    const auto layout = format.layout(64, 16384);
    HALFTONE_VERIFY(layout);
    QVERIFY(std::fabs(static_cast<double>(layout->total()) * 8 / (64 * 16384) - bits) < 1e-4);
}

QTEST_GUILESS_MAIN(TstElementFormats)
#include "tst_element_formats.moc"
