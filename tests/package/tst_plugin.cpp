// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/main.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tiny_model.h"

#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QProcess>
#include <QRegularExpression>

using namespace halftone;

/// A plugin of somebody else: built against the installed library, found by the installed program.
class TestPlugin : public QObject {
    Q_OBJECT
    test::TempDir m_folder;
    QByteArray m_out;

    QString in(const char* name) const { return QString::fromStdString((m_folder / name).string()); }

    bool call(const QString& program, const QStringList& arguments)
    {
        QProcess process;
        auto environment = QProcessEnvironment::systemEnvironment();
        environment.insert(QStringLiteral("HALFTONE_PLUGIN_PATH"), in("build"));
        process.setProcessEnvironment(environment);
        process.start(program, arguments);
        const bool ended = process.waitForFinished(250000);
        m_out = process.readAllStandardOutput();
        const auto err = process.readAllStandardError();
        const bool good = ended && process.exitStatus() == QProcess::NormalExit && process.exitCode() == 0;
        if (!good) qWarning("%s", (m_out + err).constData());
        return good;
    }
    bool batch(const QStringList& arguments) { return call(in("prefix/bin/halftone-batch"), arguments); }
    QJsonObject json() const { return QJsonDocument::fromJson(m_out).object(); }

private Q_SLOTS:
    void initTestCase()
    {
        const QString cmake = QStringLiteral(HALFTONE_CMAKE);
        QVERIFY(call(cmake, {QStringLiteral("--install"), QStringLiteral(HALFTONE_BUILD_FOLDER),
                             QStringLiteral("--prefix"), in("prefix")}));
        const QString example =
            qEnvironmentVariable("HALFTONE_SOURCE") + QStringLiteral("/tests/package/example");
        QVERIFY(
            call(cmake, {QStringLiteral("-S"), example, QStringLiteral("-B"), in("build"),
                         QStringLiteral("-G"), QStringLiteral(HALFTONE_GENERATOR),
                         QStringLiteral("-DCMAKE_CXX_COMPILER=" HALFTONE_COMPILER),
                         QStringLiteral("-DCMAKE_BUILD_TYPE=Debug"), QStringLiteral("-DCMAKE_CXX_FLAGS=-g0"),
                         QStringLiteral("-DCMAKE_PREFIX_PATH=") + in("prefix")}));
        QVERIFY(call(cmake, {QStringLiteral("--build"), in("build")}));
        test::writeTinyModel(m_folder / "tiny", test::tinyLlama());
    }

    void isShort()
    {
        const QDir example(qEnvironmentVariable("HALFTONE_SOURCE") +
                           QStringLiteral("/tests/package/example"));
        int lines = 0;
        for (const auto& name : example.entryList(QDir::Files)) {
            QFile file(example.filePath(name));
            QVERIFY(file.open(QIODevice::ReadOnly));
            lines += static_cast<int>(file.readAll().count('\n'));
        }
        QVERIFY2(lines > 50 && lines < 200, qPrintable(QString::number(lines)));
    }

    void appearsWithItsParameters()
    {
        QVERIFY(batch({QStringLiteral("methods"), QStringLiteral("--json")}));
        QStringList ids;
        for (const auto& m : json().value(QStringLiteral("methods")).toArray())
            ids << m.toObject().value(QStringLiteral("id")).toString();
        // Those that were installed are there too.
        QCOMPARE(ids, (QStringList{QStringLiteral("block_error"), QStringLiteral("int_vs_fp"),
                                   QStringLiteral("rtn"), QStringLiteral("spread")}));
        QVERIFY(batch({QStringLiteral("methods"), QStringLiteral("spread")}));
        QVERIFY(m_out.contains("`quantile`"));
        QVERIFY(m_out.contains("0.5..1"));
        QVERIFY(m_out.contains("one of: rms, mean"));
    }

    void givesItsTableAndChart()
    {
        test::writeText(m_folder / "job.json", R"({"halftone-job": 1, "model": "tiny", "steps": [
            {"do": "analyse", "method": "spread", "set": {"quantile": 1}}]})");
        QVERIFY(batch({QStringLiteral("run"), in("job.json"), QStringLiteral("-o"), in("results.h5"),
                       QStringLiteral("--json")}));
        QVERIFY(json().value(QStringLiteral("tables")).toObject().value(QStringLiteral("spread")).toInt() >=
                14);
        QVERIFY(batch({QStringLiteral("view"), in("results.h5"), QStringLiteral("-o"), in("views")}));
        QVERIFY(QFileInfo(in("views/spread.svg")).size() > 500);
        QVERIFY(QFileInfo(in("views/table_spread.csv")).size() > 500);
    }

    void itsParametersAreChecked()
    {
        QVERIFY(!QFile::exists(in("other.h5")));
        test::writeText(m_folder / "bad.json", R"({"halftone-job": 1, "model": "tiny", "steps": [
            {"do": "analyse", "method": "spread", "set": {"quantile": 0.2}}]})");
        QTest::ignoreMessage(QtWarningMsg,
                             QRegularExpression(QStringLiteral("steps\\[0\\]\\.set\\.quantile")));
        QVERIFY(!batch({QStringLiteral("run"), in("bad.json"), QStringLiteral("-o"), in("other.h5")}));
    }
};

QTEST_GUILESS_MAIN(TestPlugin)
#include "tst_plugin.moc"
