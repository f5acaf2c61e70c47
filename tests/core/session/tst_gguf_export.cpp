// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/gguf_export.h"
#include "core/session/gguf_tokenizer.h"
#include "tests/core/session/quantize_support.h"
#include "tests/support/main.h"
#include "tests/support/temp_dir.h"

#include <cmath>

using namespace halftone;
using test::FixtureKind;

namespace {

std::int64_t intOf(const Checkpoint& file, std::string_view key)
{
    const auto* entry = file.meta(key);
    return entry == nullptr ? -1 : metaInt(*entry).value_or(-1);
}

std::string textOf(const Checkpoint& file, std::string_view key)
{
    const auto* entry = file.meta(key);
    return entry == nullptr ? std::string() : metaString(*entry).value_or("");
}

const OutputMeta* entryOf(const std::vector<OutputMeta>& list, std::string_view key)
{
    for (const auto& entry : list)
        if (entry.key == key) return &entry;
    return nullptr;
}

std::string textOf(const std::vector<OutputMeta>& list, std::string_view key)
{
    const auto* entry = entryOf(list, key);
    if (entry == nullptr) return {};
    const MetaEntry view{entry->key, entry->type, entry->elementType, entry->count, entry->raw};
    return metaString(view).value_or("");
}

std::vector<std::string> stringsOf(const std::vector<OutputMeta>& list, std::string_view key)
{
    const auto* entry = entryOf(list, key);
    if (entry == nullptr) return {};
    const MetaEntry view{entry->key, entry->type, entry->elementType, entry->count, entry->raw};
    return metaStrings(view).value_or(std::vector<std::string>{});
}

std::string tokenizerText(const std::string& pre)
{
    return R"({"added_tokens":[{"id":4,"content":"<|end|>","special":true},{"id":5,"content":"<tool>","special":false}],)"
           R"("pre_tokenizer":)" +
           pre + R"(,"model":{"type":"BPE","vocab":{"a":0,"b":1,"ab":2,"Ġ":3},"merges":["a b",["Ġ","a"]]}})";
}

constexpr const char* kByteLevel = R"({"type":"ByteLevel","add_prefix_space":false})";

} // namespace

class TestGgufExport : public QObject {
    Q_OBJECT
    test::TempDir m_dir;

private Q_SLOTS:
    void tensorsEqualTheIndependentTwin_data();
    void tensorsEqualTheIndependentTwin();
    void quantizedRowsMoveWhole();
    void keysOfTheArchitecture();
    void unknownArchitecturesKeepTheirNames();
    void wrongHeadCountIsRefused();
    void metadataOfAGgufIsCopied();
    void splitKeysAreDropped();
    void backToSafetensorsGivesTheOriginal();
    void llama3Factors();
    void tokenizerPatterns_data();
    void tokenizerPatterns();
    void tokenizerEntries();
    void tokenizerSizes_data();
    void tokenizerSizes();
    void otherTokenizersAreLeftOut_data();
    void otherTokenizersAreLeftOut();
};

void TestGgufExport::tensorsEqualTheIndependentTwin_data()
{
    QTest::addColumn<int>("kind");
    QTest::newRow("tiny") << static_cast<int>(FixtureKind::Tiny);
    QTest::newRow("tiny256") << static_cast<int>(FixtureKind::Tiny256);
    QTest::newRow("tied") << static_cast<int>(FixtureKind::Tied);
}

void TestGgufExport::tensorsEqualTheIndependentTwin()
{
    QFETCH(int, kind);
    const auto fixture = test::makeFixture(static_cast<FixtureKind>(kind));
    const test::TempDir dir;
    const auto model = test::writeModel(fixture, dir / "model");
    // Nothing is quantized: names, order of rows and types are all that changes.
    auto request = test::makeRequest(model, dir / "out.gguf", {{"skip", "*"}, {"format", "q8_0"}});
    HALFTONE_VERIFY(request);
    HALFTONE_VERIFY(test::run(*request));
    const auto written = Checkpoint::open(dir / "out.gguf", {.strict = true});
    HALFTONE_VERIFY(written);
    const auto twin = test::ggufTwin(fixture);
    QCOMPARE((*written)->tensors().size(), twin.tensors.size());
    for (const auto& expected : twin.tensors) {
        const TensorInfo* info = (*written)->find(expected.name);
        QVERIFY2(info != nullptr, expected.name.c_str());
        QVERIFY2(info->shape == expected.shape, expected.name.c_str());
        QVERIFY2(info->stored.plain == expected.dtype, expected.name.c_str());
        const auto raw = (*written)->raw(*info);
        HALFTONE_VERIFY(raw);
        QVERIFY2(std::equal(raw->begin(), raw->end(), expected.bytes.begin(), expected.bytes.end()),
                 expected.name.c_str());
    }
}

