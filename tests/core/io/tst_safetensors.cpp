// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/io/checkpoint.h"
#include "core/io/weights.h"
#include "tests/support/fixtures.h"
#include "tests/support/hostile.h"
#include "tests/support/main.h"
#include "tests/support/temp_dir.h"

#include <cstring>
#include <unistd.h>

using namespace halftone;
using namespace halftone::test;

namespace {

constexpr const char* kGolden =
    "38000000000000007b2277223a7b226474797065223a22463332222c227368617065223a5b325d2c2264"
    "6174615f6f666673657473223a5b302c385d7d7d20200000803f000000c0";

Bytes zeros(std::size_t count) { return Bytes(count); }

std::string entry(const std::string& name, const std::string& dtype, const std::string& shape, long begin,
                  long end)
{
    return "\"" + name + "\":{\"dtype\":\"" + dtype + "\",\"shape\":[" + shape + "],\"data_offsets\":[" +
           std::to_string(begin) + "," + std::to_string(end) + "]}";
}

std::vector<float> valuesOf(const Tensor& t)
{
    const auto v = t.values<float>();
    return {v.begin(), v.end()};
}

} // namespace

class TestSafetensors : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void golden()
    {
        const TempDir dir;
        writeBytes(dir / "g.bin", fromHex(kGolden));
        const auto opened = Checkpoint::open(dir / "g.bin", {.strict = true});
        HALFTONE_VERIFY(opened);
        const auto& c = **opened;
        QCOMPARE(c.container(), Container::Safetensors);
        QCOMPARE(c.tensors().size(), std::size_t(1));
        const auto* w = c.find("w");
        QVERIFY(w != nullptr);
        QCOMPARE(w->shape, (Shape{2}));
        QCOMPARE(w->fileOffset, std::uint64_t(64));
        QVERIFY(w->stored.plain == DType::F32);
        const auto mapped = c.mapped(*w);
        HALFTONE_VERIFY(mapped);
        QCOMPARE(valuesOf(*mapped), (std::vector<float>{1, -2}));
        QVERIFY(mapped->storage()->readOnly());
        const auto loaded = c.load(*w, DType::F32, cpuDevice(), {});
        HALFTONE_VERIFY(loaded);
        QCOMPARE(valuesOf(*loaded), (std::vector<float>{1, -2}));
        QCOMPARE(c.contentHash().size(), std::size_t(32));
    }

    void fixture()
    {
        const Fixture f = makeFixture(FixtureKind::Tiny);
        QCOMPARE(f.tensors.size(), std::size_t(21));
        QCOMPARE(f.parameters(), 156480);
        QCOMPARE(makeFixture(FixtureKind::Tiny256).parameters(), 1443072);
        QCOMPARE(makeFixture(FixtureKind::Tied).parameters(), 123712);
        QCOMPARE(makeFixture(FixtureKind::Moe).parameters(), 238400);
        QCOMPARE(makeFixture(FixtureKind::Moe).tensors.size(), std::size_t(41));
        QCOMPARE(makeFixture(FixtureKind::Mtp).tensors.size(), std::size_t(30));
        const TempDir dir;
        writeModel(f, dir / "tiny");
        const auto opened = Checkpoint::open(dir / "tiny", {.strict = true});
        HALFTONE_VERIFY(opened);
        const auto& c = **opened;
        QCOMPARE(c.tensors().size(), f.tensors.size());
        QVERIFY(c.issues().empty());
        QCOMPARE(c.configJson(), configJson(f));
        const auto* format = c.meta("format");
        QVERIFY(format != nullptr);
        QCOMPARE(*metaString(*format), std::string("pt"));
        std::uint64_t bytes = 0;
        for (const auto& t : f.tensors) {
            const auto* info = c.find(t.name);
            QVERIFY(info != nullptr);
            QCOMPARE(info->shape, t.shape);
            const auto raw = c.raw(*info);
            HALFTONE_VERIFY(raw);
            QVERIFY(std::ranges::equal(*raw, t.bytes));
            HALFTONE_VERIFY(c.intact(*info));
            bytes += info->bytes;
        }
        QCOMPARE(bytes, std::uint64_t(312960));
        QVERIFY(c.find("no.such.tensor") == nullptr);
        // Rows 3 and 4 as numbers.
        const auto& q = f.tensor("model.layers.0.self_attn.q_proj.weight");
        const auto rows = c.loadRows(*c.find(q.name), 3, 5, DType::F32, cpuDevice(), {});
        HALFTONE_VERIFY(rows);
        const auto expected = fixtureValues(q.name, q.shape.count());
        for (std::size_t i = 0; i < 128; ++i)
            QVERIFY(std::abs(rows->values<float>()[i] - expected[192 + i]) <=
                    std::abs(expected[192 + i]) / 256);
    }

    void everyDtype()
    {
        // Each type of the format, 8 elements, at its own size.
        const TempDir dir;
        std::string header;
        long at = 0;
        for (int d = 0; d < kDTypeCount; ++d) {
            const auto dtype = static_cast<DType>(d);
            const long bytes = bitsOf(dtype);
            header += (d == 0 ? "{" : ",") +
                      entry("t" + std::to_string(d), std::string(nameOf(dtype)), "2,4", at, at + bytes);
            at += bytes;
        }
        writeBytes(dir / "all.safetensors",
                   safetensorsBytes(header + "}", zeros(static_cast<std::size_t>(at))));
        const auto opened = Checkpoint::open(dir / "all.safetensors", {.strict = true});
        HALFTONE_VERIFY(opened);
        QCOMPARE((*opened)->tensors().size(), std::size_t(kDTypeCount));
        for (const auto& t : (*opened)->tensors()) {
            const auto loaded = (*opened)->load(t, DType::F32, cpuDevice(), {});
            QCOMPARE(static_cast<bool>(loaded), t.stored.decodable());
            HALFTONE_VERIFY((*opened)->raw(t));
            if (!loaded) {
                QCOMPARE(loaded.error().code(), Errc::Unsupported);
                QVERIFY(loaded.error().line().find(t.name) != std::string::npos);
            }
        }
        const auto* bf = (*opened)->find("t14");
        QVERIFY(bf != nullptr && bf->stored.plain == DType::BF16 && bf->stored.decodable());
    }

    void emptyAndScalar()
    {
        const TempDir dir;
        const auto header =
            "{" + entry("empty", "F32", "0,5", 0, 0) + "," + entry("one", "F32", "", 0, 4) + "}";
        writeBytes(dir / "e", safetensorsBytes(header, fromHex("0000803f")));
        const auto opened = Checkpoint::open(dir / "e", {.strict = true});
        HALFTONE_VERIFY(opened);
        const auto one = (*opened)->load(*(*opened)->find("one"), DType::F32, cpuDevice(), {});
        HALFTONE_VERIFY(one);
        QCOMPARE(valuesOf(*one), (std::vector<float>{1}));
        const auto empty = (*opened)->load(*(*opened)->find("empty"), DType::F32, cpuDevice(), {});
        HALFTONE_VERIFY(empty);
        QCOMPARE(empty->shape().count(), 0);
    }

    void unalignedData_data()
    {
        QTest::addColumn<QByteArray>("header");
        QTest::addColumn<QByteArray>("hex");
        const QByteArray floats = "0000803f000000c00000404000008040000000bf"; // 1 -2 3 4 -0.5
        const auto five = entry("f", "F32", "5", 0, 20);
        // Padded with spaces to a length of 2 mod 4.
        std::string odd = "{" + five + "}";
        while (odd.size() % 4 != 2)
            odd += ' ';
        QTest::newRow("header of 2 mod 4 bytes") << QByteArray::fromStdString(odd) << floats;
        QTest::newRow("behind three bytes")
            << QByteArray::fromStdString("{" + entry("u", "U8", "3", 0, 3) + "," +
                                         entry("f", "F32", "5", 3, 23) + "}")
            << QByteArray("010203" + floats);
    }
    void unalignedData()
    {
        QFETCH(QByteArray, header);
        QFETCH(QByteArray, hex);
        const TempDir dir;
        writeBytes(dir / "u", safetensorsBytes(header.toStdString(), fromHex(hex.toStdString())));
        const auto opened = Checkpoint::open(dir / "u", {.strict = true});
        HALFTONE_VERIFY(opened);
        const auto weights = WeightSet::of(*opened);
        HALFTONE_VERIFY(weights);
        const auto* f = (*weights)->find("f");
        QVERIFY(f != nullptr);
        const std::vector<float> expected{1, -2, 3, 4, -0.5f};
        const auto loaded = (*weights)->loadRows(*f, 0, 1, DType::F32, cpuDevice(), {});
        HALFTONE_VERIFY(loaded);
        QCOMPARE(valuesOf(*loaded), expected);
        const auto half = (*weights)->loadRows(*f, 0, 1, DType::BF16, cpuDevice(), {});
        HALFTONE_VERIFY(half);
        QCOMPARE(half->bytes()[1], std::byte{0x3f});
        const auto source = (*weights)->source(*f, cpuDevice(), {});
        HALFTONE_VERIFY(source);
        std::vector<float> copied(5);
        std::memcpy(copied.data(), source->bytes().data(), 20);
        QCOMPARE(copied, expected);
    }

    void hostile_data()
    {
        QTest::addColumn<QByteArray>("bytes");
        QTest::addColumn<QByteArray>("says");
        const auto add = [](const char* row, const Bytes& bytes, const char* says) {
            QTest::newRow(row) << QByteArray(reinterpret_cast<const char*>(bytes.data()),
                                             static_cast<qsizetype>(bytes.size()))
                               << QByteArray(says);
        };
        const auto file = [&](const std::string& entries, std::size_t data) {
            return safetensorsBytes("{" + entries + "}", zeros(data));
        };
        const auto f0 = safetensorsBytes(makeFixture(FixtureKind::Tiny).tensors);
        add("0 bytes", {}, "empty");
        add("1 byte", zeros(1), "1 bytes");
        add("7 bytes", zeros(7), "7 bytes");
        add("8 bytes", zeros(8), "checkpoint");
        const auto length = [&](std::uint64_t n) {
            auto bytes = f0;
            std::memcpy(bytes.data(), &n, 8);
            return bytes;
        };
        add("length 2^63", length(std::uint64_t(1) << 63), "9223372036854775808");
        add("length 2^64-1", length(~std::uint64_t(0)), "18446744073709551615");
        add("length file-7", length(f0.size() - 7), "header");
        add("two on one span", file(entry("a", "F32", "2", 0, 8) + "," + entry("b", "F32", "2", 0, 8), 8),
            "inside tensor a");
        add("partly on another", file(entry("a", "F32", "2", 0, 8) + "," + entry("b", "F32", "2", 4, 12), 12),
            "inside tensor a");
        add("span too small", file(entry("a", "F32", "2,3", 0, 20), 20), "24 bytes");
        add("span too large", file(entry("a", "BF16", "2,3", 0, 16), 16), "12 bytes");
        add("out of range", file(entry("a", "F32", "2", 0, 8) + "," + entry("b", "F32", "2", 8, 16), 8),
            "cut");
        add("backwards", file(entry("a", "F32", "2", 8, 0), 8), "backwards");
        add("product overflows",
            file(R"("a":{"dtype":"F32","shape":[4294967296,4294967296,4294967296],"data_offsets":[0,8]})", 8),
            "overflows");
        add("offset near 2^64",
            file(
                R"("a":{"dtype":"U8","shape":[8],"data_offsets":[18446744073709551607,18446744073709551615]})",
                8),
            "tensor a");
        add("negative extent", file(R"("a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]})", 8), "shape");
        add("broken extent", file(R"("a":{"dtype":"F32","shape":[2.5],"data_offsets":[0,8]})", 8), "shape");
        add("one offset", file(R"("a":{"dtype":"F32","shape":[2],"data_offsets":[0]})", 8), "data_offsets");
        add("three offsets", file(R"("a":{"dtype":"F32","shape":[2],"data_offsets":[0,8,8]})", 8),
            "data_offsets");
        add("no dtype", file(R"("a":{"shape":[2],"data_offsets":[0,8]})", 8), "lacks");
        add("name twice", file(entry("a", "F32", "2", 0, 8) + "," + entry("a", "F32", "2", 8, 16), 16),
            "twice");
        add("dtype twice", file(R"("a":{"dtype":"F32","dtype":"F32","shape":[2],"data_offsets":[0,8]})", 8),
            "twice");
        add("metadata twice", file(R"("__metadata__":{},"__metadata__":{})", 0), "twice");
        add("metadata key twice", file(R"("__metadata__":{"a":"1","a":"2"})", 0), "twice");
        add("metadata number", file(R"("__metadata__":{"a":1})", 0), "no text");
        add("odd nibbles", file(R"("a":{"dtype":"F4","shape":[3],"data_offsets":[0,2]})", 2), "whole bytes");
        add("text for a tensor", file(R"("a":"b")", 0), "tensor a");
        add("no JSON", safetensorsBytes("{\"a\":", zeros(8)), "JSON");
        add("broken UTF-8", safetensorsBytes("{\"\xff\":{}}", zeros(0)), "JSON");
        add("zero byte", safetensorsBytes(std::string_view("{}\0\0", 4), zeros(0)), "zero byte");
        std::string deep;
        for (int i = 0; i < 100000; ++i)
            deep += "[";
        add("100,000 brackets", safetensorsBytes("{\"a\":{\"x\":" + deep, zeros(0)), "nested");
    }
    void hostile()
    {
        QFETCH(QByteArray, bytes);
        QFETCH(QByteArray, says);
        verifyRefused("hostile.safetensors", bytes, says);
    }

    void holesAreWarnings_data()
    {
        QTest::addColumn<QByteArray>("header");
        QTest::addColumn<int>("data");
        QTest::addColumn<QByteArray>("says");
        QTest::newRow("hole") << QByteArray::fromStdString("{" + entry("a", "F32", "1", 0, 4) + "," +
                                                           entry("b", "F32", "1", 8, 12) + "}")
                              << 12 << QByteArray("4 unused bytes in front of tensor b");
        QTest::newRow("trailing") << QByteArray::fromStdString("{" + entry("a", "F32", "1", 0, 4) + "}") << 20
                                  << QByteArray("16 unused bytes behind the last tensor");
    }
    void holesAreWarnings()
    {
        QFETCH(QByteArray, header);
        QFETCH(int, data);
        QFETCH(QByteArray, says);
        const TempDir dir;
        writeBytes(dir / "h", safetensorsBytes(header.toStdString(), zeros(static_cast<std::size_t>(data))));
        const auto opened = Checkpoint::open(dir / "h");
        HALFTONE_VERIFY(opened);
        QCOMPARE((*opened)->issues().size(), std::size_t(1));
        QCOMPARE((*opened)->issues()[0].severity, CheckpointIssue::Severity::Warning);
        QVERIFY((*opened)->issues()[0].text.find(says.toStdString()) != std::string::npos);
        const auto strict = Checkpoint::open(dir / "h", {.strict = true});
        QVERIFY(!strict);
        QCOMPARE(strict.error().code(), Errc::BadFormat);
        QVERIFY(strict.error().line().find(says.toStdString()) != std::string::npos);
    }

    void oddButReadable()
    {
        // Unknown element type, nine dimensions, unknown fields: shown, not refused.
        const TempDir dir;
        const auto header =
            R"({"new":{"dtype":"Q9_Z","shape":[4],"data_offsets":[0,6],"extra":{"a":[1,{}]}},)"
            R"("deep":{"dtype":"U8","shape":[1,1,1,1,1,1,1,1,2],"data_offsets":[6,8]}})";
        writeBytes(dir / "o", safetensorsBytes(header, zeros(8)));
        const auto opened = Checkpoint::open(dir / "o", {.strict = true});
        HALFTONE_VERIFY(opened);
        for (const char* name : {"new", "deep"}) {
            const auto* t = (*opened)->find(name);
            QVERIFY(t != nullptr);
            QVERIFY(!t->stored.decodable());
            HALFTONE_VERIFY((*opened)->raw(*t));
        }
    }

    void cutWhileOpen_data()
    {
        QTest::addColumn<qlonglong>("keep");
        const auto size =
            static_cast<qlonglong>(safetensorsBytes(makeFixture(FixtureKind::Tiny).tensors).size());
        QTest::newRow("by one byte") << size - 1;
        QTest::newRow("in the middle") << size / 2;
        QTest::newRow("to nothing") << qlonglong(0);
    }
    void cutWhileOpen()
    {
        QFETCH(qlonglong, keep);
        const TempDir dir;
        const auto path = writeModel(makeFixture(FixtureKind::Tiny), dir / "m");
        const auto opened = Checkpoint::open(path);
        HALFTONE_VERIFY(opened);
        const auto* last = (*opened)->find("lm_head.weight");
        QVERIFY(last != nullptr);
        HALFTONE_VERIFY((*opened)->load(*last, DType::F32, cpuDevice(), {}));
        QCOMPARE(::truncate(path.c_str(), keep), 0);
        const auto loaded = (*opened)->load(*last, DType::F32, cpuDevice(), {});
        QVERIFY(!loaded);
        QCOMPARE(loaded.error().code(), Errc::Io);
        const auto raw = (*opened)->raw(*last);
        HALFTONE_VERIFY(raw);
        unsigned sum = 0;
        for (const auto b : *raw)
            sum += static_cast<unsigned>(b);
        QVERIFY(sum < 1u << 31); // the bytes were read, without a bus error
        const auto intact = (*opened)->intact(*last);
        QVERIFY(!intact);
        QCOMPARE(intact.error().code(), Errc::Io);
        QVERIFY(intact.error().line().find("lm_head.weight") != std::string::npos);
    }

    void hashFollowsContent()
    {
        const TempDir dir;
        auto f = makeFixture(FixtureKind::Tiny);
        writeModel(f, dir / "a");
        writeModel(f, dir / "b");
        f.tensors[3].bytes[0] ^= std::byte{1};
        writeModel(f, dir / "c");
        const auto a = Checkpoint::open(dir / "a"), b = Checkpoint::open(dir / "b"),
                   c = Checkpoint::open(dir / "c");
        HALFTONE_VERIFY(a);
        HALFTONE_VERIFY(b);
        HALFTONE_VERIFY(c);
        QCOMPARE((*a)->contentHash(), (*b)->contentHash());
        QVERIFY((*a)->contentHash() != (*c)->contentHash());
    }

    void manyTensors()
    {
        // 100,000 tensors: under 1 s and 300 MB. The bytes given out are more than are ever held at once.
        const TempDir dir;
        std::string header = "{";
        for (long i = 0; i < 100000; ++i)
            header += (i > 0 ? "," : "") + entry("model.layers." + std::to_string(i / 10) +
                                                     ".some.long.name." + std::to_string(i % 10) + ".weight",
                                                 "BF16", "4,2", 16 * i, 16 * i + 16);
        writeBytes(dir / "many", safetensorsBytes(header + "}", zeros(1600000)));
        const auto before = allocatedBytes();
        const auto start = std::clock();
        const auto opened = Checkpoint::open(dir / "many", {.strict = true});
        HALFTONE_VERIFY(opened);
        const auto weights = WeightSet::of(*opened);
        HALFTONE_VERIFY(weights);
        const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
        const auto allocated = allocatedBytes() - before;
        qInfo("opened 100,000 tensors: %.3f s, %.1f MB given out", seconds,
              static_cast<double>(allocated) / 1e6);
        QCOMPARE((*weights)->all().size(), std::size_t(100000));
        QVERIFY((*weights)->find("model.layers.9999.some.long.name.9.weight") != nullptr);
#if defined(NDEBUG) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
        QVERIFY(seconds < 1);
#else
        QVERIFY(seconds < 30); // without optimizing, or with a sanitizer
#endif
        QVERIFY(allocated < 300'000'000);
    }
};

QTEST_GUILESS_MAIN(TestSafetensors)
#include "tst_safetensors.moc"
