// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/host/strings.h"
#include "tests/app/small_checkpoint.h"
#include "tests/support/main.h"
#include "tests/support/temp_dir.h"

#include <QDir>
#include <QImage>
#include <QProcess>

using namespace halftone;
using namespace Qt::Literals::StringLiterals;

/// The program itself, as a person starts it for pictures.
class TestExportViews : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void writesEveryPanel();
    void badFileHasItsExitCode();
    void badOptionsAreUsageErrors_data();
    void badOptionsAreUsageErrors();

private:
    static int run(const QStringList& arguments, QString* errors)
    {
        QProcess process;
        process.start(qEnvironmentVariable("HALFTONE_BIN") + u"/halftone"_s, arguments);
        if (!process.waitForFinished(90000)) {
            process.kill();
            return -1;
        }
        *errors = QString::fromUtf8(process.readAllStandardError());
        return process.exitCode();
    }
};

void TestExportViews::writesEveryPanel()
{
    test::TempDir dir;
    const auto model = dir / "small.safetensors";
    test::writeSmallCheckpoint(model);
    const QString out = toQt((dir / "views").string());
    QString errors;
    const int code = run(
        {u"--export-views"_s, out, toQt(model.string()), u"--theme"_s, u"dark"_s, u"--size"_s, u"1200x800"_s},
        &errors);
    QVERIFY2(code == 0, qPrintable(errors));
    for (const QString& name :
         {u"overview"_s, u"pareto"_s, u"layers"_s, u"block-error"_s, u"tensor"_s, u"results"_s}) {
        const QImage panel(QDir(out).filePath(name + u".png"_s));
        QVERIFY2(!panel.isNull(), qPrintable(name));
        const QImage window(QDir(out).filePath(u"window-"_s + name + u".png"_s));
        QCOMPARE(window.size(), QSize(1200, 800));
    }
}

void TestExportViews::badFileHasItsExitCode()
{
    test::TempDir dir;
    QString errors;
    QCOMPARE(run({u"--export-views"_s, toQt((dir / "v").string()), u"/no/such/file.gguf"_s}, &errors), 3);
    QVERIFY2(errors.contains(u"/no/such/file.gguf"_s), qPrintable(errors));
}

void TestExportViews::badOptionsAreUsageErrors_data()
{
    QTest::addColumn<QStringList>("arguments");
    QTest::newRow("theme") << QStringList{u"--theme"_s, u"pink"_s};
    QTest::newRow("size") << QStringList{u"--size"_s, u"12"_s};
    QTest::newRow("no file") << QStringList{u"--export-views"_s, u"somewhere"_s};
}

void TestExportViews::badOptionsAreUsageErrors()
{
    QFETCH(QStringList, arguments);
    QString errors;
    QCOMPARE(run(arguments, &errors), 2);
    QVERIFY(!errors.isEmpty());
}

QTEST_GUILESS_MAIN(TestExportViews)
#include "tst_export_views.moc"
