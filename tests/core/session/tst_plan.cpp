// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/core/session/quantize_support.h"
#include "tests/support/main.h"
#include "tests/support/temp_dir.h"

#include <QElapsedTimer>

using namespace halftone;
using test::FixtureKind;

namespace {

bool contains(const std::vector<std::string>& lines, std::string_view part)
{
    for (const auto& line : lines)
        if (line.find(part) != std::string::npos) return true;
    return false;
}

const PlannedWeight* planned(const QuantizePlan& plan, std::string_view id)
{
    for (const auto& weight : plan.weights)
        if (weight.id == id) return &weight;
    return nullptr;
}

} // namespace

class TestPlan : public QObject {
    Q_OBJECT
    test::TempDir m_dir;
    std::filesystem::path m_tiny, m_tiny256, m_tied, m_gguf, m_sharded, m_moe;

    Result<QuantizePlan> plan(const std::filesystem::path& model, const std::string& output,
                              const ParamTexts& texts) const
    {
        auto request =
            test::makeRequest(model, output.empty() ? std::filesystem::path() : m_dir / output, texts);
        if (!request) return std::move(request).error();
        return planQuantize(*request);
    }

private Q_SLOTS:
    void initTestCase();
    void sizeIsExact_data();
    void sizeIsExact();
    void substitutionsAreListed();
    void fallbackErrorNamesAllOffenders();
    void fallbackF16();
    void shortGroupsOnRequest();
    void refusals_data();
    void refusals();
    void brokenCheckpointsAreRefused();
    void overridesChangeBits();
    void embeddingAndHeadHaveSwitches();
    void tieIsRespectedAndUntieIsExplicit();
    void expertStacksGoToGguf();
    void aThousandTensorsInUnderASecond();
    void jsonHasEveryField();
};

void TestPlan::initTestCase()
{
    m_tiny = test::writeModel(test::makeFixture(FixtureKind::Tiny), m_dir / "tiny");
    m_tiny256 = test::writeModel(test::makeFixture(FixtureKind::Tiny256), m_dir / "tiny256");
    m_tied = test::writeModel(test::makeFixture(FixtureKind::Tied), m_dir / "tied");
    m_moe = test::writeModel(test::makeFixture(FixtureKind::Moe), m_dir / "moe");
    m_gguf = test::writeGguf(test::makeFixture(FixtureKind::Tiny256), m_dir / "tiny256.gguf");
    m_sharded = test::writeSharded(test::makeFixture(FixtureKind::Tiny), m_dir / "sharded", 3);
}

void TestPlan::sizeIsExact_data()
{
    QTest::addColumn<QString>("model");
    QTest::addColumn<QString>("output");
    QTest::addColumn<QString>("settings"); // key=value|key=value
    const std::vector<std::pair<const char*, std::string>> models{{"tiny", m_tiny.string()},
                                                                  {"tiny256", m_tiny256.string()},
                                                                  {"tied", m_tied.string()},
                                                                  {"sharded", m_sharded.string()},
                                                                  {"gguf", m_gguf.string()}};
    const auto add = [&](const char* model, const std::string& path, const char* output,
                         const std::string& settings) {
        QTest::addRow("%s to %s, %s", model, output, settings.c_str())
            << QString::fromStdString(path) << QString::fromLatin1(output)
            << QString::fromStdString(settings);
    };
    // Every format once, then the kinds of source with one format a container.
    for (const char* format :
         {"int2.t.f32", "int3a.g32.bf16", "int4.g32.f16", "int4f.g64.f16", "int8a.c.f32"})
        add("tiny256", m_tiny256.string(), "out.safetensors", std::string("format=") + format);
    for (const char* format : {"q4_0", "q4_1", "q5_0", "q5_1", "q8_0", "q2_k", "q3_k", "q4_k", "q5_k", "q6_k",
                               "iq4_nl", "iq4_xs", "tq1_0", "tq2_0", "mxfp4", "nvfp4"})
        add("tiny256", m_tiny256.string(), "out.gguf", std::string("format=") + format);
    for (const auto& [name, path] : models) {
        add(name, path, "folder", "format=int4.g32.f16");
        add(name, path, "out.gguf", "format=q8_0|fallback=f16|keep-dtype=f16|embedding=quantize");
        add(name, path, "out.safetensors", "format=int5a.g128.f16|remainder=short-group|keep-dtype=f32");
    }
    add("tied", m_tied.string(), "folder", "head=quantize|untie=true");
    add("tied", m_tied.string(), "out.gguf", "format=q8_0|untie=true");
    add("moe", m_moe.string(), "out.gguf", "format=q8_0");
    add("moe", m_moe.string(), "out.safetensors", "format=int4.g32.f16");
}

