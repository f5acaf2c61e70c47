// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/config.h"
#include "tests/support/main.h"

using namespace halftone;

class TestConfig : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void llama();
    void olderAndNewerFields_data();
    void olderAndNewerFields();
    void hostileTextIsNoted_data();
    void hostileTextIsNoted();
    void hostileValuesStayUnknown();
};

void TestConfig::llama()
{
    const auto reading = configFromJson(
        R"({"architectures":["LlamaForCausalLM"],"model_type":"llama","vocab_size":49152,"hidden_size":576,)"
        R"("num_hidden_layers":30,"num_attention_heads":9,"num_key_value_heads":3,"head_dim":null,)"
        R"("intermediate_size":1536,"rms_norm_eps":1e-05,"rope_theta":100000,"max_position_embeddings":8192,)"
        R"("tie_word_embeddings":true,"torch_dtype":"bfloat16"})");
    const auto& c = reading.config;
    QCOMPARE(c.architecture, std::string("llama"));
    QCOMPARE(c.vocab, 49152);
    QCOMPARE(c.hidden, 576);
    QCOMPARE(c.layers, 30);
    QCOMPARE(c.heads, 9);
    QCOMPARE(c.kvHeads, 3);
    QCOMPARE(c.headDim, 64);
    QCOMPARE(c.ffn, 1536);
    QCOMPARE(c.context, 8192);
    QCOMPARE(c.normEps, 1e-5);
    QCOMPARE(c.ropeBase, 1e5);
    QVERIFY(reading.tieFlag == true);
    QVERIFY(reading.notes.empty());
}

void TestConfig::olderAndNewerFields_data()
{
    QTest::addColumn<QString>("json");
    QTest::addColumn<QString>("architecture");
    QTest::addColumn<int>("heads");
    QTest::addColumn<int>("kvHeads");
    QTest::addColumn<int>("headDim");
    QTest::addColumn<double>("ropeBase");
    QTest::newRow("GPT-2") << QStringLiteral(R"({"model_type":"gpt2","n_embd":768,"n_layer":12,"n_head":12})")
                           << QStringLiteral("gpt2") << 12 << 12 << 64 << 0.0;
    QTest::newRow("class name only")
        << QStringLiteral(
               R"({"architectures":["Qwen2ForCausalLM"],"hidden_size":896,"num_attention_heads":14,"num_key_value_heads":2})")
        << QStringLiteral("qwen2") << 14 << 2 << 64 << 0.0;
    QTest::newRow("head_dim of its own")
        << QStringLiteral(
               R"({"model_type":"qwen3","hidden_size":1024,"num_attention_heads":16,"head_dim":128})")
        << QStringLiteral("qwen3") << 16 << 16 << 128 << 0.0;
    QTest::newRow("text_config")
        << QStringLiteral(
               R"({"model_type":"gemma3","text_config":{"model_type":"gemma3_text","hidden_size":1152,"num_attention_heads":4,"num_key_value_heads":1,"head_dim":256}})")
        << QStringLiteral("gemma3") << 4 << 1 << 256 << 0.0;
    QTest::newRow("rope_parameters")
        << QStringLiteral(
               R"({"model_type":"llama","hidden_size":64,"num_attention_heads":8,"rope_parameters":{"rope_theta":500000.0}})")
        << QStringLiteral("llama") << 8 << 8 << 8 << 500000.0;
    QTest::newRow("rope per layer type")
        << QStringLiteral(
               R"({"model_type":"x","hidden_size":64,"num_attention_heads":8,"rope_parameters":{"full_attention":{"rope_theta":1e6},"sliding_attention":{"rope_theta":1e4}}})")
        << QStringLiteral("x") << 8 << 8 << 8 << 1e6;
    QTest::newRow("counts as floats")
        << QStringLiteral(R"({"model_type":"llama","hidden_size":64.0,"num_attention_heads":8.0})")
        << QStringLiteral("llama") << 8 << 8 << 8 << 0.0;
}

void TestConfig::olderAndNewerFields()
{
    QFETCH(QString, json);
    const auto c = configFromJson(json.toStdString()).config;
    QTEST(QString::fromStdString(c.architecture), "architecture");
    QTEST(static_cast<int>(c.heads), "heads");
    QTEST(static_cast<int>(c.kvHeads), "kvHeads");
    QTEST(static_cast<int>(c.headDim), "headDim");
    QTEST(c.ropeBase, "ropeBase");
}

void TestConfig::hostileTextIsNoted_data()
{
    QTest::addColumn<QByteArray>("text");
    QTest::newRow("empty") << QByteArray();
    QTest::newRow("cut") << QByteArray("{\"hidden_size\":");
    QTest::newRow("list") << QByteArray("[{}]");
    QTest::newRow("number") << QByteArray("7");
    QTest::newRow("zero bytes") << QByteArray(64, '\0');
    QTest::newRow("bad UTF-8") << QByteArray("{\"a\":\"\xff\xfe\"}");
    QTest::newRow("deep") << QByteArray(20000, '[');
}

void TestConfig::hostileTextIsNoted()
{
    QFETCH(QByteArray, text);
    const auto reading = configFromJson(text.toStdString());
    QCOMPARE(reading.config.hidden, 0);
    QVERIFY(!reading.notes.empty());
}

void TestConfig::hostileValuesStayUnknown()
{
    const auto reading = configFromJson(
        R"({"model_type":7,"architectures":[3],"hidden_size":-64,"num_hidden_layers":1e300,"vocab_size":1.5,)"
        R"("num_attention_heads":"8","head_dim":{},"rope_theta":-1,"rms_norm_eps":null,"rope_parameters":[1],)"
        R"("tie_word_embeddings":"yes","text_config":[]})");
    const auto& c = reading.config;
    QVERIFY(c.architecture.empty());
    QCOMPARE(c.hidden, 0);
    QCOMPARE(c.layers, 0);
    QCOMPARE(c.vocab, 0);
    QCOMPARE(c.heads, 0);
    QCOMPARE(c.headDim, 0);
    QCOMPARE(c.ropeBase, 0.0);
    QCOMPARE(c.normEps, 0.0);
    QVERIFY(!reading.tieFlag.has_value());
}

QTEST_GUILESS_MAIN(TestConfig)
#include "tst_config.moc"
