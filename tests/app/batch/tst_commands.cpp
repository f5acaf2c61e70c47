// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/app/batch/batch_program.h"
#include "tests/support/main.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tiny_model.h"

#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QJsonArray>

using namespace halftone;
using test::callBatch;
using test::Called;
using test::text;

/// Every command at work on a good model.
class TestCommands : public QObject {
    Q_OBJECT
    test::TempDir m_folder;
    QString m_model; ///< rows of 172: q4_0 and groups of 32 need substitutions
    QString m_even;  ///< rows of 192: all fits

    QString in(const char* name) const { return text(m_folder / name); }

private Q_SLOTS:
    void initTestCase()
    {
        m_model = text(test::writeTinyModel(m_folder / "tiny", test::tinyLlama()));
        m_even = text(test::writeTinyModel(m_folder / "even", test::tinyLlama(192), 192));
    }

    void helpOfEachCommand_data()
    {
        QTest::addColumn<QString>("command");
        for (const char* c :
             {"", "info", "methods", "plan", "quantize", "run", "verify", "view", "schema", "eval"})
            QTest::newRow(c) << QString::fromLatin1(c);
    }
    void helpOfEachCommand()
    {
        QFETCH(QString, command);
        auto arguments = command.isEmpty() ? QStringList{} : QStringList{command};
        const auto called = callBatch(arguments << QStringLiteral("--help"));
        QCOMPARE(called.code, 0);
        QVERIFY(called.out.contains("halftone-batch"));
        QVERIFY(called.out.contains("--json"));
        QVERIFY(called.err.isEmpty());
    }

    void info()
    {
        const auto plain = callBatch({QStringLiteral("info"), m_model});
        QCOMPARE(plain.code, 0);
        QVERIFY(plain.out.contains("model.layers.1.mlp.down_proj.weight"));
        const auto called = callBatch({QStringLiteral("info"), m_model, QStringLiteral("--json")});
        QCOMPARE(called.code, 0);
        const auto json = called.json();
        QCOMPARE(json.value(QStringLiteral("weight_count")).toInt(), 156480);
        QCOMPARE(json.value(QStringLiteral("weights")).toArray().size(), 21);
        QCOMPARE(
            json.value(QStringLiteral("config")).toObject().value(QStringLiteral("architecture")).toString(),
            QStringLiteral("llama"));
    }

    void infoStatistics()
    {
        const auto called =
            callBatch({QStringLiteral("info"), m_model, QStringLiteral("--stats"), QStringLiteral("--json"),
                       QStringLiteral("--tensors"), QStringLiteral("*norm*")});
        QCOMPARE(called.code, 0);
        const auto weights = called.json().value(QStringLiteral("weights")).toArray();
        QCOMPARE(weights.size(), 5);
        for (const auto& w : weights) {
            const auto stats = w.toObject().value(QStringLiteral("statistics")).toObject();
            QCOMPARE(stats.value(QStringLiteral("min")).toDouble(), 1.0);
            QCOMPARE(stats.value(QStringLiteral("max")).toDouble(), 1.0);
            QCOMPARE(stats.value(QStringLiteral("zeros")).toInt(-1), 0);
        }
    }

    void methods()
    {
        const auto all = callBatch({QStringLiteral("methods"), QStringLiteral("--json")});
        QCOMPARE(all.code, 0);
        QStringList ids;
        for (const auto& m : all.json().value(QStringLiteral("methods")).toArray())
            ids << m.toObject().value(QStringLiteral("id")).toString();
        QVERIFY(ids.contains(QStringLiteral("rtn")));
        QVERIFY(ids.contains(QStringLiteral("block_error")));
        const auto one = callBatch({QStringLiteral("methods"), QStringLiteral("rtn")});
        QCOMPARE(one.code, 0);
        QVERIFY(one.out.contains("`group-size`"));
        QVERIFY(one.out.contains("1..65536"));
        const auto json =
            callBatch({QStringLiteral("methods"), QStringLiteral("rtn"), QStringLiteral("--json")}).json();
        QVERIFY(json.value(QStringLiteral("parameters"))
                    .toObject()
                    .value(QStringLiteral("properties"))
                    .toObject()
                    .contains(QStringLiteral("bits")));
    }

    void schema()
    {
        const auto called = callBatch({QStringLiteral("schema")});
        QCOMPARE(called.code, 0);
        QVERIFY(called.json().contains(QStringLiteral("$schema")));
    }

