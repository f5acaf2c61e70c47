// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/numeric/small_float.h"
#include "core/session/verify.h"
#include "tests/core/session/quantize_support.h"
#include "tests/support/main.h"
#include "tests/support/packed_files.h"
#include "tests/support/temp_dir.h"

#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>

#include <algorithm>
#include <cmath>
#include <cstring>

using namespace halftone;
using test::FixtureKind;

namespace {

const std::string kWeight = "model.layers.0.mlp.up_proj.weight";

std::vector<float> valuesOf(const Model& model, std::string_view name)
{
    const auto& weights = *model.weights();
    const WeightInfo* info = weights.find(name);
    if (info == nullptr) return {};
    auto tensor = weights.loadRows(*info, 0, info->shape.rows(), DType::F32, cpuDevice(), {});
    if (!tensor) return {};
    const auto span = std::as_const(*tensor).values<float>();
    return {span.begin(), span.end()};
}

QJsonObject quantizationOf(const std::filesystem::path& folder)
{
    const auto text = test::fileText(folder / "config.json");
    return QJsonDocument::fromJson(QByteArray::fromStdString(text))
        .object()
        .value(QLatin1String("quantization_config"))
        .toObject();
}

Status convert(const std::filesystem::path& from, const std::filesystem::path& to, const std::string& layout)
{
    HALFTONE_TRY(model, openModel(from));
    QuantizeRequest request;
    request.model = model;
    HALFTONE_TRY(params, quantizeSchema().complete({{"layout", layout}}));
    request.params = std::move(params);
    request.output = to;
    return test::runAsJob(nullptr, [&](JobContext& ctx) { return runConvert(request, ctx); });
}

Result<VerifyReport> scan(const std::filesystem::path& file)
{
    HALFTONE_TRY(model, openModel(file));
    VerifyReport report;
    HALFTONE_CHECK(test::runAsJob(MemoryResults::make({}), [&](JobContext& ctx) -> Status {
        HALFTONE_TRY(made, scanCheckpoint(*model, ctx));
        report = made;
        return Ok{};
    }));
    return report;
}

// One weight whose groups of 32 have the zero points 0 to 15 in an asymmetric grid of 4 bits.
std::filesystem::path allZeroPoints(const std::filesystem::path& folder)
{
    std::vector<std::uint16_t> values;
    for (int row = 0; row < 16; ++row)
        for (int i = 0; i < 64; ++i) {
            // From -row to 15 - row in steps of 1: scale 1, zero point `row`.
            const int step = i % 16;
            values.push_back(floatToBfloat(static_cast<float>(step - row)));
        }
    std::filesystem::create_directories(folder);
    test::writeBytes(folder / "model.safetensors",
                     test::safetensorsBytes({test::tensorOfList(kWeight, {16, 64}, DType::BF16, values)}));
    return folder;
}

} // namespace

class TestLayouts : public QObject {
    Q_OBJECT
    test::TempDir m_dir;
    std::filesystem::path m_source;

private Q_SLOTS:
    void initTestCase()
    {
        m_source = test::writeModel(test::makeFixture(FixtureKind::Tiny256), m_dir / "tiny");
    }

