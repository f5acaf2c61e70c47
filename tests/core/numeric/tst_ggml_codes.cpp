// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/numeric/fp4_blocks.h"
#include "core/numeric/iq4_blocks.h"
#include "core/numeric/ternary_blocks.h"
#include "tests/support/main.h"
#include "tests/support/packed_rows.h"
#include "tests/support/samples.h"

#include <cmath>

using namespace halftone;

namespace {

// (37 i mod n) spread over [-2, 2): every part of a block has another mix of values.
std::vector<float> permuted(int count)
{
    std::vector<float> x;
    for (int i = 0; i < count; ++i)
        x.push_back(static_cast<float>(37 * i % count - count / 2) / static_cast<float>(count / 4));
    return x;
}

template <class Block> QString hexOf(const std::vector<float>& x)
{
    std::uint8_t block[Block::kBytes];
    return Block::encode(x.data(), block) ? QString::fromStdString(test::toHex(block, sizeof block))
                                          : QString();
}

const BlockFormat* named(const QString& name)
{
    const auto format = formatNamed(name.toStdString());
    return format ? *format : nullptr;
}

} // namespace

class TstGgmlCodes : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void fiveTrits();
    void blocksOnlyRead();
    void oneAndTwoBits();
    void scalesOfFloats();
    void powersOfTwo();
    void specialScales();
    void scaleLimits_data();
    void scaleLimits();
    void errorNamesThePlace();
    void codesOfValues();
    void hostileBlocks();
};

// One byte of TQ1_0 is weights m, m + 32, ... m + 128.
void TstGgmlCodes::fiveTrits()
{
    const std::pair<std::array<int, 5>, const char*> cases[]{{{-1, 0, 1, -1, 0}, "31"},
                                                             {{1, 1, 1, 1, 1}, "ff"},
                                                             {{0, 0, 0, 0, 0}, "80"},
                                                             {{-1, -1, -1, -1, -1}, "00"}};
    for (const auto& [trits, byte] : cases) {
        std::vector<float> x(256, 0.0f);
        x[255] = 1.0f; // sets the scale
        for (std::size_t n = 0; n < 5; ++n)
            x[32 * n + 7] = static_cast<float>(trits[n]);
        QCOMPARE(hexOf<Tq1_0Block>(x).mid(14, 2), QString::fromLatin1(byte));
    }
    // All bytes that five trits make are read back.
    for (int value = 0; value < 243; ++value) {
        std::vector<float> x(256, 0.0f), y(256);
        x[255] = 1.0f;
        int rest = value;
        for (std::size_t n = 0; n < 5; ++n, rest /= 3)
            x[32 * n] = static_cast<float>(rest % 3 - 1);
        std::uint8_t block[Tq1_0Block::kBytes];
        QVERIFY(Tq1_0Block::encode(x.data(), block));
        decodeBlockOf<Tq1_0Block>(block, y.data());
        QCOMPARE(y, x);
    }
}

