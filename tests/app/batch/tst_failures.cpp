// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/result/writer.h"
#include "tests/app/batch/batch_program.h"
#include "tests/support/main.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tiny_model.h"

#include <QDateTime>
#include <QDir>
#include <QElapsedTimer>
#include <QFile>
#include <QFileInfo>
#include <QThread>
#include <cmath>
#include <csignal>
#include <unistd.h>

using namespace halftone;
using test::callBatch;
using test::Called;
using test::text;

/// What goes wrong: the documented exit code, one line that says what and where, nothing half-written.
class TestFailures : public QObject {
    Q_OBJECT
    test::TempDir m_folder;
    QString m_model;

    QString in(const char* name) const { return text(m_folder / name); }
    Called quantize(const QString& model, const QString& output, const QStringList& more = {}) const
    {
        return callBatch(QStringList{QStringLiteral("quantize"), model, QStringLiteral("--method"),
                                     QStringLiteral("rtn"), QStringLiteral("-o"), output} +
                         more);
    }

    /// Waits until the results of this step, finished or not, are in the folder.
    static bool waitForStep(const QString& folder, const QString& step)
    {
        QElapsedTimer timer;
        timer.start();
        while (timer.elapsed() < 20000) {
            for (const auto& name : QDir(folder).entryList(QDir::Files | QDir::Hidden))
                if (name.contains(step)) return true;
            QThread::msleep(2);
        }
        return false;
    }
    static QByteArray read(const QString& path)
    {
        QFile file(path);
        return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
    }

private Q_SLOTS:
    void initTestCase()
    {
        m_model = text(test::writeTinyModel(m_folder / "tiny", test::tinyLlama(192), 192));
    }

    void usage_data()
    {
        QTest::addColumn<QStringList>("arguments");
        QTest::addColumn<QString>("part");
        const auto row = [](const char* name, std::initializer_list<const char*> arguments,
                            const char* part) {
            QStringList list;
            for (const char* a : arguments)
                list << QString::fromLatin1(a);
            QTest::newRow(name) << list << QString::fromLatin1(part);
        };
        row("nothing", {}, "subcommand");
        row("no such command", {"quantise"}, "quantise");
        row("no file", {"info"}, "FILE");
        row("unknown flag", {"info", "x", "--speed"}, "--speed");
        row("no output", {"quantize", "x", "--method", "rtn"}, "--output");
        row("threads", {"info", "x", "--threads", "0"}, "--threads");
        row("method", {"plan", "MODEL", "--method", "gptq"}, "block_error, int_vs_fp, rtn");
        row("setting", {"plan", "MODEL", "--method", "rtn", "--set", "bits"}, "key=value");
        row("range", {"plan", "MODEL", "--method", "rtn", "--set", "bits=9"}, "2..8");
        row("key", {"plan", "MODEL", "--method", "rtn", "--set", "bit=4"}, "bits");
        row("twice", {"plan", "MODEL", "--method", "rtn", "--set", "bits=4", "--set", "bits=5"}, "bits");
        row("no quantizer", {"quantize", "MODEL", "--method", "block_error", "-o", "x.gguf"}, "block_error");
        row("device", {"info", "MODEL", "--stats", "--device", "tpu"}, "tpu");
        row("tensors", {"info", "MODEL", "--tensors", "gone*"}, "gone*");
        row("eval", {"eval", "MODEL", "--text", "x"}, "model runtime");
    }
    void usage()
    {
        QFETCH(QStringList, arguments);
        QFETCH(QString, part);
        arguments.replaceInStrings(QStringLiteral("MODEL"), m_model);
        const auto called = callBatch(arguments);
        QVERIFY(!called.crashed);
        QVERIFY2(called.code == 2, called.err.constData());
        QCOMPARE(called.errorLines().size(), 1);
        QCOMPARE(called.err.count('\n'), 1);
        QVERIFY2(called.err.contains(part.toUtf8()), called.err.constData());
        QVERIFY(called.out.isEmpty());
        // The same with --json: one object on stdout.
        const auto json = callBatch(arguments << QStringLiteral("--json"));
        QCOMPARE(json.code, 2);
        const auto error = json.json().value(QStringLiteral("error")).toObject();
        QCOMPARE(error.value(QStringLiteral("exit")).toInt(), 2);
        QVERIFY(!error.value(QStringLiteral("line")).toString().isEmpty());
    }