    void roundTrip_data()
    {
        QTest::addColumn<QByteArray>("format");
        QTest::addColumn<QByteArray>("layout");
        QTest::addColumn<QByteArray>("packing");
        QTest::addColumn<QByteArray>("method");
        const auto row = [](const char* format, const char* layout, const char* packing, const char* method) {
            QTest::addRow("%s as %s", format, layout)
                << QByteArray(format) << QByteArray(layout) << QByteArray(packing) << QByteArray(method);
        };
        const char* ct = "compressed-tensors";
        row("int4.g32.f16", "auto", "pack-quantized", ct);
        row("int3a.g64.bf16", "pack-quantized", "pack-quantized", ct);
        row("int8.c.f32", "int-quantized", "int-quantized", ct);
        row("int8.t.bf16", "int-quantized", "int-quantized", ct);
        row("int8a.g64.f16", "int-quantized", "int-quantized", ct);
        row("e4m3.c.f32", "auto", "float-quantized", ct);
        row("e4m3.t.bf16", "auto", "float-quantized", ct);
        row("e4m3.g128.f16", "auto", "float-quantized", ct);
        row("mxfp8_e4m3.g32.floor", "auto", "mxfp8-quantized", ct);
        row("mxfp4_e2m1.g32.floor", "auto", "mxfp4-pack-quantized", ct);
        row("mxfp4_e2m1.g32.ct", "auto", "mxfp4-pack-quantized", ct);
        row("nvfp4_e2m1.g16.nearest", "auto", "nvfp4-pack-quantized", ct);
        row("nvfp4_e2m1.g16.up", "auto", "nvfp4-pack-quantized", ct);
        row("int4.g32.f16", "gptq", "gptq", "gptq");
        row("int4a.g128.f16", "gptq-v2", "gptq-v2", "gptq");
        row("int2a.g64.f16", "gptq-v2", "gptq-v2", "gptq");
        row("int3.g32.f16", "gptq", "gptq", "gptq");
        row("int8a.c.f16", "gptq-v2", "gptq-v2", "gptq");
        row("int4a.g128.f16", "awq", "awq", "awq");
        row("int4.g64.f16", "awq", "awq", "awq");
        row("nf4.g64.f32", "auto", "bitsandbytes", "bitsandbytes");
        row("nf4.g64.dq", "auto", "bitsandbytes", "bitsandbytes");
        row("bnbfp4.g128.f32", "bitsandbytes", "bitsandbytes", "bitsandbytes");
    }
    // Written through the session, read back by our reader, compared with the format's own reference.
    void roundTrip()
    {
        QFETCH(QByteArray, format);
        QFETCH(QByteArray, layout);
        QFETCH(QByteArray, packing);
        QFETCH(QByteArray, method);
        const test::TempDir out;
        auto request = test::makeRequest(
            m_source, out / "model", {{"format", format.toStdString()}, {"layout", layout.toStdString()}});
        HALFTONE_VERIFY(request);
        const auto plan = planQuantize(*request);
        HALFTONE_VERIFY(plan);
        HALFTONE_VERIFY(test::run(*request));
        QCOMPARE(std::filesystem::file_size(out / "model" / "model.safetensors"), plan->outputBytes);
        const auto written = openModel(out / "model");
        HALFTONE_VERIFY(written);
        const auto* info = (*written)->weights()->find(kWeight);
        QVERIFY(info != nullptr);
        QVERIFY2(info->whyOpaque.empty(), info->whyOpaque.c_str());
        QCOMPARE(info->packing, packing.toStdString());
        QVERIFY(info->format != nullptr);
        // The reference's own values.
        const auto* grid = *formatNamed(format.toStdString());
        const auto source = valuesOf(*request->model, kWeight);
        const auto sizes = grid->layout(info->shape[0], info->shape[1]);
        HALFTONE_VERIFY(sizes);
        std::vector<std::byte> codes(sizes->codeBytes), scales(sizes->scaleBytes), shared(sizes->sharedBytes);
        std::vector<std::uint8_t> zeros(sizes->zeroBytes);
        ValueRange range;
        const auto ends = std::ranges::minmax(source);
        range.min = ends.min;
        range.max = ends.max;
        const PackedRows planes{codes, scales, zeros, shared, 0};
        HALFTONE_VERIFY(grid->encodeRows(source, info->shape[1], range, planes));
        std::vector<float> expected(source.size());
        grid->decodeRows(planes, info->shape[1], expected);
        const auto values = valuesOf(**written, kWeight);
        QCOMPARE(values.size(), expected.size());
        // compressed-tensors stores the reciprocal of NVFP4's tensor scale: its rounding shows.
        const float slack = grid->desc().family == FormatDesc::Family::Nv ? 3e-7f : 0.0f;
        for (std::size_t i = 0; i < values.size(); ++i)
            if (!(std::fabs(values[i] - expected[i]) <= slack * std::fabs(expected[i])))
                QFAIL(("element " + std::to_string(i) + " differs").c_str());
        const auto config = quantizationOf(out / "model");
        QCOMPARE(config.value(QLatin1String("quant_method")).toString().toUtf8(), method);
        if (method == "compressed-tensors") {
            QCOMPARE(config.value(QLatin1String("format")).toString().toUtf8(), packing);
            QCOMPARE(config.value(QLatin1String("ignore")).toArray(), QJsonArray{QStringLiteral("lm_head")});
        }
        if (method == "awq")
            QCOMPARE(config.value(QLatin1String("modules_to_not_convert")).toArray(),
                     QJsonArray{QStringLiteral("lm_head")});
        if (method == "bitsandbytes")
            QCOMPARE(config.value(QLatin1String("llm_int8_skip_modules")).toArray(),
                     QJsonArray{QStringLiteral("lm_head")});
        const auto looked = scan(out / "model");
        HALFTONE_VERIFY(looked);
        QVERIFY2(looked->passed(), looked->findings.empty() ? "" : looked->findings.front().c_str());
        QCOMPARE(looked->compared, 21);
    }

