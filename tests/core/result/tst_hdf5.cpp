// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/result/hdf5/handle.h"
#include "core/result/writer.h"
#include "tests/core/result/sample_results.h"
#include "tests/support/main.h"
#include "tests/support/temp_dir.h"

#include <QFile>
#include <QProcess>
#include <QStandardPaths>

#include <cmath>
#include <csignal>
#include <filesystem>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace halftone;
using namespace halftone::test;

namespace {

Status writeSample(const std::string& path, std::int64_t rows, Outcome outcome = Outcome::Complete)
{
    HALFTONE_TRY(writer, Hdf5Writer::create(path, sampleProvenance()));
    HALFTONE_CHECK(fillSample(*writer, rows));
    return writer->commit(outcome);
}

/// Runs `body` in a process of its own and gives its wait status.
template <class Body> int inChild(Body body)
{
    const pid_t child = ::fork();
    if (child == 0) {
        body();
        ::_exit(0);
    }
    int status = -1;
    ::waitpid(child, &status, 0);
    return status;
}

void compare(const ResultReader& a, const ResultReader& b)
{
    QCOMPARE(a.provenance().methodId, b.provenance().methodId);
    QCOMPARE(a.provenance().methodVersion, b.provenance().methodVersion);
    QCOMPARE(a.provenance().checkpointPath, b.provenance().checkpointPath);
    QCOMPARE(a.provenance().checkpointHash, b.provenance().checkpointHash);
    QCOMPARE(a.provenance().device, b.provenance().device);
    QCOMPARE(a.provenance().programVersion, b.provenance().programVersion);
    QCOMPARE(a.provenance().created, b.provenance().created);
    QCOMPARE(a.provenance().seed, b.provenance().seed);
    QCOMPARE(a.provenance().threads, b.provenance().threads);
    QVERIFY(a.provenance().params == b.provenance().params);
    const auto tables = a.tables();
    QCOMPARE(tables.size(), b.tables().size());
    for (std::size_t t = 0; t < tables.size(); ++t) {
        const TableSchema other = b.tables()[t];
        QCOMPARE(tables[t].name, other.name);
        QCOMPARE(tables[t].help, other.help);
        QCOMPARE(tables[t].columns.size(), other.columns.size());
        QCOMPARE(a.rows(tables[t].name), b.rows(tables[t].name));
        for (std::size_t c = 0; c < other.columns.size(); ++c) {
            const Column& column = tables[t].columns[c];
            QCOMPARE(column.name, other.columns[c].name);
            QCOMPARE(column.type, other.columns[c].type);
            QCOMPARE(column.unit, other.columns[c].unit);
            QCOMPARE(column.help, other.columns[c].help);
            const auto x = a.column(tables[t].name, column.name), y = b.column(tables[t].name, column.name);
            HALFTONE_VERIFY(x);
            HALFTONE_VERIFY(y);
            QCOMPARE(x->size(), y->size());
            for (std::size_t i = 0; i < x->size(); ++i)
                QVERIFY((*x)[i] == (*y)[i] || (std::isnan((*x)[i]) && std::isnan((*y)[i])));
            if (column.type != Column::Type::Name) continue;
            QVERIFY(*a.names(tables[t].name, column.name) == *b.names(tables[t].name, column.name));
        }
    }
    QVERIFY(a.arrays() == b.arrays());
    for (const auto& name : a.arrays()) {
        const auto x = a.arrayData(name), y = b.arrayData(name);
        HALFTONE_VERIFY(x);
        HALFTONE_VERIFY(y);
        QVERIFY(x->dims == y->dims && x->values == y->values && x->unit == y->unit && x->help == y->help);
    }
    QCOMPARE(a.figures().size(), b.figures().size());
    for (std::size_t f = 0; f < a.figures().size(); ++f)
        QCOMPARE(toJson(a.figures()[f]), toJson(b.figures()[f]));
    QVERIFY(a.log() == b.log());
}

} // namespace

