// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/rng.h"
#include "tests/core/io/packed_support.h"

using namespace halftone;
using namespace halftone::test;

namespace {

PlainGrid randomGrid(std::int64_t rows, std::int64_t cols, std::int64_t block, int bits, bool symmetric)
{
    PlainGrid g;
    g.rows = rows;
    g.cols = cols;
    g.bits = bits;
    g.groups = (cols + block - 1) / block;
    SplitMix64 random(7);
    const auto below = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random.next() >> 33) % n; };
    for (std::int64_t i = 0; i < rows * cols; ++i)
        g.codes.push_back(below(1u << bits));
    for (std::int64_t i = 0; i < rows * g.groups; ++i) {
        // Version 1 can't hold a zero point of 0.
        g.zeros.push_back(symmetric ? 1u << (bits - 1) : 1 + below((1u << bits) - 1));
        g.scales.push_back(floatToHalf(0.001f * static_cast<float>(1 + below(50))));
    }
    for (std::int64_t c = 0; c < cols; ++c)
        g.group.push_back(static_cast<std::int32_t>(c / block));
    return g;
}

std::vector<float> valuesOf(const PlainGrid& g)
{
    std::vector<float> out;
    for (std::int64_t r = 0; r < g.rows; ++r)
        for (std::int64_t c = 0; c < g.cols; ++c) {
            const auto k = static_cast<std::size_t>(r * g.groups + g.group[static_cast<std::size_t>(c)]);
            const auto code = static_cast<std::int32_t>(g.codes[static_cast<std::size_t>(r * g.cols + c)]);
            out.push_back(static_cast<float>(code - static_cast<std::int32_t>(g.zeros[k])) *
                          halfToFloat(g.scales[k]));
        }
    return out;
}

std::string gptqConfig(int bits, std::int64_t group, bool symmetric, const char* format)
{
    return R"({"quant_method":"gptq","bits":)" + std::to_string(bits) + R"(,"group_size":)" +
           std::to_string(group) + R"(,"sym":)" + (symmetric ? "true" : "false") +
           R"(,"desc_act":false,"checkpoint_format":")" + format + "\"}";
}

} // namespace