    // config.json tells which linear modules were left as they are.
    void keptModulesAreNamed()
    {
        const test::TempDir out;
        for (const char* layout : {"auto", "gptq-v2", "awq"}) {
            auto request =
                test::makeRequest(m_source, out / layout,
                                  {{"format", "int4a.g32.f16"}, {"layout", layout}, {"skip", "*down_proj*"}});
            HALFTONE_VERIFY(request);
            HALFTONE_VERIFY(test::run(*request));
            const auto config = quantizationOf(out / layout);
            const auto text = QJsonDocument(config).toJson();
            for (const char* module : {"model.layers.0.mlp.down_proj", "model.layers.1.mlp.down_proj"}) {
                const QByteArray escaped = QByteArray(module).replace(".", "\\\\.");
                QVERIFY2(text.contains(module) || text.contains(escaped), text.constData());
            }
            QVERIFY(!text.contains("up_proj"));
        }
    }

    void everyZeroPoint()
    {
        const auto model = allZeroPoints(m_dir / "zeros");
        std::vector<float> expected;
        for (const char* layout : {"pack-quantized", "gptq-v2", "awq"}) {
            const test::TempDir out;
            auto request =
                test::makeRequest(model, out / "model", {{"format", "int4a.g32.f16"}, {"layout", layout}});
            HALFTONE_VERIFY(request);
            HALFTONE_VERIFY(test::run(*request));
            const auto written = openModel(out / "model");
            HALFTONE_VERIFY(written);
            const auto packed = (*written)->weights()->packed(*(*written)->weights()->find(kWeight));
            HALFTONE_VERIFY(packed);
            for (std::size_t row = 0; row < 16; ++row)
                for (std::size_t group = 0; group < 2; ++group)
                    QCOMPARE(planesOf(*packed).zeros[row * 2 + group], std::uint8_t(row));
            QCOMPARE(valuesOf(**written, kWeight), valuesOf(*request->model, kWeight));
        }
        // Version 1 takes 1 away first: 0 has no place, and nothing is left behind.
        const test::TempDir out;
        auto request =
            test::makeRequest(model, out / "model", {{"format", "int4a.g32.f16"}, {"layout", "gptq"}});
        HALFTONE_VERIFY(request);
        const auto status = test::run(*request);
        QVERIFY(!status);
        const auto line = status.error().line();
        for (const char* part : {"up_proj", "row 0, group 0", "zero point 0", "gptq-v2"})
            QVERIFY2(line.find(part) != std::string::npos, line.c_str());
        QVERIFY(test::folderNames(out.path()).empty());
    }

    void conversionsKeepEveryCode()
    {
        const test::TempDir out;
        auto request =
            test::makeRequest(m_source, out / "0", {{"format", "int4a.g128.f16"}, {"layout", "gptq-v2"}});
        HALFTONE_VERIFY(request);
        HALFTONE_VERIFY(test::run(*request));
        const auto first = openModel(out / "0");
        HALFTONE_VERIFY(first);
        const auto expected = valuesOf(**first, kWeight);
        QVERIFY(!expected.empty());
        int step = 0;
        for (const char* layout : {"auto", "awq", "gptq-v2", "awq", "auto", "gptq-v2"}) {
            const auto from = out / std::to_string(step), to = out / std::to_string(step + 1);
            HALFTONE_VERIFY(convert(from, to, layout));
            const auto made = openModel(to);
            HALFTONE_VERIFY(made);
            QCOMPARE(valuesOf(**made, kWeight), expected);
            QCOMPARE((*made)->weights()->find(kWeight)->packing,
                     std::string(std::string(layout) == "auto" ? "pack-quantized" : layout));
            ++step;
        }
        // Back where it began, to the byte.
        QVERIFY(test::fileText(out / "0" / "model.safetensors") ==
                test::fileText(out / "3" / "model.safetensors"));
        QVERIFY(test::fileText(out / "0" / "model.safetensors") ==
                test::fileText(out / "6" / "model.safetensors"));
        QCOMPARE(quantizationOf(out / "0"), quantizationOf(out / "6"));
    }