    // The size in the plan is the size of the file, to the byte, in both containers.
    void planIsTheFile_data()
    {
        QTest::addColumn<QString>("set");
        QTest::addColumn<QString>("output");
        QTest::newRow("gguf") << "format=q8_0"
                              << "a.gguf";
        QTest::newRow("gguf q4_0") << "format=q4_0"
                                   << "b.gguf";
        QTest::newRow("safetensors") << "bits=4"
                                     << "c.safetensors";
        QTest::newRow("asymmetric") << "symmetry=asymmetric"
                                    << "d.safetensors";
        QTest::newRow("channel") << "granularity=channel"
                                 << "e.safetensors";
        QTest::newRow("folder") << "bits=8"
                                << "f/";
    }
    void planIsTheFile()
    {
        QFETCH(QString, set);
        QFETCH(QString, output);
        const QString path = in(output.toUtf8().constData());
        const QStringList rest{m_model,
                               QStringLiteral("--method"),
                               QStringLiteral("rtn"),
                               QStringLiteral("--set"),
                               set,
                               QStringLiteral("-o"),
                               path,
                               QStringLiteral("--json")};
        const auto plan = callBatch(QStringList{QStringLiteral("plan")} + rest);
        QVERIFY2(plan.code == 0, plan.err.constData());
        const auto written = callBatch(QStringList{QStringLiteral("quantize")} + rest);
        QVERIFY2(written.code == 0, written.err.constData());
        const auto file = path.endsWith(QLatin1Char('/')) ? path + QStringLiteral("model.safetensors") : path;
        const auto bytes = written.json().value(QStringLiteral("bytes")).toInteger();
        QCOMPARE(QFileInfo(file).size(), bytes);
        QVERIFY2(plan.out.contains(QByteArray::number(bytes)), plan.out.constData());
        // What is written opens again and passes its check against the source.
        const auto verified = callBatch(
            {QStringLiteral("verify"), path, QStringLiteral("--against"), m_model, QStringLiteral("--json")});
        QVERIFY2(verified.code == 0, verified.err.constData());
        QCOMPARE(verified.json().value(QStringLiteral("compared")).toInt(), 21);
        QVERIFY(verified.json().value(QStringLiteral("passed")).toBool());
    }

    // A row length that is no multiple of the block: named before the run, with its numbers, and an error on
    // request.
    void substitutionsAreTold()
    {
        const auto plan =
            callBatch({QStringLiteral("plan"), m_model, QStringLiteral("--method"), QStringLiteral("rtn"),
                       QStringLiteral("--set"), QStringLiteral("format=q4_0")});
        QCOMPARE(plan.code, 0);
        // Under the names of the output: this format goes to GGUF.
        QCOMPARE(plan.out.count("ffn_down"), 2);
        QVERIFY(plan.out.contains("172"));
        const auto strict =
            callBatch({QStringLiteral("quantize"), m_model, QStringLiteral("--method"), QStringLiteral("rtn"),
                       QStringLiteral("--set"), QStringLiteral("format=q4_0"),
                       QStringLiteral("--no-fallback"), QStringLiteral("-o"), in("no.gguf")});
        QCOMPARE(strict.code, 6);
        QCOMPARE(strict.errorLines().size(), 1);
        QCOMPARE(strict.err.count("ffn_down"), 2);
        QVERIFY(!QFile::exists(in("no.gguf")));
    }

    // A group size that does not divide the columns: every weight that is hit is named at once.
    void groupsThatDoNotFit()
    {
        const auto plan = callBatch({QStringLiteral("plan"), m_model, QStringLiteral("--method"),
                                     QStringLiteral("rtn"), QStringLiteral("--set"),
                                     QStringLiteral("group-size=128"), QStringLiteral("--no-fallback")});
        QCOMPARE(plan.code, 6);
        QCOMPARE(plan.errorLines().size(), 1);
        QCOMPARE(plan.err.count("down_proj"), 2);
    }

