// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/verify.h"
#include "tests/core/session/quantize_support.h"
#include "tests/support/main.h"
#include "tests/support/temp_dir.h"

#include <cmath>
#include <cstring>

using namespace halftone;
using test::FixtureKind;

class TestVerify : public QObject {
    Q_OBJECT
    test::TempDir m_dir;
    std::filesystem::path m_source, m_gguf, m_packed;

    Result<VerifyReport> verify(const std::filesystem::path& written, const std::filesystem::path& source,
                                std::shared_ptr<MemoryResults> results = nullptr) const
    {
        HALFTONE_TRY(a, openModel(written));
        HALFTONE_TRY(b, openModel(source));
        VerifyReport report;
        const auto status = test::runAsJob(results, [&](JobContext& ctx) -> Status {
            HALFTONE_TRY(made, verifyCheckpoint(*a, *b, {}, ctx));
            report = std::move(made);
            return Ok{};
        });
        if (!status) return status.error();
        return report;
    }

    // A copy of a written file in which the payload of one tensor was changed.
    std::filesystem::path damaged(const std::filesystem::path& file, const std::string& tensor,
                                  const std::function<void(std::string&)>& change) const
    {
        std::string bytes = test::fileText(file);
        if (auto opened = Checkpoint::open(file)) {
            const TensorInfo* info = (*opened)->find(tensor);
            if (info == nullptr) return {};
            std::string part = bytes.substr(info->fileOffset, info->bytes);
            change(part);
            bytes.replace(info->fileOffset, info->bytes, part);
        }
        const auto path = m_dir / ("damaged" + file.extension().string());
        std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
        return path;
    }

private Q_SLOTS:
    void initTestCase();
    void soundFilesPass_data();
    void soundFilesPass();
    void plantedFaultsAreFound_data();
    void plantedFaultsAreFound();
    void missingAndExtraAreCounted();
    void tiesAreTold();
    void expertsAreComparedAcrossStacks();
    void forgottenPermutationIsNamed();
};

void TestVerify::initTestCase()
{
    const auto fixture = test::makeFixture(FixtureKind::Tiny256);
    m_source = test::writeModel(fixture, m_dir / "source");
    m_gguf = m_dir / "sound.gguf";
    m_packed = m_dir / "sound.safetensors";
    for (const auto& [path, format] : {std::pair{m_gguf, "q4_0"}, {m_packed, "int4a.g64.f16"}}) {
        auto request = test::makeRequest(m_source, path, {{"format", format}});
        HALFTONE_VERIFY(request);
        HALFTONE_VERIFY(test::run(*request));
    }
}

void TestVerify::soundFilesPass_data()
{
    QTest::addColumn<QString>("written");
    QTest::addColumn<QString>("source");
    const auto row = [](const char* name, const std::filesystem::path& a, const std::filesystem::path& b) {
        QTest::newRow(name) << QString::fromStdString(a.string()) << QString::fromStdString(b.string());
    };
    const auto twin = test::writeGguf(test::makeFixture(FixtureKind::Tiny256), m_dir / "twin.gguf");
    const auto sharded = test::writeSharded(test::makeFixture(FixtureKind::Tiny256), m_dir / "sharded", 3);
    row("GGUF against safetensors", m_gguf, m_source);
    row("packed against safetensors", m_packed, m_source);
    row("packed against shards", m_packed, sharded);
    row("packed against a GGUF", m_packed, twin);
    row("GGUF against a GGUF", m_gguf, twin);
    row("twin against safetensors", twin, m_source);
    row("safetensors against twin", m_source, twin);
}

