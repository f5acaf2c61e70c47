// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/file.h"

#include "tests/support/main.h"
#include "tests/support/temp_dir.h"

#include <csignal>
#include <cstring>
#include <fstream>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace halftone;
namespace fs = std::filesystem;

namespace {

void put(const fs::path& path, const std::string& text)
{
    std::ofstream file(path, std::ios::binary);
    file << text;
}

std::string get(const fs::path& path)
{
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

std::span<const std::byte> bytesOf(std::string_view text) { return std::as_bytes(std::span(text)); }

int filesIn(const fs::path& folder)
{
    int count = 0;
    for ([[maybe_unused]] const auto& entry : fs::directory_iterator(folder))
        ++count;
    return count;
}

/// No file of this process may grow beyond `bytes` while this lives: a disk that is nearly full.
class FileSizeLimit {
public:
    explicit FileSizeLimit(rlim_t bytes)
    {
        m_previous = std::signal(SIGXFSZ, SIG_IGN);
        ::getrlimit(RLIMIT_FSIZE, &m_old);
        const rlimit limit{bytes, m_old.rlim_max};
        ::setrlimit(RLIMIT_FSIZE, &limit);
    }
    ~FileSizeLimit()
    {
        ::setrlimit(RLIMIT_FSIZE, &m_old);
        std::signal(SIGXFSZ, m_previous);
    }
    FileSizeLimit(const FileSizeLimit&) = delete;
    FileSizeLimit& operator=(const FileSizeLimit&) = delete;

private:
    rlimit m_old{};
    void (*m_previous)(int) = nullptr;
};

} // namespace

class TstFile : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void mapsWholeFiles();
    void refusesWhatIsNoFile();
    void cutWhileMapped();
    void cutAndMappedAgain();
    void releasedPagesComeBack();
    void appearsOnlyWhenCommitted();
    void goesAwayUncommitted();
    void replacesAtomically();
    void writesAtPlaces();
    void fullDisk_data();
    void fullDisk();
    void refusesTooMuchAtOnce();
    void refusesBadPlaces();
    void textFiles();
};

void TstFile::mapsWholeFiles()
{
    const test::TempDir dir;
    put(dir / "a", "some bytes");
    put(dir / "empty", "");
    auto file = MappedFile::open(dir / "a");
    HALFTONE_VERIFY(file);
    QCOMPARE((*file)->bytes().size(), std::size_t{10});
    QVERIFY(std::memcmp((*file)->bytes().data(), "some bytes", 10) == 0);
    QVERIFY(!(*file)->damaged());
    QCOMPARE((*file)->path(), dir / "a");
    auto empty = MappedFile::open(dir / "empty");
    HALFTONE_VERIFY(empty);
    QVERIFY((*empty)->bytes().empty() && !(*empty)->damaged());
    // The mapping stays when the name goes.
    fs::remove(dir / "a");
    QVERIFY(std::memcmp((*file)->bytes().data(), "some bytes", 10) == 0 && !(*file)->damaged());
}

void TstFile::refusesWhatIsNoFile()
{
    const test::TempDir dir;
    const auto missing = MappedFile::open(dir / "none");
    QVERIFY(!missing && missing.error().code() == Errc::NotFound);
    QVERIFY(missing.error().line().starts_with((dir / "none").string()));
    const auto folder = MappedFile::open(dir.path());
    QVERIFY(!folder && folder.error().code() == Errc::Io);
    // A pipe without a writer must not block.
    QVERIFY(::mkfifo((dir / "pipe").c_str(), 0600) == 0);
    const auto pipe = MappedFile::open(dir / "pipe");
    QVERIFY(!pipe && pipe.error().code() == Errc::Io);
    QVERIFY(!MappedFile::open("/dev/zero"));
    put(dir / "file", "x");
    const auto below = MappedFile::open(dir / "file" / "x");
    QVERIFY(!below && below.error().code() == Errc::NotFound);
}

void TstFile::cutWhileMapped()
{
    const test::TempDir dir;
    put(dir / "a", std::string(64 * 1024, 'x'));
    auto file = MappedFile::open(dir / "a");
    HALFTONE_VERIFY(file);
    auto other = MappedFile::open(dir / "a");
    HALFTONE_VERIFY(other);
    fs::resize_file(dir / "a", 4096);
    const auto bytes = (*file)->bytes();
    QCOMPARE(std::to_integer<int>(bytes[100]), int{'x'});
    QVERIFY(!(*file)->damaged());
    QCOMPARE(std::to_integer<int>(bytes[50000]), 0);
    QVERIFY((*file)->damaged());
    // The whole rest can be read, page after page.
    int sum = 0;
    for (const std::byte b : bytes)
        sum += std::to_integer<int>(b);
    QCOMPARE(sum, 4096 * int{'x'});
    // Damage belongs to the mapping that met it.
    QVERIFY(!(*other)->damaged());
}

void TstFile::cutAndMappedAgain()
{
    const test::TempDir dir;
    for (int round = 0; round < 3; ++round) {
        put(dir / "a", std::string(16384, 'y'));
        auto file = MappedFile::open(dir / "a");
        HALFTONE_VERIFY(file);
        QVERIFY(!(*file)->damaged());
        fs::resize_file(dir / "a", 0);
        QCOMPARE(std::to_integer<int>((*file)->bytes()[16000]), 0);
        QVERIFY((*file)->damaged());
    }
}

void TstFile::releasedPagesComeBack()
{
    const test::TempDir dir;
    put(dir / "a", std::string(65536, 'z'));
    auto file = MappedFile::open(dir / "a");
    HALFTONE_VERIFY(file);
    const auto bytes = (*file)->bytes();
    QCOMPARE(std::to_integer<int>(bytes[40000]), int{'z'});
    (*file)->release(bytes);
    (*file)->release(bytes.subspan(5, 3));
    (*file)->release({});
    QCOMPARE(std::to_integer<int>(bytes[40000]), int{'z'});
    QVERIFY(!(*file)->damaged());
}