void TestGgufExport::quantizedRowsMoveWhole()
{
    // Packed from safetensors, and packed from the twin that was permuted before: the same blocks.
    const auto fixture = test::makeFixture(FixtureKind::Tiny256);
    const auto model = test::writeModel(fixture, m_dir / "rows");
    const auto twin = test::writeGguf(fixture, m_dir / "rows-twin.gguf");
    for (const auto& [from, to] : {std::pair{model, m_dir / "rows-a.gguf"}, {twin, m_dir / "rows-b.gguf"}}) {
        auto request = test::makeRequest(from, to, {{"format", "q4_0"}});
        HALFTONE_VERIFY(request);
        HALFTONE_VERIFY(test::run(*request));
    }
    const auto a = Checkpoint::open(m_dir / "rows-a.gguf");
    const auto b = Checkpoint::open(m_dir / "rows-b.gguf");
    HALFTONE_VERIFY(a);
    HALFTONE_VERIFY(b);
    for (const auto& info : (*a)->tensors()) {
        const TensorInfo* other = (*b)->find(info.name);
        QVERIFY2(other != nullptr, info.name.c_str());
        const auto x = (*a)->raw(info), y = (*b)->raw(*other);
        HALFTONE_VERIFY(x);
        HALFTONE_VERIFY(y);
        QVERIFY2(std::equal(x->begin(), x->end(), y->begin(), y->end()), info.name.c_str());
    }
}

void TestGgufExport::keysOfTheArchitecture()
{
    const auto model = test::writeModel(test::makeFixture(FixtureKind::Tiny256), m_dir / "keys");
    std::ofstream(m_dir / "keys" / "tokenizer.json") << tokenizerText(kByteLevel);
    auto request = test::makeRequest(m_dir / "keys", m_dir / "keys.gguf", {{"format", "q4_0"}});
    HALFTONE_VERIFY(request);
    HALFTONE_VERIFY(test::run(*request));
    const auto file = Checkpoint::open(m_dir / "keys.gguf");
    HALFTONE_VERIFY(file);
    QCOMPARE(textOf(**file, "general.architecture"), std::string("llama"));
    QCOMPARE(intOf(**file, "general.quantization_version"), 2);
    QCOMPARE(intOf(**file, "general.file_type"), 2);
    QCOMPARE(intOf(**file, "llama.block_count"), 2);
    QCOMPARE(intOf(**file, "llama.context_length"), 128);
    QCOMPARE(intOf(**file, "llama.embedding_length"), 256);
    QCOMPARE(intOf(**file, "llama.feed_forward_length"), 512);
    QCOMPARE(intOf(**file, "llama.attention.head_count"), 8);
    QCOMPARE(intOf(**file, "llama.attention.head_count_kv"), 4);
    QCOMPARE(intOf(**file, "llama.rope.dimension_count"), 32);
    QCOMPARE(intOf(**file, "llama.vocab_size"), 512);
    QCOMPARE(metaReal(*(*file)->meta("llama.rope.freq_base")).value_or(0), 10000.0);
    QVERIFY(std::fabs(metaReal(*(*file)->meta("llama.attention.layer_norm_rms_epsilon")).value_or(0) - 1e-5) <
            1e-12);
    QCOMPARE(textOf(**file, "tokenizer.ggml.model"), std::string("gpt2"));
    QCOMPARE((*file)->meta("tokenizer.ggml.tokens")->count, std::uint64_t{512});
}

