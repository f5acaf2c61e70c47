// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/io/writer.h"
#include "tests/support/fixtures.h"
#include "tests/support/main.h"
#include "tests/support/temp_dir.h"

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace halftone;
using namespace halftone::test;

namespace {

constexpr const char* kSafetensorsGolden =
    "38000000000000007b2277223a7b226474797065223a22463332222c227368617065223a5b325d2c2264"
    "6174615f6f666673657473223a5b302c385d7d7d20200000803f000000c0";
constexpr const char* kGgufGolden = "474755460300000001000000000000000100000000000000140000000000000067656e65"
                                    "72616c2e6172636869746563747572650800"
                                    "000005000000000000006c6c616d61010000000000000074010000002000000000000000"
                                    "08000000000000000000000000000000000000"
                                    "00000000000000000000000000000000000000"
                                    "082481899199a1a9b1b9c0c8d0d8e0e8f0f8000810182028303840474f575f676f77"
                                    "000000000000000000000000000000000000000000000000000000000000";
constexpr const char* kRamp = "082481899199a1a9b1b9c0c8d0d8e0e8f0f8000810182028303840474f575f676f77";

std::vector<OutputTensor> outputsOf(const Fixture& f)
{
    std::vector<OutputTensor> out;
    for (const auto& t : f.tensors)
        out.push_back({t.name, t.shape, t.dtype, 0, t.bytes.size()});
    return out;
}

const std::vector<std::byte>& payload(const Fixture& f, const OutputTensor& t)
{
    return f.tensor(t.name).bytes;
}

Status writeAll(CheckpointWriter& writer, const Fixture& f)
{
    for (std::size_t i = 0; i < writer.layout().tensors.size(); ++i)
        HALFTONE_CHECK(writer.write(i, payload(f, writer.layout().tensors[i])));
    return writer.finish({});
}

bool isEmptyFolder(const std::filesystem::path& folder)
{
    return std::filesystem::directory_iterator(folder) == std::filesystem::directory_iterator();
}

// Limits the place behind which this process may write into a file.
class FileSizeLimit {
public:
    explicit FileSizeLimit(std::uint64_t bytes)
    {
        ::getrlimit(RLIMIT_FSIZE, &m_before);
        const rlimit now{bytes, m_before.rlim_max};
        ::setrlimit(RLIMIT_FSIZE, &now);
    }
    ~FileSizeLimit() { ::setrlimit(RLIMIT_FSIZE, &m_before); }
    FileSizeLimit(const FileSizeLimit&) = delete;
    FileSizeLimit& operator=(const FileSizeLimit&) = delete;

private:
    rlimit m_before{};
};

} // namespace

class TestWriter : public QObject {
    Q_OBJECT

private:
    const Fixture m_fixture = makeFixture(FixtureKind::Tiny);

private Q_SLOTS:
    void initTestCase() { ::signal(SIGXFSZ, SIG_IGN); } // a full disk is an error code, not a signal

    void goldenSafetensors()
    {
        const TempDir dir;
        const auto layout = layoutFile(Container::Safetensors, {{"w", {2}, DType::F32, 0, 8}}, {});
        HALFTONE_VERIFY(layout);
        QCOMPARE(layout->totalBytes, std::uint64_t(72));
        const auto writer = CheckpointWriter::create(dir / "w.safetensors", *layout);
        HALFTONE_VERIFY(writer);
        HALFTONE_VERIFY((*writer)->write(0, fromHex("0000803f")));
        HALFTONE_VERIFY((*writer)->write(0, fromHex("000000c0")));
        bool checked = false;
        HALFTONE_VERIFY((*writer)->finish([&](const Checkpoint& c) -> Status {
            checked = c.find("w") != nullptr;
            return Ok{};
        }));
        QVERIFY(checked);
        QCOMPARE(toHex(readBytes(dir / "w.safetensors")), std::string(kSafetensorsGolden));
    }