    void badInputs_data()
    {
        QTest::addColumn<QByteArray>("bytes");
        const auto whole = QByteArray::fromStdString(test::tinySafetensors(test::tinyLlama()));
        QTest::newRow("empty") << QByteArray();
        QTest::newRow("text") << QByteArray("hello, this is no model\n");
        QTest::newRow("cut by one") << whole.chopped(1);
        QTest::newRow("cut in the header") << whole.left(500);
        QTest::newRow("header alone") << whole.left(8);
        auto hostile = whole;
        hostile.replace(0, 8, QByteArray(8, '\xff'));
        QTest::newRow("length of 2^64-1") << hostile;
        QTest::newRow("gguf cut") << QByteArray("GGUF\x03\x00\x00\x00\xff\xff", 10);
    }
    void badInputs()
    {
        QFETCH(QByteArray, bytes);
        test::writeText(m_folder / "bad.safetensors", bytes.toStdString());
        const auto called = quantize(in("bad.safetensors"), in("from_bad.gguf"));
        QVERIFY(!called.crashed);
        QVERIFY2(called.code == 3, called.err.constData());
        QCOMPARE(called.errorLines().size(), 1);
        QVERIFY2(called.err.contains("bad.safetensors"), called.err.constData());
        QVERIFY(!QFile::exists(in("from_bad.gguf")));
    }

    void missingFiles_data()
    {
        QTest::addColumn<QStringList>("arguments");
        QTest::newRow("info") << QStringList{QStringLiteral("info"), QStringLiteral("gone.gguf")};
        QTest::newRow("run") << QStringList{QStringLiteral("run"), QStringLiteral("gone.json"),
                                            QStringLiteral("-o"), QStringLiteral("x.h5")};
        QTest::newRow("view") << QStringList{QStringLiteral("view"), QStringLiteral("gone.h5"),
                                             QStringLiteral("-o"), QStringLiteral("x")};
        QTest::newRow("verify") << QStringList{QStringLiteral("verify"), QStringLiteral("gone.gguf"),
                                               QStringLiteral("--against"), QStringLiteral("gone.gguf")};
    }
    void missingFiles()
    {
        QFETCH(QStringList, arguments);
        const auto called = callBatch(arguments, text(m_folder.path()));
        QVERIFY2(called.code == 3, called.err.constData());
        QCOMPARE(called.errorLines().size(), 1);
        QVERIFY(called.err.contains("gone."));
    }

    void notANumber()
    {
        auto tensors = test::tinyLlama(192);
        tensors[2].values[64 * 5 + 7] = std::nanf("");
        const auto name = QByteArray::fromStdString(tensors[2].name);
        const auto model = text(test::writeTinyModel(m_folder / "nan", tensors, 192));
        const auto called = quantize(model, in("nan.safetensors"));
        QVERIFY2(called.code == 5, called.err.constData());
        QCOMPARE(called.errorLines().size(), 1);
        QVERIFY2(called.err.contains(name), called.err.constData());
        QVERIFY(!QFile::exists(in("nan.safetensors")));
    }

    void nothingIsReplacedUnasked()
    {
        test::writeText(m_folder / "there.safetensors", "mine");
        const auto called = quantize(m_model, in("there.safetensors"));
        QVERIFY2(called.code == 4, called.err.constData());
        QFile file(in("there.safetensors"));
        QVERIFY(file.open(QIODevice::ReadOnly));
        QCOMPARE(file.readAll(), QByteArray("mine"));
        QCOMPARE(quantize(m_model, in("there.safetensors"), {QStringLiteral("--overwrite")}).code, 0);
    }

    void unwritableFolder()
    {
        const auto gone = quantize(m_model, in("no/such/folder/x.safetensors"));
        QVERIFY2(gone.code == 4, gone.err.constData());
        QCOMPARE(gone.errorLines().size(), 1);
        if (::geteuid() == 0) QSKIP("root may write anywhere");
        QDir().mkdir(in("locked"));
        QFile::setPermissions(in("locked"), QFileDevice::ReadOwner | QFileDevice::ExeOwner);
        const auto called = quantize(m_model, in("locked/x.safetensors"));
        QVERIFY2(called.code == 4, called.err.constData());
    }

