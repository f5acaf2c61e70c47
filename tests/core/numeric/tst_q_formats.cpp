// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/numeric/gguf_blocks.h"

#include "tests/support/main.h"
#include "tests/support/packed_rows.h"
#include "tests/support/samples.h"

#include <cmath>

using namespace halftone;

class TstQFormats : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void ramp_data();
    void ramp();
    void zeroBlocks_data();
    void zeroBlocks();
    void layouts_data();
    void layouts();
    void roundsHalvesAway();
    void scaleLimits_data();
    void scaleLimits();
    void errorNamesThePlace();
    void denormalBlocksAreDefined();
};

// Bytes that ggml's reference quantizers write for x[i] = (i - 16) / 8.
void TstQFormats::ramp_data()
{
    QTest::addColumn<QString>("name");
    QTest::addColumn<QString>("hex");
    QTest::addColumn<double>("mse"); // -1: not stated
    const auto row = [](const char* name, const char* hex, double mse) {
        QTest::newRow(name) << QString::fromLatin1(name) << QString::fromLatin1(hex) << mse;
    };
    row("q4_0", "0034809191a2a2b3b3c4c4d5d5e6e6f7f7f8", .0078125);
    row("q4_1", "223400c080809191a2a2b3b3c4c4d5d5e6e6f7f7", -1);
    row("q5_0", "00300000ffff00112233445566778899aabbccddeeff", 0);
    row("q5_1", "003000c00000ffff00112233445566778899aabbccddeeff", 0);
    row("q8_0", "082481899199a1a9b1b9c0c8d0d8e0e8f0f8000810182028303840474f575f676f77", -1);
}

void TstQFormats::ramp()
{
    QFETCH(QString, name);
    QFETCH(QString, hex);
    QFETCH(double, mse);
    std::vector<float> x;
    for (int i = 0; i < 32; ++i)
        x.push_back(static_cast<float>(i - 16) / 8.0f);
    const auto format = formatNamed(name.toStdString());
    HALFTONE_VERIFY(format);
    auto planes = test::encode(**format, x, 32);
    HALFTONE_VERIFY(planes);
    QCOMPARE(QString::fromStdString(test::toHex(planes->codes.data(), planes->codes.size())), hex);
    const auto y = test::decode(**format, *planes, 32, 32);
    double sum = 0;
    for (std::size_t i = 0; i < 32; ++i)
        sum += std::pow(static_cast<double>(x[i]) - static_cast<double>(y[i]), 2);
    if (mse >= 0) QVERIFY(sum / 32 == mse);
}

void TstQFormats::zeroBlocks_data()
{
    QTest::addColumn<QString>("name");
    QTest::addColumn<QString>("hex");
    const auto row = [](const char* name, const QString& hex) {
        QTest::newRow(name) << QString::fromLatin1(name) << hex;
    };
    const auto bytes = [](const char* byte, int count) { return QString::fromLatin1(byte).repeated(count); };
    row("q4_0", bytes("0080", 1) + bytes("88", 16));
    row("q4_1", bytes("00", 20));
    row("q5_0", bytes("0080ffffffff", 1) + bytes("00", 16));
    row("q5_1", bytes("00", 24));
    row("q8_0", bytes("00", 34));
}

void TstQFormats::zeroBlocks()
{
    QFETCH(QString, name);
    QFETCH(QString, hex);
    const auto format = formatNamed(name.toStdString());
    HALFTONE_VERIFY(format);
    auto planes = test::encode(**format, std::vector<float>(32, 0.0f), 32);
    HALFTONE_VERIFY(planes);
    QCOMPARE(QString::fromStdString(test::toHex(planes->codes.data(), planes->codes.size())), hex);
    for (const float y : test::decode(**format, *planes, 32, 32))
        QVERIFY(y == 0);
}

// Byte k of a block is (73 k + 41) mod 256, with d = m = 1: where each code lies.
void TstQFormats::layouts_data()
{
    QTest::addColumn<QString>("name");
    QTest::addColumn<double>("sum");
    QTest::addColumn<double>("weighted");
    QTest::addColumn<QList<double>>("some"); // y[0], y[1], y[15], y[16], y[17], y[31]
    const auto row = [](const char* name, double sum, double weighted, QList<double> some) {
        QTest::newRow(name) << QString::fromLatin1(name) << sum << weighted << some;
    };
    row("q4_0", -33, -799, {3, -4, -6, 3, -8, -8});
    row("q4_1", 257, 3994, {14, 7, 5, 5, 10, 10});
    row("q5_0", -45, -1185, {15, 8, -10, 13, -14, 2});
    row("q5_1", 533, 8576, {18, 11, 25, 24, 28, 12});
    row("q8_0", -48, -688, {-69, 4, 2, 75, -108, -110});
}

