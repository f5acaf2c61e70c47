// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/core/session/quantize_support.h"
#include "tests/support/main.h"
#include "tests/support/temp_dir.h"

#include <QProcess>
#include <QStandardPaths>

#include <cstring>
#include <sstream>

using namespace halftone;

// Readers that nobody here wrote must find the values that we find: the Python packages gguf and
// safetensors, which need not be there. HALFTONE_PYTHON names the interpreter that has them.
class TestForeignReaders : public QObject {
    Q_OBJECT
    test::TempDir m_dir;
    QString m_python, m_script;

    QString sourceFile(const char* path) const
    {
        return qEnvironmentVariable("HALFTONE_SOURCE") + QLatin1Char('/') + QString::fromLatin1(path);
    }

private Q_SLOTS:
    void initTestCase();
    void valuesAreEqual_data();
    void valuesAreEqual();
};

void TestForeignReaders::initTestCase()
{
    m_script = sourceFile("tests/support/dump_checkpoint.py");
    m_python = qEnvironmentVariable("HALFTONE_PYTHON", QStringLiteral("python3"));
    if (QStandardPaths::findExecutable(m_python).isEmpty()) QSKIP("there is no Python here");
    QVERIFY(QFile::exists(m_script));
    QProcess probe;
    probe.start(m_python, {QStringLiteral("-c"), QStringLiteral("import gguf, numpy, safetensors")});
    QVERIFY(probe.waitForFinished(60000));
    if (probe.exitCode() != 0) QSKIP("Python lacks the package gguf, numpy or safetensors");
}

void TestForeignReaders::valuesAreEqual_data()
{
    QTest::addColumn<QString>("model");
    QTest::addColumn<QString>("output");
    QTest::addColumn<QString>("format");
    QTest::addColumn<QString>("layout");
    const QString automatic = QStringLiteral("auto");
    const auto tiny = QString::fromStdString(
        test::writeModel(test::makeFixture(test::FixtureKind::Tiny256), m_dir / "tiny").string());
    for (const char* format : {"q4_0", "q4_1", "q5_0", "q5_1", "q8_0", "q2_k", "q3_k", "q4_k", "q5_k", "q6_k",
                               "iq4_nl", "iq4_xs", "tq1_0", "tq2_0", "mxfp4", "nvfp4"})
        QTest::newRow(format) << tiny << QStringLiteral("out.gguf") << QString::fromLatin1(format)
                              << automatic;
    for (const char* format : {"int2.t.f16", "int3a.g64.bf16", "int4.g32.f16", "int4f.g128.f16",
                               "int5a.c.f32", "int6.g32.f16", "int7a.g32.f16", "int8.c.bf16", "int4a.t.f16"})
        QTest::newRow(format) << tiny << QStringLiteral("out.safetensors") << QString::fromLatin1(format)
                              << automatic;
    for (const auto& [format, layout] : {std::pair{"int4.g32.f16", "gptq"},
                                         {"int3a.g64.f16", "gptq-v2"},
                                         {"int8a.c.f16", "gptq-v2"},
                                         {"int4a.g128.f16", "awq"},
                                         {"int8a.g64.f16", "int-quantized"},
                                         {"int8.t.f32", "int-quantized"},
                                         {"e4m3.c.f32", "auto"},
                                         {"e4m3.t.bf16", "auto"},
                                         {"mxfp8_e4m3.g32.floor", "auto"},
                                         {"mxfp4_e2m1.g32.ceil", "auto"},
                                         {"nvfp4_e2m1.g16.nearest", "auto"},
                                         {"nf4.g64.f32", "auto"},
                                         {"nf4.g64.dq", "auto"},
                                         {"bnbfp4.g64.f32", "auto"}})
        QTest::addRow("%s as %s", format, layout)
            << tiny << QStringLiteral("out.safetensors") << QString::fromLatin1(format)
            << QString::fromLatin1(layout);
    const QString demo = sourceFile("resources/demo");
    if (QFile::exists(demo + QStringLiteral("/model.safetensors")))
        for (const auto& [output, format] : {std::pair{"out.gguf", "q4_0"},
                                             {"out.gguf", "q8_0"},
                                             {"out.gguf", "q4_k"},
                                             {"folder", "int4.g32.f16"}})
            QTest::addRow("bundled model, %s", format)
                << demo << QString::fromLatin1(output) << QString::fromLatin1(format) << automatic;
}

void TestForeignReaders::valuesAreEqual()
{
    QFETCH(QString, model);
    QFETCH(QString, output);
    QFETCH(QString, format);
    QFETCH(QString, layout);
    const test::TempDir dir;
    const auto target = dir / output.toStdString();
    auto request = test::makeRequest(model.toStdString(), target,
                                     {{"format", format.toStdString()}, {"layout", layout.toStdString()}});
    HALFTONE_VERIFY(request);
    HALFTONE_VERIFY(test::run(*request));
    const auto written = openModel(target);
    HALFTONE_VERIFY(written);
    const auto file = output == QStringLiteral("folder") ? target / "model.safetensors" : target;

    QProcess reader;
    reader.setProcessChannelMode(QProcess::MergedChannels);
    reader.start(m_python, {m_script, QString::fromStdString(file.string()),
                            QString::fromStdString((dir / "values").string())});
    QVERIFY(reader.waitForFinished(120000));
    const QByteArray said = reader.readAll();
    QVERIFY2(reader.exitCode() == 0, said.constData());

    std::size_t compared = 0;
    std::istringstream index(test::fileText(dir / "values" / "index.txt"));
    for (std::string line; std::getline(index, line);) {
        const auto tab = line.find('\t'), second = line.find('\t', tab + 1);
        QVERIFY(second != std::string::npos);
        const std::string name = line.substr(second + 1);
        const WeightInfo* info = (*written)->weights()->find(name);
        QVERIFY2(info != nullptr, name.c_str());
        std::string extents;
        for (const auto n : info->shape.dims())
            extents += (extents.empty() ? "" : "x") + std::to_string(n);
        QCOMPARE(extents, line.substr(tab + 1, second - tab - 1));
        const auto ours =
            (*written)->weights()->loadRows(*info, 0, info->shape.rows(), DType::F32, cpuDevice(), {});
        HALFTONE_VERIFY(ours);
        const std::string theirs = test::fileText(dir / "values" / (line.substr(0, tab) + ".f32"));
        QCOMPARE(theirs.size(), ours->bytes().size());
        QVERIFY2(std::memcmp(theirs.data(), ours->bytes().data(), theirs.size()) == 0, name.c_str());
        ++compared;
    }
    QCOMPARE(compared, (*written)->weights()->all().size());
}

QTEST_GUILESS_MAIN(TestForeignReaders)
#include "tst_foreign_readers.moc"
