// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/rng.h"
#include "core/io/weights.h"
#include "core/numeric/small_float.h"
#include "tests/support/main.h"
#include "tests/support/packed_files.h"
#include "tests/support/temp_dir.h"

#include <algorithm>
#include <cmath>

using namespace halftone;
using namespace halftone::test;

namespace {

const std::string kModule = "model.layers.0.mlp.up_proj";

Result<std::shared_ptr<const WeightSet>> open(const TempDir& dir, const std::vector<FixtureTensor>& tensors,
                                              const std::string& quantization,
                                              const char* file = "config.json")
{
    writeBytes(dir / "model.safetensors", safetensorsBytes(tensors));
    const std::string text = std::string(file) == "config.json"
                                 ? R"({"model_type":"llama","quantization_config":)" + quantization + "}"
                                 : quantization;
    if (!quantization.empty()) writeBytes(dir / file, std::as_bytes(std::span(text.data(), text.size())));
    HALFTONE_TRY(checkpoint, Checkpoint::open(dir / "model.safetensors"));
    return WeightSet::of(checkpoint);
}

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

// All rows, some rows and one row in F16 agree with the values.
void compare(const WeightSet& set, const std::string& name, const std::vector<float>& expected,
             std::int64_t rows)
{
    const auto* w = set.find(name);
    QVERIFY(w != nullptr);
    QVERIFY2(w->whyOpaque.empty(), w->whyOpaque.c_str());
    QCOMPARE(w->shape.rows(), rows);
    const auto cols = static_cast<std::size_t>(w->shape.cols());
    const auto all = set.source(*w, cpuDevice(), {});
    HALFTONE_VERIFY(all);
    QVERIFY(all->dtype() == DType::F32);
    const auto values = std::as_const(*all).values<float>();
    QCOMPARE(values.size(), expected.size());
    const auto differs = std::ranges::mismatch(values, expected);
    if (differs.in1 != values.end())
        QFAIL(("element " + std::to_string(differs.in1 - values.begin()) + " is " +
               std::to_string(*differs.in1) + ", not " + std::to_string(*differs.in2))
                  .c_str());
    const std::int64_t begin = rows / 3, end = rows - rows / 4;
    const auto some = set.loadRows(*w, begin, end, DType::F32, cpuDevice(), {});
    HALFTONE_VERIFY(some);
    QVERIFY(std::ranges::equal(std::as_const(*some).values<float>(),
                               std::span(expected).subspan(static_cast<std::size_t>(begin) * cols,
                                                           static_cast<std::size_t>(end - begin) * cols)));
    const auto half = set.loadRows(*w, 0, 1, DType::BF16, cpuDevice(), {});
    HALFTONE_VERIFY(half);
    std::uint16_t first = 0;
    std::memcpy(&first, half->bytes().data(), 2);
    QCOMPARE(first, floatToBfloat(expected[0]));
    QVERIFY(!set.loadRows(*w, 0, rows + 1, DType::F32, cpuDevice(), {}));
    QVERIFY(set.find(kModule + ".qweight") == nullptr);
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
            const auto set =
                open(dir, gptqTensors(kModule, g, second ? 0 : 1, index),
                     gptqConfig(bits, block == 96 ? -1 : block, symmetric, second ? "gptq_v2" : "gptq"));
            HALFTONE_VERIFY(set);
            QCOMPARE((*set)->all().size(), std::size_t(1));
            const auto& w = (*set)->all()[0];
            QVERIFY2(w.whyOpaque.empty(), w.whyOpaque.c_str());
            QCOMPARE(w.name, kModule + ".weight");
            QCOMPARE(w.type, format.toStdString());
            QCOMPARE(w.packing, std::string(second ? "gptq-v2" : "gptq"));
            QVERIFY(w.format != nullptr && w.format->desc().bits == bits);
            compare(**set, w.name, valuesOf(g), 64);
        }
    }

    void gptqWithoutConfig()
    {
        const auto g = randomGrid(64, 96, 32, 4, false);
        const TempDir dir;
        const auto set = open(dir, gptqTensors(kModule, g, 1, true), {});
        HALFTONE_VERIFY(set);
        QVERIFY2((*set)->all()[0].note.find("version 1") != std::string::npos, (*set)->all()[0].note.c_str());
        compare(**set, kModule + ".weight", valuesOf(g), 64);
        // The text may stand in quantize_config.json, too.
        const TempDir other;
        const auto beside = open(other, gptqTensors(kModule, g, 0, true), gptqConfig(4, 32, false, "gptq_v2"),
                                 "quantize_config.json");
        HALFTONE_VERIFY(beside);
        compare(**beside, kModule + ".weight", valuesOf(g), 64);
    }

    void gptqActivationOrder()
    {
        auto g = randomGrid(40, 128, 32, 4, false);
        // Every third column belongs to another group.
        for (std::size_t c = 0; c < 128; ++c)
            g.group[c] = static_cast<std::int32_t>((c * 3) % 4);
        const TempDir dir;
        const auto set = open(dir, gptqTensors(kModule, g, 1), gptqConfig(4, 32, false, "gptq"));
        HALFTONE_VERIFY(set);
        const auto& w = (*set)->all()[0];
        QVERIFY(w.format == nullptr && w.isPacked() && w.isDecodable());
        QCOMPARE(w.type, std::string("int4a.g32.f16, ordered"));
        compare(**set, w.name, valuesOf(g), 40);
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
            const auto set = open(dir, tensors, gptqConfig(4, 8, true, second ? "gptq_v2" : "gptq"));
            HALFTONE_VERIFY(set);
            std::vector<float> expected;
            for (int i = 0; i < 64; ++i)
                expected.push_back(static_cast<float>(i % 8 - 8));
            compare(**set, kModule + ".weight", expected, 8);
            QCOMPARE((*set)->all()[0].type, std::string("int4f.c.f16"));
        }
        // AWQ: outputs 0 to 7 with codes 0 to 7.
        const std::vector<FixtureTensor> tensors{
            tensorOfList<std::uint32_t>(kModule + ".qweight", {2, 1}, DType::I32, {0x75316420u, 0x75316420u}),
            tensorOfList<std::uint32_t>(kModule + ".qzeros", {1, 1}, DType::I32, {0u}),
            tensorOfList<std::uint16_t>(kModule + ".scales", {1, 8}, DType::F16,
                                        std::vector<std::uint16_t>(8, 0x3c00))};
        const TempDir dir;
        const auto set =
            open(dir, tensors,
                 R"({"quant_method":"awq","bits":4,"group_size":-1,"zero_point":true,"version":"gemm"})");
        HALFTONE_VERIFY(set);
        std::vector<float> expected;
        for (int i = 0; i < 16; ++i)
            expected.push_back(static_cast<float>(i / 2));
        compare(**set, kModule + ".weight", expected, 8);
    }

    void awq()
    {
        for (const int block : {32, 96, 64}) {
            const auto g = randomGrid(72, 96, block, 4, false);
            const TempDir dir;
            const auto config = R"({"quant_method":"awq","w_bit":4,"q_group_size":)" + std::to_string(block) +
                                R"(,"zero_point":true,"version":"GEMM"})";
            const auto set = open(dir, awqTensors(kModule, g), config);
            HALFTONE_VERIFY(set);
            QCOMPARE((*set)->all().size(), std::size_t(1));
            QCOMPARE((*set)->all()[0].packing, std::string("awq"));
            compare(**set, kModule + ".weight", valuesOf(g), 72);
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
        const auto second = open(a, gptqTensors(kModule, g, 0), gptqConfig(4, 32, false, "gptq_v2"));
        HALFTONE_VERIFY(second);
        compare(**second, kModule + ".weight", valuesOf(g), 16);
        const auto awq =
            open(b, awqTensors(kModule, g), R"({"quant_method":"awq","bits":4,"group_size":32})");
        HALFTONE_VERIFY(awq);
        compare(**awq, kModule + ".weight", valuesOf(g), 16);
        const auto first = open(c, gptqTensors(kModule, g, 1), gptqConfig(4, 32, false, "gptq"));
        HALFTONE_VERIFY(first);
        g.zeros[0] = 16;
        compare(**first, kModule + ".weight", valuesOf(g), 16);
    }

    void floats8_data()
    {
        QTest::addColumn<QByteArray>("suffix");
        QTest::addColumn<int>("scaleRows");
        QTest::addColumn<int>("scaleCols");
        QTest::addColumn<QByteArray>("type");
        QTest::newRow("a tensor") << QByteArray(".weight_scale") << 1 << 1 << QByteArray("e4m3.t.f32");
        QTest::newRow("a tensor, inverse name")
            << QByteArray(".weight_scale_inv") << 1 << 1 << QByteArray("e4m3.t.f32");
        QTest::newRow("a tensor, short name") << QByteArray(".scale") << 1 << 1 << QByteArray("e4m3.t.f32");
        QTest::newRow("a row") << QByteArray(".weight_scale") << 200 << 1 << QByteArray("e4m3.c.f32");
        QTest::newRow("blocks, edges cut")
            << QByteArray(".weight_scale_inv") << 2 << 3 << QByteArray("F8_E4M3+F32/128x128");
        QTest::newRow("groups of columns")
            << QByteArray(".weight_scale") << 200 << 10 << QByteArray("e4m3.g32.f32");
    }
    void floats8()
    {
        QFETCH(QByteArray, suffix);
        QFETCH(int, scaleRows);
        QFETCH(int, scaleCols);
        QFETCH(QByteArray, type);
        constexpr std::int64_t kRows = 200, kCols = 320;
        std::vector<std::uint8_t> codes;
        for (std::int64_t i = 0; i < kRows * kCols; ++i)
            codes.push_back(static_cast<std::uint8_t>(i % 0x7f)); // no NaN
        std::vector<float> scales;
        for (int i = 0; i < scaleRows * scaleCols; ++i)
            scales.push_back(3.0e-4f * static_cast<float>(1 + i % 5));
        const std::int64_t blockRows = scaleRows == 1 ? kRows : scaleRows == kRows ? 1 : 128;
        const std::int64_t blockCols = scaleCols == 1 ? kCols : scaleCols == 3 ? 128 : 32;
        std::vector<float> expected;
        for (std::int64_t i = 0; i < kRows * kCols; ++i)
            expected.push_back(
                smallFloatValue(codes[static_cast<std::size_t>(i)], kE4M3) *
                scales[static_cast<std::size_t>(i / kCols / blockRows * scaleCols + i % kCols / blockCols)]);
        const auto weight = tensorOfList(kModule + ".weight", {kRows, kCols}, DType::F8E4M3, codes);
        const auto scale =
            tensorOfList(kModule + suffix.toStdString(), {scaleRows, scaleCols}, DType::F32, scales);
        const TempDir dir;
        const auto set = open(dir, {weight, scale}, R"({"quant_method":"fp8"})");
        HALFTONE_VERIFY(set);
        QCOMPARE((*set)->all().size(), std::size_t(1));
        QCOMPARE((*set)->all()[0].type, type.toStdString());
        const bool named = suffix == ".weight_scale"; // as compressed-tensors calls it
        QCOMPARE((*set)->all()[0].packing, std::string(named ? "float-quantized" : "fp8"));
        compare(**set, kModule + ".weight", expected, kRows);
        // Weight and scale in two shards.
        Fixture split;
        split.tensors = {weight, scale};
        const auto sharded = Checkpoint::open(writeSharded(split, dir / "shards", 2));
        HALFTONE_VERIFY(sharded);
        QCOMPARE((*sharded)->files().size(), std::size_t(2));
        const auto both = WeightSet::of(*sharded);
        HALFTONE_VERIFY(both);
        compare(**both, kModule + ".weight", expected, kRows);
    }

    void floats8WithExponents()
    {
        // E8M0 as its own type, and as U8 for groups of 32 (MXFP8).
        for (const auto dtype : {DType::F8E8M0, DType::U8}) {
            std::vector<std::uint8_t> codes, scales;
            std::vector<float> expected;
            for (int i = 0; i < 4 * 64; ++i) {
                codes.push_back(static_cast<std::uint8_t>(i % 0x7f));
                if (i % 32 == 0) scales.push_back(static_cast<std::uint8_t>(110 + i / 32));
                expected.push_back(smallFloatValue(codes.back(), kE4M3) * e8m0Value(scales.back()));
            }
            const TempDir dir;
            const auto set = open(dir,
                                  {tensorOfList(kModule + ".weight", {4, 64}, DType::F8E4M3, codes),
                                   tensorOfList(kModule + ".weight_scale", {4, 2}, dtype, scales)},
                                  "{}");
            HALFTONE_VERIFY(set);
            compare(**set, kModule + ".weight", expected, 4);
        }
    }

    void stackedFloats8()
    {
        std::vector<std::uint8_t> codes;
        std::vector<float> expected;
        const std::vector<float> scales{0.5f, 2.0f, 3.0f};
        for (int i = 0; i < 3 * 4 * 8; ++i) {
            codes.push_back(static_cast<std::uint8_t>(i % 0x7f));
            expected.push_back(smallFloatValue(codes.back(), kE4M3) *
                               scales[static_cast<std::size_t>(i / 32)]);
        }
        const TempDir dir;
        const auto set = open(dir,
                              {tensorOfList(kModule + ".weight", {3, 4, 8}, DType::F8E4M3, codes),
                               tensorOfList(kModule + ".weight_scale", {3, 1, 1}, DType::F32, scales)},
                              "{}");
        HALFTONE_VERIFY(set);
        QCOMPARE((*set)->all()[0].type, std::string("F8_E4M3+F32/matrix"));
        compare(**set, kModule + ".weight", expected, 12);
    }

    void floats8WithoutScale()
    {
        const TempDir dir;
        const auto set = open(dir, {{kModule + ".weight", {2, 2}, DType::F8E4M3, fromHex("38394041")}}, "{}");
        HALFTONE_VERIFY(set);
        const auto& w = (*set)->all()[0];
        QVERIFY(w.plain == DType::F8E4M3 && !w.isPacked());
        for (const char* part : {"no scale", "weight_scale_inv", "plain values"})
            QVERIFY2(w.note.find(part) != std::string::npos, w.note.c_str());
        const auto values = (*set)->source(w, cpuDevice(), {});
        HALFTONE_VERIFY(values);
        QCOMPARE(std::as_const(*values).values<float>()[0], 1.0f);
    }

    void integers8_data()
    {
        QTest::addColumn<int>("scaleRows");
        QTest::addColumn<int>("scaleCols");
        QTest::addColumn<bool>("zeros");
        QTest::addColumn<QByteArray>("format");
        QTest::newRow("a tensor") << 1 << 1 << false << QByteArray("int8f.t.f32");
        QTest::newRow("a row") << 6 << 1 << false << QByteArray("int8f.c.f32");
        QTest::newRow("a row, zero points") << 6 << 1 << true << QByteArray("int8a.c.f32");
        QTest::newRow("groups, zero points") << 6 << 2 << true << QByteArray("int8a.g35.f32");
    }
    void integers8()
    {
        QFETCH(int, scaleRows);
        QFETCH(int, scaleCols);
        QFETCH(bool, zeros);
        QFETCH(QByteArray, format);
        constexpr std::int64_t kRows = 6, kCols = 70;
        std::vector<std::int8_t> codes, points;
        std::vector<float> scales, expected;
        for (int i = 0; i < scaleRows * scaleCols; ++i) {
            scales.push_back(0.25f * static_cast<float>(1 + i));
            points.push_back(static_cast<std::int8_t>(i * 37 % 256 - 128));
        }
        for (std::int64_t i = 0; i < kRows * kCols; ++i) {
            codes.push_back(static_cast<std::int8_t>(i * 11 % 256 - 128));
            const auto k = static_cast<std::size_t>((scaleRows == 1 ? 0 : i / kCols) * scaleCols +
                                                    i % kCols * scaleCols / kCols);
            expected.push_back(static_cast<float>(codes.back() - (zeros ? points[k] : 0)) * scales[k]);
        }
        std::vector<FixtureTensor> tensors{
            tensorOfList(kModule + ".weight", {kRows, kCols}, DType::I8, codes),
            tensorOfList(kModule + ".weight_scale", {scaleRows, scaleCols}, DType::F32, scales)};
        if (zeros)
            tensors.push_back(
                tensorOfList(kModule + ".weight_zero_point", {scaleRows, scaleCols}, DType::I8, points));
        const TempDir dir;
        const auto set =
            open(dir, tensors, R"({"quant_method":"compressed-tensors","format":"int-quantized"})");
        HALFTONE_VERIFY(set);
        QCOMPARE((*set)->all().size(), std::size_t(1));
        QCOMPARE((*set)->all()[0].type, format.toStdString());
        compare(**set, kModule + ".weight", expected, kRows);
    }

    void rowsByAbsoluteMaximum()
    {
        // LLM.int8 of bitsandbytes: code * SCB / 127.
        const TempDir dir;
        const auto set =
            open(dir,
                 {tensorOfList<std::int8_t>(kModule + ".weight", {2, 2}, DType::I8, {127, -127, 64, 0}),
                  tensorOfList<float>(kModule + ".SCB", {2}, DType::F32, {1.27f, 254.0f})},
                 "{}");
        HALFTONE_VERIFY(set);
        const float first = 1.0f / 127.0f * 1.27f, second = 1.0f / 127.0f * 254.0f;
        compare(**set, kModule + ".weight", {127 * first, -127 * first, 64 * second, 0}, 2);
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
            open(dir,
                 {tensorOfList<std::uint32_t>(kModule + ".weight_packed", {1, 2}, DType::I32,
                                              {0x76543210u, 0xfedcba98u}),
                  tensorOfList<float>(kModule + ".weight_scale", {1, 2}, DType::F32, {1.0f, 2.0f}),
                  tensorOfList(kModule + ".weight_shape", {2}, DType::I64, shape),
                  tensorOfList(kModule + ".weight_g_idx", {16}, DType::I32, index)},
                 config);
        HALFTONE_VERIFY(set);
        compare(**set, kModule + ".weight", expected, 1);
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
        const auto set = open(dir, tensors, config);
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
        const auto set = open(dir, gptqTensors(kModule, g, 1), gptqConfig(4, 32, true, "gptq"));
        HALFTONE_VERIFY(set);
        const auto loaded = (*set)->loadRows((*set)->all()[0], 0, 64, DType::F32, cpuDevice(), {});
        QVERIFY(!loaded);
        QCOMPARE(loaded.error().code(), Errc::BadFormat);
        QVERIFY2(loaded.error().line().find("output 7, group 1 is 3, not 8") != std::string::npos,
                 loaded.error().line().c_str());
    }

    void hostileScales_data()
    {
        QTest::addColumn<int>("rows");
        QTest::addColumn<int>("cols");
        QTest::addColumn<QByteArray>("says");
        QTest::newRow("more scales than rows") << 9 << 1 << QByteArray("don't fit");
        QTest::newRow("none") << 0 << 1 << QByteArray("don't fit");
        QTest::newRow("uneven") << 8 << 5 << QByteArray("don't fit");
    }
    void hostileScales()
    {
        QFETCH(int, rows);
        QFETCH(int, cols);
        QFETCH(QByteArray, says);
        const TempDir dir;
        const auto set = open(dir,
                              {{kModule + ".weight", {8, 12}, DType::F8E4M3, Bytes(96)},
                               {kModule + ".weight_scale",
                                {rows, cols},
                                DType::F32,
                                Bytes(static_cast<std::size_t>(4 * rows * cols))}},
                              "{}");
        HALFTONE_VERIFY(set);
        QVERIFY2((*set)->all()[0].whyOpaque.find(says.toStdString()) != std::string::npos,
                 (*set)->all()[0].whyOpaque.c_str());
    }
    void floats4_data()
    {
        QTest::addColumn<int>("which");
        QTest::addColumn<QByteArray>("packing");
        QTest::newRow("nvfp4, reciprocal tensor scale") << 0 << QByteArray("nvfp4-pack-quantized");
        QTest::newRow("nvfp4 of ModelOpt") << 1 << QByteArray("modelopt-nvfp4");
        QTest::newRow("mxfp4") << 2 << QByteArray("mxfp4-pack-quantized");
        QTest::newRow("mxfp4, stacked experts") << 3 << QByteArray("mxfp4");
    }
    void floats4()
    {
        QFETCH(int, which);
        QFETCH(QByteArray, packing);
        constexpr float kTable[] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
        const bool nv = which < 2;
        const int block = nv ? 16 : 32;
        std::vector<std::uint8_t> bytes, scales;
        std::vector<float> expected;
        for (int i = 0; i < 6 * 64; i += 2) {
            if (i % block == 0)
                scales.push_back(static_cast<std::uint8_t>(nv ? 0x30 + i / block : 120 + i / block));
            const int low = i * 5 % 16, high = (i * 3 + 1) % 16; // the even column has the low half
            bytes.push_back(static_cast<std::uint8_t>(low | high << 4));
            const float scale = nv ? smallFloatValue(scales.back(), kE4M3) * 0.25f : e8m0Value(scales.back());
            for (const int code : {low, high})
                expected.push_back((code < 8 ? kTable[code] : -kTable[code - 8]) * scale);
        }
        std::vector<FixtureTensor> tensors;
        const auto scaleType = nv ? DType::F8E4M3 : DType::U8;
        if (which == 0 || which == 2) {
            tensors = {tensorOfList(kModule + ".weight_packed", {6, 32}, DType::U8, bytes),
                       tensorOfList(kModule + ".weight_scale", {6, 64 / block}, scaleType, scales)};
            if (nv)
                tensors.push_back(
                    tensorOfList<float>(kModule + ".weight_global_scale", {1}, DType::F32, {4.0f}));
        } else if (which == 1) {
            tensors = {tensorOfList(kModule + ".weight", {6, 32}, DType::U8, bytes),
                       tensorOfList(kModule + ".weight_scale", {6, 4}, scaleType, scales),
                       tensorOfList<float>(kModule + ".weight_scale_2", {}, DType::F32, {0.25f}),
                       tensorOfList<float>(kModule + ".input_scale", {}, DType::F32, {2.0f})};
        } else {
            tensors = {tensorOfList("experts.gate_up_proj_blocks", {2, 3, 2, 16}, DType::U8, bytes),
                       tensorOfList("experts.gate_up_proj_scales", {2, 3, 2}, scaleType, scales)};
        }
        const TempDir dir;
        const auto set = open(dir, tensors, "{}");
        HALFTONE_VERIFY(set);
        QCOMPARE((*set)->all().size(), std::size_t(1));
        const auto& w = (*set)->all()[0];
        QCOMPARE(w.packing, packing.toStdString());
        if (which == 3) QCOMPARE(w.shape, (Shape{2, 3, 64}));
        compare(**set, w.name, expected, 6);
    }

    void tables4_data()
    {
        QTest::addColumn<bool>("nested");
        QTest::addColumn<int>("cols");
        QTest::addColumn<bool>("format");
        QTest::newRow("nf4") << false << 64 << true;
        QTest::newRow("nf4, double quantization") << true << 64 << false; // a map of its own
        QTest::newRow("nf4, blocks across rows") << false << 24 << false;
    }
    void tables4()
    {
        QFETCH(bool, nested);
        QFETCH(int, cols);
        QFETCH(bool, format);
        const std::vector<float> map{-1.0f,
                                     -0.6961928009986877f,
                                     -0.5250730514526367f,
                                     -0.39491748809814453f,
                                     -0.28444138169288635f,
                                     -0.18477343022823334f,
                                     -0.09105003625154495f,
                                     0.0f,
                                     0.07958029955625534f,
                                     0.16093020141124725f,
                                     0.24611230194568634f,
                                     0.33791524171829224f,
                                     0.44070982933044434f,
                                     0.5626170039176941f,
                                     0.7229568362236023f,
                                     1.0f};
        // 1, -2, 0.5, 0.1, -0.1, 0, 1.5, -1.2 under an absolute maximum of 2, first in the high half.
        const auto golden = fromHex("C0A867E2");
        const std::int64_t rows = 8, count = rows * cols, blocks = (count + 63) / 64;
        std::vector<std::uint8_t> bytes;
        for (std::int64_t i = 0; i < count / 2; ++i)
            bytes.push_back(std::to_integer<std::uint8_t>(golden[static_cast<std::size_t>(i % 4)]));
        std::vector<float> absmax, nestedMap, expected;
        std::vector<std::uint8_t> absmaxCodes;
        for (std::int64_t b = 0; b < blocks; ++b) {
            absmax.push_back(static_cast<float>(b + 2));
            absmaxCodes.push_back(static_cast<std::uint8_t>(200 + b));
        }
        for (int i = 0; i < 256; ++i)
            nestedMap.push_back(static_cast<float>(i - 128) / 128.0f);
        for (std::int64_t i = 0; i < count; ++i) {
            const auto byte = bytes[static_cast<std::size_t>(i / 2)];
            const auto b = static_cast<std::size_t>(i / 64);
            const float scale = nested ? nestedMap[absmaxCodes[b]] * 3.0f + 0.5f : absmax[b];
            expected.push_back(map[static_cast<std::size_t>(i % 2 == 0 ? byte >> 4 : byte & 15)] * scale);
        }
        std::string state = R"({"quant_type": "nf4", "blocksize": 64, "dtype": "float16", "shape": [8, )" +
                            std::to_string(cols) + "]";
        if (nested) state += R"(, "nested_blocksize": 256, "nested_dtype": "float32", "nested_offset": 0.5)";
        state += "}";
        const std::string name = kModule + ".weight";
        std::vector<FixtureTensor> tensors{tensorOfList(name, {count / 2, 1}, DType::U8, bytes),
                                           tensorOfList(name + ".quant_map", {16}, DType::F32, map),
                                           tensorOfList(name + ".quant_state.bitsandbytes__nf4",
                                                        {static_cast<std::int64_t>(state.size())}, DType::U8,
                                                        std::vector<char>(state.begin(), state.end()))};
        if (nested) {
            tensors.push_back(tensorOfList(name + ".absmax", {blocks}, DType::U8, absmaxCodes));
            tensors.push_back(tensorOfList<float>(name + ".nested_absmax", {1}, DType::F32, {3.0f}));
            tensors.push_back(tensorOfList(name + ".nested_quant_map", {256}, DType::F32, nestedMap));
        } else {
            tensors.push_back(tensorOfList(name + ".absmax", {blocks}, DType::F32, absmax));
        }
        const TempDir dir;
        const auto set = open(dir, tensors, "{}");
        HALFTONE_VERIFY(set);
        QCOMPARE((*set)->all().size(), std::size_t(1));
        QCOMPARE((*set)->all()[0].format != nullptr, format);
        compare(**set, name, expected, rows);
    }

    void hostileStates_data()
    {
        QTest::addColumn<QByteArray>("state");
        QTest::addColumn<QByteArray>("says");
        QTest::newRow("no JSON") << QByteArray("nonsense") << QByteArray("no JSON object");
        QTest::newRow("other type") << QByteArray(R"({"quant_type":"int4","blocksize":64,"shape":[8,64]})")
                                    << QByteArray("type int4");
        QTest::newRow("block of 0") << QByteArray(R"({"quant_type":"nf4","blocksize":0,"shape":[8,64]})")
                                    << QByteArray("blocksize");
        QTest::newRow("negative block")
            << QByteArray(R"({"quant_type":"nf4","blocksize":-64,"shape":[8,64]})")
            << QByteArray("blocksize");
        QTest::newRow("huge shape")
            << QByteArray(R"({"quant_type":"nf4","blocksize":64,"shape":[4000000000,4000000000]})")
            << QByteArray("shape");
        QTest::newRow("other shape") << QByteArray(R"({"quant_type":"nf4","blocksize":64,"shape":[8,65]})")
                                     << QByteArray("260 U8");
        QTest::newRow("no shape") << QByteArray(R"({"quant_type":"nf4","blocksize":64})")
                                  << QByteArray("shape");
        QTest::newRow("nested without offset")
            << QByteArray(R"({"quant_type":"nf4","blocksize":64,"shape":[8,64],"nested_blocksize":256})")
            << QByteArray("nested_offset");
    }
    void hostileStates()
    {
        QFETCH(QByteArray, state);
        QFETCH(QByteArray, says);
        const std::string name = kModule + ".weight";
        const TempDir dir;
        const auto set = open(dir,
                              {{name, {256, 1}, DType::U8, Bytes(256)},
                               {name + ".absmax", {8}, DType::F32, Bytes(32)},
                               {name + ".quant_map", {16}, DType::F32, Bytes(64)},
                               tensorOfList(name + ".quant_state.bitsandbytes__nf4", {state.size()},
                                            DType::U8, std::vector<char>(state.begin(), state.end()))},
                              "{}");
        HALFTONE_VERIFY(set);
        const auto& w = (*set)->all()[0];
        QVERIFY2(w.whyOpaque.find(says.toStdString()) != std::string::npos, w.whyOpaque.c_str());
    }
};

QTEST_GUILESS_MAIN(TestPackedImport)
#include "tst_packed_import.moc"