void TestPlan::sizeIsExact()
{
    QFETCH(QString, model);
    QFETCH(QString, output);
    QFETCH(QString, settings);
    ParamTexts texts;
    for (const auto& setting : settings.split(QLatin1Char('|')))
        texts.emplace_back(setting.section(QLatin1Char('='), 0, 0).toStdString(),
                           setting.section(QLatin1Char('='), 1).toStdString());
    const test::TempDir out;
    auto request = test::makeRequest(model.toStdString(), out / output.toStdString(), texts);
    HALFTONE_VERIFY(request);
    const auto plan = planQuantize(*request);
    HALFTONE_VERIFY(plan);
    QVERIFY(plan->quantizedCount > 0);
    HALFTONE_VERIFY(test::run(*request));
    const bool folder = output == QStringLiteral("folder");
    const auto file = folder ? out / "folder" / "model.safetensors" : out / output.toStdString();
    QCOMPARE(std::filesystem::file_size(file), plan->outputBytes);
    std::uint64_t all = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(out.path()))
        if (entry.is_regular_file()) all += entry.file_size();
    QCOMPARE(all, plan->diskBytes);
    // What is written opens again, as a model with the same weights.
    const auto again = openModel(folder ? out / "folder" : file);
    HALFTONE_VERIFY(again);
    for (const auto& weight : plan->weights) {
        const WeightInfo* info = (*again)->weights()->find(weight.name);
        QVERIFY2(info != nullptr, weight.name.c_str());
        QCOMPARE(info->bytes, weight.bytesAfter);
        QCOMPARE(info->format != nullptr, weight.action == PlannedWeight::Action::Quantize);
    }
}

void TestPlan::substitutionsAreListed()
{
    const auto p = plan(m_tiny, "out.gguf", {{"format", "q4_0"}});
    HALFTONE_VERIFY(p);
    QCOMPARE(p->substitutions.size(), std::size_t{2});
    const auto& s = p->substitutions[0];
    QCOMPARE(s.name, std::string("blk.0.ffn_down.weight"));
    QCOMPARE(s.axis, 1);
    QCOMPARE(s.length, 172);
    QCOMPARE(s.block, 32);
    QCOMPARE(s.remainder, 12);
    QCOMPARE(s.wanted, std::string("q4_0"));
    QCOMPARE(s.replacement, std::string("BF16"));
    QCOMPARE(s.bytes, std::uint64_t{64 * 172 * 2});
    QCOMPARE(s.wantedBytes, std::uint64_t{64 * 172 * 9 / 16}); // 4.5 bits a weight
    QCOMPARE(s.paddedBytes, std::uint64_t{64 * 6 * 18});       // 192 columns
    QVERIFY2(s.text.find("172 columns are no multiple of 32 (5 x 32 + 12)") != std::string::npos,
             s.text.c_str());
    QVERIFY(p->nominalBitsPerWeight < p->bitsPerWeight);
    QVERIFY(p->payloadBitsPerWeight < p->bitsPerWeight);
    const auto fits = plan(m_tiny256, "out.gguf", {{"format", "q4_0"}});
    HALFTONE_VERIFY(fits);
    QVERIFY(fits->substitutions.empty());
    QCOMPARE(fits->nominalBitsPerWeight, fits->bitsPerWeight);
    // A plan without an output yet: the format chooses the container.
    const auto block = plan(m_tiny256, "", {{"format", "q4_0"}});
    HALFTONE_VERIFY(block);
    QCOMPARE(block->container, Container::Gguf);
    QCOMPARE(block->outputBytes, fits->outputBytes);
    const auto grid = plan(m_tiny256, "", {{"format", "int4.g32.f16"}});
    HALFTONE_VERIFY(grid);
    QCOMPARE(grid->container, Container::Safetensors);
}