    void symmetricBecomesAwq()
    {
        const test::TempDir out;
        auto request =
            test::makeRequest(m_source, out / "a", {{"format", "int4.g64.f16"}, {"layout", "gptq"}});
        HALFTONE_VERIFY(request);
        HALFTONE_VERIFY(test::run(*request));
        HALFTONE_VERIFY(convert(out / "a", out / "b", "awq"));
        const auto a = openModel(out / "a"), b = openModel(out / "b");
        HALFTONE_VERIFY(a);
        HALFTONE_VERIFY(b);
        QCOMPARE((*a)->weights()->find(kWeight)->type, std::string("int4f.g64.f16"));
        QCOMPARE((*b)->weights()->find(kWeight)->type, std::string("int4a.g64.f16"));
        QCOMPARE(valuesOf(**a, kWeight), valuesOf(**b, kWeight));
    }

    void conversionsWithLossAreRefused_data()
    {
        QTest::addColumn<QByteArray>("format");
        QTest::addColumn<QByteArray>("layout");
        QTest::addColumn<QByteArray>("says");
        QTest::newRow("8 bits to awq")
            << QByteArray("int8a.g64.f16") << QByteArray("awq") << QByteArray("awq holds 4 bits, not 8");
        QTest::newRow("BF16 scales to gptq")
            << QByteArray("int4.g64.bf16") << QByteArray("gptq") << QByteArray("F16 scales");
        QTest::newRow("5 bits to gptq")
            << QByteArray("int5.g64.f16") << QByteArray("gptq") << QByteArray("2, 3, 4 or 8 bits");
        QTest::newRow("a scale a tensor to gptq")
            << QByteArray("int4.t.f16") << QByteArray("gptq") << QByteArray("each output");
        QTest::newRow("4 bits to int-quantized")
            << QByteArray("int4.g64.f16") << QByteArray("int-quantized") << QByteArray("8 bits");
        QTest::newRow("integers to bitsandbytes")
            << QByteArray("int4.g64.f16") << QByteArray("bitsandbytes") << QByteArray("NF4");
    }
    void conversionsWithLossAreRefused()
    {
        QFETCH(QByteArray, format);
        QFETCH(QByteArray, layout);
        QFETCH(QByteArray, says);
        const test::TempDir out;
        auto request = test::makeRequest(m_source, out / "a", {{"format", format.toStdString()}});
        HALFTONE_VERIFY(request);
        HALFTONE_VERIFY(test::run(*request));
        const auto status = convert(out / "a", out / "b", layout.toStdString());
        QVERIFY(!status);
        const auto line = status.error().line();
        QVERIFY2(line.find(says.toStdString()) != std::string::npos &&
                     line.find(".weight") != std::string::npos,
                 line.c_str());
        QVERIFY(!std::filesystem::exists(out / "b"));
    }

    void orderedGroupsAreRefused()
    {
        test::PlainGrid g;
        g.rows = 32;
        g.cols = 64;
        g.groups = 2;
        for (std::uint32_t i = 0; i < 32 * 64; ++i)
            g.codes.push_back(i % 16);
        g.zeros.assign(64, 8);
        g.scales.assign(64, 0x3c00);
        for (int c = 0; c < 64; ++c)
            g.group.push_back(c % 2);
        const test::TempDir out;
        std::filesystem::create_directories(out / "a");
        test::writeBytes(out / "a" / "model.safetensors",
                         test::safetensorsBytes(test::gptqTensors("model.layers.0.mlp.up_proj", g, 1)));
        const auto status = convert(out / "a", out / "b", "auto");
        QVERIFY(!status);
        QVERIFY2(status.error().line().find("without loss") != std::string::npos,
                 status.error().line().c_str());
        // Quantized anew, it is a weight like any other.
        auto request =
            test::makeRequest(out / "a", out / "c", {{"format", "int8.c.f16"}, {"requantize", "true"}});
        HALFTONE_VERIFY(request);
        HALFTONE_VERIFY(test::run(*request));
    }