void TestVerify::soundFilesPass()
{
    QFETCH(QString, written);
    QFETCH(QString, source);
    auto results = MemoryResults::make({});
    const auto report = verify(written.toStdString(), source.toStdString(), results);
    HALFTONE_VERIFY(report);
    QVERIFY2(report->passed(), report->findings.empty() ? "" : report->findings.front().c_str());
    QCOMPARE(report->compared, 21);
    QCOMPARE(report->extra, 0);
    QCOMPARE(results->rows("verify"), 21);
    const bool exact = written.contains(QStringLiteral("twin")) || source.contains(QStringLiteral("twin"))
                           ? !written.contains(QStringLiteral("sound"))
                           : false;
    if (exact)
        QVERIFY(std::isinf(report->worstSqnr));
    else
        QVERIFY(report->worstSqnr > 15 && report->worstSqnr < 30);
}

void TestVerify::plantedFaultsAreFound_data()
{
    QTest::addColumn<bool>("gguf");
    QTest::addColumn<QString>("tensor");
    QTest::addColumn<int>("fault");
    QTest::addColumn<QString>("text");
    const auto row = [](const char* name, bool gguf, const char* tensor, int fault, const char* text) {
        QTest::newRow(name) << gguf << QString::fromLatin1(tensor) << fault << QString::fromLatin1(text);
    };
    row("zeroed blocks", true, "blk.0.ffn_up.weight", 0, "blk.0.ffn_up.weight: all codes are the same");
    row("zeroed plain tensor", true, "output.weight", 0, "output.weight: was to be kept as BF16");
    row("NaN scale", true, "blk.1.attn_v.weight", 1, "1 row 0, column 0");
    row("constant codes", false, "model.layers.0.mlp.gate_proj.weight_packed", 2, "all codes are the same");
    row("other codes", false, "model.layers.0.mlp.gate_proj.weight_packed", 3,
        "look like another tensor's values");
    row("one bit of a kept tensor", false, "model.norm.weight", 4,
        "was to be kept as BF16, but differs from row 0");
}

void TestVerify::plantedFaultsAreFound()
{
    QFETCH(bool, gguf);
    QFETCH(QString, tensor);
    QFETCH(int, fault);
    QFETCH(QString, text);
    const auto path = damaged(gguf ? m_gguf : m_packed, tensor.toStdString(), [&](std::string& bytes) {
        if (fault == 0) std::fill(bytes.begin(), bytes.end(), '\0');
        if (fault == 1) bytes.replace(0, 2, std::string("\x00\x7e", 2)); // an F16 NaN as the first scale
        if (fault == 2) std::fill(bytes.begin(), bytes.end(), '\x33');
        if (fault == 3)
            for (std::size_t i = 0; i < bytes.size(); ++i)
                bytes[i] = static_cast<char>((i * 2654435761u) >> 13);
        if (fault == 4) bytes[0] = static_cast<char>(bytes[0] ^ 1);
    });
    const auto report = verify(path, m_source);
    HALFTONE_VERIFY(report);
    QVERIFY(!report->passed());
    QCOMPARE(report->failed, 1);
    QCOMPARE(report->findings.size(), std::size_t{1});
    const std::string expected = fault == 1 ? "NaN or Inf" : text.toStdString();
    QVERIFY2(report->findings[0].find(expected) != std::string::npos, report->findings[0].c_str());
    if (fault == 1) QVERIFY(report->findings[0].find("row 0, column 0") != std::string::npos);
}

