// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/numeric/block_format.h"

#include "tests/support/main.h"
#include "tests/support/packed_rows.h"
#include "tests/support/samples.h"

#include <atomic>
#include <cmath>
#include <limits>
#include <set>
#include <thread>

using namespace halftone;

class TstBlockFormat : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void namesReadBack();
    void refusesNames_data();
    void refusesNames();
    void internsFromManyThreads();
    void ggufTypes();
    void layouts_data();
    void layouts();
    void refusesLayouts();
    void bitsPerWeight_data();
    void bitsPerWeight();
    void codeValues();
    void degenerateInputs_data();
    void degenerateInputs();
    void rejectsNonFinite_data();
    void rejectsNonFinite();
};

void TstBlockFormat::namesReadBack()
{
    std::set<std::string> names, titles;
    for (const BlockFormat* format : listedFormats()) {
        const auto again = formatNamed(format->name());
        HALFTONE_VERIFY(again);
        QCOMPARE(*again, format);
        QVERIFY(names.insert(format->name()).second);
        QVERIFY(titles.insert(format->title()).second);
    }
    QVERIFY(names.size() >= 16 + 7 * 3 * 5 + 30);
    const auto grid = formatNamed("int3a.g48.bf16");
    HALFTONE_VERIFY(grid);
    const FormatDesc& d = (*grid)->desc();
    QVERIFY(d.bits == 3 && d.rule == GridRule::Asym && d.blockSize == 48 && d.scale == ScaleType::BF16 &&
            d.zeroPoint && d.layout == FormatDesc::Layout::Planar);
    QCOMPARE((*grid)->title(), std::string("INT3, asymmetric, groups of 48, BF16 scales"));
    const auto made = intGridFormat(3, GridRule::Asym, 48, ScaleType::BF16);
    HALFTONE_VERIFY(made);
    QCOMPARE(*made, *grid);
}

void TstBlockFormat::refusesNames_data()
{
    QTest::addColumn<QString>("name");
    for (const char* name : {"",
                             "q4",
                             "Q4_0",
                             "q4_0 ",
                             "int",
                             "int4",
                             "int4.g128",
                             "int1.g128.f16",
                             "int9.g128.f16",
                             "int04.g128.f16",
                             "int4.g0.f16",
                             "int4.g-1.f16",
                             "int4.g.f16",
                             "int4.g12x.f16",
                             "int4.128.f16",
                             "int4.g99999999999999999999.f16",
                             "int4.g128.f8",
                             "int4.g128.f16.x",
                             "int4af.g128.f16",
                             "int4b.g128.f16",
                             "nf4",
                             "nf4.g64",
                             "nf4.g64.f16",
                             "nf4.c.f32",
                             "mxfp4_e2m1.g32",
                             "mxfp4_e2m1.g32.nearest",
                             "mxfp4_e2m1.t.floor",
                             "mxfp8.g32.floor",
                             "nvfp4_e2m1.g16.floor",
                             "nvfp4_e2m1.g0.up",
                             "e4m3.g128.f8",
                             "e8m0.g32.f32",
                             "ternary.g128.dq"})
        QTest::newRow(name) << QString::fromLatin1(name);
}

void TstBlockFormat::refusesNames()
{
    QFETCH(QString, name);
    const auto format = formatNamed(name.toStdString());
    QVERIFY(!format);
    QVERIFY(format.error().code() == Errc::InvalidArgument);
    QVERIFY(format.error().line().find(name.toStdString()) != std::string::npos);
}

void TstBlockFormat::internsFromManyThreads()
{
    constexpr int kThreads = 8;
    std::vector<const BlockFormat*> found(kThreads, nullptr);
    {
        std::vector<std::jthread> threads;
        for (int t = 0; t < kThreads; ++t)
            threads.emplace_back([&found, t] {
                for (int g = 1000; g < 1200; ++g)
                    (void)intGridFormat(4, GridRule::Asym, g, ScaleType::F16);
                found[static_cast<std::size_t>(t)] = *formatNamed("int4a.g1100.f16");
            });
    }
    for (const BlockFormat* format : found)
        QCOMPARE(format, found[0]);
}