class TestHdf5 : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void readsBackWhatWasWritten_data()
    {
        QTest::addColumn<qint64>("rows");
        QTest::newRow("none") << qint64{0};
        QTest::newRow("one") << qint64{1};
        QTest::newRow("few") << qint64{100};
        QTest::newRow("one chunk") << qint64{65536};
        QTest::newRow("two chunks") << qint64{70000};
    }
    void readsBackWhatWasWritten()
    {
        QFETCH(qint64, rows);
        const TempDir dir;
        const auto memory = MemoryResults::make(sampleProvenance());
        HALFTONE_VERIFY(fillSample(*memory, rows));
        const std::string path = dir / "a.h5";
        HALFTONE_VERIFY(writeSample(path, rows, Outcome::Failed));
        QVERIFY(!std::filesystem::exists(path + ".part"));
        const auto file = openHdf5(path);
        HALFTONE_VERIFY(file);
        QCOMPARE((*file)->outcome(), Outcome::Failed);
        compare(*memory, **file);
        // Memory to file, and file to file.
        const std::string second = dir / "b.h5", third = dir / "c.h5";
        memory->setOutcome(Outcome::Complete);
        HALFTONE_VERIFY(saveHdf5(*memory, second));
        const auto saved = openHdf5(second);
        HALFTONE_VERIFY(saved);
        QCOMPARE((*saved)->outcome(), Outcome::Complete);
        compare(*memory, **saved);
        HALFTONE_VERIFY(saveHdf5(**file, third));
        const auto copy = openHdf5(third);
        HALFTONE_VERIFY(copy);
        compare(**file, **copy);
    }

    void writesTheSameBytesTwice()
    {
        const TempDir dir;
        HALFTONE_VERIFY(writeSample(dir / "a.h5", 1000));
        HALFTONE_VERIFY(writeSample(dir / "b.h5", 1000));
        QFile a(QString::fromStdString(dir / "a.h5")), b(QString::fromStdString(dir / "b.h5"));
        QVERIFY(a.open(QIODevice::ReadOnly) && b.open(QIODevice::ReadOnly));
        QCOMPARE(a.readAll(), b.readAll());
    }

    void h5dumpSeesTheFormat()
    {
        const QString tool = QStandardPaths::findExecutable(QStringLiteral("h5dump"));
        if (tool.isEmpty()) QSKIP("h5dump is not installed");
        const TempDir dir;
        HALFTONE_VERIFY(writeSample(dir / "a.h5", 70000));
        QProcess dump;
        dump.start(tool, {QStringLiteral("-H"), QStringLiteral("-p"), QString::fromStdString(dir / "a.h5")});
        QVERIFY(dump.waitForFinished());
        QCOMPARE(dump.exitCode(), 0);
        const QByteArray text = dump.readAllStandardOutput();
        for (const char* expected :
             {"ATTRIBUTE \"halftone_format\"", "ATTRIBUTE \"outcome\"", "ATTRIBUTE \"checkpoint_hash\"",
              "GROUP \"parameters\"", "ATTRIBUTE \"damping\"", "DATASET \"sqnr_db\"",
              "DATASET \"name_names\"", "CHUNKED ( 65536 )", "PREPROCESSING SHUFFLE",
              "COMPRESSION DEFLATE { LEVEL 4 }", "DATASET \"hessian%2Flayer 0\"", "GROUP \"figures\"",
              "DATASET \"log\""})
            QVERIFY2(text.contains(expected), expected);
    }

    void h5pySeesTheValues()
    {
        const QString python = QStandardPaths::findExecutable(QStringLiteral("python3"));
        if (python.isEmpty()) QSKIP("python3 is not installed");
        QProcess probe;
        probe.start(python, {QStringLiteral("-c"), QStringLiteral("import h5py")});
        if (!probe.waitForFinished() || probe.exitCode() != 0) QSKIP("python3 has no h5py");
        const TempDir dir;
        HALFTONE_VERIFY(writeSample(dir / "a.h5", 10));
        const char* script = R"(
import h5py, json, sys
f = h5py.File(sys.argv[1], "r")
assert f.attrs["halftone_format"] == 1 and f.attrs["outcome"].decode() == "complete"
p = f["provenance"].attrs
assert p["seed"] == 2**64 - 1 and p["checkpoint_path"].decode("utf-8") == "/models/a b/modèle.gguf"
q = f["provenance/parameters"].attrs
assert q["bits"] == 4 and q["damping"] == 0.1 and bool(q["symmetric"]) is True
t = f["tables/weights"]
assert set(t.keys()) == set(["name", "name_names", "bytes", "sqnr_db", "class", "class_names"])
assert t["class_names"][()].tolist() == [b"ffn", b"attention"] and t["class"][3] == 1
assert t["bytes"].attrs["unit"].decode() == "B" and t["bytes"].dtype == "int64"
assert f["arrays/hessian%2Flayer 0"].shape == (2, 3, 5)
fig = json.loads(f["figures"]["sqnr%2Fby weight"][()])
assert fig["y"]["log"] is True
assert f["log"][0].decode().split("\t")[1] == "started"
)";
        QProcess run;
        run.start(python,
                  {QStringLiteral("-c"), QString::fromUtf8(script), QString::fromStdString(dir / "a.h5")});
        QVERIFY(run.waitForFinished());
        QVERIFY2(run.exitCode() == 0, run.readAllStandardError().constData());
    }

    void aWriterThatEndsEarlyLeavesNothing()
    {
        const TempDir dir;
        const std::string path = dir / "a.h5";
        std::shared_ptr<TableWriter> table;
        {
            auto writer = Hdf5Writer::create(path, {});
            HALFTONE_VERIFY(writer);
            QVERIFY(std::filesystem::exists(path + ".part"));
            HALFTONE_VERIFY(fillSample(**writer, 70000));
            table = *(*writer)->table(sampleSchema());
        }
        QVERIFY(!std::filesystem::exists(path));
        QVERIFY(!std::filesystem::exists(path + ".part"));
        const Status late = table->append(std::array{0.0, 0.0, 0.0, 0.0}); // held longer than its file
        QVERIFY(!late);
        QVERIFY(late.error().line().find("closed") != std::string::npos);
    }

    void aKilledWriterLeavesNoFinalFile()
    {
        const TempDir dir;
        const std::string path = dir / "a.h5";
        HALFTONE_VERIFY(writeSample(path, 10));
        const auto before = std::filesystem::file_size(path);
        const int status = inChild([&] {
            auto writer = Hdf5Writer::create(path, {});
            if (writer && fillSample(**writer, 70000)) ::raise(SIGKILL);
        });
        QVERIFY(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        QCOMPARE(std::filesystem::file_size(path), before); // the older results stand
        HALFTONE_VERIFY(openHdf5(path));
        QVERIFY(std::filesystem::exists(path + ".part"));
        const auto part = openHdf5(path + ".part");
        QVERIFY(!part);
        QCOMPARE(part.error().code(), Errc::BadFormat);
        QVERIFY2(part.error().line().find("killed") != std::string::npos, part.error().line().c_str());
        // The next run takes the name over.
        HALFTONE_VERIFY(writeSample(path, 20));
        QCOMPARE((*openHdf5(path))->rows("weights"), std::int64_t{20});
    }

    void aFullDiskIsAnErrorAndLeavesNothing()
    {
        const TempDir dir;
        const std::string path = dir / "a.h5";
        // A limit on the file's size stands for a full disk: the writes fail in the same calls.
        const int status = inChild([&] {
            std::signal(SIGXFSZ, SIG_IGN);
            const rlimit small{300 * 1024, 300 * 1024};
            ::setrlimit(RLIMIT_FSIZE, &small);
            auto writer = Hdf5Writer::create(path, {});
            if (!writer) ::_exit(10);
            auto table = (*writer)->table({"t", "", {{"a", Column::Type::Real, "", ""}}});
            SplitMix64 rng(1);
            Status s = Ok{};
            for (int i = 0; i < 500000 && s; ++i)
                s = (*table)->append(std::array{rng.uniform()});
            // Whoever goes on all the same meets the same error, and no half of a file is published.
            if (!s && (*writer)->commit(Outcome::Failed)) ::_exit(14);
            if (s) s = (*writer)->commit(Outcome::Complete);
            if (s || s.error().code() != Errc::CannotWrite) ::_exit(11);
            if (s.error().line().find(path) == std::string::npos) ::_exit(12);
            writer->reset();
            ::_exit(std::filesystem::exists(path + ".part") ? 13 : 0);
        });
        QVERIFY(WIFEXITED(status));
        QCOMPARE(WEXITSTATUS(status), 0);
        QVERIFY(!std::filesystem::exists(path));
    }

    void refusesPlacesItCannotWrite()
    {
        const TempDir dir;
        const auto missing = Hdf5Writer::create(dir / "no/such/a.h5", {});
        QVERIFY(!missing);
        QCOMPARE(missing.error().code(), Errc::CannotWrite);
        const auto folder = Hdf5Writer::create(dir.path(), {});
        QVERIFY(!folder);
        QCOMPARE(folder.error().code(), Errc::CannotWrite);
    }

    void keepsOddNames()
    {
        const TempDir dir;
        const std::string path = dir / "a.h5";
        const std::vector<std::string> names{".", "..", "a/b", "50%", "%2F", "ü\n", " ", "\x01"};
        {
            auto writer = Hdf5Writer::create(path, {});
            HALFTONE_VERIFY(writer);
            for (const auto& name : names) {
                auto table = (*writer)->table({name, "", {{name, Column::Type::Name, "", ""}}});
                HALFTONE_VERIFY(table);
                const std::array row{(*table)->nameId(0, name)};
                HALFTONE_VERIFY((*table)->append(row));
            }
            HALFTONE_VERIFY((*writer)->commit(Outcome::Complete));
            QVERIFY(!(*writer)->commit(Outcome::Complete));
        }
        const auto file = openHdf5(path);
        HALFTONE_VERIFY(file);
        QCOMPARE((*file)->tables().size(), names.size());
        for (std::size_t i = 0; i < names.size(); ++i) {
            QCOMPARE((*file)->tables()[i].name, names[i]);
            const auto read = (*file)->names(names[i], names[i]);
            HALFTONE_VERIFY(read);
            QVERIFY(*read == std::vector<std::string>{names[i]});
            HALFTONE_VERIFY((*file)->column(names[i], names[i]));
        }
        for (const auto& name : names)
            QCOMPARE(hdf5::textOfLink(hdf5::linkName(name)), name);
    }

    void chunksOfArraysAreNearOneMebibyte()
    {
        const TempDir dir;
        const std::string path = dir / "a.h5";
        const std::array<std::int64_t, 2> dims{600, 1000};
        std::vector<float> values(600 * 1000);
        for (std::size_t i = 0; i < values.size(); ++i)
            values[i] = static_cast<float>(i % 251);
        {
            auto writer = Hdf5Writer::create(path, {});
            HALFTONE_VERIFY(writer);
            HALFTONE_VERIFY((*writer)->array("m", dims, values, "1", "Matrix."));
            QVERIFY(!(*writer)->array("m", dims, values, "", ""));
            HALFTONE_VERIFY((*writer)->commit(Outcome::Complete));
        }
        const auto read = (*openHdf5(path))->arrayData("m");
        HALFTONE_VERIFY(read);
        QVERIFY(read->values == values);
    }
};

QTEST_GUILESS_MAIN(TestHdf5)
#include "tst_hdf5.moc"