void TstGgmlCodes::blocksOnlyRead()
{
    // The Q8_1 block of the ramp: d, s, then the codes of its Q8_0 block.
    const QByteArray codes =
        QByteArray::fromHex("81899199a1a9b1b9c0c8d0d8e0e8f0f8000810182028303840474f575f676f77");
    const BlockFormat *q8_0 = named(QStringLiteral("q8_0")), *q8_1 = named(QStringLiteral("q8_1"));
    QVERIFY(q8_0 != nullptr && q8_1 != nullptr);
    const auto decoded = [](const BlockFormat& format, const QByteArray& bytes) {
        std::vector<float> y(static_cast<std::size_t>(format.desc().blockSize));
        format.decodeRow(
            {std::as_bytes(std::span(bytes.data(), static_cast<std::size_t>(bytes.size()))), {}, {}}, y);
        return y;
    };
    QCOMPARE(decoded(*q8_1, QByteArray::fromHex("082400c0") + codes),
             decoded(*q8_0, QByteArray::fromHex("0824") + codes));
    // Q8_K of the permuted values: d = 1 / 63.5 as F32, codes 81 a6 ca ef 14 39 5d 84 ...
    const auto x = permuted(256);
    QByteArray block = QByteArray::fromHex("0402813c");
    for (const float v : x)
        block += static_cast<char>(std::lround(v * -63.5f) * -1);
    QCOMPARE(block.mid(4, 8).toHex(), QByteArray("81a6caef14395d84"));
    block += QByteArray(32, '\x55'); // the sums are not read
    const BlockFormat* q8_k = named(QStringLiteral("q8_k"));
    QVERIFY(q8_k != nullptr);
    const auto y = decoded(*q8_k, block);
    QCOMPARE(y[0], -127.0f / 63.5f);
    for (std::size_t i = 0; i < x.size(); ++i)
        QVERIFY(std::fabs(y[i] - x[i]) <= 0.5001f / 63.5f);

    for (const char* name : {"q8_1", "q8_k", "q1_0", "q2_0"}) {
        const BlockFormat* format = named(QString::fromLatin1(name));
        QVERIFY(format != nullptr && format->desc().readOnly);
        const auto refused = test::encode(*format, std::vector<float>(256, 1.0f), 256);
        QVERIFY(!refused && refused.error().code() == Errc::Unsupported);
        QVERIFY(refused.error().line().find("only be read") != std::string::npos);
        for (const BlockFormat* listed : listedFormats())
            QVERIFY(listed != format);
    }
}

void TstGgmlCodes::oneAndTwoBits()
{
    // d = 1.5; low bits first.
    std::uint8_t one[Q1_0Block::kBytes] = {0x00, 0x3E, 0x05};
    float y[128];
    decodeBlockOf<Q1_0Block>(one, y);
    QVERIFY(y[0] == 1.5f && y[1] == -1.5f && y[2] == 1.5f && y[3] == -1.5f && y[127] == -1.5f);
    std::uint8_t two[Q2_0Block::kBytes] = {0x00, 0x3E, 0xE4, 0x01};
    decodeBlockOf<Q2_0Block>(two, y);
    QVERIFY(y[0] == -1.5f && y[1] == 0 && y[2] == 1.5f && y[3] == 3.0f && y[4] == 0 && y[5] == -1.5f);
}

// ggml's E4M3 scales round halves up, and jump to 448 from 248 on.
void TstGgmlCodes::scalesOfFloats()
{
    const std::pair<float, int> cases[]{{0, 0x00},     {1, 0x38},          {1.0625f, 0x39},   {1.06f, 0x38},
                                        {240, 0x77},   {247.9f, 0x77},     {248, 0x7E},       {300, 0x7E},
                                        {464, 0x7E},   {0x1p-6f, 0x08},    {0x1.fp-7f, 0x07}, {0x1p-9f, 0x01},
                                        {0x1p-10f, 1}, {0x1.8p-11f, 0x00}, {1e-30f, 0x00}};
    for (const auto& [x, code] : cases)
        QVERIFY2(ue4m3Code(x) == code,
                 qPrintable(QString::asprintf("%g: %02x", static_cast<double>(x), ue4m3Code(x))));
    for (int code = 0; code < 0x78; ++code)
        QCOMPARE(static_cast<int>(ue4m3Code(ue4m3Value(static_cast<std::uint8_t>(code)))), code);
    QCOMPARE(ue4m3Value(0x7E), 448.0f);
    QCOMPARE(ue4m3Value(0x7F), 0.0f);
    // Ties go to the smaller magnitude and never to -0.
    const float xs[]{0.25f, -0.25f, 0.75f, -1.25f, 2.5f, -5.0f, 100.0f, -100.0f, -0.0f, 0.26f};
    const int codes[]{0, 0, 1, 10, 4, 14, 7, 15, 0, 1};
    for (std::size_t i = 0; i < std::size(xs); ++i)
        QCOMPARE(static_cast<int>(e2m1CodeBySearch(xs[i], 1.0f)), codes[i]);
}

