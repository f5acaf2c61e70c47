// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/io/compressed_tensors.h"
#include "core/io/weights.h"
#include "tests/support/fixtures.h"
#include "tests/support/main.h"
#include "tests/support/temp_dir.h"

#include <algorithm>
#include <cstring>

using namespace halftone;
using namespace halftone::test;

namespace {

// A matrix encoded by the format's own reference, stored in the compressed-tensors layout.
struct Stored {
    std::string name = "model.layers.0.mlp.up_proj.weight";
    const BlockFormat* format = nullptr;
    Shape shape;
    std::vector<std::byte> codes, scales;
    std::vector<std::uint8_t> zeros;
    std::vector<float> decoded;
    PackedLayout layout;
};

Stored encode(const std::string& formatName, std::int64_t rows, std::int64_t cols)
{
    Stored s;
    s.format = *formatNamed(formatName);
    s.shape = {rows, cols};
    s.layout = *s.format->layout(rows, cols);
    s.codes.resize(s.layout.codeBytes);
    s.scales.resize(s.layout.scaleBytes);
    s.zeros.resize(s.layout.zeroBytes);
    auto values = fixtureValues(formatName, rows * cols);
    // Off centre, so that zero points differ from the middle.
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] += 0.01f * static_cast<float>(i % 7);
    const auto [low, high] = std::ranges::minmax(values);
    const auto status = s.format->encodeRows(values, cols, {low, high}, {s.codes, s.scales, s.zeros});
    s.decoded.resize(values.size());
    if (status) s.format->decodeRows({s.codes, s.scales, s.zeros}, cols, s.decoded);
    return s;
}

FixtureTensor tensor(const OutputTensor& t, std::span<const std::byte> bytes)
{
    return {t.name, t.shape, t.dtype, {bytes.begin(), bytes.end()}};
}

std::vector<FixtureTensor> parts(const Stored& s)
{
    const auto planned = *compressedTensors({s.name, s.format}, s.shape);
    std::vector<FixtureTensor> out{tensor(planned.codes, s.codes), tensor(planned.scale, s.scales)};
    if (planned.zero) out.push_back(tensor(*planned.zero, packZeroPoints(*s.format, s.layout, s.zeros)));
    out.push_back(tensor(planned.shape, compressedShapeBytes(s.shape)));
    return out;
}

std::string configOf(std::span<const CompressedWeight> weights)
{
    const std::vector<std::string> ignored{"lm_head.weight"};
    return "{\"model_type\":\"llama\",\"quantization_config\":" + *compressedConfig(weights, ignored) + "}";
}

Result<std::shared_ptr<const WeightSet>> open(const TempDir& dir, const std::vector<FixtureTensor>& tensors,
                                              const std::string& config)
{
    writeBytes(dir / "model.safetensors", safetensorsBytes(tensors));
    writeBytes(dir / "config.json", std::as_bytes(std::span(config.data(), config.size())));
    HALFTONE_TRY(checkpoint, Checkpoint::open(dir / "model.safetensors"));
    return WeightSet::of(checkpoint);
}

std::vector<std::byte> i32(std::initializer_list<std::uint32_t> words)
{
    std::vector<std::byte> out(words.size() * 4);
    std::memcpy(out.data(), words.begin(), out.size());
    return out;
}

} // namespace