void TestVerify::missingAndExtraAreCounted()
{
    auto fixture = test::makeFixture(FixtureKind::Tiny256);
    std::erase_if(fixture.tensors,
                  [](const auto& t) { return t.name == "model.layers.1.mlp.up_proj.weight"; });
    fixture.tensors.push_back({"model.extra.weight", Shape{2, 2}, DType::BF16, test::Bytes(8)});
    const auto written = test::writeModel(fixture, m_dir / "missing");
    const auto report = verify(written, m_source);
    HALFTONE_VERIFY(report);
    QVERIFY(!report->passed());
    QCOMPARE(report->missing, 1);
    QCOMPARE(report->extra, 1);
    QCOMPARE(report->failed, 0);
    // Two tensors of one shape that were exchanged.
    auto swapped = test::makeFixture(FixtureKind::Tiny256);
    for (auto& tensor : swapped.tensors)
        if (tensor.name == "model.layers.0.mlp.up_proj.weight")
            tensor.bytes =
                test::makeFixture(FixtureKind::Tiny256).tensor("model.layers.0.mlp.gate_proj.weight").bytes;
    const auto exchanged = verify(test::writeModel(swapped, m_dir / "swapped"), m_source);
    HALFTONE_VERIFY(exchanged);
    QCOMPARE(exchanged->failed, 1);
    QCOMPARE(exchanged->worst, std::string("model.layers.0.mlp.up_proj.weight"));
}

void TestVerify::tiesAreTold()
{
    const auto tied = test::writeModel(test::makeFixture(FixtureKind::Tied), m_dir / "tied");
    auto request = test::makeRequest(tied, m_dir / "untied",
                                     {{"untie", "true"}, {"head", "quantize"}, {"format", "int8.g32.f16"}});
    HALFTONE_VERIFY(request);
    HALFTONE_VERIFY(test::run(*request));
    const auto report = verify(m_dir / "untied", tied);
    HALFTONE_VERIFY(report);
    QVERIFY2(report->passed(), report->findings.back().c_str());
    QCOMPARE(report->compared, 21);
    QVERIFY(report->findings.front().find("has a tensor of its own now") != std::string::npos);
    // The other way round a head is lost.
    const auto lost = verify(tied, m_dir / "untied");
    HALFTONE_VERIFY(lost);
    QCOMPARE(lost->missing, 1);
}

void TestVerify::expertsAreComparedAcrossStacks()
{
    const auto fixture = test::makeFixture(FixtureKind::Moe);
    const auto single = test::writeModel(fixture, m_dir / "moe");
    const auto stacked = test::writeGguf(fixture, m_dir / "moe.gguf");
    for (const auto& [a, b] : {std::pair{stacked, single}, {single, stacked}}) {
        const auto report = verify(a, b);
        HALFTONE_VERIFY(report);
        QVERIFY2(report->passed(), report->findings.empty() ? "" : report->findings.front().c_str());
        QCOMPARE(report->compared, 41);
        QCOMPARE(report->extra, 0);
    }
}

void TestVerify::forgottenPermutationIsNamed()
{
    // A GGUF whose Q and K were not permuted: shapes fit, most rows don't.
    auto fixture = test::makeFixture(FixtureKind::Tiny256);
    const auto twin = test::ggufTwin(fixture);
    test::GgufBuilder builder;
    builder.text("general.architecture", "llama");
    builder.u32("llama.attention.head_count", 8)
        .u32("llama.attention.head_count_kv", 4)
        .u32("llama.block_count", 2);
    builder.u32("llama.embedding_length", 256);
    for (const auto& tensor : twin.tensors) {
        test::Bytes bytes = tensor.bytes;
        if (tensor.name == "blk.0.attn_q.weight")
            bytes = fixture.tensor("model.layers.0.self_attn.q_proj.weight").bytes;
        std::vector<std::uint64_t> dims;
        for (int axis = tensor.shape.rank(); axis-- > 0;)
            dims.push_back(static_cast<std::uint64_t>(tensor.shape[axis]));
        builder.tensor(tensor.name, dims, tensor.dtype == DType::F32 ? 0 : 30, bytes);
    }
    test::writeBytes(m_dir / "forgotten.gguf", builder.finish());
    const auto report = verify(m_dir / "forgotten.gguf", m_source);
    HALFTONE_VERIFY(report);
    QCOMPARE(report->failed, 1);
    QVERIFY2(report->findings[0].find("other rotary order") != std::string::npos,
             report->findings[0].c_str());
}

QTEST_GUILESS_MAIN(TestVerify)
#include "tst_verify.moc"
