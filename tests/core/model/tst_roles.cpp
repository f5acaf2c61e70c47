// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/model.h"
#include "core/model/names.h"
#include "tests/support/main.h"

#include <string>

using namespace halftone;

class TestRoles : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void names_data();
    void names();
    void sameIdInBothNamings_data();
    void sameIdInBothNamings();
    void unknownNamesStayThemselves_data();
    void unknownNamesStayThemselves();
    void idsGiveNamesBack_data();
    void idsGiveNamesBack();
    void idsWithoutAName();
};

namespace {

void row(const char* name, const char* id, Role role, RoleClass roleClass, int layer, bool linear,
         const char* fused = "", bool transposed = false, int expert = -1)
{
    QTest::newRow(name) << QString::fromLatin1(name) << QString::fromLatin1(id) << static_cast<int>(role)
                        << static_cast<int>(roleClass) << layer << linear << QString::fromLatin1(fused)
                        << transposed << expert;
}

} // namespace

void TestRoles::names_data()
{
    QTest::addColumn<QString>("name");
    QTest::addColumn<QString>("id");
    QTest::addColumn<int>("role");
    QTest::addColumn<int>("roleClass");
    QTest::addColumn<int>("layer");
    QTest::addColumn<bool>("linear");
    QTest::addColumn<QString>("fused");
    QTest::addColumn<bool>("transposed");
    QTest::addColumn<int>("expert");
    using R = Role;
    using C = RoleClass;
    // Llama, Qwen, Mistral.
    row("model.embed_tokens.weight", "embed", R::Embedding, C::Embedding, -1, false);
    row("lm_head.weight", "head", R::Head, C::Embedding, -1, false);
    row("model.norm.weight", "final_norm", R::Norm, C::Norm, -1, false);
    row("model.layers.3.self_attn.q_proj.weight", "layers.3.attn.q", R::AttnQ, C::Attention, 3, true,
        "layers.3.qkv");
    row("model.layers.3.self_attn.k_proj.bias", "layers.3.attn.k.bias", R::AttnK, C::Attention, 3, false);
    row("model.layers.11.self_attn.v_proj.weight", "layers.11.attn.v", R::AttnV, C::Attention, 11, true,
        "layers.11.qkv");
    row("model.layers.0.self_attn.o_proj.weight", "layers.0.attn.o", R::AttnO, C::Attention, 0, true);
    row("model.layers.0.self_attn.q_norm.weight", "layers.0.attn.q_norm", R::Norm, C::Norm, 0, false);
    row("model.layers.0.input_layernorm.weight", "layers.0.attn_norm", R::Norm, C::Norm, 0, false);
    row("model.layers.0.post_attention_layernorm.weight", "layers.0.ffn_norm", R::Norm, C::Norm, 0, false);
    row("model.layers.7.mlp.gate_proj.weight", "layers.7.ffn.gate", R::FfnGate, C::Ffn, 7, true,
        "layers.7.gate_up");
    row("model.layers.7.mlp.up_proj.weight", "layers.7.ffn.up", R::FfnUp, C::Ffn, 7, true,
        "layers.7.gate_up");
    row("model.layers.7.mlp.down_proj.weight", "layers.7.ffn.down", R::FfnDown, C::Ffn, 7, true);
    row("model.layers.1.mlp.gate_up_proj.weight", "layers.1.ffn.gate_up", R::FfnGateUp, C::Ffn, 1, true);
    row("model.layers.1.self_attn.qkv_proj.weight", "layers.1.attn.qkv", R::AttnQkv, C::Attention, 1, true);
    // Prefixes: a base model without one, a multimodal model with two.
    row("layers.3.self_attn.q_proj.weight", "layers.3.attn.q", R::AttnQ, C::Attention, 3, true,
        "layers.3.qkv");
    row("language_model.model.layers.3.mlp.up_proj.weight", "layers.3.ffn.up", R::FfnUp, C::Ffn, 3, true,
        "layers.3.gate_up");
    row("model.language_model.embed_tokens.weight", "embed", R::Embedding, C::Embedding, -1, false);
    // Gemma.
    row("model.layers.0.pre_feedforward_layernorm.weight", "layers.0.ffn_norm", R::Norm, C::Norm, 0, false);
    row("model.layers.0.post_feedforward_layernorm.weight", "layers.0.post_ffn_norm", R::Norm, C::Norm, 0,
        false);
    // Experts.
    row("model.layers.2.block_sparse_moe.gate.weight", "layers.2.ffn.router", R::Router, C::Expert, 2, false);
    row("model.layers.2.block_sparse_moe.experts.5.w1.weight", "layers.2.ffn.experts.5.gate", R::FfnGate,
        C::Expert, 2, true, "layers.2.ffn.experts.5.gate_up", false, 5);
    row("model.layers.2.block_sparse_moe.experts.5.w3.weight", "layers.2.ffn.experts.5.up", R::FfnUp,
        C::Expert, 2, true, "layers.2.ffn.experts.5.gate_up", false, 5);
    row("model.layers.2.block_sparse_moe.experts.5.w2.weight", "layers.2.ffn.experts.5.down", R::FfnDown,
        C::Expert, 2, true, "", false, 5);
    row("model.layers.3.mlp.gate.weight", "layers.3.ffn.router", R::Router, C::Expert, 3, false);
    row("model.layers.3.mlp.experts.2.up_proj.weight", "layers.3.ffn.experts.2.up", R::FfnUp, C::Expert, 3,
        true, "layers.3.ffn.experts.2.gate_up", false, 2);
    row("model.layers.3.mlp.shared_expert.down_proj.weight", "layers.3.ffn.shared.down", R::FfnDown,
        C::Expert, 3, true);
    row("model.layers.3.mlp.shared_expert_gate.weight", "layers.3.ffn.shared_router", R::Router, C::Expert, 3,
        false);
    // GPT-2, with and without its prefix.
    row("transformer.wte.weight", "embed", R::Embedding, C::Embedding, -1, false);
    row("wpe.weight", "position", R::Position, C::Embedding, -1, false);
    row("h.5.ln_1.bias", "layers.5.attn_norm.bias", R::Norm, C::Norm, 5, false);
    row("transformer.h.5.attn.c_attn.weight", "layers.5.attn.qkv", R::AttnQkv, C::Attention, 5, true, "",
        true);
    row("h.5.attn.c_proj.weight", "layers.5.attn.o", R::AttnO, C::Attention, 5, true, "", true);
    row("h.5.mlp.c_fc.weight", "layers.5.ffn.up", R::FfnUp, C::Ffn, 5, true, "layers.5.gate_up", true);
    row("h.5.mlp.c_proj.bias", "layers.5.ffn.down.bias", R::FfnDown, C::Ffn, 5, false);
    row("transformer.ln_f.weight", "final_norm", R::Norm, C::Norm, -1, false);
    // BERT.
    row("bert.embeddings.word_embeddings.weight", "embed", R::Embedding, C::Embedding, -1, false);
    row("embeddings.token_type_embeddings.weight", "token_type", R::TokenType, C::Embedding, -1, false);
    row("embeddings.position_embeddings.weight", "position", R::Position, C::Embedding, -1, false);
    row("embeddings.LayerNorm.gamma", "embed_norm", R::Norm, C::Norm, -1, false);
    row("embeddings.LayerNorm.beta", "embed_norm.bias", R::Norm, C::Norm, -1, false);
    row("encoder.layer.4.attention.self.query.weight", "layers.4.attn.q", R::AttnQ, C::Attention, 4, true,
        "layers.4.qkv");
    row("bert.encoder.layer.4.attention.output.dense.weight", "layers.4.attn.o", R::AttnO, C::Attention, 4,
        true);
    row("encoder.layer.4.attention.output.LayerNorm.weight", "layers.4.attn_out_norm", R::Norm, C::Norm, 4,
        false);
    row("encoder.layer.4.intermediate.dense.weight", "layers.4.ffn.up", R::FfnUp, C::Ffn, 4, true,
        "layers.4.gate_up");
    row("encoder.layer.4.output.dense.weight", "layers.4.ffn.down", R::FfnDown, C::Ffn, 4, true);
    row("encoder.layer.4.output.LayerNorm.bias", "layers.4.ffn_out_norm.bias", R::Norm, C::Norm, 4, false);
    row("pooler.dense.weight", "pooler", R::Pooler, C::Other, -1, false);
    // GGUF.
    row("token_embd.weight", "embed", R::Embedding, C::Embedding, -1, false);
    row("output.weight", "head", R::Head, C::Embedding, -1, false);
    row("output_norm.weight", "final_norm", R::Norm, C::Norm, -1, false);
    row("rope_freqs.weight", "rope_factors", R::RopeFactors, C::Other, -1, false);
    row("blk.3.attn_q.weight", "layers.3.attn.q", R::AttnQ, C::Attention, 3, true, "layers.3.qkv");
    row("blk.3.attn_qkv.weight", "layers.3.attn.qkv", R::AttnQkv, C::Attention, 3, true);
    row("blk.3.ffn_down.weight", "layers.3.ffn.down", R::FfnDown, C::Ffn, 3, true);
    row("blk.3.ffn_gate_inp.weight", "layers.3.ffn.router", R::Router, C::Expert, 3, false);
    row("blk.3.ffn_gate_exps.weight", "layers.3.ffn.experts.gate", R::FfnGate, C::Expert, 3, true,
        "layers.3.ffn.experts.gate_up");
    row("blk.3.ffn_up.2.weight", "layers.3.ffn.experts.2.up", R::FfnUp, C::Expert, 3, true,
        "layers.3.ffn.experts.2.gate_up", false, 2);
    row("blk.3.post_ffw_norm.weight", "layers.3.post_ffn_norm", R::Norm, C::Norm, 3, false);
    row("blk.3.attn_k.bias", "layers.3.attn.k.bias", R::AttnK, C::Attention, 3, false);
}