class TestWeights : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void roundTrip_data()
    {
        QTest::addColumn<QByteArray>("format");
        QTest::addColumn<int>("rows");
        QTest::addColumn<int>("cols");
        for (const char* f :
             {"int4f.g32.f16", "int4.g32.bf16", "int4a.g32.f16", "int8f.c.f32", "int8a.c.f16",
              "int2f.g32.f16", "int3a.g32.f32", "int5a.g32.f16", "int6f.t.f32", "int7a.t.f32"})
            QTest::newRow(f) << QByteArray(f) << 37 << 96;
        QTest::newRow("short last group") << QByteArray("int4a.g32.f16") << 5 << 70;
        QTest::newRow("one row") << QByteArray("int4f.g128.f16") << 1 << 256;
    }
    void roundTrip()
    {
        QFETCH(QByteArray, format);
        QFETCH(int, rows);
        QFETCH(int, cols);
        const auto s = encode(format.toStdString(), rows, cols);
        const TempDir dir;
        const std::vector<CompressedWeight> list{{s.name, s.format}};
        const auto set = open(dir, parts(s), configOf(list));
        HALFTONE_VERIFY(set);
        QCOMPARE((*set)->all().size(), std::size_t(1));
        const auto* w = (*set)->find(s.name);
        QVERIFY(w != nullptr);
        QVERIFY2(w->whyOpaque.empty(), w->whyOpaque.c_str());
        QCOMPARE(w->shape, s.shape);
        QCOMPARE(w->parts.size(), s.zeros.empty() ? std::size_t(3) : std::size_t(4));
        QCOMPARE(w->format->desc().bits, s.format->desc().bits);
        QCOMPARE(w->format->desc().blockSize, s.format->desc().blockSize);
        const auto packed = (*set)->packed(*w);
        HALFTONE_VERIFY(packed);
        QVERIFY(std::ranges::equal(packed->codes.bytes(), s.codes));
        QVERIFY(std::ranges::equal(packed->scales.bytes(), s.scales));
        if (!s.zeros.empty())
            QVERIFY(std::ranges::equal(packed->zeros.bytes(), std::as_bytes(std::span(s.zeros))));
        const auto all = (*set)->source(*w, cpuDevice(), {});
        HALFTONE_VERIFY(all);
        QVERIFY(std::ranges::equal(all->values<float>(), s.decoded));
        // A slice in the middle equals the same rows of the whole.
        const std::int64_t begin = rows / 3, end = rows - rows / 4;
        const auto some = (*set)->loadRows(*w, begin, end, DType::F32, cpuDevice(), {});
        HALFTONE_VERIFY(some);
        QVERIFY(
            std::ranges::equal(some->values<float>(),
                               std::span(s.decoded).subspan(static_cast<std::size_t>(begin * cols),
                                                            static_cast<std::size_t>((end - begin) * cols))));
        const auto half = (*set)->loadRows(*w, 0, 1, DType::F16, cpuDevice(), {});
        HALFTONE_VERIFY(half);
        QVERIFY(!(*set)->loadRows(*w, 0, rows + 1, DType::F32, cpuDevice(), {}));
    }

    void goldenWords_data()
    {
        // Packings of signed codes as compressed-tensors makes them.
        QTest::addColumn<int>("bits");
        QTest::addColumn<QByteArray>("words");
        QTest::addColumn<QByteArray>("codes");
        QTest::newRow("4 bits, -8..-1")
            << 4 << QByteArray("10325476") << QByteArray("-8 -7 -6 -5 -4 -3 -2 -1");
        QTest::newRow("4 bits, 0..7") << 4 << QByteArray("98badcfe") << QByteArray("0 1 2 3 4 5 6 7");
        QTest::newRow("8 bits") << 8 << QByteArray("007f80ff") << QByteArray("-128 -1 0 127");
        QTest::newRow("2 bits") << 2 << QByteArray("e4e4e4e4")
                                << QByteArray("-2 -1 0 1 -2 -1 0 1 -2 -1 0 1 -2 -1 0 1");
        QTest::newRow("3 bits straddling words") << 3 << QByteArray() << QByteArray();
    }
    void goldenWords()
    {
        QFETCH(int, bits);
        QFETCH(QByteArray, words);
        QFETCH(QByteArray, codes);
        std::vector<float> expected;
        std::vector<std::byte> plane;
        if (codes.isEmpty()) {
            for (int i = 0; i < 32; ++i)
                expected.push_back(static_cast<float>(i % 8 - 4));
            plane = i32({0x88FAC688u, 0xC688FAC6u, 0xFAC688FAu});
        } else {
            for (const auto& c : codes.split(' '))
                expected.push_back(c.toFloat());
            plane = fromHex(words.toStdString());
        }
        const auto cols = static_cast<std::int64_t>(expected.size());
        const auto format = intGridFormat(bits, GridRule::SymFull, FormatDesc::kWholeRow, ScaleType::F32);
        HALFTONE_VERIFY(format);
        Stored s;
        s.format = *format;
        s.shape = {1, cols};
        s.codes = plane;
        s.scales = fromHex("0000803f");
        s.layout = *s.format->layout(1, cols);
        const TempDir dir;
        const std::vector<CompressedWeight> list{{s.name, s.format}};
        const auto set = open(dir, parts(s), configOf(list));
        HALFTONE_VERIFY(set);
        const auto* w = (*set)->find(s.name);
        QVERIFY2(w->whyOpaque.empty(), w->whyOpaque.c_str());
        const auto values = (*set)->source(*w, cpuDevice(), {});
        HALFTONE_VERIFY(values);
        QVERIFY(std::ranges::equal(values->values<float>(), expected));
    }

    void zeroPointsOfEveryValue()
    {
        // Zero points 0 to 15 down the rows, two groups: 4-bit words along the rows.
        const auto format = *formatNamed("int4a.g32.f16");
        const auto layout = *format->layout(16, 64);
        std::vector<std::uint8_t> zeros;
        for (int r = 0; r < 16; ++r) {
            zeros.push_back(static_cast<std::uint8_t>(r));
            zeros.push_back(static_cast<std::uint8_t>(15 - r));
        }
        const auto packed = packZeroPoints(*format, layout, zeros);
        QVERIFY(packed == i32({0x76543210u, 0x89ABCDEFu, 0xFEDCBA98u, 0x01234567u}));
        QCOMPARE(unpackZeroPoints(*format, layout, packed, 0, 16), zeros);
        QCOMPARE(unpackZeroPoints(*format, layout, packed, 7, 9), (std::vector<std::uint8_t>{7, 8, 8, 7}));
        // One for all: signed, not packed.
        const auto whole = *formatNamed("int4a.t.f32");
        const auto one = *whole->layout(16, 64);
        QCOMPARE(toHex(packZeroPoints(*whole, one, std::vector<std::uint8_t>{3})), std::string("fb"));
        QCOMPARE(unpackZeroPoints(*whole, one, fromHex("fb"), 2, 5), (std::vector<std::uint8_t>{3}));
    }

    void config()
    {
        const auto g32 = *formatNamed("int4a.g32.f16"), c8 = *formatNamed("int8f.c.bf16");
        const std::vector<std::string> ignored{"lm_head.weight"};
        const std::vector<CompressedWeight> same{{"a.weight", g32}, {"b.weight", g32}};
        const auto one = compressedConfig(same, ignored);
        HALFTONE_VERIFY(one);
        QVERIFY(one->find("\"Linear\"") != std::string::npos);
        QVERIFY(one->find("\"lm_head\"") != std::string::npos);
        std::string why;
        auto schemes = compressedSchemes(*one, why);
        QCOMPARE(schemes.size(), std::size_t(1));
        QCOMPARE(schemes[0].bits, 4);
        QCOMPARE(schemes[0].groupSize, 32);
        QVERIFY(!schemes[0].symmetric);
        const std::vector<CompressedWeight> mixed{{"a.weight", g32}, {"b.weight", c8}};
        const auto two = compressedConfig(mixed, {});
        HALFTONE_VERIFY(two);
        schemes = compressedSchemes(*two, why);
        QCOMPARE(schemes.size(), std::size_t(2));
        QCOMPARE(schemes[0].targets, (std::vector<std::string>{"a"}));
        QCOMPARE(schemes[1].targets, (std::vector<std::string>{"b"}));
        QCOMPARE(schemes[1].strategy, CompressedScheme::Strategy::Channel);
        QVERIFY(!isCompressible("a.bias", *g32));
        QVERIFY(!isCompressible("a.weight", **formatNamed("q4_0")));
        const std::vector<CompressedWeight> block{{"a.weight", *formatNamed("q4_0")}};
        QVERIFY(!compressedConfig(block, {}));
        QVERIFY(!compressedTensors({"a.weight", g32}, {2, 3, 4}));
        for (const char* text :
             {"", "[]", "{", "{\"a\":1}", R"({"quantization_config":{"quant_method":"awq"}})",
              R"({"quantization_config":{"config_groups":{"g":{"weights":{"num_bits":"x"}}}}})"}) {
            why.clear();
            QVERIFY(compressedSchemes(text, why).empty());
            QVERIFY2(!why.empty(), text);
        }
    }

    void mixedFormatsAndPlainTensors()
    {
        const TempDir dir;
        auto a = encode("int4f.g32.f16", 8, 64), b = encode("int8f.c.f16", 8, 64);
        b.name = "model.layers.0.mlp.down_proj.weight";
        auto tensors = parts(a);
        for (auto& t : parts(b))
            tensors.push_back(t);
        const auto f = makeFixture(FixtureKind::Tiny);
        tensors.push_back(f.tensor("lm_head.weight"));
        const std::vector<CompressedWeight> list{{a.name, a.format}, {b.name, b.format}};
        const auto set = open(dir, tensors, configOf(list));
        HALFTONE_VERIFY(set);
        QCOMPARE((*set)->all().size(), std::size_t(3));
        for (const auto* s : {&a, &b}) {
            const auto values = (*set)->source(*(*set)->find(s->name), cpuDevice(), {});
            HALFTONE_VERIFY(values);
            QVERIFY(std::ranges::equal(values->values<float>(), s->decoded));
        }
        const auto* head = (*set)->find("lm_head.weight");
        QVERIFY(head->plain == DType::BF16);
        QCOMPARE(head->bitsPerWeight(), 16.0);
        const auto source = (*set)->source(*head, cpuDevice(), {});
        HALFTONE_VERIFY(source);
        QCOMPARE(source->dtype(), DType::BF16);
        QVERIFY(!(*set)->packed(*head));
    }

    void oddGroupsAreOpaque_data()
    {
        QTest::addColumn<int>("which");
        QTest::addColumn<QByteArray>("says");
        QTest::newRow("no scale") << 0 << QByteArray("weight_scale is missing");
        QTest::newRow("no shape") << 1 << QByteArray("weight_shape is missing");
        QTest::newRow("shape of another size") << 2 << QByteArray("rows");
        QTest::newRow("shape too wide") << 3 << QByteArray("no config group");
        QTest::newRow("shape overflows") << 4 << QByteArray("weight_shape is");
        QTest::newRow("negative shape") << 5 << QByteArray("weight_shape is");
        QTest::newRow("no config") << 6 << QByteArray("config");
        QTest::newRow("other group size") << 7 << QByteArray("no config group");
        QTest::newRow("activation order of another length") << 8 << QByteArray("g_idx is I32 8");
        QTest::newRow("codes of FP4") << 9 << QByteArray("FP4");
        QTest::newRow("scales of I32") << 10 << QByteArray("I32");
        QTest::newRow("zero point missing") << 11 << QByteArray("no config group");
        QTest::newRow("zero point too small") << 12 << QByteArray("sizes");
    }
    void oddGroupsAreOpaque()
    {
        QFETCH(int, which);
        QFETCH(QByteArray, says);
        const bool asym = which >= 11;
        const auto s = encode(asym ? "int4a.g32.f16" : "int4f.g32.f16", 8, 64);
        const std::vector<CompressedWeight> list{{s.name, s.format}};
        auto config = configOf(list);
        auto tensors = parts(s);
        const auto setShape = [&](std::int64_t rows, std::int64_t cols) {
            const std::int64_t dims[] = {rows, cols};
            std::memcpy(tensors.back().bytes.data(), dims, sizeof dims);
        };
        switch (which) {
        case 0:
            tensors.erase(tensors.begin() + 1);
            break;
        case 1:
            tensors.pop_back();
            break;
        case 2:
            setShape(9, 64);
            break;
        case 3:
            setShape(8, 65);
            break;
        case 4:
            setShape(8, std::int64_t(1) << 61);
            break;
        case 5:
            setShape(8, -64);
            break;
        case 6:
            config = "{}";
            break;
        case 7:
            config.replace(config.find("\"group_size\": 32"), 16, "\"group_size\": 64");
            break;
        case 8:
            tensors.push_back({"model.layers.0.mlp.up_proj.weight_g_idx", {8}, DType::I32, Bytes(32)});
            break;
        case 9:
            tensors[0] = {tensors[0].name, {8, 32}, DType::U8, Bytes(256)};
            break;
        case 10:
            tensors[1] = {tensors[1].name, {8, 2}, DType::I32, Bytes(64)};
            break;
        case 11:
            tensors.erase(tensors.begin() + 2);
            break;
        default:
            tensors[2] = {tensors[2].name, {1, 1}, DType::I32, Bytes(4)};
        }
        const TempDir dir;
        const auto set = open(dir, tensors, config);
        HALFTONE_VERIFY(set);
        QCOMPARE((*set)->all().size(), std::size_t(1));
        const auto* w = (*set)->find(s.name);
        QVERIFY(w != nullptr);
        QVERIFY2(w->whyOpaque.find(says.toStdString()) != std::string::npos, w->whyOpaque.c_str());
        const auto loaded = (*set)->loadRows(*w, 0, 1, DType::F32, cpuDevice(), {});
        QVERIFY(!loaded);
        QCOMPARE(loaded.error().code(), Errc::Unsupported);
        QVERIFY(loaded.error().line().find(s.name) != std::string::npos);
        QVERIFY(!(*set)->packed(*w));
    }

    void ambiguousGroupSize()
    {
        // 100 columns make two groups of 60 and of 64 alike: only a target by name decides.
        const auto s = encode("int4f.g64.f16", 4, 100);
        const auto other = *formatNamed("int4f.g60.f16");
        const std::vector<CompressedWeight> list{{"other.weight", other}, {s.name, s.format}};
        const TempDir dir;
        const auto named = open(dir, parts(s), configOf(list));
        HALFTONE_VERIFY(named);
        const auto values = (*named)->source(*(*named)->find(s.name), cpuDevice(), {});
        HALFTONE_VERIFY(values);
        QVERIFY(std::ranges::equal(values->values<float>(), s.decoded));
        auto config = configOf(list);
        const std::string target = "model.layers.0.mlp.up_proj";
        config.replace(config.find(target), target.size(), "unknown");
        const auto unknown = open(dir, parts(s), config);
        HALFTONE_VERIFY(unknown);
        QVERIFY((*unknown)->find(s.name)->whyOpaque.find("several") != std::string::npos);
    }

    void configInTheFileComesFirst()
    {
        // A single file carries its config; config.json beside it is another model's.
        const auto s = encode("int4f.g32.f16", 8, 64);
        const std::vector<CompressedWeight> list{{s.name, s.format}};
        std::vector<OutputTensor> outputs = compressedTensors(list[0], s.shape)->list();
        const auto text = *compressedConfig(list, {});
        const std::vector<OutputMeta> meta{metaOf("quantization_config", text)};
        const auto layout = layoutFile(Container::Safetensors, outputs, meta);
        HALFTONE_VERIFY(layout);
        const TempDir dir;
        writeBytes(dir / "config.json", std::as_bytes(std::span("{}", 2)));
        const auto writer = CheckpointWriter::create(dir / "w.safetensors", *layout);
        HALFTONE_VERIFY(writer);
        for (std::size_t i = 0; i < layout->tensors.size(); ++i)
            for (const auto& p : parts(s))
                if (p.name == layout->tensors[i].name) HALFTONE_VERIFY((*writer)->write(i, p.bytes));
        HALFTONE_VERIFY((*writer)->finish([&](const Checkpoint& c) -> Status {
            return c.tensors().size() == 3 ? Status(Ok{}) : Error(Errc::CheckFailed, "three parts expected");
        }));
        const auto opened = Checkpoint::open(dir / "w.safetensors", {.strict = true});
        HALFTONE_VERIFY(opened);
        const auto set = WeightSet::of(*opened);
        HALFTONE_VERIFY(set);
        const auto values = (*set)->source(*(*set)->find(s.name), cpuDevice(), {});
        HALFTONE_VERIFY(values);
        QVERIFY(std::ranges::equal(values->values<float>(), s.decoded));
    }

    void scaledEightBitIsNeverACast_data()
    {
        QTest::addColumn<QByteArray>("sibling");
        QTest::addColumn<float>("value");
        QTest::newRow("weight_scale_inv") << QByteArray("q_proj.weight_scale_inv") << 0.5f;
        QTest::newRow("weight_scale") << QByteArray("q_proj.weight_scale") << 0.5f;
        QTest::newRow("scale") << QByteArray("q_proj.scale") << 0.5f;
        QTest::newRow("of another weight") << QByteArray("k_proj.weight_scale") << 1.0f;
    }
    void scaledEightBitIsNeverACast()
    {
        QFETCH(QByteArray, sibling);
        QFETCH(float, value);
        for (const auto dtype : {DType::F8E4M3, DType::I8}) {
            const TempDir dir;
            const auto set = open(dir,
                                  {{"q_proj.weight", {2, 2}, dtype, fromHex("38383838")},
                                   {sibling.toStdString(), {1, 1}, DType::F32, fromHex("0000003f")}},
                                  "{}");
            HALFTONE_VERIFY(set);
            const auto* w = (*set)->find("q_proj.weight");
            QVERIFY2(w->whyOpaque.empty(), w->whyOpaque.c_str());
            QCOMPARE(w->isPacked(), value != 1.0f);
            const auto loaded = (*set)->loadRows(*w, 0, 1, DType::F32, cpuDevice(), {});
            HALFTONE_VERIFY(loaded);
            const float unit = dtype == DType::I8 ? 56.0f : 1.0f;
            QCOMPARE(loaded->values<float>()[0], unit * value);
        }
    }
};

QTEST_GUILESS_MAIN(TestWeights)
#include "tst_weights.moc"
