// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/io/checkpoint.h"
#include "core/io/weights.h"
#include "tests/support/fixtures.h"
#include "tests/support/hostile.h"
#include "tests/support/main.h"
#include "tests/support/temp_dir.h"

#include <algorithm>
#include <cstring>

using namespace halftone;
using namespace halftone::test;

namespace {

// general.architecture = "llama", tensor t [32] Q8_0 with the values (i - 16) / 8.
constexpr const char* kGolden = "474755460300000001000000000000000100000000000000140000000000000067656e657261"
                                "6c2e6172636869746563747572650800"
                                "000005000000000000006c6c616d610100000000000000740100000020000000000000000800"
                                "0000000000000000000000000000000000"
                                "00000000000000000000000000000000000000"
                                "082481899199a1a9b1b9c0c8d0d8e0e8f0f8000810182028303840474f575f676f77"
                                "000000000000000000000000000000000000000000000000000000000000";

Bytes zeros(std::size_t count) { return Bytes(count); }
Bytes u64(std::uint64_t v) { return ByteWriter().put(v).out; }

} // namespace

class TestGguf : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void golden()
    {
        const TempDir dir;
        const auto bytes = fromHex(kGolden);
        QCOMPARE(bytes.size(), std::size_t(192));
        writeBytes(dir / "g", bytes);
        const auto opened = Checkpoint::open(dir / "g", {.strict = true});
        HALFTONE_VERIFY(opened);
        const auto& c = **opened;
        QCOMPARE(c.container(), Container::Gguf);
        QCOMPARE(*metaString(*c.meta("general.architecture")), std::string("llama"));
        const auto* t = c.find("t");
        QVERIFY(t != nullptr);
        QCOMPARE(t->stored.name, std::string("Q8_0"));
        QCOMPARE(t->fileOffset, std::uint64_t(128));
        QCOMPARE(t->bytes, std::uint64_t(34));
        const auto loaded = c.load(*t, DType::F32, cpuDevice(), {});
        HALFTONE_VERIFY(loaded);
        for (std::size_t i = 0; i < 32; ++i) {
            const float x = (static_cast<float>(i) - 16) / 8;
            QVERIFY(std::abs(loaded->values<float>()[i] - x) < 0.01f);
        }
        QVERIFY(!c.mapped(*t));
        const auto weights = WeightSet::of(*opened);
        HALFTONE_VERIFY(weights);
        const auto packed = (*weights)->packed(*(*weights)->find("t"));
        HALFTONE_VERIFY(packed);
        QCOMPARE(packed->logical, (Shape{1, 32}));
        QCOMPARE(toHex(packed->codes.bytes().first(3)), std::string("082481"));
    }

    void twins()
    {
        // The product's writer and the independent one must agree to the byte.
        const TempDir dir;
        for (const auto kind : {FixtureKind::Tiny, FixtureKind::Tied, FixtureKind::Moe}) {
            const Fixture f = makeFixture(kind);
            writeGguf(f, dir / "independent.gguf");
            HALFTONE_VERIFY(writeGgufByProduct(f, dir / "product.gguf"));
            QVERIFY(readBytes(dir / "independent.gguf") == readBytes(dir / "product.gguf"));
            const auto opened = Checkpoint::open(dir / "independent.gguf", {.strict = true});
            HALFTONE_VERIFY(opened);
            const Fixture twin = ggufTwin(f);
            QCOMPARE((*opened)->tensors().size(), twin.tensors.size());
            for (const auto& t : twin.tensors) {
                const auto* info = (*opened)->find(t.name);
                QVERIFY(info != nullptr);
                QCOMPARE(info->shape, t.shape);
                QVERIFY(info->stored.plain == t.dtype);
                const auto raw = (*opened)->raw(*info);
                HALFTONE_VERIFY(raw);
                QVERIFY(std::ranges::equal(*raw, t.bytes));
            }
        }
    }

    void metadata()
    {
        GgufBuilder b;
        const auto add = [&](const char* key, std::uint32_t type, const Bytes& value) {
            b.raw(key, type, value);
        };
        add("u8", 0, ByteWriter().put(std::uint8_t(200)).out);
        add("i8", 1, ByteWriter().put(std::int8_t(-100)).out);
        add("u16", 2, ByteWriter().put(std::uint16_t(60000)).out);
        add("i16", 3, ByteWriter().put(std::int16_t(-30000)).out);
        add("u32", 4, ByteWriter().put(std::uint32_t(4000000000u)).out);
        add("i32", 5, ByteWriter().put(std::int32_t(-2000000000)).out);
        add("f32", 6, ByteWriter().put(0.1f).out);
        add("bool", 7, ByteWriter().put(std::uint8_t(1)).out);
        b.text("string", "a\nb");
        add("u64", 10, u64(1ull << 63));
        add("i64", 11, ByteWriter().put(std::int64_t(-5)).out);
        add("f64", 12, ByteWriter().put(0.25).out);
        add("strings", 9, ByteWriter().put(8u).put(std::uint64_t(2)).ggufString("x").ggufString("yz").out);
        add("numbers", 9, ByteWriter().put(5u).put(std::uint64_t(3)).put(1).put(2).put(3).out);
        ByteWriter nested;
        nested.put(9u).put(std::uint64_t(2));
        for (int i = 0; i < 2; ++i)
            nested.put(0u).put(std::uint64_t(1)).put(std::uint8_t(7));
        add("nested", 9, nested.out);
        add("none", 9, ByteWriter().put(12u).put(std::uint64_t(0)).out);
        const TempDir dir;
        writeBytes(dir / "m.gguf", b.finish());
        const auto opened = Checkpoint::open(dir / "m.gguf", {.strict = true});
        HALFTONE_VERIFY(opened);
        const auto& c = **opened;
        QCOMPARE(c.metadata().size(), std::size_t(16));
        const auto e = [&](const char* key) -> const MetaEntry& { return *c.meta(key); };
        QCOMPARE(*metaInt(e("u8")), 200);
        QCOMPARE(*metaInt(e("i8")), -100);
        QCOMPARE(*metaInt(e("u16")), 60000);
        QCOMPARE(*metaInt(e("i16")), -30000);
        QCOMPARE(*metaInt(e("u32")), 4000000000);
        QCOMPARE(*metaInt(e("i32")), -2000000000);
        QCOMPARE(*metaReal(e("f32")), double(0.1f));
        QCOMPARE(*metaBool(e("bool")), true);
        QCOMPARE(*metaString(e("string")), std::string("a\nb"));
        QVERIFY(!metaInt(e("u64"))); // does not fit
        QCOMPARE(*metaReal(e("u64")), 0x1.0p63);
        QCOMPARE(*metaInt(e("i64")), -5);
        QCOMPARE(*metaReal(e("f64")), 0.25);
        QCOMPARE(*metaStrings(e("strings")), (std::vector<std::string>{"x", "yz"}));
        QVERIFY(!metaStrings(e("numbers")));
        QVERIFY(!metaString(e("u8")) && !metaInt(e("f32")) && !metaBool(e("u8")));
        QCOMPARE(metaText(e("string")), std::string("a?b"));
        QCOMPARE(metaText(e("strings")), std::string("[2 strings]"));
        QCOMPARE(metaText(e("f32")), std::string("0.1"));
        QCOMPARE(metaText(e("u64")), std::string("9223372036854775808"));
        QCOMPARE(metaText(e("nested")), std::string("[2 arrays]"));
        QCOMPARE(metaText(e("none")), std::string("[0 f64]"));
        QCOMPARE(e("numbers").raw.size(), std::size_t(12));
    }

    void versions_data()
    {
        QTest::addColumn<quint32>("version");
        QTest::addColumn<QByteArray>("says");
        QTest::newRow("2") << quint32(2) << QByteArray();
        QTest::newRow("1") << quint32(1) << QByteArray("version 1");
        QTest::newRow("4") << quint32(4) << QByteArray("version 4");
        QTest::newRow("0") << quint32(0) << QByteArray("version 0");
        QTest::newRow("big-endian") << quint32(0x03000000) << QByteArray("big-endian");
    }
    void versions()
    {
        QFETCH(quint32, version);
        QFETCH(QByteArray, says);
        GgufBuilder b;
        b.version = version;
        b.tensor("t", {4}, 0, zeros(16));
        const TempDir dir;
        writeBytes(dir / "v.gguf", b.finish());
        const auto opened = Checkpoint::open(dir / "v.gguf");
        QCOMPARE(static_cast<bool>(opened), says.isEmpty());
        if (opened) return;
        QCOMPARE(opened.error().code(), Errc::Unsupported);
        QVERIFY(opened.error().line().find(says.toStdString()) != std::string::npos);
    }

    // NVFP4 weights of other programs have a scale of the whole tensor beside them.
    void scaledNvfp4IsNotReadWithoutIt()
    {
        for (const bool scaled : {false, true}) {
            GgufBuilder b;
            b.tensor("blk.0.ffn_up.weight", {64, 2}, 40, zeros(72));
            if (scaled) b.tensor("blk.0.ffn_up.scale", {1}, 0, zeros(4));
            const TempDir dir;
            writeBytes(dir / "n.gguf", b.finish());
            const auto opened = Checkpoint::open(dir / "n.gguf");
            HALFTONE_VERIFY(opened);
            const auto set = WeightSet::of(*opened);
            HALFTONE_VERIFY(set);
            const auto* w = (*set)->find("blk.0.ffn_up.weight");
            QVERIFY(w != nullptr);
            QCOMPARE(w->whyOpaque.empty(), !scaled);
            if (scaled) QVERIFY(w->whyOpaque.find("blk.0.ffn_up.scale") != std::string::npos);
        }
    }

    void everyTypeIsSized()
    {
        // One row of 256 elements of each known type; sizes are ggml's.
        GgufBuilder b;
        std::uint32_t known = 0;
        for (std::uint32_t id = 0; ggufTypeInfo(id) != nullptr; ++id, ++known) {
            const auto& t = *ggufTypeInfo(id);
            b.tensor(t.name, {256, 2}, id, zeros(std::size_t(512) / t.blockSize * t.blockBytes));
        }
        QCOMPARE(known, 43u);
        QVERIFY(ggufTypeInfo(999) == nullptr);
        const TempDir dir;
        writeBytes(dir / "t.gguf", b.finish());
        const auto opened = Checkpoint::open(dir / "t.gguf", {.strict = true});
        HALFTONE_VERIFY(opened);
        for (const auto& t : (*opened)->tensors()) {
            const auto loaded = (*opened)->load(t, DType::F32, cpuDevice(), {});
            QCOMPARE(static_cast<bool>(loaded), t.stored.decodable());
            if (!loaded) QVERIFY(loaded.error().line().find(t.stored.name) != std::string::npos);
        }
        for (const char* name :
             {"F32",   "F16",   "BF16",  "Q8_0", "Q4_0", "Q4_1", "Q5_0",   "Q5_1",   "I8",
              "F64",   "Q2_K",  "Q3_K",  "Q4_K", "Q5_K", "Q6_K", "IQ4_NL", "IQ4_XS", "TQ1_0",
              "TQ2_0", "MXFP4", "NVFP4", "Q8_1", "Q8_K", "Q1_0", "Q2_0"})
            QVERIFY2((*opened)->find(name)->stored.decodable(), name);
        for (const char* name : {"IQ1_S", "IQ1_M", "IQ2_XXS", "IQ2_XS", "IQ2_S", "IQ3_XXS", "IQ3_S"})
            QCOMPARE((*opened)->find(name)->stored.whyOpaque,
                     std::string(name) + " is not decoded by this version");
    }

    void unknownTypes()
    {
        // Types 39 and 40 are sized by name, 999 by the gap to the next tensor or to the end.
        GgufBuilder b;
        b.tensor("first", {4}, 0, fromHex("0000803f 00000040 00004040 00008040"));
        b.tensor("a.weight", {64, 2}, 39, zeros(68));
        b.tensor("b.weight", {64, 2}, 40, zeros(72));
        b.tensor("c.weight", {7, 3}, 999, zeros(50));
        b.tensor("last", {4}, 0, fromHex("0000803f 00000040 00004040 00008040"));
        b.tensor("end.weight", {7, 3}, 0xffffffffu, zeros(10));
        const TempDir dir;
        writeBytes(dir / "u.gguf", b.finish());
        const auto opened = Checkpoint::open(dir / "u.gguf", {.strict = true});
        HALFTONE_VERIFY(opened);
        const auto& c = **opened;
        QCOMPARE(c.find("a.weight")->stored.name, std::string("MXFP4"));
        QCOMPARE(c.find("a.weight")->bytes, std::uint64_t(68));
        QCOMPARE(c.find("b.weight")->stored.name, std::string("NVFP4"));
        QCOMPARE(c.find("b.weight")->bytes, std::uint64_t(72));
        const auto* odd = c.find("c.weight");
        QCOMPARE(odd->stored.name, std::string("type 999"));
        QCOMPARE(odd->stored.whyOpaque, std::string("unknown type 999: size taken from the gap"));
        QCOMPARE(odd->bytes, std::uint64_t(64));
        QCOMPARE(odd->shape, (Shape{3, 7}));
        QCOMPARE(c.find("end.weight")->bytes, std::uint64_t(32));
        HALFTONE_VERIFY(c.raw(*odd));
        const auto refused = c.load(*odd, DType::F32, cpuDevice(), {});
        QVERIFY(!refused);
        QCOMPARE(refused.error().code(), Errc::Unsupported);
        for (const char* name : {"first", "last"}) {
            const auto loaded = c.load(*c.find(name), DType::F32, cpuDevice(), {});
            HALFTONE_VERIFY(loaded);
            QCOMPARE(loaded->values<float>()[2], 3.0f);
        }
    }

    void splitFiles()
    {
        const Fixture f = makeFixture(FixtureKind::Tiny);
        const TempDir dir;
        const auto parts = writeGgufParts(f, dir / "m", 3);
        for (std::size_t p = 0; p <= parts.size(); ++p) {
            const auto opened = Checkpoint::open(p < parts.size() ? parts[p] : dir / "m", {.strict = true});
            HALFTONE_VERIFY(opened);
            QCOMPARE((*opened)->files().size(), std::size_t(3));
            QCOMPARE((*opened)->tensors().size(), std::size_t(21));
            QCOMPARE(*metaString(*(*opened)->meta("general.architecture")), std::string("llama"));
            for (const auto& t : ggufTwin(f).tensors)
                QVERIFY(std::ranges::equal(*(*opened)->raw(*(*opened)->find(t.name)), t.bytes));
        }
        const auto alone = Checkpoint::open(parts[1], {.strict = true, .joinParts = false});
        HALFTONE_VERIFY(alone);
        QCOMPARE((*alone)->tensors().size(), std::size_t(7));
        QVERIFY(isSplitKey("split.no") && isSplitKey("split.count") && isSplitKey("split.tensors.count"));
        QVERIFY(!isSplitKey("general.name"));

        std::filesystem::remove(parts[2]);
        const auto missing = Checkpoint::open(parts[0]);
        HALFTONE_VERIFY(missing);
        QCOMPARE((*missing)->tensors().size(), std::size_t(14));
        QCOMPARE((*missing)->issues().size(), std::size_t(1));
        QCOMPARE((*missing)->issues()[0].severity, CheckpointIssue::Severity::Error);
        QVERIFY((*missing)->issues()[0].text.find("model-00003-of-00003.gguf") != std::string::npos);
        QVERIFY(!Checkpoint::open(parts[0], {.strict = true}));

        std::filesystem::resize_file(parts[1], std::filesystem::file_size(parts[1]) - 64);
        const auto cut = Checkpoint::open(parts[0]);
        HALFTONE_VERIFY(cut);
        QVERIFY((*cut)->issues()[0].text.find("model-00002-of-00003.gguf") != std::string::npos);

        std::filesystem::rename(parts[0], dir / "m" / "renamed.gguf");
        const auto renamed = Checkpoint::open(dir / "m" / "renamed.gguf");
        HALFTONE_VERIFY(renamed);
        QCOMPARE((*renamed)->tensors().size(), std::size_t(7));
        QCOMPARE((*renamed)->issues()[0].severity, CheckpointIssue::Severity::Error);
    }

    void wrongPart()
    {
        const TempDir dir;
        const auto parts = writeGgufParts(makeFixture(FixtureKind::Tiny), dir / "m", 3);
        std::filesystem::copy_file(parts[0], parts[1], std::filesystem::copy_options::overwrite_existing);
        const auto opened = Checkpoint::open(parts[0]);
        QVERIFY(!opened);
        QCOMPARE(opened.error().code(), Errc::BadFormat);
        QVERIFY(opened.error().line().find("model-00002-of-00003.gguf") != std::string::npos);
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
        const auto one = [](std::vector<std::uint64_t> dims, std::uint32_t type, std::uint64_t offset = 0) {
            GgufBuilder b;
            b.tensor("good", {16}, 0, Bytes(64)).info("bad", std::move(dims), type, offset);
            return b.finish();
        };
        const auto key = [](std::uint32_t type, const Bytes& value) {
            GgufBuilder b;
            b.raw("k", type, value);
            return b.finish();
        };
        add("magic alone", fromHex("47475546"), "ends inside");
        add("half a header", fromHex("474755460300000001"), "ends inside");
        add("dims 2^32 x 2^32", one({1ull << 32, 1ull << 32}, 0, 64), "overflows");
        add("dims 2^62 F32", one({1ull << 62}, 0, 64), "overflows");
        add("dims 2^61+1 F32", one({(1ull << 61) + 1}, 0, 64), "9223372036854775812");
        add("offset 2^64-32", one({16}, 0, ~0ull - 31), "out of range");
        add("offset behind the end", one({16}, 0, 4096), "cut");
        add("offset not aligned", one({16}, 0, 8), "alignment");
        add("overlap", one({16}, 0, 32), "inside tensor good");
        add("unknown type behind the end", one({16}, 999, 1 << 20), "behind the end");
        add("5 dimensions", one({1, 1, 1, 1, 1}, 0, 64), "dimensions");
        add(
            "2^32-1 dimensions",
            [] {
                ByteWriter w;
                w.text("GGUF").put(3u).put(std::uint64_t(1)).put(std::uint64_t(0)).ggufString("t").put(~0u);
                return w.pad(64).out;
            }(),
            "dimensions");
        add("negative dimension", one({~0ull}, 0, 64), "dimension -1");
        add("rows don't fill blocks", one({33}, 2, 64), "32-element blocks");
        add("string length 2^64-1", key(8, u64(~0ull)), "ends inside");
        add("string length 2^63", key(8, u64(1ull << 63)), "ends inside");
        add("array count 2^61", key(9, ByteWriter().put(4u).put(1ull << 61).out), "2305843009213693952");
        add("string array count 2^61", key(9, ByteWriter().put(8u).put(1ull << 61).out), "claims");
        add("unknown value type", key(13, u64(0)), "value type 13");
        add("array of unknown type", key(9, ByteWriter().put(77u).put(std::uint64_t(1)).put(0ull).out),
            "value type 77");
        ByteWriter nested;
        for (int i = 0; i < 1000; ++i)
            nested.put(9u).put(std::uint64_t(1));
        add("1000 nested arrays", key(9, nested.out), "nests arrays");
        ByteWriter counts;
        counts.text("GGUF").put(3u).put(std::uint64_t(0)).put(1ull << 40).pad(64);
        add("KV count 2^40", counts.out, "1099511627776 metadata entries");
        ByteWriter tensors;
        tensors.text("GGUF").put(3u).put(~0ull).put(std::uint64_t(0)).pad(64);
        add("tensor count 2^64-1", tensors.out, "tensors");
        const auto alignment = [](std::uint32_t a) {
            GgufBuilder b;
            b.u32("general.alignment", a).tensor("t", {4}, 0, Bytes(16));
            return b.finish();
        };
        add("alignment 0", alignment(0), "power of two");
        add("alignment 24", alignment(24), "power of two");
        add("alignment 2^31", alignment(1u << 31), "data should start");
        GgufBuilder wrongType;
        wrongType.u16("general.alignment", 32);
        add("alignment of type u16", wrongType.finish(), "u32");
        GgufBuilder twice;
        twice.u32("a", 1).u32("a", 2);
        add("key twice", twice.finish(), "twice");
        GgufBuilder names;
        names.tensor("t", {4}, 0, zeros(16)).tensor("t", {4}, 0, zeros(16));
        add("tensor twice", names.finish(), "twice");
        GgufBuilder utf8;
        utf8.tensor("\xff\xfe", {4}, 0, zeros(16));
        add("name no UTF-8", utf8.finish(), "UTF-8");
        GgufBuilder cut;
        cut.tensor("t", {64}, 0, zeros(256));
        auto bytes = cut.finish();
        bytes.pop_back();
        add("cut by one byte", bytes, "1 tensors are cut: t");
    }
    void hostile()
    {
        QFETCH(QByteArray, bytes);
        QFETCH(QByteArray, says);
        verifyRefused("hostile.gguf", bytes, says);
    }

    void everyPrefixIsRefusedOrWhole()
    {
        // A file cut anywhere never opens, except in the padding behind its last tensor.
        const auto whole = fromHex(kGolden);
        const TempDir dir;
        for (std::size_t n = 0; n < whole.size(); ++n) {
            writeBytes(dir / "p", std::span(whole).first(n));
            const auto opened = Checkpoint::open(dir / "p");
            QCOMPARE(static_cast<bool>(opened), n >= 162);
        }
    }

    void zeroDimension()
    {
        GgufBuilder b;
        b.tensor("empty", {0, 5}, 0, {}).tensor("t", {4}, 0, zeros(16));
        const TempDir dir;
        writeBytes(dir / "z.gguf", b.finish());
        const auto opened = Checkpoint::open(dir / "z.gguf", {.strict = true});
        HALFTONE_VERIFY(opened);
        QCOMPARE((*opened)->find("empty")->shape, (Shape{5, 0}));
        const auto loaded = (*opened)->load(*(*opened)->find("empty"), DType::F32, cpuDevice(), {});
        HALFTONE_VERIFY(loaded);
    }
};

QTEST_GUILESS_MAIN(TestGguf)
#include "tst_gguf.moc"