void TestPlan::fallbackErrorNamesAllOffenders()
{
    const auto one = plan(m_tiny, "out.gguf", {{"format", "q4_0"}, {"fallback", "error"}});
    QVERIFY(!one);
    QCOMPARE(one.error().code(), Errc::CheckFailed);
    for (const char* part :
         {"blk.0.ffn_down.weight", "blk.1.ffn_down.weight", "172 columns = 5 x 32 + 12", "q4_0"})
        QVERIFY2(one.error().line().find(part) != std::string::npos, one.error().line().c_str());
    // A group that divides no row at all: each of the 14 linear weights is named, before any work.
    QElapsedTimer timer;
    timer.start();
    const auto all = plan(m_tiny, "out.safetensors", {{"format", "int4.g128.f16"}, {"fallback", "error"}});
    QVERIFY(timer.elapsed() < 1000);
    QVERIFY(!all);
    QCOMPARE(all.error().code(), Errc::CheckFailed);
    for (const char* layer : {"layers.0.", "layers.1."})
        for (const char* name : {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj",
                                 "self_attn.o_proj", "mlp.gate_proj", "mlp.up_proj", "mlp.down_proj"}) {
            const std::string full = std::string("model.") + layer + name + ".weight";
            QVERIFY2(all.error().line().find(full) != std::string::npos, full.c_str());
        }
}

void TestPlan::fallbackF16()
{
    const auto p = plan(m_tiny, "out.gguf", {{"format", "q8_0"}, {"fallback", "f16"}});
    HALFTONE_VERIFY(p);
    const auto* down = planned(*p, "layers.0.ffn.down");
    QVERIFY(down != nullptr);
    QCOMPARE(down->action, PlannedWeight::Action::Substitute);
    QVERIFY(down->keptAs == DType::F16);
    QCOMPARE(p->substitutions.front().replacement, std::string("F16"));
}

void TestPlan::shortGroupsOnRequest()
{
    const auto p =
        plan(m_tiny, "out.safetensors", {{"format", "int4.g128.f16"}, {"remainder", "short-group"}});
    HALFTONE_VERIFY(p);
    QVERIFY(p->substitutions.empty());
    QVERIFY(contains(p->warnings, "short last group"));
}

void TestPlan::refusals_data()
{
    QTest::addColumn<QString>("output");
    QTest::addColumn<QString>("key");
    QTest::addColumn<QString>("value");
    QTest::addColumn<int>("code");
    QTest::addColumn<QString>("text");
    const auto row = [](const char* output, const char* key, const char* value, Errc code, const char* text) {
        QTest::newRow(text) << QString::fromLatin1(output) << QString::fromLatin1(key)
                            << QString::fromLatin1(value) << static_cast<int>(code)
                            << QString::fromLatin1(text);
    };
    row("out.gguf", "format", "int4.g128.f16", Errc::InvalidArgument,
        "gguf can't hold int4.g128.f16: choose format=q4_0 or q8_0, or write .safetensors");
    row("out.safetensors", "format", "q4_0", Errc::InvalidArgument,
        "safetensors can't hold q4_0: choose format=int, or write .gguf");
    row("out.onnx", "format", "q4_0", Errc::InvalidArgument, ".onnx can't be written");
    row("out.safetensors", "tensors", "*.nothing", Errc::InvalidArgument,
        "\"*.nothing\" matches no name and no id");
    row("out.safetensors", "overrides", "attn.q", Errc::InvalidArgument, "\"attn.q\" has no pattern");
    row("out.safetensors", "overrides", "*.q:bits=4", Errc::InvalidArgument,
        "the method has no parameter \"bits\"");
    row("out.safetensors", "overrides", "*.q:format", Errc::InvalidArgument, "\"format\" is no key=value");
}