void TestRoles::names()
{
    QFETCH(QString, name);
    const WeightRole role = roleOfName(name.toStdString());
    QTEST(QString::fromStdString(role.id), "id");
    QTEST(static_cast<int>(role.role), "role");
    QTEST(static_cast<int>(role.roleClass), "roleClass");
    QTEST(role.layer, "layer");
    QTEST(role.linear, "linear");
    QTEST(QString::fromStdString(role.fusedGroup), "fused");
    QTEST(role.transposed, "transposed");
    QTEST(role.expert, "expert");
    QCOMPARE(role.bias, name.endsWith(QStringLiteral(".bias")) || name.endsWith(QStringLiteral(".beta")));
}

void TestRoles::sameIdInBothNamings_data()
{
    QTest::addColumn<QString>("hf");
    QTest::addColumn<QString>("gguf");
    const auto pair = [](const char* hf, const char* gguf) {
        QTest::newRow(gguf) << QString::fromLatin1(hf) << QString::fromLatin1(gguf);
    };
    pair("model.embed_tokens.weight", "token_embd.weight");
    pair("lm_head.weight", "output.weight");
    pair("model.norm.weight", "output_norm.weight");
    pair("model.layers.2.input_layernorm.weight", "blk.2.attn_norm.weight");
    pair("model.layers.2.self_attn.q_proj.weight", "blk.2.attn_q.weight");
    pair("model.layers.2.self_attn.k_proj.bias", "blk.2.attn_k.bias");
    pair("model.layers.2.self_attn.v_proj.weight", "blk.2.attn_v.weight");
    pair("model.layers.2.self_attn.o_proj.weight", "blk.2.attn_output.weight");
    pair("model.layers.2.self_attn.q_norm.weight", "blk.2.attn_q_norm.weight");
    pair("model.layers.2.post_attention_layernorm.weight", "blk.2.ffn_norm.weight");
    pair("model.layers.2.mlp.gate_proj.weight", "blk.2.ffn_gate.weight");
    pair("model.layers.2.mlp.up_proj.weight", "blk.2.ffn_up.weight");
    pair("model.layers.2.mlp.down_proj.weight", "blk.2.ffn_down.weight");
    pair("model.layers.2.mlp.experts.7.up_proj.weight", "blk.2.ffn_up.7.weight");
    pair("bert.encoder.layer.2.attention.output.LayerNorm.weight", "blk.2.attn_output_norm.weight");
    pair("embeddings.token_type_embeddings.weight", "token_types.weight");
    pair("transformer.wpe.weight", "position_embd.weight");
}