class TestPackedImport : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void gptq_data()
    {
        QTest::addColumn<int>("bits");
        QTest::addColumn<int>("block");
        QTest::addColumn<bool>("symmetric");
        QTest::addColumn<bool>("second");
        QTest::addColumn<QByteArray>("format");
        for (const int bits : {2, 3, 4, 8})
            for (const bool second : {false, true}) {
                QTest::addRow("%d bits, asymmetric, v%d", bits, second ? 2 : 1)
                    << bits << 32 << false << second
                    << QByteArray::fromStdString("int" + std::to_string(bits) + "a.g32.f16");
                QTest::addRow("%d bits, symmetric, v%d", bits, second ? 2 : 1)
                    << bits << 32 << true << second
                    << QByteArray::fromStdString("int" + std::to_string(bits) + "f.g32.f16");
            }
        QTest::newRow("one group a row") << 4 << 96 << false << false << QByteArray("int4a.c.f16");
        QTest::newRow("short last group") << 4 << 64 << false << true << QByteArray("int4a.g64.f16");
    }
    void gptq()
    {
        QFETCH(int, bits);
        QFETCH(int, block);
        QFETCH(bool, symmetric);
        QFETCH(bool, second);
        QFETCH(QByteArray, format);
        const auto g = randomGrid(64, 96, block, bits, symmetric);
        for (const bool index : {true, false}) {
            const TempDir dir;
            const auto set = openPacked(
                dir, gptqTensors(kModule, g, second ? 0 : 1, index),
                gptqConfig(bits, block == 96 ? -1 : block, symmetric, second ? "gptq_v2" : "gptq"));
            HALFTONE_VERIFY(set);
            QCOMPARE((*set)->all().size(), std::size_t(1));
            const auto& w = (*set)->all()[0];
            QVERIFY2(w.whyOpaque.empty(), w.whyOpaque.c_str());
            QCOMPARE(w.name, kModule + ".weight");
            QCOMPARE(w.type, format.toStdString());
            QCOMPARE(w.packing, std::string(second ? "gptq-v2" : "gptq"));
            QVERIFY(w.format != nullptr && w.format->desc().bits == bits);
            compareValues(**set, w.name, valuesOf(g), 64);
        }
    }

    void gptqWithoutConfig()
    {
        const auto g = randomGrid(64, 96, 32, 4, false);
        const TempDir dir;
        const auto set = openPacked(dir, gptqTensors(kModule, g, 1, true), {});
        HALFTONE_VERIFY(set);
        QVERIFY2((*set)->all()[0].note.find("version 1") != std::string::npos, (*set)->all()[0].note.c_str());
        compareValues(**set, kModule + ".weight", valuesOf(g), 64);
        // The text may stand in quantize_config.json, too.
        const TempDir other;
        const auto beside = openPacked(other, gptqTensors(kModule, g, 0, true),
                                       gptqConfig(4, 32, false, "gptq_v2"), "quantize_config.json");
        HALFTONE_VERIFY(beside);
        compareValues(**beside, kModule + ".weight", valuesOf(g), 64);
    }

    void gptqActivationOrder()
    {
        auto g = randomGrid(40, 128, 32, 4, false);
        // Every third column belongs to another group.
        for (std::size_t c = 0; c < 128; ++c)
            g.group[c] = static_cast<std::int32_t>((c * 3) % 4);
        const TempDir dir;
        const auto set = openPacked(dir, gptqTensors(kModule, g, 1), gptqConfig(4, 32, false, "gptq"));
        HALFTONE_VERIFY(set);
        const auto& w = (*set)->all()[0];
        QVERIFY(w.format == nullptr && w.isPacked() && w.isDecodable());
        QCOMPARE(w.type, std::string("int4a.g32.f16, ordered"));
        compareValues(**set, w.name, valuesOf(g), 40);
        QVERIFY(!(*set)->packed(w));
    }

    void goldenWords()
    {
        // Codes 0 to 7 down each column; symmetric zero points are 7 in version 1, 8 in version 2.
        for (const bool second : {false, true}) {
            std::vector<FixtureTensor> tensors{
                tensorOfList<std::uint32_t>(kModule + ".qweight", {1, 8}, DType::I32,
                                            std::vector<std::uint32_t>(8, 0x76543210u)),
                tensorOfList<std::uint32_t>(kModule + ".qzeros", {1, 1}, DType::I32,
                                            {second ? 0x88888888u : 0x77777777u}),
                tensorOfList<std::uint16_t>(kModule + ".scales", {1, 8}, DType::F16,
                                            std::vector<std::uint16_t>(8, 0x3c00))};
            const TempDir dir;
            const auto set = openPacked(dir, tensors, gptqConfig(4, 8, true, second ? "gptq_v2" : "gptq"));
            HALFTONE_VERIFY(set);
            std::vector<float> expected;
            for (int i = 0; i < 64; ++i)
                expected.push_back(static_cast<float>(i % 8 - 8));
            compareValues(**set, kModule + ".weight", expected, 8);
            QCOMPARE((*set)->all()[0].type, std::string("int4f.c.f16"));
        }
        // AWQ: outputs 0 to 7 with codes 0 to 7.
        const std::vector<FixtureTensor> tensors{
            tensorOfList<std::uint32_t>(kModule + ".qweight", {2, 1}, DType::I32, {0x75316420u, 0x75316420u}),
            tensorOfList<std::uint32_t>(kModule + ".qzeros", {1, 1}, DType::I32, {0u}),
            tensorOfList<std::uint16_t>(kModule + ".scales", {1, 8}, DType::F16,
                                        std::vector<std::uint16_t>(8, 0x3c00))};
        const TempDir dir;
        const auto set = openPacked(
            dir, tensors,
            R"({"quant_method":"awq","bits":4,"group_size":-1,"zero_point":true,"version":"gemm"})");
        HALFTONE_VERIFY(set);
        std::vector<float> expected;
        for (int i = 0; i < 16; ++i)
            expected.push_back(static_cast<float>(i / 2));
        compareValues(**set, kModule + ".weight", expected, 8);
    }

    void awq()
    {
        for (const int block : {32, 96, 64}) {
            const auto g = randomGrid(72, 96, block, 4, false);
            const TempDir dir;
            const auto config = R"({"quant_method":"awq","w_bit":4,"q_group_size":)" + std::to_string(block) +
                                R"(,"zero_point":true,"version":"GEMM"})";
            const auto set = openPacked(dir, awqTensors(kModule, g), config);
            HALFTONE_VERIFY(set);
            QCOMPARE((*set)->all().size(), std::size_t(1));
            QCOMPARE((*set)->all()[0].packing, std::string("awq"));
            compareValues(**set, kModule + ".weight", valuesOf(g), 72);
        }
    }

    // Zero points 0 to 15 of 4-bit groups, as each layout keeps them. Version 1 of GPTQ has no 0: what other
    // programs wrapped to 15 reads as 16, which is what runtimes compute.
    void allZeroPoints()
    {
        auto g = randomGrid(16, 32, 32, 4, false);
        for (std::uint32_t z = 0; z < 16; ++z)
            g.zeros[z] = z;
        const TempDir a, b, c;
        const auto second = openPacked(a, gptqTensors(kModule, g, 0), gptqConfig(4, 32, false, "gptq_v2"));
        HALFTONE_VERIFY(second);
        compareValues(**second, kModule + ".weight", valuesOf(g), 16);
        const auto awq =
            openPacked(b, awqTensors(kModule, g), R"({"quant_method":"awq","bits":4,"group_size":32})");
        HALFTONE_VERIFY(awq);
        compareValues(**awq, kModule + ".weight", valuesOf(g), 16);
        const auto first = openPacked(c, gptqTensors(kModule, g, 1), gptqConfig(4, 32, false, "gptq"));
        HALFTONE_VERIFY(first);
        g.zeros[0] = 16;
        compareValues(**first, kModule + ".weight", valuesOf(g), 16);
    }

    void compressedActivationOrder()
    {
        // Codes 0 to 15 along the row (stored with 8 added), two groups that take turns.
        std::vector<std::int64_t> shape{1, 16};
        std::vector<std::int32_t> index;
        std::vector<float> expected;
        for (int c = 0; c < 16; ++c) {
            index.push_back(c % 2);
            expected.push_back(static_cast<float>(c - 8) * (c % 2 == 0 ? 1.0f : 2.0f));
        }
        const std::string config =
            R"({"quant_method":"compressed-tensors","format":"pack-quantized","config_groups":{"group_0":
            {"targets":["Linear"],"weights":{"num_bits":4,"type":"int","symmetric":true,"strategy":"group","group_size":8,"actorder":"group"}}}})";
        const TempDir dir;
        const auto set =
            openPacked(dir,
                       {tensorOfList<std::uint32_t>(kModule + ".weight_packed", {1, 2}, DType::I32,
                                                    {0x76543210u, 0xfedcba98u}),
                        tensorOfList<float>(kModule + ".weight_scale", {1, 2}, DType::F32, {1.0f, 2.0f}),
                        tensorOfList(kModule + ".weight_shape", {2}, DType::I64, shape),
                        tensorOfList(kModule + ".weight_g_idx", {16}, DType::I32, index)},
                       config);
        HALFTONE_VERIFY(set);
        compareValues(**set, kModule + ".weight", expected, 1);
    }

    void hostileGroups_data()
    {
        QTest::addColumn<int>("which");
        QTest::addColumn<QByteArray>("says");
        QTest::newRow("group index too large") << 0 << QByteArray("column 5 to group 3, there are 3");
        QTest::newRow("group index below 0") << 1 << QByteArray("group -1");
        QTest::newRow("group index of another length") << 2 << QByteArray("no weight of 4 bits");
        QTest::newRow("absurd group size") << 3 << QByteArray("group_size 4294967296");
        QTest::newRow("group size of 0") << 4 << QByteArray("group_size is 0");
        QTest::newRow("group size beyond 64 bits") << 5 << QByteArray("group_size is 1.84467440737");
        QTest::newRow("bits of 4.5") << 6 << QByteArray("bits is 4.5");
        QTest::newRow("bits as a text") << 7 << QByteArray("bits is \"4\"");
        QTest::newRow("bits of 9") << 8 << QByteArray("bits is 9");
        QTest::newRow("bits of another size") << 9 << QByteArray("no weight of 8 bits");
        QTest::newRow("no scales") << 10 << QByteArray("scales is missing");
        QTest::newRow("no zero points") << 11 << QByteArray("qzeros is missing");
        QTest::newRow("scales of integers") << 12 << QByteArray("scales of type I32");
        QTest::newRow("codes of halves") << 13 << QByteArray("matrix of I32");
        QTest::newRow("zero points too few") << 14 << QByteArray("no weight of 4 bits");
        QTest::newRow("marlin") << 15 << QByteArray("marlin");
        QTest::newRow("no groups") << 16 << QByteArray("scales");
        QTest::newRow("a vector") << 17 << QByteArray("matrix of I32");
    }
    void hostileGroups()
    {
        QFETCH(int, which);
        QFETCH(QByteArray, says);
        auto g = randomGrid(64, 96, 32, 4, false);
        if (which == 0) g.group[5] = 3;
        if (which == 1) g.group[5] = -1;
        auto tensors = gptqTensors(kModule, g, 1);
        auto config = gptqConfig(4, 32, false, which == 15 ? "marlin" : "gptq");
        const auto setMember = [&](const char* from, const char* to) {
            config.replace(config.find(from), std::strlen(from), to);
        };
        if (which == 2)
            tensors[3] = tensorOfList(kModule + ".g_idx", {4}, DType::I32, std::vector<std::int32_t>(4));
        if (which == 3) setMember("\"group_size\":32", "\"group_size\":4294967296");
        if (which == 4) setMember("\"group_size\":32", "\"group_size\":0");
        if (which == 5) setMember("\"group_size\":32", "\"group_size\":184467440737095516150");
        if (which == 6) setMember("\"bits\":4", "\"bits\":4.5");
        if (which == 7) setMember("\"bits\":4", "\"bits\":\"4\"");
        if (which == 8) setMember("\"bits\":4", "\"bits\":9");
        if (which == 9) setMember("\"bits\":4", "\"bits\":8");
        if (which == 10) tensors.erase(tensors.begin() + 2);
        if (which == 11) tensors.erase(tensors.begin() + 1);
        if (which == 12) tensors[2] = {kModule + ".scales", {3, 64}, DType::I32, Bytes(768)};
        if (which == 13) tensors[0].dtype = DType::F32;
        if (which == 14) tensors[1] = {kModule + ".qzeros", {3, 7}, DType::I32, Bytes(84)};
        if (which == 16) tensors[2] = {kModule + ".scales", {0, 64}, DType::F16, {}};
        if (which == 17) tensors[0] = {kModule + ".qweight", {768}, DType::I32, Bytes(3072)};
        const TempDir dir;
        const auto set = openPacked(dir, tensors, config);
        HALFTONE_VERIFY(set);
        const auto* w = (*set)->find(kModule + ".weight");
        QVERIFY(w != nullptr);
        QVERIFY2(w->whyOpaque.find(says.toStdString()) != std::string::npos, w->whyOpaque.c_str());
        const auto loaded = (*set)->loadRows(*w, 0, 1, DType::F32, cpuDevice(), {});
        QVERIFY(!loaded);
        QCOMPARE(loaded.error().code(), Errc::Unsupported);
        QVERIFY(loaded.error().line().find('\n') == std::string::npos);
    }

    void saidToBeSymmetric()
    {
        // One zero point in the middle that is not 8: found when it is read.
        auto g = randomGrid(64, 96, 32, 4, true);
        g.zeros[7 * 3 + 1] = 3;
        const TempDir dir;
        const auto set = openPacked(dir, gptqTensors(kModule, g, 1), gptqConfig(4, 32, true, "gptq"));
        HALFTONE_VERIFY(set);
        const auto loaded = (*set)->loadRows((*set)->all()[0], 0, 64, DType::F32, cpuDevice(), {});
        QVERIFY(!loaded);
        QCOMPARE(loaded.error().code(), Errc::BadFormat);
        QVERIFY2(loaded.error().line().find("output 7, group 1 is 3, not 8") != std::string::npos,
                 loaded.error().line().c_str());
    }
};

QTEST_GUILESS_MAIN(TestPackedImport)
#include "tst_packed_import.moc"