void TestPlan::refusals()
{
    QFETCH(QString, output);
    QFETCH(QString, key);
    QFETCH(QString, value);
    QFETCH(int, code);
    QFETCH(QString, text);
    const auto p = plan(m_tiny, output.toStdString(), {{key.toStdString(), value.toStdString()}});
    QVERIFY(!p);
    QCOMPARE(static_cast<int>(p.error().code()), code);
    QVERIFY2(p.error().line().find(text.toStdString()) != std::string::npos, p.error().line().c_str());
}

void TestPlan::brokenCheckpointsAreRefused()
{
    const auto folder = m_dir / "short";
    const auto index = test::writeSharded(test::makeFixture(FixtureKind::Tiny), folder, 3);
    const auto shard = folder / "model-00002-of-00003.safetensors";
    std::filesystem::resize_file(shard, std::filesystem::file_size(shard) - 24);
    const auto p = plan(index, "out.safetensors", {});
    QVERIFY(!p);
    QCOMPARE(p.error().code(), Errc::BadFormat);
    QVERIFY2(p.error().line().find("model-00002-of-00003.safetensors") != std::string::npos,
             p.error().line().c_str());
}

void TestPlan::overridesChangeBits()
{
    const auto p =
        plan(m_tiny256, "out.safetensors",
             {{"format", "int4.g32.f16"},
              {"overrides", "*.down_proj.weight:format=int8.c.f16; layers.1.attn.*:format=int2.g32.f16"}});
    HALFTONE_VERIFY(p);
    QCOMPARE(planned(*p, "layers.0.ffn.down")->format->name(), std::string("int8.c.f16"));
    QCOMPARE(planned(*p, "layers.1.attn.q")->format->name(), std::string("int2.g32.f16"));
    QCOMPARE(planned(*p, "layers.0.attn.q")->format->name(), std::string("int4.g32.f16"));
    const auto unused = plan(m_tiny256, "out.safetensors", {{"overrides", "nothing*:format=int8.c.f16"}});
    HALFTONE_VERIFY(unused);
    QVERIFY(contains(unused->warnings, "\"nothing*\" matches no weight"));
}

void TestPlan::embeddingAndHeadHaveSwitches()
{
    const auto none = plan(m_tiny256, "out.safetensors", {{"tensors", "*"}});
    HALFTONE_VERIFY(none);
    QCOMPARE(planned(*none, "embed")->action, PlannedWeight::Action::Keep);
    QCOMPARE(planned(*none, "head")->action, PlannedWeight::Action::Keep);
    QCOMPARE(planned(*none, "layers.0.attn_norm")->action, PlannedWeight::Action::Keep);
    const auto both = plan(m_tiny256, "out.safetensors",
                           {{"embedding", "quantize"}, {"head", "quantize"}, {"skip", "layers.0.*"}});
    HALFTONE_VERIFY(both);
    QCOMPARE(planned(*both, "embed")->action, PlannedWeight::Action::Quantize);
    QCOMPARE(planned(*both, "head")->action, PlannedWeight::Action::Quantize);
    QCOMPARE(planned(*both, "layers.0.attn.q")->action, PlannedWeight::Action::Keep);
    QCOMPARE(planned(*both, "layers.1.attn.q")->action, PlannedWeight::Action::Quantize);
}