void TestRoles::sameIdInBothNamings()
{
    QFETCH(QString, hf);
    QFETCH(QString, gguf);
    const auto a = roleOfName(hf.toStdString());
    const auto b = roleOfName(gguf.toStdString());
    QCOMPARE(QString::fromStdString(a.id), QString::fromStdString(b.id));
    QCOMPARE(a.role, b.role);
    QCOMPARE(a.fusedGroup, b.fusedGroup);
}

void TestRoles::unknownNamesStayThemselves_data()
{
    QTest::addColumn<QString>("name");
    for (const char* name : {"",
                             ".",
                             "weight",
                             "x",
                             "w",
                             "conv1.weight",
                             "model.layers.weight",
                             "model.layers.3.weight",
                             "model.layers.x.self_attn.q_proj.weight",
                             "model.layers.-1.self_attn.q_proj.weight",
                             "model.layers.03.self_attn.q_proj.weight",
                             "model.layers.99999999999.self_attn.q_proj.weight",
                             "blk.3",
                             "blk..attn_q.weight",
                             "blk.3.attn_q",
                             "blk.3.unknown.weight",
                             "model.layers.3.mlp.experts.x.up_proj.weight",
                             "model.layers.3.mlp.experts.2.up_proj",
                             "h.0.attn.bias",
                             "h.0.attn.masked_bias",
                             "embeddings.position_ids",
                             "vision_tower.layers.0.self_attn.q_proj.weight",
                             "model.layers.0.self_attn.rotary_emb.inv_freq"})
        QTest::newRow(*name == '\0' ? "empty" : name) << QString::fromLatin1(name);
}