    // Quantizing what GPTQ quantized needs permission, and says how many weights lose twice.
    void quantizedAgain()
    {
        const test::TempDir out;
        auto request =
            test::makeRequest(m_source, out / "a", {{"format", "int4.g128.f16"}, {"layout", "gptq"}});
        HALFTONE_VERIFY(request);
        HALFTONE_VERIFY(test::run(*request));
        auto refused = test::makeRequest(out / "a", out / "b", {{"format", "int3.g64.f16"}});
        HALFTONE_VERIFY(refused);
        const auto plan = planQuantize(*refused);
        QVERIFY(!plan);
        QVERIFY2(plan.error().line().find("requantize=true") != std::string::npos,
                 plan.error().line().c_str());
        auto allowed =
            test::makeRequest(out / "a", out / "b", {{"format", "int3.g64.f16"}, {"requantize", "true"}});
        HALFTONE_VERIFY(allowed);
        const auto made = planQuantize(*allowed);
        HALFTONE_VERIFY(made);
        QVERIFY(std::ranges::any_of(made->warnings, [](const auto& w) {
            return w == "double quantised: 14 weights from int4f.g128.f16";
        }));
        HALFTONE_VERIFY(test::run(*allowed));
    }

    // A weight that stays quantized takes the layout of the others, code for code.
    void keptCodesFollowTheLayout()
    {
        const test::TempDir out;
        auto request =
            test::makeRequest(m_source, out / "a", {{"format", "int4.g32.f16"}, {"layout", "gptq"}});
        HALFTONE_VERIFY(request);
        HALFTONE_VERIFY(test::run(*request));
        auto part =
            test::makeRequest(out / "a", out / "b",
                              {{"format", "int8.c.f16"}, {"requantize", "true"}, {"tensors", "*down_proj*"}});
        HALFTONE_VERIFY(part);
        HALFTONE_VERIFY(test::run(*part));
        const auto a = openModel(out / "a"), b = openModel(out / "b");
        HALFTONE_VERIFY(a);
        HALFTONE_VERIFY(b);
        QCOMPARE((*b)->weights()->find(kWeight)->packing, std::string("pack-quantized"));
        QCOMPARE(valuesOf(**b, kWeight), valuesOf(**a, kWeight));
        QCOMPARE(quantizationOf(out / "b").value(QLatin1String("config_groups")).toObject().size(), 2);
        // GPTQ's config has room for one format only.
        auto mixed = test::makeRequest(out / "a", out / "c",
                                       {{"format", "int8.c.f16"},
                                        {"requantize", "true"},
                                        {"tensors", "*down_proj*"},
                                        {"layout", "gptq"}});
        HALFTONE_VERIFY(mixed);
        const auto plan = planQuantize(*mixed);
        QVERIFY(!plan);
        QVERIFY2(plan.error().line().find("one format") != std::string::npos, plan.error().line().c_str());
    }