// floor(log2f(x)), which rounds up just below a power of two.
void TstGgmlCodes::powersOfTwo()
{
    QCOMPARE(floorLog2(1.0f), 0);
    QCOMPARE(floorLog2(std::nextafter(1.0f, 0.0f)), -1);
    QCOMPARE(floorLog2(std::nextafter(16.0f, 0.0f)), 4);
    QCOMPARE(floorLog2(std::nextafter(2.0f, 0.0f)), 0);
    for (int exponent = -125; exponent <= 128; ++exponent)
        for (std::uint32_t gap = 1; gap < 100; ++gap) {
            const float x = bitsFloat((static_cast<std::uint32_t>(exponent + 127) << 23) - gap);
            const double rounded = static_cast<double>(static_cast<float>(std::log2(static_cast<double>(x))));
            QCOMPARE(floorLog2(x), static_cast<int>(std::floor(rounded)));
        }
}

void TstGgmlCodes::specialScales()
{
    std::uint8_t block[MxFp4Block::kBytes] = {0xFF, 0x21};
    float y[64];
    decodeBlockOf<MxFp4Block>(block, y);
    QVERIFY(std::isnan(y[0]) && std::isnan(y[16]));
    block[0] = 0; // the least scale is a subnormal float
    decodeBlockOf<MxFp4Block>(block, y);
    QCOMPARE(y[0], 0x1p-128f);
    QCOMPARE(y[16], 0x1p-127f);
    block[1] = 0x88; // -0 reads as 0
    decodeBlockOf<MxFp4Block>(block, y);
    QVERIFY(!std::signbit(y[0]) && y[0] == 0);
    std::uint8_t nv[NvFp4Block::kBytes] = {0x7F, 0x00, 0x38, 0x38, 0x11};
    decodeBlockOf<NvFp4Block>(nv, y);
    QCOMPARE(y[0], 0.0f);
    // Values below what E8M0 reaches.
    std::vector<float> x(32, 1e-40f);
    x[0] = -3e-38f;
    const auto hex = hexOf<MxFp4Block>(x);
    QVERIFY2(hex.startsWith(QLatin1String("000f")), qPrintable(hex));
}

void TstGgmlCodes::scaleLimits_data()
{
    QTest::addColumn<QString>("name");
    QTest::addColumn<float>("value");
    QTest::addColumn<bool>("fits");
    const auto row = [](const char* name, float value, bool fits) {
        QTest::newRow((QByteArray(name) + ' ' + QByteArray::number(static_cast<double>(value))).constData())
            << QString::fromLatin1(name) << value << fits;
    };
    for (const char* name : {"q2_k", "q3_k", "q4_k", "q5_k", "q6_k", "iq4_nl", "iq4_xs", "tq1_0", "tq2_0"}) {
        row(name, 1e30f, false);
        row(name, -1e30f, false);
        row(name, -60000.0f, true);
    }
    row("tq1_0", 65519.0f, true);
    row("tq2_0", 65520.0f, false);
    row("q4_k", 5.5e7f, true);
    row("q4_k", 6.25e7f, false);
    row("q4_k", -4.12e6f, true); // the minimum has no codes of its own
    row("q4_k", -4.13e6f, false);
    for (const char* name : {"q2_k", "q3_k", "q4_k", "q5_k", "q6_k", "iq4_nl", "iq4_xs"})
        for (const float value : {1e9f, 1e13f, 1e16f, 1e19f, 3e38f})
            row(name, value, false);
    row("nvfp4", 2784.0f, true);
    row("nvfp4", -2785.0f, false);
    row("nvfp4", 1e30f, false);
    row("mxfp4", 3.4e38f, true);
    row("mxfp4", -1e30f, true);
}

void TstGgmlCodes::scaleLimits()
{
    QFETCH(QString, name);
    QFETCH(float, value);
    QFETCH(bool, fits);
    const BlockFormat* format = named(name);
    QVERIFY(format != nullptr);
    std::vector<float> x(256, 0.0f);
    x[33] = value;
    auto planes = test::encode(*format, x, 256);
    QCOMPARE(static_cast<bool>(planes), fits);
    if (!fits) {
        QVERIFY(planes.error().code() == Errc::Numeric);
        return;
    }
    const auto y = test::decode(*format, *planes, 256, 256);
    QVERIFY2(std::fabs(y[33] / value - 1) < 0.26f, qPrintable(QString::number(y[33])));
}

