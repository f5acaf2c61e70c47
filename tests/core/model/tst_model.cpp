// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/model.h"
#include "tests/support/fixtures.h"
#include "tests/support/main.h"
#include "tests/support/temp_dir.h"

using namespace halftone;
using test::FixtureKind;

namespace {

Result<std::shared_ptr<const Model>> open(const std::filesystem::path& path)
{
    HALFTONE_TRY(checkpoint, Checkpoint::open(path));
    HALFTONE_TRY(weights, WeightSet::of(checkpoint));
    return Model::read(weights);
}

void setConfig(const std::filesystem::path& weights, std::string_view text)
{
    test::writeBytes(weights.parent_path() / "config.json",
                     std::as_bytes(std::span(text.data(), text.size())));
}

} // namespace

class TestModel : public QObject {
    Q_OBJECT
    test::TempDir m_dir;

private Q_SLOTS:
    void sameIdsInBothContainers();
    void configOfBothContainers();
    void shapesStandInForAMissingConfig();
    void ties_data();
    void ties();
    void gemmaNormsAreToldApart();
    void onlyGpt2StoresTransposed();
    void idsAreUnique();
    void expertStacksAreLinear();
    void unknownNamesArePlainTensors();
};

void TestModel::sameIdsInBothContainers()
{
    const auto fixture = test::makeFixture(FixtureKind::Tiny);
    const auto hf = open(test::writeModel(fixture, m_dir / "hf"));
    const auto sharded = open(test::writeSharded(fixture, m_dir / "sharded", 3));
    const auto gguf = open(test::writeGguf(fixture, m_dir / "twin.gguf"));
    HALFTONE_VERIFY(hf);
    HALFTONE_VERIFY(sharded);
    HALFTONE_VERIFY(gguf);
    QCOMPARE((*hf)->roles().size(), std::size_t{21});
    QCOMPARE((*hf)->weightCount(), 156480);
    for (const auto& role : (*hf)->roles())
        for (const auto* other : {sharded->get(), gguf->get()}) {
            const WeightRole* same = other->byId(role.id);
            QVERIFY2(same != nullptr, role.id.c_str());
            QCOMPARE(same->role, role.role);
            QCOMPARE(same->linear, role.linear);
            QVERIFY(other->weights()->all()[same->weight].shape ==
                    (*hf)->weights()->all()[role.weight].shape);
        }
    QCOMPARE((*hf)->byId("nothing"), nullptr);
    QCOMPARE((*hf)->summary(), std::string("llama, 2 layers, 156 k weights, 313 kB, 16.0 bits per weight"));
}

void TestModel::configOfBothContainers()
{
    const auto fixture = test::makeFixture(FixtureKind::Tiny256);
    const auto hf = open(test::writeModel(fixture, m_dir / "hf256"));
    const auto gguf = open(test::writeGguf(fixture, m_dir / "twin256.gguf"));
    HALFTONE_VERIFY(hf);
    HALFTONE_VERIFY(gguf);
    for (const auto* model : {hf->get(), gguf->get()}) {
        const auto& c = model->config();
        QCOMPARE(c.architecture, std::string("llama"));
        QCOMPARE(c.layers, 2);
        QCOMPARE(c.hidden, 256);
        QCOMPARE(c.heads, 8);
        QCOMPARE(c.kvHeads, 4);
        QCOMPARE(c.headDim, 32);
        QCOMPARE(c.ffn, 512);
        QCOMPARE(c.vocab, 512);
        QVERIFY(!c.tiedHead);
    }
}

void TestModel::shapesStandInForAMissingConfig()
{
    const auto path = test::writeModel(test::makeFixture(FixtureKind::Tiny), m_dir / "bare");
    std::filesystem::remove(path.parent_path() / "config.json");
    const auto model = open(path);
    HALFTONE_VERIFY(model);
    const auto& c = (*model)->config();
    QVERIFY(c.architecture.empty());
    QCOMPARE(c.layers, 2);
    QCOMPARE(c.hidden, 64);
    QCOMPARE(c.vocab, 512);
    QCOMPARE(c.ffn, 172);
    QVERIFY((*model)->summary().starts_with("unknown architecture, 2 layers"));
}

void TestModel::ties_data()
{
    QTest::addColumn<bool>("head");
    QTest::addColumn<QString>("flag"); // as in config.json, empty: none
    QTest::addColumn<bool>("tied");
    QTest::addColumn<int>("notes");
    QTest::newRow("head stored, silent") << true << QString() << false << 0;
    QTest::newRow("head stored, untied") << true << QStringLiteral("false") << false << 0;
    QTest::newRow("head stored, tied") << true << QStringLiteral("true") << true << 1;
    QTest::newRow("no head, silent") << false << QString() << true << 0;
    QTest::newRow("no head, tied") << false << QStringLiteral("true") << true << 0;
    QTest::newRow("no head, untied") << false << QStringLiteral("false") << true << 1;
}

void TestModel::ties()
{
    QFETCH(bool, head);
    QFETCH(QString, flag);
    const test::TempDir dir;
    const auto path =
        test::writeModel(test::makeFixture(head ? FixtureKind::Tiny : FixtureKind::Tied), dir / "m");
    setConfig(path, flag.isEmpty()
                        ? R"({"model_type":"llama"})"
                        : R"({"model_type":"llama","tie_word_embeddings":)" + flag.toStdString() + "}");
    const auto model = open(path);
    HALFTONE_VERIFY(model);
    QTEST((*model)->config().tiedHead, "tied");
    QTEST(static_cast<int>((*model)->notes().size()), "notes");
}