void TestGgufExport::unknownArchitecturesKeepTheirNames()
{
    const auto model = test::writeModel(test::makeFixture(FixtureKind::Moe), m_dir / "moe");
    auto request = test::makeRequest(model, m_dir / "moe.gguf", {{"format", "q8_0"}});
    HALFTONE_VERIFY(request);
    const auto plan = planQuantize(*request);
    HALFTONE_VERIFY(plan);
    bool told = false;
    for (const auto& warning : plan->warnings)
        told = told || warning.find("runtimes won't load this file") != std::string::npos;
    QVERIFY(told);
    HALFTONE_VERIFY(test::run(*request));
    const auto file = Checkpoint::open(m_dir / "moe.gguf");
    HALFTONE_VERIFY(file);
    QCOMPARE(textOf(**file, "general.architecture"), std::string("unknown"));
    QVERIFY((*file)->find("model.layers.0.self_attn.q_proj.weight") != nullptr);
}

void TestGgufExport::wrongHeadCountIsRefused()
{
    auto fixture = test::makeFixture(FixtureKind::Tiny);
    fixture.heads = 7;
    const auto model = test::writeModel(fixture, m_dir / "heads");
    auto request = test::makeRequest(model, m_dir / "heads.gguf", {{"format", "q8_0"}});
    HALFTONE_VERIFY(request);
    const auto plan = planQuantize(*request);
    QVERIFY(!plan);
    QCOMPARE(plan.error().code(), Errc::InvalidArgument);
    for (const char* part : {"self_attn.q_proj.weight", "64 rows don't divide into 7 heads"})
        QVERIFY2(plan.error().line().find(part) != std::string::npos, plan.error().line().c_str());
}

void TestGgufExport::metadataOfAGgufIsCopied()
{
    const auto source = test::writeGguf(test::makeFixture(FixtureKind::Tiny256), m_dir / "copy.gguf");
    auto request = test::makeRequest(source, m_dir / "copied.gguf", {{"format", "q8_0"}});
    HALFTONE_VERIFY(request);
    HALFTONE_VERIFY(test::run(*request));
    const auto before = Checkpoint::open(source), after = Checkpoint::open(m_dir / "copied.gguf");
    HALFTONE_VERIFY(before);
    HALFTONE_VERIFY(after);
    for (const auto& entry : (*before)->metadata()) {
        const auto* copy = (*after)->meta(entry.key);
        QVERIFY2(copy != nullptr, entry.key.c_str());
        if (entry.key == "general.file_type") continue;
        QVERIFY2(std::equal(entry.raw.begin(), entry.raw.end(), copy->raw.begin(), copy->raw.end()),
                 entry.key.c_str());
    }
    QCOMPARE(intOf(**after, "general.file_type"), 7);
    QCOMPARE(intOf(**after, "general.quantization_version"), 2);
}

void TestGgufExport::splitKeysAreDropped()
{
    const auto parts = test::writeGgufParts(test::makeFixture(FixtureKind::Tiny256), m_dir / "parts", 3);
    auto request = test::makeRequest(parts.front(), m_dir / "joined.gguf", {{"format", "q8_0"}});
    HALFTONE_VERIFY(request);
    HALFTONE_VERIFY(test::run(*request));
    const auto joined = Checkpoint::open(m_dir / "joined.gguf", {.strict = true});
    HALFTONE_VERIFY(joined);
    QCOMPARE((*joined)->tensors().size(), std::size_t{21});
    for (const auto& entry : (*joined)->metadata())
        QVERIFY2(!isSplitKey(entry.key), entry.key.c_str());
}

void TestGgufExport::backToSafetensorsGivesTheOriginal()
{
    const auto fixture = test::makeFixture(FixtureKind::Tiny256);
    const auto source = test::writeGguf(fixture, m_dir / "back.gguf");
    auto request = test::makeRequest(source, m_dir / "back", {{"skip", "*"}, {"format", "int4.g32.f16"}});
    HALFTONE_VERIFY(request);
    HALFTONE_VERIFY(test::run(*request));
    const auto model = openModel(m_dir / "back");
    HALFTONE_VERIFY(model);
    QCOMPARE((*model)->config().architecture, std::string("llama"));
    QCOMPARE((*model)->config().kvHeads, 4);
    const auto& checkpoint = *(*model)->weights()->checkpoint();
    for (const auto& tensor : fixture.tensors) {
        const TensorInfo* info = checkpoint.find(tensor.name);
        QVERIFY2(info != nullptr, tensor.name.c_str());
        if (tensor.shape.rank() != 2) continue; // norms are F32 in a GGUF
        const auto raw = checkpoint.raw(*info);
        HALFTONE_VERIFY(raw);
        QVERIFY2(std::equal(raw->begin(), raw->end(), tensor.bytes.begin(), tensor.bytes.end()),
                 tensor.name.c_str());
    }
}