    void floats8()
    {
        // 128 x 128 blocks as DeepSeek keeps them: readable, not convertible, quantized only when allowed.
        std::vector<std::uint8_t> codes;
        for (int i = 0; i < 256 * 256; ++i)
            codes.push_back(static_cast<std::uint8_t>(i * 7 % 0x7f));
        const test::TempDir out;
        const auto write = [&](const char* folder, bool scaled) {
            std::vector<test::FixtureTensor> tensors{
                test::tensorOfList(kWeight, {256, 256}, DType::F8E4M3, codes)};
            if (scaled)
                tensors.push_back(test::tensorOfList(kWeight + "_scale_inv", {2, 2}, DType::F32,
                                                     std::vector<float>(4, 3e-4f)));
            std::filesystem::create_directories(out / folder);
            test::writeBytes(out / folder / "model.safetensors", test::safetensorsBytes(tensors));
        };
        write("scaled", true);
        write("bare", false);
        for (const char* folder : {"scaled", "bare"}) {
            auto refused = test::makeRequest(out / folder, out / "no", {{"format", "int4.g32.f16"}});
            HALFTONE_VERIFY(refused);
            const auto plan = planQuantize(*refused);
            QVERIFY(!plan);
            const auto line = plan.error().line();
            QVERIFY2(line.find("requantize=true") != std::string::npos, line.c_str());
            // Without scales: which names were looked for.
            QCOMPARE(line.find("weight_scale_inv") != std::string::npos, std::string(folder) == "bare");
        }
        auto request = test::makeRequest(out / "scaled", out / "made",
                                         {{"format", "int8.c.f32"}, {"requantize", "true"}});
        HALFTONE_VERIFY(request);
        auto results = MemoryResults::make({});
        HALFTONE_VERIFY(test::run(*request, results));
        const auto sqnr = results->column("weights", "sqnr_db");
        HALFTONE_VERIFY(sqnr);
        QVERIFY((*sqnr)[0] > 30);
        const auto status = convert(out / "scaled", out / "no", "auto");
        QVERIFY(!status);
        QVERIFY2(status.error().line().find("without loss") != std::string::npos,
                 status.error().line().c_str());
    }

    void scanFindsWhatIsBroken()
    {
        test::PlainGrid g;
        g.rows = 32;
        g.cols = 64;
        g.groups = 2;
        for (std::uint32_t i = 0; i < 32 * 64; ++i)
            g.codes.push_back(i % 16);
        g.zeros.assign(64, 7);
        for (std::uint16_t i = 0; i < 64; ++i)
            g.scales.push_back(static_cast<std::uint16_t>(0x2c00 + i));
        for (int c = 0; c < 64; ++c)
            g.group.push_back(c / 32);
        const auto found = [&](const test::PlainGrid& grid) -> std::string {
            const test::TempDir out;
            std::filesystem::create_directories(out / "a");
            test::writeBytes(out / "a" / "model.safetensors", test::safetensorsBytes(test::gptqTensors(
                                                                  "model.layers.0.mlp.up_proj", grid, 1)));
            const auto report = scan(out / "a");
            if (!report) return report.error().line();
            return (report->passed() ? "passed; " : "failed; ") +
                   (report->findings.empty() ? std::string() : report->findings.front());
        };
        QVERIFY2(found(g).starts_with("passed; "), found(g).c_str());
        auto broken = g;
        broken.codes.assign(broken.codes.size(), 3);
        QVERIFY2(found(broken) == "failed; " + kWeight + ": all codes are the same", found(broken).c_str());
        broken = g;
        broken.scales.assign(64, 0);
        QVERIFY2(found(broken) == "failed; " + kWeight + ": all 64 scales are zero", found(broken).c_str());
        broken = g;
        broken.scales.assign(64, 0x3c00);
        QVERIFY2(found(broken) == "passed; " + kWeight + ": all 64 scales are the same",
                 found(broken).c_str());
        broken = g;
        broken.zeros[5] = broken.zeros[9] = 0;
        QVERIFY2(found(broken).find("2 zero points lie beyond the codes") != std::string::npos,
                 found(broken).c_str());
        broken = g;
        broken.scales[3] = 0x7e00;
        QVERIFY2(found(broken).find("32 values are NaN or Inf, the first at row 1, column 32") !=
                     std::string::npos,
                 found(broken).c_str());
    }

    void scanComparesTheHead()
    {
        auto fixture = test::makeFixture(FixtureKind::Tiny);
        for (auto& t : fixture.tensors)
            if (t.name == "lm_head.weight") t.bytes = fixture.tensor("model.embed_tokens.weight").bytes;
        const auto report = scan(test::writeModel(fixture, m_dir / "twice"));
        HALFTONE_VERIFY(report);
        QVERIFY(report->passed());
        QCOMPARE(report->findings.size(), std::size_t(1));
        QVERIFY2(report->findings[0].find("equals model.embed_tokens.weight") != std::string::npos,
                 report->findings[0].c_str());
    }
};

QTEST_GUILESS_MAIN(TestLayouts)
#include "tst_layouts.moc"
