// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/result/hdf5/handle.h"
#include "core/result/writer.h"
#include "tests/core/result/sample_results.h"
#include "tests/support/main.h"
#include "tests/support/temp_dir.h"

#include <QFile>

#include <filesystem>
#include <functional>
#include <hdf5.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace halftone;
using namespace halftone::test;
using hdf5::Hid;

namespace {

QByteArray sampleBytes(const TempDir& dir)
{
    const std::string path = dir / "sample.h5";
    auto writer = Hdf5Writer::create(path, sampleProvenance());
    if (!writer || !fillSample(**writer, 50) || !(*writer)->commit(Outcome::Complete)) return {};
    QFile file(QString::fromStdString(path));
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

void store(const std::string& path, const QByteArray& bytes)
{
    QFile file(QString::fromStdString(path));
    if (file.open(QIODevice::WriteOnly)) file.write(bytes);
}

/// Reads all there is.
Status readAll(const std::string& path)
{
    HALFTONE_TRY(file, openHdf5(path));
    for (const TableSchema& t : file->tables())
        for (const Column& c : t.columns) {
            HALFTONE_TRY(column, file->column(t.name, c.name));
            if (column.size() != static_cast<std::size_t>(file->rows(t.name)))
                return Error(Errc::Internal, "rows");
            if (c.type == Column::Type::Name) HALFTONE_CHECK(file->names(t.name, c.name));
        }
    for (const auto& a : file->arrays())
        HALFTONE_CHECK(file->arrayData(a));
    return Ok{};
}

/// Lets `change` loose on a sound file.
void edit(const std::string& path, const std::function<void(Hid)>& change)
{
    const hdf5::Lock lock;
    const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
    change(file);
    H5Fclose(file);
}

void replaceDataset(Hid file, const char* place, Hid type, std::vector<hsize_t> dims,
                    Hid creation = H5P_DEFAULT)
{
    H5Ldelete(file, place, H5P_DEFAULT);
    const hid_t space = H5Screate_simple(static_cast<int>(dims.size()), dims.data(), nullptr);
    const hid_t d = H5Dcreate2(file, place, type, space, H5P_DEFAULT, creation, H5P_DEFAULT);
    const bool named = std::string_view(place).find("_names") != std::string_view::npos;
    if (!named)
        for (const auto& [key, text] :
             {std::pair("unit", "B"), std::pair("help", "h"), std::pair("type", "integer")})
            static_cast<void>(hdf5::writeText(d, key, text));
    H5Dclose(d);
    H5Sclose(space);
}

} // namespace

class TestHdf5Hostile : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void everyTruncationIsAnError()
    {
        const TempDir dir;
        const QByteArray bytes = sampleBytes(dir);
        QVERIFY(bytes.size() > 1000);
        const std::string path = dir / "cut.h5";
        for (qsizetype length = 0; length < bytes.size(); length += bytes.size() / 101) {
            store(path, bytes.left(length));
            const auto file = openHdf5(path);
            QVERIFY2(!file, qPrintable(QString::number(length)));
            QCOMPARE(file.error().code(), Errc::BadFormat);
            QVERIFY(file.error().line().find("cut.h5") != std::string::npos);
        }
    }

    void changedBytesNeverCrash()
    {
        const TempDir dir;
        const QByteArray bytes = sampleBytes(dir);
        // In a process of its own, so that a crash is counted here and doesn't end the test.
        SplitMix64 rng(7);
        const std::string path = dir / "changed.h5";
        for (int round = 0; round < 100; ++round) {
            QByteArray changed = bytes;
            for (int k = 0; k < 3; ++k) {
                const auto at = static_cast<qsizetype>(rng.next() % static_cast<std::uint64_t>(bytes.size()));
                changed[at] = static_cast<char>(rng.next());
            }
            store(path, changed);
            const pid_t child = ::fork();
            if (child == 0) {
                const Status s = readAll(path);
                ::_exit(s || s.error().code() != Errc::Internal ? 0 : 1);
            }
            int status = -1;
            ::waitpid(child, &status, 0);
            QVERIFY2(WIFEXITED(status) && WEXITSTATUS(status) == 0, qPrintable(QString::number(round)));
        }
    }