void TstQFormats::layouts()
{
    QFETCH(QString, name);
    QFETCH(double, sum);
    QFETCH(double, weighted);
    QFETCH(QList<double>, some);
    const auto format = formatNamed(name.toStdString());
    HALFTONE_VERIFY(format);
    const auto layout = (*format)->layout(1, 32);
    HALFTONE_VERIFY(layout);
    test::Planes planes(*layout);
    for (std::size_t k = 0; k < planes.codes.size(); ++k)
        planes.codes[k] = static_cast<std::byte>((73 * k + 41) % 256);
    planes.codes[0] = std::byte{0x00};
    planes.codes[1] = std::byte{0x3C};
    if (name.endsWith(QLatin1String("_1"))) {
        planes.codes[2] = std::byte{0x00};
        planes.codes[3] = std::byte{0x3C};
    }
    const auto y = test::decode(**format, planes, 32, 32);
    double total = 0, moment = 0;
    for (std::size_t i = 0; i < 32; ++i) {
        total += static_cast<double>(y[i]);
        moment += static_cast<double>(i + 1) * static_cast<double>(y[i]);
    }
    QVERIFY(total == sum);
    QVERIFY(moment == weighted);
    const std::size_t places[]{0, 1, 15, 16, 17, 31};
    for (int i = 0; i < 6; ++i)
        QVERIFY(static_cast<double>(y[places[i]]) == some[i]);
}

void TstQFormats::roundsHalvesAway()
{
    QCOMPARE(roundAway(0.5f), 1);
    QCOMPARE(roundAway(-0.5f), -1);
    QCOMPARE(roundAway(2.5f), 3);
    QCOMPARE(roundAway(0.49999997f), 0);
    QCOMPARE(roundAway(-126.5f), -127);
    for (int i = -4000; i <= 4000; ++i) {
        const float x = static_cast<float>(i) * 0.0625f;
        QCOMPARE(roundAway(x), static_cast<int>(std::lround(x)));
    }
}

// Where the F16 scale ends. One value in a block of zeros; `fits` says whether it may be stored.
void TstQFormats::scaleLimits_data()
{
    QTest::addColumn<QString>("name");
    QTest::addColumn<float>("value");
    QTest::addColumn<bool>("fits");
    QTest::addColumn<bool>("flushed");
    const auto row = [](const char* name, float value, bool fits, bool flushed) {
        QTest::addRow("%s %g", name, static_cast<double>(value))
            << QString::fromLatin1(name) << value << fits << flushed;
    };
    row("q8_0", 8.321e6f, true, false);
    row("q8_0", 8321040.0f, false, false);
    row("q8_0", -1e30f, false, false);
    row("q8_0", 3.785e-6f, true, false);
    row("q8_0", 3.78e-6f, true, true);
    row("q4_0", 524159.0f, true, false);
    row("q4_0", 524160.0f, false, false);
    row("q4_0", 70000.0f, true, false);
    row("q4_1", -70000.0f, false, false);
    row("q4_1", 70000.0f, true, false);
    row("q5_0", 1048319.0f, true, false);
    row("q5_0", 1048320.0f, false, false);
    row("q5_1", 1e30f, false, false);
}

void TstQFormats::scaleLimits()
{
    QFETCH(QString, name);
    QFETCH(float, value);
    QFETCH(bool, fits);
    QFETCH(bool, flushed);
    const auto format = formatNamed(name.toStdString());
    HALFTONE_VERIFY(format);
    std::vector<float> x(32, 0.0f);
    x[3] = value;
    auto planes = test::encode(**format, x, 32);
    QCOMPARE(static_cast<bool>(planes), fits);
    if (!fits) {
        QVERIFY(planes.error().code() == Errc::Numeric);
        return;
    }
    const auto y = test::decode(**format, *planes, 32, 32);
    QCOMPARE(y[3] == 0, flushed);
    QVERIFY(std::isfinite(y[3]));
}

void TstQFormats::errorNamesThePlace()
{
    std::vector<float> x(128, 1.0f);
    x[100] = 1e30f;
    const auto q8 = formatNamed("q8_0"), grid = formatNamed("int4.g32.f16");
    HALFTONE_VERIFY(q8);
    HALFTONE_VERIFY(grid);
    const auto block = test::encode(**q8, x, 64);
    QVERIFY(!block);
    const std::string line = block.error().line();
    QVERIFY2(line.starts_with("row 1: columns 32..63: ") && line.find("1e+30") != std::string::npos &&
                 line.find("bf16") != std::string::npos,
             line.c_str());
    const auto group = test::encode(**grid, x, 64);
    QVERIFY(!group);
    const std::string other = group.error().line();
    QVERIFY2(other.starts_with("row 1: columns 32..63: scale ") &&
                 other.find("bf16 or f32") != std::string::npos,
             other.c_str());
    x[100] = std::nanf("");
    QCOMPARE(QString::fromStdString(test::encode(**q8, x, 64).error().line()).left(24),
             QStringLiteral("row 1: column 36 is NaN:"));
}

void TstQFormats::denormalBlocksAreDefined()
{
    // 1 / d overflows here; the codes must still be the ones of zero.
    std::vector<float> x(32, 1e-40f);
    for (const char* name : {"q4_0", "q4_1", "q5_0", "q5_1", "q8_0"}) {
        const auto format = formatNamed(name);
        HALFTONE_VERIFY(format);
        x[1] = -1e-40f;
        auto planes = test::encode(**format, x, 32);
        HALFTONE_VERIFY(planes);
        for (const float y : test::decode(**format, *planes, 32, 32))
            QVERIFY(y == 0);
    }
}

QTEST_GUILESS_MAIN(TstQFormats)
#include "tst_q_formats.moc"