    void noSpace()
    {
        // A file size limit stands for a full disk: the write fails, or the plan sees that it can't fit.
        QProcess process;
        process.setChildProcessModifier([] { std::signal(SIGXFSZ, SIG_IGN); });
        process.start(QStringLiteral("sh"),
                      {QStringLiteral("-c"), QStringLiteral("ulimit -f 64; trap '' XFSZ; exec \"$0\" \"$@\""),
                       test::batchProgram(), QStringLiteral("quantize"), m_model, QStringLiteral("--method"),
                       QStringLiteral("rtn"), QStringLiteral("-o"), in("full.safetensors")});
        QVERIFY(process.waitForFinished(30000));
        const auto err = process.readAllStandardError();
        QVERIFY(process.exitStatus() == QProcess::NormalExit);
        QVERIFY2(process.exitCode() == 4, err.constData());
        QVERIFY(!QFile::exists(in("full.safetensors")));
        // No remains under a temporary name either.
        QVERIFY(QDir(text(m_folder.path()))
                    .entryList({QStringLiteral("*full*")}, QDir::Files | QDir::Hidden)
                    .isEmpty());
    }

    void verifyFails()
    {
        auto tensors = test::tinyLlama(192);
        for (float& v : tensors[2].values)
            v = -v;
        const auto other = text(test::writeTinyModel(m_folder / "negated", tensors, 192));
        const auto called =
            callBatch({QStringLiteral("verify"), other, QStringLiteral("--against"), m_model});
        QVERIFY2(called.code == 6, called.err.constData());
        QCOMPARE(called.errorLines().size(), 1);
        QVERIFY(called.err.contains(QByteArray::fromStdString(tensors[2].name)) ||
                called.err.contains("layers.0.attn.q"));
    }

    void badJob()
    {
        test::writeText(m_folder / "bad.json",
                        "{\"halftone-job\": 1, \"model\": \"tiny\",\n \"steps\": [{\"do\": \"dance\"}]}");
        const auto called =
            callBatch({QStringLiteral("run"), in("bad.json"), QStringLiteral("-o"), in("bad.h5")});
        QVERIFY2(called.code == 2, called.err.constData());
        QVERIFY(called.err.contains("bad.json: line 2: steps[0].do"));
        QVERIFY(!QFile::exists(in("bad.h5")));
    }

    void notResults()
    {
        test::writeText(m_folder / "not.h5", "no results here");
        const auto called =
            callBatch({QStringLiteral("view"), in("not.h5"), QStringLiteral("-o"), in("views")});
        QVERIFY2(called.code == 3, called.err.constData());
    }

