// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/numeric/iq4_blocks.h"
#include "tests/support/main.h"
#include "tests/support/packed_rows.h"
#include "tests/support/samples.h"

#include <cmath>

using namespace halftone;

namespace {

std::vector<float> ramp32()
{
    std::vector<float> x;
    for (int i = 0; i < 32; ++i)
        x.push_back(static_cast<float>(i - 16) / 8.0f);
    return x;
}

// (37 i mod n) spread over [-2, 2): every part of a block has another mix of values.
std::vector<float> permuted(int count)
{
    std::vector<float> x;
    for (int i = 0; i < count; ++i)
        x.push_back(static_cast<float>(37 * i % count - count / 2) / static_cast<float>(count / 4));
    return x;
}

std::vector<float> ternary256()
{
    std::vector<float> x;
    for (int i = 0; i < 256; ++i)
        x.push_back(static_cast<float>(7 * i % 3 - 1) * 0.5f);
    return x;
}

template <class Block> QString hexOf(const std::vector<float>& x)
{
    std::uint8_t block[Block::kBytes];
    return Block::encode(x.data(), block) ? QString::fromStdString(test::toHex(block, sizeof block))
                                          : QString();
}

double sqnrOf(const std::vector<float>& x, const std::vector<float>& y)
{
    double signal = 0, noise = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        signal += static_cast<double>(x[i]) * static_cast<double>(x[i]);
        noise += std::pow(static_cast<double>(x[i]) - static_cast<double>(y[i]), 2);
    }
    return noise == 0 ? HUGE_VAL : 10 * std::log10(signal / noise);
}

const BlockFormat* named(const QString& name)
{
    const auto format = formatNamed(name.toStdString());
    return format ? *format : nullptr;
}

} // namespace

class TstGgmlBlocks : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void layouts_data();
    void layouts();
    void quantizes_data();
    void quantizes();
    void searchedIq4();
    void zeroBlocks_data();
    void zeroBlocks();
    void settles_data();
    void settles();
};

// Byte k of a block is (73 k + 41) mod 256, with scales of 1: where each code lies.
void TstGgmlBlocks::layouts_data()
{
    QTest::addColumn<QString>("name");
    QTest::addColumn<QList<int>>("ones"); // bytes where an F16 1.0 is planted
    QTest::addColumn<QString>("head");    // hex of the bytes in front, where there is none
    QTest::addColumn<double>("sum");
    QTest::addColumn<double>("weighted");
    QTest::addColumn<QList<double>>("some"); // of 0, 1, 15, 16, 17, 31, 32, 64, 100, 127, 128, 200, 255
    const auto row = [](const char* name, QList<int> ones, const char* head, double sum, double weighted,
                        QList<double> some) {
        QTest::newRow(name) << QString::fromLatin1(name) << ones << QString::fromLatin1(head) << sum
                            << weighted << some;
    };
    row("mxfp4", {}, "7f", 12.5, 313, {1, -1.5, -.5, 6, -1.5, -1.5});
    row("nvfp4", {}, "38403001", 15.517578125, 377.6806640625, {-3, 4, 2, 6, -8, -1});
    row("iq4_nl", {0}, "", -481, -12076, {38, -49, -83, 38, -127, -127});
    row("q2_k", {80, 82}, "", 1235, 142874, {7, 16, -2, -5, -3, -7, 11, 35, 32, 14, -6, 1, -7});
    row("q3_k", {108}, "", 234, 34746, {-7, 14, 28, 2, -4, -8, -54, 76, -17, -96, 24, 78, -24});
    row("q4_k", {0, 2}, "", 49880, 7005904, {68, -23, -49, 68, -23, -49, 184, 276, 588, 428, 164, 53, -23});
    row("q5_k", {0, 2}, "", 106600, 14541040,
        {276, -23, -49, 276, -23, -49, 228, 276, 668, 508, 500, 53, -23});
    row("q6_k", {208}, "", -14844, -1628128,
        {161, -46, 736, -350, 100, -1600, 1107, 26, -2134, -48, -343, -425, 288});
    row("iq4_xs", {0}, "", -6450, 883051,
        {-3016, 725, 29, -290, 1102, 1102, -416, -2288, -315, -198, 1768, -312, -750});
    row("tq1_0", {52}, "", -15, -747, {-1, 0, 0, 1, -1, -1, 0, 0, -1, -1, 1, -1, 1});
    row("tq2_0", {64}, "", 125, 17068, {0, 1, -1, 0, 1, -1, 1, 1, 0, -1, 0, 0, -1});
    row("q8_k", {}, "0000803f", -128, 65920, {77, -106, -108, -35, 38, 36, 109, -115, -47, -124, -51, 85, 4});
}