    void goldenGguf()
    {
        const TempDir dir;
        const std::vector<OutputMeta> meta{metaOf("general.architecture", "llama")};
        const auto layout = layoutFile(Container::Gguf, {{"t", {32}, DType::F32, 8, 34}}, meta);
        HALFTONE_VERIFY(layout);
        QCOMPARE(layout->totalBytes, std::uint64_t(192));
        const auto writer = CheckpointWriter::create(dir / "t.gguf", *layout);
        HALFTONE_VERIFY(writer);
        HALFTONE_VERIFY((*writer)->write(0, fromHex(kRamp)));
        HALFTONE_VERIFY((*writer)->finish({}));
        QCOMPARE(toHex(readBytes(dir / "t.gguf")), std::string(kGgufGolden));
    }

    void safetensorsOrder()
    {
        // Types from the widest down, then names; the header padded to 8; text escaped.
        std::vector<OutputTensor> tensors{{"b", {3}, DType::U8, 0, 3},
                                          {"z", {1}, DType::F32, 0, 4},
                                          {"a", {1}, DType::F32, 0, 4},
                                          {"q\"\\\n", {}, DType::BF16, 0, 2}};
        const std::vector<OutputMeta> meta{metaOf("format", "pt"), metaOf("text", "line\n\"x\"")};
        const auto layout = layoutFile(Container::Safetensors, tensors, meta);
        HALFTONE_VERIFY(layout);
        QCOMPARE(layout->header.size() % 8, std::size_t(0));
        std::vector<std::string> order;
        for (const auto& t : layout->tensors)
            order.push_back(t.name);
        QCOMPARE(order, (std::vector<std::string>{"a", "z", "q\"\\\n", "b"}));
        const TempDir dir;
        const auto writer = CheckpointWriter::create(dir / "o", *layout);
        HALFTONE_VERIFY(writer);
        for (std::size_t i = 4; i-- > 0;) // any order of tensors
            HALFTONE_VERIFY((*writer)->write(i, Bytes(layout->tensors[i].bytes, std::byte{9})));
        HALFTONE_VERIFY((*writer)->finish({}));
        const auto opened = Checkpoint::open(dir / "o", {.strict = true});
        HALFTONE_VERIFY(opened);
        QVERIFY((*opened)->find("q\"\\\n") != nullptr);
        QCOMPARE(*metaString(*(*opened)->meta("text")), std::string("line\n\"x\""));
    }

    void refusedLayouts_data()
    {
        QTest::addColumn<int>("which");
        const char* rows[] = {"name twice",      "key twice",      "wrong size",         "reserved name",
                              "GGUF name of 64", "GGUF rank 5",    "GGUF ragged blocks", "metadata no text",
                              "name no UTF-8",   "alignment of 24"};
        for (int i = 0; i < 10; ++i)
            QTest::newRow(rows[i]) << i;
    }
    void refusedLayouts()
    {
        QFETCH(int, which);
        const OutputTensor good{"t", {4}, DType::F32, 0, 16};
        auto tensors = std::vector<OutputTensor>{good};
        std::vector<OutputMeta> meta;
        auto container = Container::Safetensors;
        const auto gguf = [&](OutputTensor t) {
            container = Container::Gguf;
            tensors = {std::move(t)};
        };
        switch (which) {
        case 0:
            tensors.push_back(good);
            break;
        case 1:
            meta = {metaOf("a", "1"), metaOf("a", "2")};
            break;
        case 2:
            tensors[0].bytes = 15;
            break;
        case 3:
            tensors[0].name = "__metadata__";
            break;
        case 4:
            gguf({std::string(64, 'n'), {4}, DType::F32, 0, 16});
            break;
        case 5:
            gguf({"t", {1, 1, 1, 1, 4}, DType::F32, 0, 16});
            break;
        case 6:
            gguf({"t", {33}, DType::F32, 2, 18});
            break;
        case 7:
            meta = {metaOfU32("a", 1)};
            break;
        case 8:
            tensors[0].name = "\xff";
            break;
        default:
            gguf(good);
            meta = {metaOfU32("general.alignment", 24)};
        }
        const auto layout = layoutFile(container, tensors, meta);
        QVERIFY(!layout);
        QCOMPARE(layout.error().code(), Errc::InvalidArgument);
    }