void TstBlockFormat::ggufTypes()
{
    const std::pair<std::uint32_t, const char*> types[]{
        {2, "q4_0"},   {3, "q4_1"},   {6, "q5_0"},    {7, "q5_1"},    {8, "q8_0"},
        {9, "q8_1"},   {10, "q2_k"},  {11, "q3_k"},   {12, "q4_k"},   {13, "q5_k"},
        {14, "q6_k"},  {15, "q8_k"},  {20, "iq4_nl"}, {23, "iq4_xs"}, {34, "tq1_0"},
        {35, "tq2_0"}, {39, "mxfp4"}, {40, "nvfp4"},  {41, "q1_0"},   {42, "q2_0"}};
    for (const auto& [type, name] : types) {
        const BlockFormat* format = formatOfGgufType(type);
        QVERIFY(format != nullptr);
        QCOMPARE(format->name(), std::string(name));
        QVERIFY(format->ggufType() == type);
    }
    for (const std::uint32_t type : {0u, 1u, 4u, 5u, 16u, 19u, 21u, 30u, 36u, 999u})
        QVERIFY(formatOfGgufType(type) == nullptr);
    QVERIFY(!(*formatNamed("int4.g32.f16"))->ggufType());
}

void TstBlockFormat::layouts_data()
{
    QTest::addColumn<QString>("name");
    QTest::addColumn<qint64>("rows");
    QTest::addColumn<qint64>("cols");
    QTest::addColumn<QList<quint64>>("sizes"); // groups a row, bytes a code row, codes, scales, zeros, shared
    const auto row = [](const char* name, qint64 rows, qint64 cols, QList<quint64> sizes) {
        QTest::addRow("%s %lld x %lld", name, rows, cols)
            << QString::fromLatin1(name) << rows << cols << sizes;
    };
    row("q4_0", 3, 64, {2, 36, 108, 0, 0});
    row("q8_0", 1, 4096, {128, 4352, 4352, 0, 0});
    row("q4_k", 3, 512, {2, 288, 864, 0, 0});
    row("nvfp4", 1, 192, {3, 108, 108, 0, 0});
    row("int4.g128.f16", 2, 256, {2, 128, 256, 8, 0});
    row("int4a.g128.f32", 2, 200, {2, 100, 200, 16, 4});
    row("int3.g32.bf16", 1, 33, {2, 16, 16, 4, 0});
    row("int5a.c.f16", 7, 10, {1, 8, 56, 14, 7});
    row("int8a.t.f32", 7, 10, {1, 12, 84, 4, 1});
    row("int2.g64.f16", 0, 64, {1, 16, 0, 0, 0});
    row("int4.g32.f16", 5, 0, {0, 0, 0, 0, 0});
    row("e4m3.c.f32", 3, 10, {1, 12, 36, 12, 0});
    row("e5m2.t.bf16", 3, 12, {1, 12, 36, 2, 0});
    row("mxfp6_e2m3.g32.floor", 2, 100, {4, 76, 152, 8, 0});
    row("nvfp4_e2m1.g16.nearest", 5, 40, {3, 20, 100, 15, 0, 4});
    row("nf4.g64.dq", 100, 200, {4, 100, 10000, 400, 0, 12});
    row("nf4.g64.dq", 0, 200, {4, 100, 0, 0, 0, 4});
    row("ternary.t.f16", 3, 16, {1, 4, 12, 2, 0});
}

void TstBlockFormat::layouts()
{
    QFETCH(QString, name);
    QFETCH(qint64, rows);
    QFETCH(qint64, cols);
    QFETCH(QList<quint64>, sizes);
    const auto format = formatNamed(name.toStdString());
    HALFTONE_VERIFY(format);
    const auto l = (*format)->layout(rows, cols);
    HALFTONE_VERIFY(l);
    const QList<quint64> got{static_cast<quint64>(l->groupsPerRow), l->codeRowBytes, l->codeBytes,
                             l->scaleBytes, l->zeroBytes};
    QCOMPARE(got, sizes.first(5));
    const quint64 shared = sizes.value(5);
    QCOMPARE(quint64{l->sharedBytes}, shared);
    QCOMPARE(quint64{l->total()}, sizes[2] + sizes[3] + sizes[4] + shared);
}

void TstBlockFormat::refusesLayouts()
{
    const auto q4 = formatNamed("q4_0"), grid = formatNamed("int8.g2.f32");
    HALFTONE_VERIFY(q4);
    HALFTONE_VERIFY(grid);
    const auto ragged = (*q4)->layout(2, 100);
    QVERIFY(!ragged);
    QVERIFY(ragged.error().code() == Errc::InvalidArgument);
    QVERIFY2(ragged.error().line().find("remainder 4") != std::string::npos, ragged.error().line().c_str());
    const auto superBlocks = (*formatNamed("q6_k"))->layout(2, 128);
    QVERIFY(!superBlocks && superBlocks.error().line().find("blocks of 256") != std::string::npos);
    QVERIFY(!(*q4)->layout(-1, 32));
    QVERIFY(!(*q4)->layout(1, -32));
    constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
    QVERIFY(!(*grid)->layout(kMax, 2));
    QVERIFY(!(*grid)->layout(1, kMax));
    QVERIFY(!(*grid)->layout(3037000500, 3037000499));
    QVERIFY(!(*q4)->layout(2, kMax / 32 * 32));
    // 64-bit sizes where 32 bits would have wrapped.
    const auto large = (*q4)->layout(262144, 8960);
    HALFTONE_VERIFY(large);
    QCOMPARE(quint64{large->codeBytes}, quint64{262144} * 8960 / 32 * 18);
}