void TstGgmlBlocks::layouts()
{
    QFETCH(QString, name);
    QFETCH(QList<int>, ones);
    QFETCH(QString, head);
    QFETCH(double, sum);
    QFETCH(double, weighted);
    QFETCH(QList<double>, some);
    const BlockFormat* format = named(name);
    QVERIFY(format != nullptr);
    const std::int64_t size = format->desc().blockSize;
    const auto layout = format->layout(1, size);
    HALFTONE_VERIFY(layout);
    test::Planes planes(*layout);
    for (std::size_t k = 0; k < planes.codes.size(); ++k)
        planes.codes[k] = static_cast<std::byte>((73 * k + 41) % 256);
    for (const int at : ones) {
        planes.codes[static_cast<std::size_t>(at)] = std::byte{0x00};
        planes.codes[static_cast<std::size_t>(at) + 1] = std::byte{0x3C};
    }
    const QByteArray front = QByteArray::fromHex(head.toLatin1());
    for (qsizetype i = 0; i < front.size(); ++i)
        planes.codes[static_cast<std::size_t>(i)] = static_cast<std::byte>(front[i]);
    const auto y = test::decode(*format, planes, static_cast<std::size_t>(size), size);
    double total = 0, moment = 0;
    for (std::size_t i = 0; i < y.size(); ++i) {
        total += static_cast<double>(y[i]);
        moment += static_cast<double>(i + 1) * static_cast<double>(y[i]);
    }
    QCOMPARE(total, sum);
    QCOMPARE(moment, weighted);
    const std::size_t places[]{0, 1, 15, 16, 17, 31, 32, 64, 100, 127, 128, 200, 255};
    for (qsizetype i = 0; i < some.size(); ++i)
        QCOMPARE(static_cast<double>(y[places[i]]), some[i]);
    // What is inspected is what is read.
    std::vector<std::int32_t> codes(y.size());
    std::vector<GridPoint> points(y.size());
    format->inspectRow(planes.rows(), size, codes, points);
    const auto values = format->codeValues(0);
    for (std::size_t i = 0; i < y.size(); ++i) {
        const float value = format->desc().uniform ? static_cast<float>(codes[i] - points[i].zero)
                                                   : values[static_cast<std::size_t>(codes[i])];
        QCOMPARE(value * points[i].scale + points[i].offset, y[i]);
    }
}