void TestGgufExport::llama3Factors()
{
    // Llama-3.2-1B: base 5e5, 64 dimensions a head, factor 32 from 1 to 4 of 8192.
    const auto factors =
        llama3RopeFactors(R"({"rope_scaling":{"factor":32.0,"high_freq_factor":4.0,"low_freq_factor":1.0,)"
                          R"("original_max_position_embeddings":8192,"rope_type":"llama3"}})",
                          500000, 64);
    QCOMPARE(factors.size(), std::size_t{32});
    for (std::size_t i = 0; i < 15; ++i)
        QCOMPARE(factors[i], 1.0f);
    QVERIFY(std::fabs(factors[15] - 1.6513f) < 1e-4f);
    QVERIFY(std::fabs(factors[16] - 3.2923f) < 1e-4f);
    QVERIFY(std::fabs(factors[17] - 9.6667f) < 1e-4f);
    for (std::size_t i = 18; i < 32; ++i)
        QCOMPARE(factors[i], 32.0f);
    for (const char* other :
         {"", "{", "[]", R"({"rope_scaling":null})", R"({"rope_scaling":{"type":"linear"}})",
          R"({"rope_scaling":{"rope_type":"llama3","factor":0}})"})
        QVERIFY(llama3RopeFactors(other, 500000, 64).empty());
}

void TestGgufExport::tokenizerPatterns_data()
{
    QTest::addColumn<QString>("pre");
    QTest::addColumn<QString>("name");
    QTest::newRow("gpt-2") << QString::fromLatin1(kByteLevel) << QStringLiteral("gpt-2");
    QTest::newRow("smollm")
        << QStringLiteral(R"({"type":"Sequence","pretokenizers":[{"type":"Digits","individual_digits":true},)"
                          R"({"type":"ByteLevel","use_regex":true}]})")
        << QStringLiteral("smollm");
    const QString split = QStringLiteral(
        R"({"type":"Sequence","pretokenizers":[{"type":"Split","pattern":{"Regex":"%1"}},{"type":"ByteLevel","use_regex":false}]})");
    QTest::newRow("llama-bpe") << split.arg(
                                      QStringLiteral(R"([^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}|\\s+)"))
                               << QStringLiteral("llama-bpe");
    QTest::newRow("qwen2") << split.arg(QStringLiteral(R"([^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?\\s+)"))
                           << QStringLiteral("qwen2");
    QTest::newRow("unknown") << split.arg(QStringLiteral("x")) << QStringLiteral("default");
    QTest::newRow("hostile") << QStringLiteral("7") << QStringLiteral("default");
}

void TestGgufExport::tokenizerPatterns()
{
    QFETCH(QString, pre);
    std::vector<std::string> warnings;
    const auto entries = ggufTokenizerOf(tokenizerText(pre.toStdString()), "", "", 6, warnings);
    HALFTONE_VERIFY(entries);
    QTEST(QString::fromStdString(textOf(*entries, "tokenizer.ggml.pre")), "name");
}