    void runAndView()
    {
        test::writeText(m_folder / "job.json", R"({ // all kinds of steps
            "halftone-job": 1, "model": "even", "steps": [
              {"do": "overview"},
              {"do": "sweep", "points": [{"method": "rtn", "set": {"bits": {"from": 2, "to": 4}}}]},
              {"do": "analyse", "method": "block_error", "set": {"format": "q4_0"}, "tensors": ["layers.0.attn.q"]},
              {"do": "quantize", "method": "rtn", "set": {"format": "q8_0"}, "output": "eight.gguf"},
              {"do": "verify", "output": "eight.gguf"}]})");
        const auto run = callBatch({QStringLiteral("run"), in("job.json"), QStringLiteral("-o"),
                                    in("results.h5"), QStringLiteral("--json")});
        QVERIFY2(run.code == 0, run.err.constData());
        const auto tables = run.json().value(QStringLiteral("tables")).toObject();
        QCOMPARE(tables.value(QStringLiteral("pareto")).toInt(), 3);
        QCOMPARE(tables.value(QStringLiteral("block_error")).toInt(), 64 * 2);
        QVERIFY(QFile::exists(in("eight.gguf")));
        const auto view =
            callBatch({QStringLiteral("view"), in("results.h5"), QStringLiteral("-o"), in("figures")});
        QVERIFY2(view.code == 0, view.err.constData());
        for (const char* figure : {"size_treemap", "pareto", "block_map", "weight_sqnr"})
            for (const char* ending : {".svg", ".png", ".csv"}) {
                const QFileInfo file(in("figures") + QLatin1Char('/') + QString::fromLatin1(figure) +
                                     QString::fromLatin1(ending));
                QVERIFY2(file.size() > 100, qPrintable(file.filePath()));
            }
        QVERIFY(QFileInfo(in("figures/table_pareto.csv")).size() > 100);
        const auto one =
            callBatch({QStringLiteral("view"), in("results.h5"), QStringLiteral("--figure"),
                       QStringLiteral("pareto"), QStringLiteral("-o"), in("one"), QStringLiteral("--dark")});
        QCOMPARE(one.code, 0);
        QCOMPARE(QDir(in("one")).entryList(QDir::Files).size(), 3);
        // Nothing is replaced unasked.
        const auto again =
            callBatch({QStringLiteral("run"), in("job.json"), QStringLiteral("-o"), in("results.h5")});
        QCOMPARE(again.code, 4);
        const auto over = callBatch({QStringLiteral("run"), in("job.json"), QStringLiteral("-o"),
                                     in("results.h5"), QStringLiteral("--overwrite")});
        QVERIFY2(over.code == 0, over.err.constData());
    }

    // The jobs that come along run on any model, not only on the one they name.
    void sampleJobs_data()
    {
        QTest::addColumn<QString>("job");
        const QDir jobs(qEnvironmentVariable("HALFTONE_SOURCE") + QStringLiteral("/resources/jobs"));
        for (const auto& name : jobs.entryList({QStringLiteral("*.json")}, QDir::Files))
            QTest::newRow(qPrintable(name)) << jobs.filePath(name);
    }
    void sampleJobs()
    {
        QFETCH(QString, job);
        const auto called =
            callBatch({QStringLiteral("run"), job, QStringLiteral("--model"), m_even, QStringLiteral("-o"),
                       in("sample.h5"), QStringLiteral("--overwrite"), QStringLiteral("--json")});
        QVERIFY2(called.code == 0, called.err.constData());
        QVERIFY(!called.json().value(QStringLiteral("figures")).toArray().isEmpty());
    }

    void sameBytesForAnyNumberOfThreads()
    {
        QByteArray first;
        for (const char* threads : {"1", "2", "1"}) {
            const QString path = in("threads.gguf");
            const auto called = callBatch(
                {QStringLiteral("quantize"), m_model, QStringLiteral("--method"), QStringLiteral("rtn"),
                 QStringLiteral("--set"), QStringLiteral("format=q4_1"), QStringLiteral("-o"), path,
                 QStringLiteral("--overwrite"), QStringLiteral("--threads"), QString::fromLatin1(threads)});
            QVERIFY2(called.code == 0, called.err.constData());
            QFile file(path);
            QVERIFY(file.open(QIODevice::ReadOnly));
            const auto bytes = file.readAll();
            if (first.isEmpty()) first = bytes;
            QVERIFY(bytes == first);
        }
    }

    void errorsOfWeightsInResults()
    {
        const auto called =
            callBatch({QStringLiteral("quantize"), m_model, QStringLiteral("--method"), QStringLiteral("rtn"),
                       QStringLiteral("--set"), QStringLiteral("bits=3"), QStringLiteral("-o"),
                       in("three.safetensors"), QStringLiteral("--results"), in("three.h5")});
        QVERIFY2(called.code == 0, called.err.constData());
        QVERIFY(called.out.contains("largest loss"));
        const auto view = callBatch({QStringLiteral("view"), in("three.h5"), QStringLiteral("-o"),
                                     in("three"), QStringLiteral("--json")});
        QVERIFY2(view.code == 0, view.err.constData());
        QCOMPARE(view.json().value(QStringLiteral("figures")).toArray().size(), 2);
    }
};

QTEST_GUILESS_MAIN(TestCommands)
#include "tst_commands.moc"