void TestPlan::tieIsRespectedAndUntieIsExplicit()
{
    const auto neither = plan(m_tied, "out", {});
    HALFTONE_VERIFY(neither);
    QVERIFY(contains(neither->warnings, "the head is tied to model.embed_tokens.weight"));
    QVERIFY(planned(*neither, "head") == nullptr);
    const auto embedding = plan(m_tied, "out", {{"embedding", "quantize"}});
    HALFTONE_VERIFY(embedding);
    QVERIFY(contains(embedding->warnings, "both are quantized"));
    QVERIFY(embedding->outputBytes < neither->outputBytes);
    QVERIFY(planned(*embedding, "head") == nullptr);

    const auto refused = plan(m_tied, "out", {{"head", "quantize"}});
    QVERIFY(!refused);
    QCOMPARE(refused.error().code(), Errc::InvalidArgument);
    QVERIFY2(refused.error().line().find("set untie=true") != std::string::npos,
             refused.error().line().c_str());

    const auto untied = plan(m_tied, "out",
                             {{"head", "quantize"},
                              {"untie", "true"},
                              {"embedding", "quantize"},
                              {"overrides", "head:format=int8.g32.f16"}});
    HALFTONE_VERIFY(untied);
    QCOMPARE(planned(*untied, "head")->name, std::string("lm_head.weight"));
    QCOMPARE(planned(*untied, "head")->format->name(), std::string("int8.g32.f16"));
    QCOMPARE(planned(*untied, "embed")->format->name(), std::string("int4.g32.f16"));
    QVERIFY(contains(untied->warnings, "untie: lm_head.weight becomes a tensor of its own"));
    QCOMPARE(untied->textFiles.size(), std::size_t{1});
    QVERIFY(untied->textFiles[0].second.find("\"tie_word_embeddings\": false") != std::string::npos);
    QVERIFY(neither->textFiles[0].second.find("\"tie_word_embeddings\": true") != std::string::npos);
}

void TestPlan::expertStacksGoToGguf()
{
    const auto gguf = test::writeGguf(test::makeFixture(FixtureKind::Moe), m_dir / "moe.gguf");
    const auto p = plan(gguf, "out.gguf", {{"format", "q8_0"}});
    HALFTONE_VERIFY(p);
    const auto* experts = planned(*p, "layers.0.ffn.experts.gate");
    QVERIFY(experts != nullptr);
    QCOMPARE(experts->action, PlannedWeight::Action::Quantize);
    QCOMPARE(planned(*p, "layers.0.ffn.router")->action, PlannedWeight::Action::Keep);
}

void TestPlan::aThousandTensorsInUnderASecond()
{
    std::vector<test::FixtureTensor> tensors;
    for (int layer = 0; layer < 112; ++layer)
        for (const char* part :
             {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj", "mlp.gate_proj",
              "mlp.up_proj", "mlp.down_proj", "mlp.extra_a", "mlp.extra_b"})
            tensors.push_back({"model.layers." + std::to_string(layer) + "." + part + ".weight",
                               Shape{32, 32}, DType::BF16, test::Bytes(2 * 32 * 32)});
    const auto file = m_dir / "many.safetensors";
    test::writeBytes(file, test::safetensorsBytes(tensors));
    auto request = test::makeRequest(file, m_dir / "many-out.safetensors", {});
    HALFTONE_VERIFY(request);
    QElapsedTimer timer;
    timer.start();
    const auto p = planQuantize(*request);
    HALFTONE_VERIFY(p);
    QCOMPARE(p->weights.size(), std::size_t{1008});
    QVERIFY2(timer.elapsed() < 1000, qPrintable(QString::number(timer.elapsed())));
}

void TestPlan::jsonHasEveryField()
{
    const auto p = plan(m_tiny, "out.gguf", {{"format", "q4_0"}});
    HALFTONE_VERIFY(p);
    const std::string json = planJson(*p);
    for (const char* key :
         {"output_bytes", "weight_count", "quantized_count", "bits_per_weight", "payload_bits_per_weight",
          "nominal_bits_per_weight", "peak_bytes", "disk_bytes", "estimate_seconds", "warnings",
          "substitutions", "weights", "remainder", "padded_bytes"})
        QVERIFY2(json.find("\"" + std::string(key) + "\"") != std::string::npos, key);
    QVERIFY(json.find("\"output_bytes\": " + std::to_string(p->outputBytes)) != std::string::npos);
    QVERIFY(p->estimate.count() > 0);
    QVERIFY(p->peakBytes > 0);
}

QTEST_GUILESS_MAIN(TestPlan)
#include "tst_plan.moc"