void TestGgufExport::tokenizerEntries()
{
    std::vector<std::string> warnings;
    const auto entries = ggufTokenizerOf(
        tokenizerText(kByteLevel), R"({"eos_token_id":[4,5]})",
        R"({"bos_token":{"content":"<tool>"},"add_bos_token":true,"chat_template":"{{x}}"})", 8, warnings);
    HALFTONE_VERIFY(entries);
    QCOMPARE(stringsOf(*entries, "tokenizer.ggml.tokens"),
             (std::vector<std::string>{"a", "b", "ab", "Ġ", "<|end|>", "<tool>", "[PAD6]", "[PAD7]"}));
    QCOMPARE(stringsOf(*entries, "tokenizer.ggml.merges"), (std::vector<std::string>{"a b", "Ġ a"}));
    QCOMPARE(textOf(*entries, "tokenizer.ggml.model"), std::string("gpt2"));
    QCOMPARE(textOf(*entries, "tokenizer.chat_template"), std::string("{{x}}"));
    const auto number = [&](std::string_view key) {
        const auto* entry = entryOf(*entries, key);
        if (entry == nullptr) return std::int64_t{-1};
        return metaInt(MetaEntry{entry->key, entry->type, entry->elementType, entry->count, entry->raw})
            .value_or(-1);
    };
    QCOMPARE(number("tokenizer.ggml.eos_token_id"), 4);
    QCOMPARE(number("tokenizer.ggml.bos_token_id"), 5);
    const auto* types = entryOf(*entries, "tokenizer.ggml.token_type");
    QVERIFY(types != nullptr);
    std::vector<std::int32_t> list(8);
    QCOMPARE(types->raw.size(), list.size() * 4);
    std::memcpy(list.data(), types->raw.data(), types->raw.size());
    QCOMPARE(list, (std::vector<std::int32_t>{1, 1, 1, 1, 3, 4, 5, 5}));
    QCOMPARE(warnings.size(), std::size_t{1}); // padded from 6 to 8
}

void TestGgufExport::tokenizerSizes_data()
{
    QTest::addColumn<int>("rows");
    QTest::addColumn<bool>("good");
    QTest::newRow("fewer tokens than rows") << 9 << true;
    QTest::newRow("as many") << 6 << true;
    QTest::newRow("more") << 5 << false;
}

void TestGgufExport::tokenizerSizes()
{
    QFETCH(int, rows);
    QFETCH(bool, good);
    std::vector<std::string> warnings;
    const auto entries = ggufTokenizerOf(tokenizerText(kByteLevel), "", "", rows, warnings);
    QCOMPARE(static_cast<bool>(entries), good);
    if (good) {
        QCOMPARE(stringsOf(*entries, "tokenizer.ggml.tokens").size(), static_cast<std::size_t>(rows));
        return;
    }
    QCOMPARE(entries.error().code(), Errc::InvalidArgument);
    QVERIFY2(entries.error().line().find("6 tokens for 5 embedding rows") != std::string::npos,
             entries.error().line().c_str());
}

void TestGgufExport::otherTokenizersAreLeftOut_data()
{
    QTest::addColumn<QString>("text");
    QTest::newRow("empty") << QString();
    QTest::newRow("no JSON") << QStringLiteral("{");
    QTest::newRow("list") << QStringLiteral("[1,2]");
    QTest::newRow("unigram") << QStringLiteral(R"({"model":{"type":"Unigram","vocab":[["a",-1.0]]}})");
    QTest::newRow("word pieces") << QStringLiteral(R"({"model":{"type":"WordPiece","vocab":{"a":0}}})");
    QTest::newRow("byte fallback") << QStringLiteral(
        R"({"model":{"type":"BPE","byte_fallback":true,"vocab":{"a":0}}})");
}

void TestGgufExport::otherTokenizersAreLeftOut()
{
    QFETCH(QString, text);
    std::vector<std::string> warnings;
    const auto entries = ggufTokenizerOf(text.toStdString(), "", "", 4, warnings);
    HALFTONE_VERIFY(entries);
    QVERIFY(entries->empty());
    QCOMPARE(warnings.size(), std::size_t{1});
    QVERIFY2(warnings[0].find("runtimes will need it") != std::string::npos, warnings[0].c_str());
    // Ids out of range are refused, never used as sizes.
    const auto hostile =
        ggufTokenizerOf(R"({"model":{"type":"BPE","vocab":{"a":99999999999}}})", "", "", 4, warnings);
    QVERIFY(!hostile);
    QCOMPARE(hostile.error().code(), Errc::BadFormat);
}

QTEST_GUILESS_MAIN(TestGgufExport)
#include "tst_gguf_export.moc"