// Bytes that ggml's reference quantizers write, without an importance matrix.
void TstGgmlBlocks::quantizes_data()
{
    QTest::addColumn<QString>("name");
    QTest::addColumn<QString>("hex");
    QTest::addColumn<double>("sqnr"); // 0: not stated
    const auto row = [](const char* name, const char* hex, double sqnr) {
        QTest::newRow(name) << QString::fromLatin1(name) << QString::fromLatin1(hex) << sqnr;
    };
    row("mxfp4", "7e0e0e1d1d2d2d3c3c4c4b4b5a5a595960", 0);
    row("iq4_nl", "fa23809091a1b1b2c2c3d3d4e4e5e5f6f7f7", 0);
    row("nvfp4", "2b2a2a2a3fd25eb57c06e94f6d96fa37e25ec57de05fd46da6fb27e1b57c17e04fd46ea6", 0);
    row("q2_k",
        "ffefdfdfbfceefdfdfcfdeffefdfcfbfc8181d6162b687c8191d6266b787c8192d6176b68bd81c2d6176868bd81d2d626176"
        "869bd81d2d6276879bd82d6172b6868bd81c2165768a9bdc2d2166768b9b002d4430",
        10.4539);
    row("q3_k",
        "dec6062039f9ffdec6062139f9dfdec644637bfb9f9c8460637bff9f9c046063e4194ea7194eb3e4194ee4194eb3e41942ec"
        "1946b3ec15b2ec1976b3ec05b3ec643bce503bce9d643b8d643bce91643bbd641bceb1640ab1641bceb164cab164a5a6305b"
        "4bbda5b53cfcc0c391a4",
        18.1110);
    row("q4_k",
        "9c1c1c28f4f4fff5fef7fffb44df9423a0c2f5072a5c7fa0c3f5083a5d8fa0d3f5083a5d8fa1d3f5183a6d8fa1d3f618e406"
        "285a7caec2e406385a7caec2f406385a8caec2f406385a8ca0d2f416386a274a6c8fa0c2e5274a6c8fa0c305284a6c8fa0c3"
        "05284a6d8fa1c305284a6d8f5c7fa0c2f5073a5c8fa0d3f5083a5c8fa0d3f5083a5d8fa1d3f5183a6d8fb1d3",
        24.8208);
    row("q5_k",
        "21181028fafafffafff7fefd5aefaa294a5296b4a52d694a5296b4a52d494a5296b5ad6d495ad296b5ad694b5ad296b53085"
        "da0f54a9fe4095da0f54a9fe4196eb1065bafe4196eb1065ba0f52a7fb10d80c51a5fa4e93e81d51a6fa4f94e81d61b60b5f"
        "a4f91d62b60b50a5f92e72c74e83d81d60a5fa4f94d92e60b50a4f94e92e71b60b5095e92e71c61b50a5ea3f98ed4095ea0f"
        "54a9fe4095ea0f54a9fe4196eb1065b90e51a6fb1065ba0f52a7",
        30.8474);
    row("q6_k",
        "0079d34ca51e97016ad33da60f88f25bc33da7117be04ab42e98f26cd14bb51f9903ad31db650faa14be42ec7610aa25a24d"
        "e3993fd50bb15cf2984ee41ab06b10b60ba14ee4892fc51bb05df3993ed4fb51ab0167ce24ea40aaf057bd13d93098f15bb4"
        "1dc62f89e24ba40eb7107ad34cb52f88f06ad33da61079e15ac43d97f82c1d514286f7f82c1d514286fbe82c115d4e8bf7e4"
        "20115d4ebbf7e420115db27544081bdfeeb17544081bdfe2b17574382bef92814574382fdf92814574387f75738b85807a71"
        "8f897f7b758d8b811010",
        37.6184);
    row("iq4_xs",
        "1910c33c4ed0f33c4071a4d6fa0c2e4072a4d7fa0d2f407205f2d0bf8e4b2805f2d0bf7e4b2804f27d4a2704e2c09e6c4a27"
        "f4e2c09e6c3a2f4072b4d7fa0d2f4082b4d7fa0d2f502805f2d0af7d4b2804f2d0af7d4b270461a3c6e90c2e4f71a4d6e90c"
        "2e4072a40d2f4082b4e7fb0d2f5082b4e8fb0d2f4b2704f2d0af7d4a1704f2d0af6d3a17",
        23.8067);
    row("tq1_0",
        "456ccf456ccf456ccf456ccf456ccf456ccf456ccf456ccf456ccf456ccf456c94bb3194bb3194bb3194bb3194bb31943092"
        "bb300038",
        HUGE_VAL);
    row("tq2_0",
        "1861861861861861861861861861861861861861861861861861861861861861861861861861861861861861861861861861"
        "86186186186186186186186186180038",
        HUGE_VAL);
}

void TstGgmlBlocks::quantizes()
{
    QFETCH(QString, name);
    QFETCH(QString, hex);
    QFETCH(double, sqnr);
    const BlockFormat* format = named(name);
    QVERIFY(format != nullptr);
    const std::int64_t size = format->desc().blockSize;
    const auto x = name.startsWith(QLatin1String("tq")) ? ternary256()
                   : size == 32                         ? ramp32()
                                                        : permuted(static_cast<int>(size));
    auto planes = test::encode(*format, x, size);
    HALFTONE_VERIFY(planes);
    QCOMPARE(QString::fromStdString(test::toHex(planes->codes.data(), planes->codes.size())), hex);
    const double got = sqnrOf(x, test::decode(*format, *planes, x.size(), size));
    if (std::isinf(sqnr))
        QVERIFY(std::isinf(got));
    else if (sqnr > 0)
        QVERIFY2(std::fabs(got - sqnr) < 1e-4, qPrintable(QString::number(got, 'f', 6)));
    if (name == QLatin1String("mxfp4")) {
        double sum = 0;
        const auto y = test::decode(*format, *planes, x.size(), size);
        for (std::size_t i = 0; i < x.size(); ++i)
            sum += std::pow(static_cast<double>(x[i]) - static_cast<double>(y[i]), 2);
        QCOMPARE(sum / 32, .015625);
    }
}