void TstBlockFormat::bitsPerWeight_data()
{
    QTest::addColumn<QString>("name");
    QTest::addColumn<double>("bits");
    QTest::addColumn<double>("payload");
    const auto row = [](const char* name, double bits, double payload) {
        QTest::newRow(name) << QString::fromLatin1(name) << bits << payload;
    };
    row("q4_0", 4.5, 4);
    row("q4_1", 5, 4);
    row("q5_0", 5.5, 5);
    row("q5_1", 6, 5);
    row("q8_0", 8.5, 8);
    row("q2_k", 2.625, 2);
    row("q3_k", 3.4375, 3);
    row("q4_k", 4.5, 4);
    row("q5_k", 5.5, 5);
    row("q6_k", 6.5625, 6);
    row("iq4_nl", 4.5, 4);
    row("iq4_xs", 4.25, 4);
    row("tq1_0", 1.6875, 1.625);
    row("tq2_0", 2.0625, 2);
    row("mxfp4", 4.25, 4);
    row("nvfp4", 4.5, 4);
    row("q8_1", 9, 8);
    row("q8_k", 9.125, 8);
    row("q1_0", 1.125, 1);
    row("q2_0", 2.25, 2);
    row("int4.g128.f16", 4.125, 4);
    row("int4a.g128.f16", 4.1875, 4);
    row("int3a.g32.f32", 4.25, 3);
    row("int8.c.f32", 8, 8);
}

void TstBlockFormat::bitsPerWeight()
{
    QFETCH(QString, name);
    QFETCH(double, bits);
    QFETCH(double, payload);
    const auto format = formatNamed(name.toStdString());
    HALFTONE_VERIFY(format);
    QVERIFY((*format)->bitsPerWeight() == bits);
    QVERIFY((*format)->payloadBits() == payload);
    if ((*format)->desc().blockSize <= 0) return;
    const auto layout = (*format)->layout(10, 1280);
    HALFTONE_VERIFY(layout);
    QVERIFY(static_cast<double>(layout->total()) * 8 / 12800 == bits);
}

void TstBlockFormat::codeValues()
{
    const auto values = [](const char* name, int zero) { return (*formatNamed(name))->codeValues(zero); };
    QCOMPARE(values("int2.g32.f16", 0), (std::vector<float>{-1, 0, 1}));
    QCOMPARE(values("int2f.g32.f16", 0), (std::vector<float>{-2, -1, 0, 1}));
    QCOMPARE(values("int2a.g32.f16", 1), (std::vector<float>{-1, 0, 1, 2}));
    const auto q4 = values("q4_0", 8);
    QVERIFY(q4.size() == 16 && q4.front() == -8 && q4.back() == 7);
    const auto q8 = values("q8_0", 0);
    QVERIFY(q8.size() == 255 && q8.front() == -127 && q8.back() == 127);
    QVERIFY(values("q5_1", 0).size() == 32);
}

namespace {

// A multiple of 32, not of 64 or 128: short groups where they exist. Larger blocks take kBlockCols.
constexpr std::int64_t kCols = 160;
constexpr std::int64_t kBlockCols = 512;

std::int64_t colsFor(const BlockFormat& format) { return format.layout(1, kCols) ? kCols : kBlockCols; }

std::vector<float> filled(float x) { return std::vector<float>(kBlockCols, x); }

std::vector<std::pair<const char*, std::vector<float>>> degenerateRows()
{
    auto outlier = test::gaussian(kBlockCols, 3);
    outlier[77] = 5000.0f;
    auto lonely = filled(0);
    lonely[33] = -2.5f;
    auto denormals = filled(1e-40f);
    for (std::size_t i = 0; i < denormals.size(); i += 3)
        denormals[i] = -4e-41f;
    auto half = filled(0);
    for (std::size_t i = 80; i < half.size(); ++i)
        half[i] = 1e-11f;
    auto ramp = filled(0);
    for (std::size_t i = 0; i < ramp.size(); ++i)
        ramp[i] = static_cast<float>(i) * 0.01f - 0.7f;
    // Nothing in between: all but one group underflow under what the whole tensor shares.
    auto apart = filled(1e-12f);
    apart[3] = 40000.0f;
    return {{"zeros", filled(0)},
            {"minus zeros", filled(-0.0f)},
            {"one value", lonely},
            {"one outlier", outlier},
            {"denormals", denormals},
            {"1e-30", filled(1e-30f)},
            {"1e-11", filled(1e-11f)},
            {"half 1e-11", half},
            {"flat", filled(0.37f)},
            {"flat negative", filled(-0.37f)},
            {"ramp", ramp},
            {"normal", test::gaussian(kBlockCols, 1)},
            {"Laplace", test::laplace(kBlockCols, 2)},
            {"t3", test::studentT3(kBlockCols, 5)},
            {"60000", filled(60000.0f)},
            {"one of 40000", apart}};
}

} // namespace