    void nothingIsLeftOfAFailedCheck()
    {
        const TempDir dir;
        const auto layout = layoutFile(Container::Safetensors, outputsOf(m_fixture), {});
        HALFTONE_VERIFY(layout);
        {
            const auto writer = CheckpointWriter::create(dir / "x.safetensors", *layout);
            HALFTONE_VERIFY(writer);
            const auto early = (*writer)->finish({});
            QVERIFY(!early);
            QCOMPARE(early.error().code(), Errc::InvalidArgument);
            const auto& first = layout->tensors[0];
            QVERIFY(!(*writer)->write(0, Bytes(first.bytes + 1)));
            QVERIFY(!(*writer)->write(99, Bytes(1)));
            for (std::size_t i = 0; i < layout->tensors.size(); ++i)
                HALFTONE_VERIFY((*writer)->write(i, payload(m_fixture, layout->tensors[i])));
            const auto refused = (*writer)->finish(
                [](const Checkpoint&) -> Status { return Error(Errc::CheckFailed, "not as planned"); });
            QVERIFY(!refused);
            QCOMPARE(refused.error().code(), Errc::CheckFailed);
        }
        QVERIFY(isEmptyFolder(dir.path()));
    }

    void aSpoiledFileIsNoticed()
    {
        // Another program overwrites a byte of the temporary file before it is verified.
        const TempDir dir;
        const auto layout = layoutFile(Container::Safetensors, outputsOf(m_fixture), {});
        HALFTONE_VERIFY(layout);
        {
            const auto writer = CheckpointWriter::create(dir / "x.safetensors", *layout);
            HALFTONE_VERIFY(writer);
            for (std::size_t i = 0; i < layout->tensors.size(); ++i)
                HALFTONE_VERIFY((*writer)->write(i, payload(m_fixture, layout->tensors[i])));
            const auto temporary = std::filesystem::directory_iterator(dir.path())->path();
            auto bytes = readBytes(temporary);
            bytes[layout->offsets[5] + 1] ^= std::byte{1};
            writeBytes(temporary, bytes);
            const auto finished = (*writer)->finish({});
            QVERIFY(!finished);
            QCOMPARE(finished.error().code(), Errc::Io);
            QVERIFY(finished.error().line().find(layout->tensors[5].name) != std::string::npos);
        }
        QVERIFY(isEmptyFolder(dir.path()));
    }

    void fullDisk()
    {
        // Writing fails at byte N, for 200 places over the whole file: while space is reserved, and, with
        // the limit set later, in the header and in the tensors.
        const TempDir source, dir;
        const auto from = writeModel(m_fixture, source / "m");
        const auto before = readBytes(from);
        const auto layout = layoutFile(Container::Safetensors, outputsOf(m_fixture), {});
        HALFTONE_VERIFY(layout);
        for (std::uint64_t i = 0; i < 200; ++i) {
            const std::uint64_t at = i * (layout->totalBytes - 1) / 199;
            {
                const FileSizeLimit limit(at);
                const auto writer = CheckpointWriter::create(dir / "x.safetensors", *layout);
                QVERIFY(!writer);
                QCOMPARE(writer.error().code(), Errc::CannotWrite);
                QCOMPARE(exitCode(writer.error().code()), 4);
                const auto line = writer.error().line();
                QVERIFY2(line.find("need ") != std::string::npos && line.find("free ") != std::string::npos,
                         line.c_str());
            }
            QVERIFY(isEmptyFolder(dir.path()));
            {
                const auto writer = CheckpointWriter::create(dir / "x.safetensors", *layout);
                HALFTONE_VERIFY(writer);
                const FileSizeLimit limit(std::max<std::uint64_t>(at, layout->header.size()));
                const auto done = writeAll(**writer, m_fixture);
                QVERIFY(!done);
                QCOMPARE(done.error().code(), Errc::CannotWrite);
            }
            QVERIFY(isEmptyFolder(dir.path()));
        }
        QVERIFY(readBytes(from) == before);
    }