void TestRoles::unknownNamesStayThemselves()
{
    QFETCH(QString, name);
    const auto role = roleOfName(name.toStdString());
    QCOMPARE(QString::fromStdString(role.id), name);
    QCOMPARE(role.role, Role::Other);
    QCOMPARE(role.roleClass, RoleClass::Other);
    QCOMPARE(role.layer, -1);
    QVERIFY(!role.linear);
    QVERIFY(!role.bias);
}

void TestRoles::idsGiveNamesBack_data()
{
    QTest::addColumn<QString>("hf");
    for (const char* hf :
         {"model.embed_tokens.weight", "lm_head.weight", "model.norm.weight",
          "model.layers.12.self_attn.q_proj.weight", "model.layers.12.self_attn.q_proj.bias",
          "model.layers.12.self_attn.k_norm.weight", "model.layers.12.post_attention_layernorm.weight",
          "model.layers.12.mlp.down_proj.weight", "model.layers.0.mlp.experts.3.gate_proj.weight",
          "model.layers.0.mlp.shared_expert.up_proj.weight"})
        QTest::newRow(hf) << QString::fromLatin1(hf);
}

void TestRoles::idsGiveNamesBack()
{
    QFETCH(QString, hf);
    const auto role = roleOfName(hf.toStdString());
    const auto back = hfNameOfId(role.id);
    QVERIFY(back.has_value());
    QCOMPARE(QString::fromStdString(*back), hf);
    const auto gguf = ggufNameOfId(role.id);
    QVERIFY(gguf.has_value());
    QCOMPARE(QString::fromStdString(roleOfName(*gguf).id), QString::fromStdString(role.id));
}

void TestRoles::idsWithoutAName()
{
    QVERIFY(!ggufNameOfId("nonsense").has_value());
    QVERIFY(!ggufNameOfId("layers.3").has_value());
    QVERIFY(!ggufNameOfId("layers.x.attn.q").has_value());
    QVERIFY(!ggufNameOfId("pooler").has_value());
    QVERIFY(!hfNameOfId("rope_factors").has_value());
    QVERIFY(!hfNameOfId("token_type").has_value());
    QVERIFY(!hfNameOfId("position").has_value());
}

QTEST_GUILESS_MAIN(TestRoles)
#include "tst_roles.moc"