    void wrongContentsAreExplained_data()
    {
        using Change = std::function<void(Hid)>;
        QTest::addColumn<Change>("change");
        QTest::addColumn<QByteArray>("message");
        const auto row = [](const char* name, Change change, const char* message) {
            QTest::newRow(name) << change << QByteArray(message);
        };
        row(
            "no outcome", [](Hid f) { H5Adelete(f, "outcome"); }, "killed");
        row(
            "not ours", [](Hid f) { H5Adelete(f, "halftone_format"); }, "not results of this program");
        row(
            "later format",
            [](Hid f) {
                H5Adelete(f, "halftone_format");
                static_cast<void>(hdf5::writeInt(f, "halftone_format", 2));
            },
            "format 2");
        row(
            "odd outcome",
            [](Hid f) {
                H5Adelete(f, "outcome");
                static_cast<void>(hdf5::writeText(f, "outcome", "perhaps"));
            },
            "unknown outcome 'perhaps'");
        row(
            "variable-length text",
            [](Hid f) {
                H5Adelete(f, "outcome");
                const hid_t t = H5Tcopy(H5T_C_S1);
                H5Tset_size(t, H5T_VARIABLE);
                const hid_t s = H5Screate(H5S_SCALAR);
                const hid_t a = H5Acreate2(f, "outcome", t, s, H5P_DEFAULT, H5P_DEFAULT);
                const char* text = "complete";
                H5Awrite(a, t, &text);
                H5Aclose(a);
                H5Sclose(s);
                H5Tclose(t);
            },
            "not a text of fixed length");
        row(
            "no tables", [](Hid f) { H5Ldelete(f, "tables", H5P_DEFAULT); }, "tables");
        row(
            "no log", [](Hid f) { H5Ldelete(f, "log", H5P_DEFAULT); }, "log");
        row(
            "no provenance", [](Hid f) { H5Ldelete(f, "provenance", H5P_DEFAULT); }, "provenance");
        row(
            "wrong value type",
            [](Hid f) { replaceDataset(f, "tables/weights/bytes", H5T_IEEE_F64LE, {50}); }, "another type");
        row(
            "rows that are not there",
            [](Hid f) { replaceDataset(f, "tables/weights/bytes", H5T_STD_I64LE, {hsize_t{1} << 40}); },
            "claims");
        row(
            "size that overflows",
            [](Hid f) {
                const hid_t p = H5Pcreate(H5P_DATASET_CREATE);
                const std::vector<hsize_t> chunk{1, 1};
                H5Pset_chunk(p, 2, chunk.data());
                replaceDataset(f, "tables/weights/bytes", H5T_STD_I64LE, {hsize_t{1} << 31, hsize_t{1} << 31},
                               p);
                H5Pclose(p);
            },
            "");
        row(
            "two dimensions",
            [](Hid f) {
                replaceDataset(f, "tables/weights/bytes", H5T_STD_I64LE, {5, 0});
            },
            "2 dimensions");
        row(
            "fewer rows", [](Hid f) { replaceDataset(f, "tables/weights/bytes", H5T_STD_I64LE, {0}); },
            "column bytes has 0 rows, the first has 50");
        row(
            "values in another file",
            [](Hid f) {
                const hid_t p = H5Pcreate(H5P_DATASET_CREATE);
                H5Pset_external(p, "/etc/hostname", 0, H5F_UNLIMITED);
                replaceDataset(f, "tables/weights/bytes", H5T_STD_I64LE, {50}, p);
                H5Pclose(p);
            },
            "another file");
        row(
            "link to another file",
            [](Hid f) { H5Lcreate_external("/etc/passwd", "/", f, "tables/x", H5P_DEFAULT, H5P_DEFAULT); },
            "link to another place");
        row(
            "link that turns in circles",
            [](Hid f) { H5Lcreate_soft("/tables", f, "tables/x", H5P_DEFAULT, H5P_DEFAULT); },
            "link to another place");
        row(
            "dataset for a group",
            [](Hid f) {
                H5Ldelete(f, "figures", H5P_DEFAULT);
                const hid_t s = H5Screate(H5S_SCALAR);
                H5Dclose(H5Dcreate2(f, "figures", H5T_STD_I64LE, s, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
                H5Sclose(s);
            },
            "figures");
        row(
            "no names", [](Hid f) { H5Ldelete(f, "tables/weights/class_names", H5P_DEFAULT); },
            "class_names");
        row(
            "too few names",
            [](Hid f) {
                const hid_t t = H5Tcopy(H5T_C_S1);
                replaceDataset(f, "tables/weights/class_names", t, {0});
                H5Tclose(t);
            },
            "of 0 names");
    }
    void wrongContentsAreExplained()
    {
        QFETCH(std::function<void(Hid)>, change);
        QFETCH(QByteArray, message);
        const TempDir dir;
        QVERIFY(!sampleBytes(dir).isEmpty());
        const std::string path = dir / "sample.h5";
        HALFTONE_VERIFY(readAll(path));
        edit(path, change);
        const Status status = readAll(path);
        QVERIFY(!status);
        const std::string line = status.error().line();
        QVERIFY2(line.find(message.toStdString()) != std::string::npos, line.c_str());
        QVERIFY2(line.find("sample.h5") != std::string::npos, line.c_str());
        QVERIFY(status.error().code() == Errc::BadFormat || status.error().code() == Errc::Unsupported);
    }

    // Errors left on a thread's stack when it ends would keep the library from closing at exit.
    void cleanup() { QCOMPARE(H5Eget_num(H5E_DEFAULT), ssize_t{0}); }

    void otherFilesAreExplained()
    {
        const TempDir dir;
        QCOMPARE(openHdf5(dir / "none.h5").error().code(), Errc::NotFound);
        store(dir / "none.h5.part", QByteArrayLiteral("x"));
        QVERIFY(openHdf5(dir / "none.h5").error().line().find(".part") != std::string::npos);
        QCOMPARE(openHdf5(dir.path()).error().code(), Errc::Io);
        store(dir / "text.h5", QByteArrayLiteral("hello"));
        QCOMPARE(openHdf5(dir / "text.h5").error().code(), Errc::BadFormat);
        store(dir / "empty.h5", {});
        QCOMPARE(openHdf5(dir / "empty.h5").error().code(), Errc::BadFormat);
    }
};

QTEST_GUILESS_MAIN(TestHdf5Hostile)
#include "tst_hdf5_hostile.moc"
