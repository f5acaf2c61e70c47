// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/app/batch/batch_program.h"
#include "tests/support/main.h"
#include "tests/support/packed_files.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tiny_model.h"

#include <QJsonArray>

using namespace halftone;
using test::callBatch;
using test::Called;
using test::text;

/// Quantized checkpoints of other programs, read and written by the real program.
class TestPacked : public QObject {
    Q_OBJECT
    test::TempDir m_folder;
    QString m_model;

    QString in(const char* name) const { return text(m_folder / name); }
    static QJsonObject weightOf(const Called& info, const char* name)
    {
        for (const auto& w : info.json().value(QLatin1String("weights")).toArray())
            if (w.toObject().value(QLatin1String("name")).toString() == QLatin1String(name))
                return w.toObject();
        return {};
    }

private Q_SLOTS:
    void initTestCase()
    {
        m_model = text(test::writeTinyModel(m_folder / "tiny", test::tinyLlama(192), 192));
    }

    void layouts_data()
    {
        QTest::addColumn<QStringList>("set");
        QTest::addColumn<QString>("packing");
        const auto row = [](const char* name, const QStringList& set, const char* packing) {
            QTest::newRow(name) << set << QString::fromLatin1(packing);
        };
        row("gptq",
            {QStringLiteral("bits=4"), QStringLiteral("group-size=64"), QStringLiteral("layout=gptq")},
            "gptq");
        row("gptq-v2",
            {QStringLiteral("bits=4"), QStringLiteral("symmetry=asymmetric"),
             QStringLiteral("layout=gptq-v2")},
            "gptq-v2");
        row("awq",
            {QStringLiteral("bits=4"), QStringLiteral("symmetry=asymmetric"), QStringLiteral("layout=awq")},
            "awq");
        row("int8",
            {QStringLiteral("bits=8"), QStringLiteral("granularity=channel"),
             QStringLiteral("layout=int-quantized")},
            "int-quantized");
        row("fp8", {QStringLiteral("format=e4m3")}, "float-quantized");
        row("mxfp4", {QStringLiteral("format=mxfp4_e2m1")}, "mxfp4-pack-quantized");
        row("nvfp4", {QStringLiteral("format=nvfp4_e2m1")}, "nvfp4-pack-quantized");
        row("nf4", {QStringLiteral("format=nf4")}, "bitsandbytes");
    }
    void layouts()
    {
        QFETCH(QStringList, set);
        QFETCH(QString, packing);
        const test::TempDir dir;
        const auto output = text(dir / "out");
        QStringList call{QStringLiteral("quantize"), m_model,
                         QStringLiteral("--method"), QStringLiteral("rtn"),
                         QStringLiteral("-o"),       output};
        for (const auto& s : set)
            call << QStringLiteral("--set") << s;
        const auto made = callBatch(call);
        QVERIFY2(made.code == 0, made.err.constData());
        const auto info = callBatch({QStringLiteral("info"), output, QStringLiteral("--json")});
        QCOMPARE(info.code, 0);
        const auto weight = weightOf(info, "model.layers.0.mlp.down_proj.weight");
        QCOMPARE(weight.value(QLatin1String("packing")).toString(), packing);
        QVERIFY(!weight.contains(QLatin1String("why_opaque")));
        const auto against = callBatch({QStringLiteral("verify"), output, QStringLiteral("--against"),
                                        m_model, QStringLiteral("--json")});
        QVERIFY2(against.code == 0, against.err.constData());
        QCOMPARE(against.json().value(QLatin1String("compared")).toInt(), 21);
        QVERIFY(against.json().value(QLatin1String("worst_sqnr_db")).toDouble() > 15);
        const auto alone = callBatch({QStringLiteral("verify"), output, QStringLiteral("--json")});
        QVERIFY2(alone.code == 0, alone.err.constData());
        QCOMPARE(alone.json().value(QLatin1String("passed")).toBool(), true);
    }