void TstFile::appearsOnlyWhenCommitted()
{
    const test::TempDir dir;
    const fs::path path = dir / "out";
    auto file = OutputFile::create(path, 1000);
    HALFTONE_VERIFY(file);
    HALFTONE_VERIFY((*file)->write(bytesOf("hello ")));
    HALFTONE_VERIFY((*file)->write(bytesOf("there")));
    QVERIFY(!fs::exists(path));
    HALFTONE_VERIFY((*file)->flush());
    // What was reserved beyond the end is gone.
    QCOMPARE(get((*file)->temporaryPath()), std::string("hello there"));
    QCOMPARE((*file)->temporaryPath().parent_path(), path.parent_path());
    HALFTONE_VERIFY((*file)->commit());
    file = Error(Errc::Cancelled, "closed");
    QCOMPARE(get(path), std::string("hello there"));
    QCOMPARE(filesIn(dir.path()), 1);
}

void TstFile::goesAwayUncommitted()
{
    const test::TempDir dir;
    put(dir / "out", "old");
    {
        auto file = OutputFile::create(dir / "out", 5000);
        HALFTONE_VERIFY(file);
        HALFTONE_VERIFY((*file)->write(bytesOf("new")));
        QCOMPARE(filesIn(dir.path()), 2);
    }
    QCOMPARE(filesIn(dir.path()), 1);
    QCOMPARE(get(dir / "out"), std::string("old"));
}

void TstFile::replacesAtomically()
{
    const test::TempDir dir;
    put(dir / "out", "old content");
    auto reader = MappedFile::open(dir / "out");
    HALFTONE_VERIFY(reader);
    HALFTONE_VERIFY(writeTextFile(dir / "out", "new"));
    QCOMPARE(get(dir / "out"), std::string("new"));
    // Who had the old file open still has all of it.
    QVERIFY(std::memcmp((*reader)->bytes().data(), "old content", 11) == 0);
    QVERIFY(!(*reader)->damaged());
}

void TstFile::writesAtPlaces()
{
    const test::TempDir dir;
    auto file = OutputFile::create(dir / "out", 0);
    HALFTONE_VERIFY(file);
    HALFTONE_VERIFY((*file)->write(bytesOf("abcdef")));
    HALFTONE_VERIFY((*file)->writeAt(2, bytesOf("XY")));
    HALFTONE_VERIFY((*file)->writeAt(8, bytesOf("Z")));
    QCOMPARE((*file)->size(), std::uint64_t{9});
    HALFTONE_VERIFY((*file)->write(bytesOf("!")));
    HALFTONE_VERIFY((*file)->commit());
    QCOMPARE(get(dir / "out"), std::string("abXYef\0\0Z!", 10));
}

void TstFile::fullDisk_data()
{
    QTest::addColumn<qulonglong>("expected");
    QTest::newRow("found when reserving") << qulonglong{100000};
    QTest::newRow("found when writing") << qulonglong{0};
}

void TstFile::fullDisk()
{
    QFETCH(qulonglong, expected);
    const test::TempDir dir;
    put(dir / "out", "old");
    const auto attempt = [&]() -> Status {
        const FileSizeLimit limit(8192);
        HALFTONE_TRY(file, OutputFile::create(dir / "out", expected));
        for (int i = 0; i < 100; ++i)
            HALFTONE_CHECK(file->write(bytesOf(std::string(1000, 'x'))));
        return file->commit();
    };
    const Status status = attempt();
    QVERIFY(!status);
    QVERIFY(status.error().code() == Errc::CannotWrite);
    const std::string line = status.error().line();
    QVERIFY2(line.find(dir.path().string()) != std::string::npos && line.find("need ") != std::string::npos &&
                 line.find("free ") != std::string::npos,
             line.c_str());
    QCOMPARE(filesIn(dir.path()), 1);
    QCOMPARE(get(dir / "out"), std::string("old"));
}

void TstFile::refusesTooMuchAtOnce()
{
    const test::TempDir dir;
    const auto file = OutputFile::create(dir / "out", std::uint64_t{1} << 61);
    QVERIFY(!file && file.error().code() == Errc::CannotWrite);
    QCOMPARE(filesIn(dir.path()), 0);
    const auto free = freeDiskBytes(dir / "out");
    HALFTONE_VERIFY(free);
    QVERIFY(*free > 0);
}

void TstFile::refusesBadPlaces()
{
    const test::TempDir dir;
    const auto nowhere = OutputFile::create(dir / "none" / "out", 0);
    QVERIFY(!nowhere && nowhere.error().code() == Errc::CannotWrite);
    const auto folder = OutputFile::create(dir.path(), 0);
    QVERIFY(!folder && folder.error().code() == Errc::CannotWrite);
    QVERIFY(!freeDiskBytes(dir / "none" / "out"));
}

void TstFile::textFiles()
{
    const test::TempDir dir;
    HALFTONE_VERIFY(writeTextFile(dir / "t", "line\n"));
    const auto text = readTextFile(dir / "t", 5);
    HALFTONE_VERIFY(text);
    QCOMPARE(*text, std::string("line\n"));
    const auto large = readTextFile(dir / "t", 4);
    QVERIFY(!large && large.error().code() == Errc::BadFormat);
    HALFTONE_VERIFY(writeTextFile(dir / "t", ""));
    QCOMPARE(*readTextFile(dir / "t", 0), std::string());
    QVERIFY(!readTextFile(dir / "none", 10));
}

QTEST_GUILESS_MAIN(TstFile)
#include "tst_file.moc"