void TestModel::gemmaNormsAreToldApart()
{
    std::vector<test::FixtureTensor> tensors;
    for (const char* name : {"input_layernorm", "post_attention_layernorm", "pre_feedforward_layernorm",
                             "post_feedforward_layernorm"})
        tensors.push_back(
            {std::string("model.layers.0.") + name + ".weight", Shape{4}, DType::BF16, test::Bytes(8)});
    test::writeBytes(m_dir / "gemma.safetensors", test::safetensorsBytes(tensors));
    const auto model = open(m_dir / "gemma.safetensors");
    HALFTONE_VERIFY(model);
    const auto nameOfId = [&](const char* id) {
        const auto* role = (*model)->byId(id);
        return role == nullptr ? std::string() : (*model)->weights()->all()[role->weight].name;
    };
    QCOMPARE(nameOfId("layers.0.attn_norm"), std::string("model.layers.0.input_layernorm.weight"));
    QCOMPARE(nameOfId("layers.0.post_attn_norm"),
             std::string("model.layers.0.post_attention_layernorm.weight"));
    QCOMPARE(nameOfId("layers.0.ffn_norm"), std::string("model.layers.0.pre_feedforward_layernorm.weight"));
    QCOMPARE(nameOfId("layers.0.post_ffn_norm"),
             std::string("model.layers.0.post_feedforward_layernorm.weight"));
}

void TestModel::onlyGpt2StoresTransposed()
{
    for (const auto& [type, transposed] : {std::pair{"gpt2", true}, {"gpt_bigcode", false}}) {
        const test::TempDir dir;
        const std::vector<test::FixtureTensor> tensors{
            {"transformer.h.0.attn.c_attn.weight", Shape{4, 12}, DType::BF16, test::Bytes(96)},
            {"transformer.h.0.mlp.c_fc.weight", Shape{4, 16}, DType::BF16, test::Bytes(128)}};
        std::filesystem::create_directories(dir / "m");
        test::writeBytes(dir / "m/model.safetensors", test::safetensorsBytes(tensors));
        setConfig(dir / "m/model.safetensors", std::string(R"({"model_type":")") + type + "\"}");
        const auto model = open(dir / "m");
        HALFTONE_VERIFY(model);
        QCOMPARE((*model)->byId("layers.0.attn.qkv")->transposed, transposed);
        QCOMPARE((*model)->config().ffn, transposed ? 16 : 4);
    }
}

void TestModel::idsAreUnique()
{
    // Two names of one place, and a tensor that is called like an id.
    const std::vector<test::FixtureTensor> tensors{
        {"layers.0.mlp.up_proj.weight", Shape{2, 2}, DType::BF16, test::Bytes(8)},
        {"model.layers.0.mlp.up_proj.weight", Shape{2, 2}, DType::BF16, test::Bytes(8)},
        {"embed", Shape{2}, DType::BF16, test::Bytes(4)},
        {"model.embed_tokens.weight", Shape{2, 2}, DType::BF16, test::Bytes(8)}};
    test::writeBytes(m_dir / "twice.safetensors", test::safetensorsBytes(tensors));
    const auto model = open(m_dir / "twice.safetensors");
    HALFTONE_VERIFY(model);
    for (const auto& role : (*model)->roles())
        QCOMPARE((*model)->byId(role.id), &role);
}

void TestModel::expertStacksAreLinear()
{
    const auto fixture = test::makeFixture(FixtureKind::Moe);
    const auto single = open(test::writeModel(fixture, m_dir / "moe"));
    const auto stacked = open(test::writeGguf(fixture, m_dir / "moe.gguf"));
    HALFTONE_VERIFY(single);
    HALFTONE_VERIFY(stacked);
    QCOMPARE((*single)->config().experts, 4);
    QVERIFY((*single)->byId("layers.1.ffn.experts.3.down") != nullptr);
    QVERIFY((*single)->byId("layers.1.ffn.experts.3.down")->linear);
    QVERIFY(!(*single)->byId("layers.1.ffn.router")->linear);
    const auto* stack = (*stacked)->byId("layers.1.ffn.experts.down");
    QVERIFY(stack != nullptr);
    QVERIFY(stack->linear);
    QCOMPARE(stack->roleClass, RoleClass::Expert);
}

void TestModel::unknownNamesArePlainTensors()
{
    const std::vector<test::FixtureTensor> tensors{
        {"conv", Shape{2, 3, 3}, DType::F32, test::Bytes(72)},
        {"dense/kernel:0", Shape{2, 2}, DType::F32, test::Bytes(16)}};
    test::writeBytes(m_dir / "unknown.safetensors", test::safetensorsBytes(tensors));
    const auto model = open(m_dir / "unknown.safetensors");
    HALFTONE_VERIFY(model);
    QCOMPARE((*model)->config().layers, 0);
    QVERIFY(!(*model)->config().tiedHead);
    for (const auto& role : (*model)->roles()) {
        QCOMPARE(role.role, Role::Other);
        QVERIFY(!role.linear);
    }
    QCOMPARE((*model)->summary(),
             std::string("unknown architecture, 2 tensors, 22 weights, 88 B, 32.0 bits per weight"));
}

QTEST_GUILESS_MAIN(TestModel)
#include "tst_model.moc"