    void killedWhileWriting_data()
    {
        QTest::addColumn<int>("tensors");
        QTest::newRow("behind the header") << 0;
        QTest::newRow("between tensors") << 10;
        QTest::newRow("before the check") << 21;
    }
    void killedWhileWriting()
    {
        QFETCH(int, tensors);
        const TempDir dir;
        const auto layout = layoutFile(Container::Safetensors, outputsOf(m_fixture), {});
        HALFTONE_VERIFY(layout);
        // The final name holds an older file, which must stay.
        const auto old = fromHex(kSafetensorsGolden);
        writeBytes(dir / "x.safetensors", old);
        const pid_t child = ::fork();
        if (child == 0) {
            const auto writer = CheckpointWriter::create(dir / "x.safetensors", *layout);
            for (std::size_t i = 0; writer && i < static_cast<std::size_t>(tensors); ++i)
                (void)(*writer)->write(i, payload(m_fixture, layout->tensors[i]));
            ::raise(SIGKILL);
        }
        int status = 0;
        QCOMPARE(::waitpid(child, &status, 0), child);
        QVERIFY(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        QVERIFY(readBytes(dir / "x.safetensors") == old);
        // The next run is not disturbed by what the killed one left.
        const auto writer = CheckpointWriter::create(dir / "x.safetensors", *layout);
        HALFTONE_VERIFY(writer);
        HALFTONE_VERIFY(writeAll(**writer, m_fixture));
        const auto opened = Checkpoint::open(dir / "x.safetensors", {.strict = true});
        HALFTONE_VERIFY(opened);
        QCOMPARE((*opened)->tensors().size(), std::size_t(21));
    }

    void readerKeepsItsFile()
    {
        // Replacing an open file leaves its reader with the old content.
        const TempDir dir;
        const auto path = writeModel(m_fixture, dir / "m");
        const auto opened = Checkpoint::open(path);
        HALFTONE_VERIFY(opened);
        const auto layout = layoutFile(Container::Safetensors, {{"w", {2}, DType::F32, 0, 8}}, {});
        const auto writer = CheckpointWriter::create(path, *layout);
        HALFTONE_VERIFY(writer);
        HALFTONE_VERIFY((*writer)->write(0, Bytes(8)));
        HALFTONE_VERIFY((*writer)->finish({}));
        const auto* last = (*opened)->find("lm_head.weight");
        HALFTONE_VERIFY((*opened)->intact(*last));
        QVERIFY(std::ranges::equal(*(*opened)->raw(*last), m_fixture.tensor("lm_head.weight").bytes));
    }

    void splitModelToFiles_data()
    {
        QTest::addColumn<int>("parts");
        QTest::newRow("one file") << 1;
        QTest::newRow("two parts") << 2;
        QTest::newRow("the same three parts") << 3;
    }
    void splitModelToFiles()
    {
        // Metadata of a three-part model goes into another number of files: split keys follow the output.
        QFETCH(int, parts);
        const TempDir dir;
        const auto source = writeGgufParts(m_fixture, dir / "in", 3);
        const auto opened = Checkpoint::open(source[0], {.strict = true});
        HALFTONE_VERIFY(opened);
        const auto& c = **opened;
        std::filesystem::create_directories(dir / "out");
        const auto n = c.tensors().size();
        for (std::size_t p = 0; p < static_cast<std::size_t>(parts); ++p) {
            std::vector<OutputMeta> meta;
            for (const auto& e : c.metadata())
                if (!isSplitKey(e.key) && p == 0) meta.push_back(metaCopy(e));
            if (parts > 1) {
                meta.push_back(metaOfU32("split.no", static_cast<std::uint32_t>(p)));
                meta.push_back(metaOfU32("split.count", static_cast<std::uint32_t>(parts)));
                meta.push_back(metaOfU32("split.tensors.count", static_cast<std::uint32_t>(n)));
            }
            const auto begin = n * p / static_cast<std::size_t>(parts),
                       end = n * (p + 1) / static_cast<std::size_t>(parts);
            std::vector<OutputTensor> tensors;
            for (auto i = begin; i < end; ++i) {
                const auto& t = c.tensors()[i];
                tensors.push_back({t.name, t.shape, DType::F32, t.stored.ggufId, t.bytes});
            }
            const auto layout = layoutFile(Container::Gguf, tensors, meta);
            HALFTONE_VERIFY(layout);
            const auto name = parts == 1 ? std::string("model.gguf")
                                         : "model-0000" + std::to_string(p + 1) + "-of-0000" +
                                               std::to_string(parts) + ".gguf";
            const auto writer = CheckpointWriter::create(dir / "out" / name, *layout);
            HALFTONE_VERIFY(writer);
            for (auto i = begin; i < end; ++i)
                HALFTONE_VERIFY((*writer)->write(i - begin, *c.raw(c.tensors()[i])));
            HALFTONE_VERIFY((*writer)->finish({}));
        }
        const auto again = Checkpoint::open(dir / "out", {.strict = true});
        HALFTONE_VERIFY(again);
        QCOMPARE((*again)->files().size(), static_cast<std::size_t>(parts));
        QCOMPARE((*again)->tensors().size(), n);
        QCOMPARE((*again)->meta("split.count") != nullptr, parts > 1);
        for (const auto& t : c.tensors())
            QVERIFY(std::ranges::equal(*c.raw(t), *(*again)->raw(*(*again)->find(t.name))));
    }

    void metadataSurvives()
    {
        const std::vector<std::string> words{"a", "", "\xc3\xa9"};
        const std::vector<std::int32_t> numbers{-1, 2};
        const std::vector<OutputMeta> meta{metaOf("s", "text"),       metaOfU32("u", 7),
                                           metaOfF32("f", 0.5f),      metaOfBool("b", true),
                                           metaOfStrings("w", words), metaOfI32s("n", numbers)};
        const auto layout = layoutFile(Container::Gguf, {}, meta);
        HALFTONE_VERIFY(layout);
        const TempDir dir;
        const auto writer = CheckpointWriter::create(dir / "m.gguf", *layout);
        HALFTONE_VERIFY(writer);
        HALFTONE_VERIFY((*writer)->finish({}));
        const auto opened = Checkpoint::open(dir / "m.gguf", {.strict = true});
        HALFTONE_VERIFY(opened);
        const auto& c = **opened;
        QCOMPARE(*metaString(*c.meta("s")), std::string("text"));
        QCOMPARE(*metaInt(*c.meta("u")), 7);
        QCOMPARE(*metaReal(*c.meta("f")), 0.5);
        QCOMPARE(*metaBool(*c.meta("b")), true);
        QCOMPARE(*metaStrings(*c.meta("w")), words);
        QCOMPARE(c.meta("n")->raw.size(), std::size_t(8));
        std::vector<OutputMeta> copies;
        for (const auto& e : c.metadata())
            copies.push_back(metaCopy(e));
        const auto same = layoutFile(Container::Gguf, {}, copies);
        HALFTONE_VERIFY(same);
        QVERIFY(same->header == layout->header);
    }
};

QTEST_GUILESS_MAIN(TestWriter)
#include "tst_writer.moc"