void TstGgmlCodes::errorNamesThePlace()
{
    std::vector<float> x(2 * 512, 1.0f);
    x[512 + 300] = 1e30f;
    const std::pair<const char*, const char*> cases[]{
        {"q4_k", "row 1: columns 256..511: a block with the value 1e+30"},
        {"iq4_xs", "row 1: columns 256..511: "},
        {"nvfp4", "row 1: columns 256..319: "},
        {"iq4_nl", "row 1: columns 288..319: "}};
    for (const auto& [name, start] : cases) {
        const BlockFormat* format = named(QString::fromLatin1(name));
        QVERIFY(format != nullptr);
        const auto refused = test::encode(*format, x, 512);
        QVERIFY(!refused && refused.error().code() == Errc::Numeric);
        QVERIFY2(refused.error().line().starts_with(start), refused.error().line().c_str());
        QVERIFY(refused.error().line().find("bf16") != std::string::npos);
    }
    x[512 + 300] = -1e30f;
    QVERIFY(test::encode(*named(QStringLiteral("q4_k")), x, 512).error().line().find("the minimum -1e+30") !=
            std::string::npos);
}

void TstGgmlCodes::codesOfValues()
{
    const auto values = [](const char* name, int zero) {
        const BlockFormat* format = named(QString::fromLatin1(name));
        return format == nullptr ? std::vector<float>() : format->codeValues(zero);
    };
    QCOMPARE(values("mxfp4", 0),
             (std::vector<float>{0, .5f, 1, 1.5f, 2, 3, 4, 6, 0, -.5f, -1, -1.5f, -2, -3, -4, -6}));
    QCOMPARE(values("nvfp4", 0), values("mxfp4", 0));
    QCOMPARE(values("iq4_nl", 0),
             (std::vector<float>{-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113}));
    QCOMPARE(values("tq1_0", 1), (std::vector<float>{-1, 0, 1}));
    QCOMPARE(values("q1_0", 0), (std::vector<float>{-1, 1}));
    QCOMPARE(values("q6_k", 32).size(), std::size_t{64});
    // The nearest value, the upper one on a tie.
    for (int i = 0; i < 16; ++i)
        QCOMPARE(iq4Code(iq4Value(i)), i);
    QCOMPARE(iq4Code(-115.5f), 1);
    QCOMPARE(iq4Code(101.0f), 15);
    QCOMPARE(iq4Code(100.9f), 14);
    QCOMPARE(iq4Code(-1e30f), 0);
    QCOMPARE(iq4Code(1e30f), 15);
}

// Any bytes decode, without a trap, to what the inspector shows.
void TstGgmlCodes::hostileBlocks()
{
    for (std::uint32_t type = 0; type < 43; ++type) {
        const BlockFormat* format = formatOfGgufType(type);
        if (format == nullptr) continue;
        const auto layout = format->layout(1, 2048);
        HALFTONE_VERIFY(layout);
        test::Planes planes(*layout);
        SplitMix64 rng(type);
        for (auto& b : planes.codes)
            b = static_cast<std::byte>(rng.next() >> 56);
        std::vector<std::int32_t> codes(2048);
        std::vector<GridPoint> points(2048);
        format->inspectRow(planes.rows(), 2048, codes, points);
        const auto values = format->codeValues(0);
        const auto y = test::decode(*format, planes, 2048, 2048);
        for (std::size_t i = 0; i < y.size(); ++i) {
            const auto at = static_cast<std::size_t>(codes[i]);
            const float value =
                format->desc().uniform ? static_cast<float>(codes[i] - points[i].zero) : values.at(at);
            const float shown = value * points[i].scale + points[i].offset;
            QVERIFY(shown == y[i] || (std::isnan(shown) && std::isnan(y[i])));
        }
    }
}

QTEST_GUILESS_MAIN(TstGgmlCodes)
#include "tst_ggml_codes.moc"