void TstGgmlBlocks::searchedIq4()
{
    QCOMPARE(hexOf<Iq4NlBlockOf<7>>(ramp32()), QStringLiteral("fa23809091a1b1b2c2c3d3d4e4e5e5f6f6f7"));
    QCOMPARE(hexOf<Iq4NlBlockOf<7>>(std::vector<float>(32, 0.0f)),
             QStringLiteral("0000") + QStringLiteral("88").repeated(16));
}

void TstGgmlBlocks::zeroBlocks_data()
{
    QTest::addColumn<QString>("name");
    QTest::addColumn<QString>("hex");
    const auto row = [](const char* name, const QString& hex) {
        QTest::newRow(name) << QString::fromLatin1(name) << hex;
    };
    const auto bytes = [](const char* byte, int count) { return QString::fromLatin1(byte).repeated(count); };
    row("q2_k", bytes("00", 84));
    row("q3_k", bytes("00", 110));
    row("q4_k", bytes("00", 144));
    row("q5_k", bytes("00", 176));
    row("q6_k", bytes("00", 210));
    row("mxfp4", bytes("00", 17));
    row("nvfp4", bytes("00", 36));
    row("iq4_nl", bytes("00", 2) + bytes("88", 16));
    row("iq4_xs", bytes("0080aaaa00000000", 1) + bytes("88", 128));
    row("tq1_0", bytes("80", 48) + bytes("7f", 4) + bytes("00", 2));
    row("tq2_0", bytes("55", 64) + bytes("00", 2));
}

void TstGgmlBlocks::zeroBlocks()
{
    QFETCH(QString, name);
    QFETCH(QString, hex);
    const BlockFormat* format = named(name);
    QVERIFY(format != nullptr);
    const std::int64_t size = format->desc().blockSize;
    for (const float zero : {0.0f, -0.0f}) {
        const std::vector<float> x(static_cast<std::size_t>(size), zero);
        auto planes = test::encode(*format, x, size);
        HALFTONE_VERIFY(planes);
        QCOMPARE(QString::fromStdString(test::toHex(planes->codes.data(), planes->codes.size())), hex);
        for (const float y : test::decode(*format, *planes, x.size(), size))
            QVERIFY(y == 0);
    }
}

void TstGgmlBlocks::settles_data()
{
    QTest::addColumn<QString>("name");
    for (const BlockFormat* format : listedFormats())
        if (format->ggufType())
            QTest::newRow(format->name().c_str()) << QString::fromStdString(format->name());
}

// Encoding what was decoded loses next to nothing more: the values are on a grid of the same kind already.
void TstGgmlBlocks::settles()
{
    QFETCH(QString, name);
    const BlockFormat* format = named(name);
    QVERIFY(format != nullptr);
    for (const std::uint64_t seed : {21u, 22u}) {
        const auto x = seed == 21u ? test::gaussian(8192, seed) : test::studentT3(8192, seed);
        auto once = test::encode(*format, x, 512);
        HALFTONE_VERIFY(once);
        const auto y = test::decode(*format, *once, x.size(), 512);
        auto twice = test::encode(*format, y, 512);
        HALFTONE_VERIFY(twice);
        const auto z = test::decode(*format, *twice, x.size(), 512);
        // Decoding is a function of the bytes, and the second pass is far closer than the first.
        QCOMPARE(z, test::decode(*format, *twice, x.size(), 512));
        QVERIFY2(sqnrOf(y, z) > sqnrOf(x, y) + 3,
                 qPrintable(QString::asprintf("%.3f %.3f", sqnrOf(x, y), sqnrOf(y, z))));
    }
}

QTEST_GUILESS_MAIN(TstGgmlBlocks)
#include "tst_ggml_blocks.moc"