// Every listed format over every kind of row: finite values out, zeros stay zeros, no error above the
// largest value, the same bytes each time.
void TstBlockFormat::degenerateInputs_data()
{
    QTest::addColumn<QString>("name");
    for (const BlockFormat* format : listedFormats())
        QTest::newRow(format->name().c_str()) << QString::fromStdString(format->name());
}

void TstBlockFormat::degenerateInputs()
{
    QFETCH(QString, name);
    const auto format = formatNamed(name.toStdString());
    HALFTONE_VERIFY(format);
    const FormatDesc& desc = (*format)->desc();
    // Types with a stored minimum, and those whose table of values lacks it, have no exact zero.
    const bool noZero = (desc.layout == FormatDesc::Layout::Interleaved && desc.rule == GridRule::Asym) ||
                        desc.family == FormatDesc::Family::IQ4_NL ||
                        desc.family == FormatDesc::Family::IQ4_XS;
    for (const auto& [what, values] : degenerateRows()) {
        // Ragged rows as well, where the format takes them.
        for (const std::int64_t cols : {colsFor(**format), std::int64_t{159}, std::int64_t{1}}) {
            if (!(*format)->layout(1, cols)) continue;
            const std::vector<float> row(values.begin(), values.begin() + cols);
            float peak = 0;
            for (const float x : row)
                peak = std::max(peak, std::fabs(x));
            auto first = test::encode(**format, row, cols);
            if (desc.family == FormatDesc::Family::NVFP4 && peak > 2784) {
                QVERIFY2(!first && first.error().code() == Errc::Numeric, what);
                continue;
            }
            QVERIFY2(static_cast<bool>(first), what);
            auto second = test::encode(**format, row, cols);
            QVERIFY(*first == *second);
            const auto decoded = test::decode(**format, *first, row.size(), cols);
            for (std::size_t i = 0; i < row.size(); ++i) {
                QVERIFY2(std::isfinite(decoded[i]), what);
                // A stored scale may be up to 2^-9 too long, and two halves of a grid up to 1 step apart.
                QVERIFY2(std::fabs(decoded[i] - row[i]) <= peak * 1.01f, what);
                if (row[i] == 0)
                    QVERIFY2(decoded[i] == 0 || (noZero && std::fabs(decoded[i]) <= peak * 0.1f), what);
                if (peak == 0) QVERIFY2(decoded[i] == 0, what);
            }
        }
    }
}

void TstBlockFormat::rejectsNonFinite_data() { degenerateInputs_data(); }

void TstBlockFormat::rejectsNonFinite()
{
    QFETCH(QString, name);
    const auto format = formatNamed(name.toStdString());
    HALFTONE_VERIFY(format);
    const float inf = std::numeric_limits<float>::infinity();
    const std::int64_t cols = colsFor(**format);
    const auto width = static_cast<std::size_t>(cols);
    for (const float bad : {std::numeric_limits<float>::quiet_NaN(), inf, -inf})
        for (const std::size_t at : {std::size_t{0}, std::size_t{63}, 2 * width - 1}) {
            auto values = test::gaussian(2 * width, 8);
            const ValueRange range = test::rangeOf(values);
            values[at] = bad;
            const auto layout = (*format)->layout(2, cols);
            HALFTONE_VERIFY(layout);
            test::Planes planes(*layout);
            const Status status = (*format)->encodeRows(values, cols, range, planes.rows());
            QVERIFY(!status);
            QVERIFY(status.error().code() == Errc::Numeric);
            const std::string want =
                "row " + std::to_string(at / width) + ": column " + std::to_string(at % width) + " is ";
            QVERIFY2(status.error().line().starts_with(want), status.error().line().c_str());
        }
}

QTEST_GUILESS_MAIN(TstBlockFormat)
#include "tst_block_format.moc"
