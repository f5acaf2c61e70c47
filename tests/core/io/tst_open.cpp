// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/io/checkpoint.h"
#include "tests/support/fixtures.h"
#include "tests/support/main.h"
#include "tests/support/temp_dir.h"

#include <filesystem>

using namespace halftone;
using namespace halftone::test;

namespace {

void writeText(const std::filesystem::path& path, std::string_view text)
{
    writeBytes(path, std::as_bytes(std::span(text.data(), text.size())));
}

} // namespace

class TestOpen : public QObject {
    Q_OBJECT

private:
    const Fixture m_fixture = makeFixture(FixtureKind::Tiny);

private Q_SLOTS:
    void foreignFiles_data()
    {
        QTest::addColumn<QByteArray>("content");
        QTest::addColumn<QByteArray>("says");
        QTest::newRow("zip") << QByteArray("PK\x03\x04 and more of it", 19) << QByteArray("pickle");
        QTest::newRow("pickle") << QByteArray("\x80\x02}q\x00.", 6) << QByteArray("can run code");
        QTest::newRow("HDF5") << QByteArray("\x89HDF\r\n\x1a\n123456") << QByteArray("HDF5");
        QTest::newRow("LFS pointer") << QByteArray(
                                            "version https://git-lfs.github.com/spec/v1\noid sha256:0\n")
                                     << QByteArray("git lfs pull");
        QTest::newRow("web page") << QByteArray("<!DOCTYPE html><html></html>") << QByteArray("web page");
        QTest::newRow("old ggml") << QByteArray("tjgg\x01\x00\x00\x00 12345", 14) << QByteArray("GGML");
        QTest::newRow("gzip") << QByteArray("\x1f\x8b\x08\x00 1234567", 12) << QByteArray("gzip");
        QTest::newRow("text") << QByteArray("just some words, no model") << QByteArray("no checkpoint");
        QTest::newRow("JSON") << QByteArray("{\"a\": 1}") << QByteArray("weight_map");
        QTest::newRow("empty") << QByteArray() << QByteArray("empty");
    }
    void foreignFiles()
    {
        QFETCH(QByteArray, content);
        QFETCH(QByteArray, says);
        const TempDir dir;
        writeText(dir / "weights.bin", {content.constData(), static_cast<std::size_t>(content.size())});
        const auto opened = Checkpoint::open(dir / "weights.bin");
        QVERIFY(!opened);
        QCOMPARE(opened.error().code(), Errc::BadFormat);
        const auto line = opened.error().line();
        QVERIFY2(line.find(says.toStdString()) != std::string::npos, line.c_str());
        QVERIFY2(line.find("weights.bin") != std::string::npos, line.c_str());
        QVERIFY(line.find('\n') == std::string::npos);
    }

    void contentDecides()
    {
        const TempDir dir;
        writeBytes(dir / "a.safetensors", ggufBytes(m_fixture));
        writeBytes(dir / "b.gguf", safetensorsBytes(m_fixture.tensors));
        const auto a = Checkpoint::open(dir / "a.safetensors"), b = Checkpoint::open(dir / "b.gguf");
        HALFTONE_VERIFY(a);
        HALFTONE_VERIFY(b);
        QCOMPARE((*a)->container(), Container::Gguf);
        QCOMPARE((*b)->container(), Container::Safetensors);
    }

    void headerThatLooksLikeAnotherFile()
    {
        // A header of 0x7b bytes starts with the byte of '{'.
        std::string header = R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
        header.resize(0x7b, ' ');
        const TempDir dir;
        writeBytes(dir / "w", safetensorsBytes(header, Bytes(8)));
        HALFTONE_VERIFY(Checkpoint::open(dir / "w", {.strict = true}));
    }

    void nothingThere()
    {
        const TempDir dir;
        const auto none = Checkpoint::open(dir / "none.gguf");
        QVERIFY(!none);
        QCOMPARE(none.error().code(), Errc::NotFound);
        QVERIFY(none.error().line().find("none.gguf") != std::string::npos);
        const auto empty = Checkpoint::open(dir.path());
        QVERIFY(!empty);
        QCOMPARE(empty.error().code(), Errc::NotFound);
        const auto device = Checkpoint::open("/dev/null");
        QVERIFY(!device);
    }

    void folders()
    {
        const TempDir dir;
        const auto folder = dir / "m";
        std::filesystem::create_directories(folder);
        writeBytes(folder / "weights.safetensors", safetensorsBytes(m_fixture.tensors));
        writeText(folder / "config.json", "{}");
        for (const char* name : {"tokenizer.json", "merges.txt", "spm.model", "notes.txt"})
            writeText(folder / name, "x");
        const auto one = Checkpoint::open(folder);
        HALFTONE_VERIFY(one);
        QCOMPARE((*one)->configJson(), std::string("{}"));
        std::vector<std::string> names;
        for (const auto& p : (*one)->sidecars())
            names.push_back(p.filename().string());
        QCOMPARE(names, (std::vector<std::string>{"merges.txt", "spm.model", "tokenizer.json"}));

        writeBytes(folder / "other.safetensors", safetensorsBytes(m_fixture.tensors));
        const auto two = Checkpoint::open(folder);
        QVERIFY(!two);
        const auto line = two.error().line();
        QVERIFY2(line.find("other.safetensors") != std::string::npos, line.c_str());
        writeBytes(folder / "model.safetensors", safetensorsBytes(m_fixture.tensors));
        HALFTONE_VERIFY(Checkpoint::open(folder));
    }

    void ggufFolder()
    {
        const TempDir dir;
        writeGguf(m_fixture, dir / "only.gguf");
        const auto opened = Checkpoint::open(dir.path());
        HALFTONE_VERIFY(opened);
        QCOMPARE((*opened)->container(), Container::Gguf);
    }

    void cancelled()
    {
        const TempDir dir;
        const auto opened = Checkpoint::open(writeModel(m_fixture, dir / "m"));
        HALFTONE_VERIFY(opened);
        std::stop_source stop;
        stop.request_stop();
        const auto& t = *(*opened)->find("lm_head.weight");
        const auto loaded = (*opened)->load(t, DType::F32, cpuDevice(), stop.get_token());
        QVERIFY(!loaded);
        QCOMPARE(loaded.error().code(), Errc::Cancelled);
        for (const auto& [begin, end] : {std::pair<std::int64_t, std::int64_t>{-1, 2}, {3, 2}, {0, 513}})
            QVERIFY(!(*opened)->loadRows(t, begin, end, DType::F32, cpuDevice(), {}));
        QVERIFY(!(*opened)->load(t, DType::I32, cpuDevice(), {}));
    }
};

QTEST_GUILESS_MAIN(TestOpen)
#include "tst_open.moc"