    // Ctrl+C in the middle: 130, soon, with the finished rows in a results file that opens and says so.
    void interrupt_data()
    {
        QTest::addColumn<int>("number");
        QTest::newRow("SIGINT") << SIGINT;
        QTest::newRow("SIGTERM") << SIGTERM;
    }
    void interrupt()
    {
        QFETCH(int, number);
        // Long enough to be hit on any machine: 7 x 17 x 3 settings.
        test::writeText(m_folder / "long.json", R"({"halftone-job": 1, "model": "tiny", "steps": [
            {"do": "overview"},
            {"do": "sweep", "points": [{"method": "rtn", "set": {"bits": {"from": 2, "to": 8},
              "group-size": {"from": 1, "to": 65536},
              "symmetry": ["restricted", "full", "asymmetric"], "scale-type": ["f16", "f32", "bf16"]}}]}]})");
        // What an interrupted run left must not be taken for the start of this one.
        QDir(in("long.h5.steps")).removeRecursively();
        QProcess process;
        process.start(test::batchProgram(),
                      {QStringLiteral("run"), in("long.json"), QStringLiteral("-o"), in("long.h5"),
                       QStringLiteral("--overwrite"), QStringLiteral("--json")});
        QVERIFY(process.waitForStarted());
        QVERIFY(waitForStep(in("long.h5.steps"), QStringLiteral("002")));
        QThread::msleep(100);
        QVERIFY(process.state() == QProcess::Running);
        ::kill(static_cast<pid_t>(process.processId()), number);
        QVERIFY(process.waitForFinished(20000));
        QVERIFY(process.exitStatus() == QProcess::NormalExit);
        QCOMPARE(process.exitCode(), 130);
        // One line, and no complaint of a library at exit.
        const QByteArray said = process.readAllStandardError();
        QVERIFY2(said.count('\n') == 1 && said.endsWith("cancelled\n"), said.constData());
        const auto error = QJsonDocument::fromJson(process.readAllStandardOutput()).object();
        QCOMPARE(error.value(QStringLiteral("error")).toObject().value(QStringLiteral("code")).toString(),
                 QStringLiteral("cancelled"));
        const auto results = openHdf5((m_folder / "long.h5").string());
        HALFTONE_VERIFY(results);
        QVERIFY((*results)->outcome() == Outcome::Cancelled);
        QCOMPARE((*results)->rows("tensors"), 21);
    }

    // Killed without a word in step 3: the two finished steps are not done again, and the result is that of
    // an uninterrupted run.
    void resumeAfterKill()
    {
        const auto job = [&](const char* bits) {
            test::writeText(m_folder / "killed.json",
                            std::string(R"({"halftone-job": 1, "model": "tiny", "steps": [
                {"do": "overview"},
                {"do": "quantize", "method": "rtn", "set": {"bits": )") +
                                bits + R"(}, "output": "killed.safetensors"},
                {"do": "sweep", "points": [{"method": "rtn", "set": {"bits": {"from": 2, "to": 8},
                  "group-size": {"from": 1, "to": 256}, "symmetry": ["restricted", "full"]}}]}]})");
        };
        job("5");
        const QStringList run{QStringLiteral("run"), in("killed.json"), QStringLiteral("-o"),
                              in("killed.h5")};
        QProcess process;
        process.start(test::batchProgram(), run);
        QVERIFY(waitForStep(in("killed.h5.steps"), QStringLiteral("003")));
        process.kill();
        QVERIFY(process.waitForFinished(20000));
        QVERIFY(!QFile::exists(in("killed.h5")));
        const auto written = QFileInfo(in("killed.safetensors")).lastModified();

        // Another recipe is refused, and the difference named.
        job("6");
        const auto changed = callBatch(run + QStringList{QStringLiteral("--resume")});
        QVERIFY2(changed.code == 6, changed.err.constData());
        QVERIFY(changed.err.contains("step 2"));
        job("5");
        const auto resumed = callBatch(run + QStringList{QStringLiteral("--resume")});
        QVERIFY2(resumed.code == 0, resumed.err.constData());
        QCOMPARE(QFileInfo(in("killed.safetensors")).lastModified(), written);
        QVERIFY(!QDir(in("killed.h5.steps")).exists());

        const auto whole = callBatch({QStringLiteral("run"), in("killed.json"), QStringLiteral("-o"),
                                      in("whole.h5"), QStringLiteral("--outputs"), in("whole")});
        QVERIFY2(whole.code == 0, whole.err.constData());
        QCOMPARE(callBatch({QStringLiteral("view"), in("killed.h5"), QStringLiteral("-o"), in("k")}).code, 0);
        QCOMPARE(callBatch({QStringLiteral("view"), in("whole.h5"), QStringLiteral("-o"), in("w")}).code, 0);
        for (const char* table :
             {"/table_tensors.csv", "/table_weights.csv", "/table_sweep.csv", "/table_pareto.csv"}) {
            const auto a = read(in("k") + QString::fromLatin1(table));
            QVERIFY(!a.isEmpty());
            QVERIFY(a == read(in("w") + QString::fromLatin1(table)));
        }
        QVERIFY(read(in("killed.safetensors")) == read(in("whole/killed.safetensors")));
        // What is complete is not run again.
        QCOMPARE(callBatch(run + QStringList{QStringLiteral("--resume")}).code, 4);
    }
};

QTEST_GUILESS_MAIN(TestFailures)
#include "tst_failures.moc"