    void convert()
    {
        QCOMPARE(callBatch({QStringLiteral("quantize"), m_model, QStringLiteral("--method"),
                            QStringLiteral("rtn"), QStringLiteral("--set"), QStringLiteral("layout=gptq"),
                            QStringLiteral("-o"), in("gptq")})
                     .code,
                 0);
        const auto made =
            callBatch({QStringLiteral("convert"), in("gptq"), QStringLiteral("--layout"),
                       QStringLiteral("awq"), QStringLiteral("-o"), in("awq"), QStringLiteral("--json")});
        QVERIFY2(made.code == 0, made.err.constData());
        QVERIFY(made.json().value(QLatin1String("verified")).toBool());
        const auto same = callBatch({QStringLiteral("verify"), in("awq"), QStringLiteral("--against"),
                                     in("gptq"), QStringLiteral("--json")});
        QVERIFY2(same.code == 0, same.err.constData());
        // Nothing differs: no weight loses anything.
        QVERIFY(same.json().value(QLatin1String("worst_sqnr_db")).isNull());
        const auto refused = callBatch({QStringLiteral("convert"), in("gptq"), QStringLiteral("--layout"),
                                        QStringLiteral("int-quantized"), QStringLiteral("-o"), in("no")});
        QCOMPARE(refused.code, 2);
        QCOMPARE(refused.errorLines().size(), 1);
        QVERIFY2(refused.err.contains("without loss") && refused.err.contains("8 bits"),
                 refused.err.constData());
        QVERIFY(!std::filesystem::exists(m_folder / "no"));
        const auto again = callBatch({QStringLiteral("quantize"), in("gptq"), QStringLiteral("--method"),
                                      QStringLiteral("rtn"), QStringLiteral("--set"),
                                      QStringLiteral("bits=3"), QStringLiteral("-o"), in("no")});
        QCOMPARE(again.code, 2);
        QVERIFY2(again.err.contains("requantize=true"), again.err.constData());
        const auto allowed = callBatch(
            {QStringLiteral("quantize"), in("gptq"), QStringLiteral("--method"), QStringLiteral("rtn"),
             QStringLiteral("--set"), QStringLiteral("bits=3"), QStringLiteral("--set"),
             QStringLiteral("requantize=true"), QStringLiteral("-o"), in("again")});
        QCOMPARE(allowed.code, 0);
        QVERIFY2(allowed.err.contains("double quantised: 14 weights"), allowed.err.constData());
    }

    void bareFloats8()
    {
        std::filesystem::create_directories(m_folder / "bare");
        test::writeBytes(m_folder / "bare" / "model.safetensors",
                         test::safetensorsBytes(
                             {test::tensorOfList("model.layers.0.mlp.up_proj.weight", {32, 32}, DType::F8E4M3,
                                                 std::vector<std::uint8_t>(1024, 0x38))}));
        const auto info = callBatch({QStringLiteral("info"), in("bare")});
        QCOMPARE(info.code, 0);
        QVERIFY2(info.out.contains("warning: no scale beside it") && info.out.contains("weight_scale_inv"),
                 info.out.constData());
        const auto refused = callBatch({QStringLiteral("quantize"), in("bare"), QStringLiteral("--method"),
                                        QStringLiteral("rtn"), QStringLiteral("-o"), in("no")});
        QCOMPARE(refused.code, 2);
        QVERIFY2(refused.err.contains("no scale beside it"), refused.err.constData());
    }

    void brokenCodesFailAlone()
    {
        test::PlainGrid g;
        g.rows = 32;
        g.cols = 32;
        g.codes.assign(1024, 5);
        g.zeros.assign(32, 8);
        g.scales.assign(32, 0x3c00);
        g.group.assign(32, 0);
        std::filesystem::create_directories(m_folder / "broken");
        test::writeBytes(m_folder / "broken" / "model.safetensors",
                         test::safetensorsBytes(test::gptqTensors("model.layers.0.mlp.up_proj", g, 1)));
        const auto called = callBatch({QStringLiteral("verify"), in("broken")});
        QCOMPARE(called.code, 6);
        QCOMPARE(called.errorLines().size(), 1);
        QVERIFY2(called.err.contains("all codes are the same"), called.err.constData());
    }
};

QTEST_GUILESS_MAIN(TestPacked)
#include "tst_packed.moc"
