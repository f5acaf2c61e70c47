// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/io/checkpoint.h"
#include "core/io/weights.h"
#include "tests/support/fixtures.h"
#include "tests/support/main.h"
#include "tests/support/temp_dir.h"

#include <algorithm>
#include <filesystem>

using namespace halftone;
using namespace halftone::test;

namespace {

constexpr const char* kSecond = "model-00002-of-00003.safetensors";
constexpr const char* kThird = "model-00003-of-00003.safetensors";

std::string issueWith(const Checkpoint& c, CheckpointIssue::Severity severity, std::string_view text)
{
    for (const auto& i : c.issues())
        if (i.severity == severity && i.text.find(text) != std::string::npos) return i.text;
    return {};
}

void editText(const std::filesystem::path& path, const std::string& from, const std::string& to)
{
    const auto bytes = readBytes(path);
    std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    const auto at = text.find(from);
    QVERIFY(at != std::string::npos);
    text.replace(at, from.size(), to);
    writeBytes(path, std::as_bytes(std::span(text.data(), text.size())));
}

} // namespace

class TestSharded : public QObject {
    Q_OBJECT

private:
    const Fixture m_fixture = makeFixture(FixtureKind::Tiny);

private Q_SLOTS:
    void whole()
    {
        const TempDir dir;
        const auto index = writeSharded(m_fixture, dir / "m", 3);
        for (const auto& path : {index, dir / "m"}) {
            const auto opened = Checkpoint::open(path, {.strict = true});
            HALFTONE_VERIFY(opened);
            QCOMPARE((*opened)->files().size(), std::size_t(3));
            QCOMPARE((*opened)->tensors().size(), std::size_t(21));
            QVERIFY((*opened)->issues().empty());
            QVERIFY(!(*opened)->configJson().empty());
            for (const auto& t : m_fixture.tensors) {
                const auto* info = (*opened)->find(t.name);
                QVERIFY(info != nullptr);
                const auto raw = (*opened)->raw(*info);
                HALFTONE_VERIFY(raw);
                QVERIFY(std::ranges::equal(*raw, t.bytes));
            }
        }
    }

    void shortShard_data()
    {
        QTest::addColumn<int>("cut");
        QTest::addColumn<bool>("headerLost");
        QTest::newRow("by 1 byte") << 1 << false;
        QTest::newRow("by 24 bytes") << 24 << false;
        QTest::newRow("inside its header") << -100 << true;
        QTest::newRow("to nothing") << -1 << true;
    }
    void shortShard()
    {
        QFETCH(int, cut);
        QFETCH(bool, headerLost);
        const TempDir dir;
        const auto index = writeSharded(m_fixture, dir / "m", 3);
        const auto shard = dir / "m" / kSecond;
        const auto size = std::filesystem::file_size(shard);
        const auto left = cut > 0 ? size - static_cast<std::uintmax_t>(cut)
                                  : static_cast<std::uintmax_t>(-cut) - (cut == -1 ? 1 : 0);
        std::filesystem::resize_file(shard, left);

        const auto opened = Checkpoint::open(index);
        HALFTONE_VERIFY(opened);
        const auto& c = **opened;
        const auto issue = issueWith(c, CheckpointIssue::Severity::Error, kSecond);
        QVERIFY(!issue.empty());
        QVERIFY2(issue.find(left == 0 ? "0 bytes" : std::to_string(left)) != std::string::npos,
                 issue.c_str());
        if (!headerLost) QVERIFY2(issue.find(std::to_string(size)) != std::string::npos, issue.c_str());
        // The tensors touched: the last one of the shard, or all of it.
        const auto& touched = m_fixture.tensors[headerLost ? 7 : 13];
        QVERIFY2(issue.find(touched.name) != std::string::npos || headerLost, issue.c_str());
        const auto* info = c.find(touched.name);
        if (headerLost) {
            QVERIFY(info == nullptr);
        } else {
            const auto raw = c.raw(*info);
            QVERIFY(!raw);
            QCOMPARE(raw.error().code(), Errc::BadFormat);
            const auto line = raw.error().line();
            QVERIFY2(line.find(kSecond) != std::string::npos && line.find(touched.name) != std::string::npos,
                     line.c_str());
            QVERIFY(!c.load(*info, DType::F32, cpuDevice(), {}));
            const auto weights = WeightSet::of(*opened);
            HALFTONE_VERIFY(weights);
            QVERIFY(!(*weights)->find(touched.name)->whyOpaque.empty());
        }
        // All others can be read.
        for (std::size_t i = 0; i < m_fixture.tensors.size(); ++i) {
            if (i >= 7 && i < 14 && (headerLost || i == 13)) continue;
            const auto* t = c.find(m_fixture.tensors[i].name);
            QVERIFY(t != nullptr);
            HALFTONE_VERIFY(c.raw(*t));
        }
        const auto strict = Checkpoint::open(index, {.strict = true});
        QVERIFY(!strict);
        QCOMPARE(strict.error().code(), Errc::BadFormat);
    }

    void missingShard()
    {
        const TempDir dir;
        const auto index = writeSharded(m_fixture, dir / "m", 3);
        std::filesystem::remove(dir / "m" / kThird);
        const auto opened = Checkpoint::open(index);
        HALFTONE_VERIFY(opened);
        QCOMPARE((*opened)->tensors().size(), std::size_t(14));
        const auto issue = issueWith(**opened, CheckpointIssue::Severity::Error, kThird);
        QVERIFY2(issue.find("7 tensors") != std::string::npos, issue.c_str());
        std::filesystem::remove(dir / "m" / kSecond);
        std::filesystem::remove(dir / "m" / "model-00001-of-00003.safetensors");
        const auto none = Checkpoint::open(index);
        QVERIFY(!none);
        QCOMPARE(none.error().code(), Errc::NotFound);
    }

    void indexNamesTooMuch()
    {
        const TempDir dir;
        const auto index = writeSharded(m_fixture, dir / "m", 3);
        editText(index, "\"weight_map\": {",
                 std::string("\"weight_map\": {\"mtp.fc.weight\": \"") + kThird + "\",");
        const auto opened = Checkpoint::open(index);
        HALFTONE_VERIFY(opened);
        QVERIFY((*opened)->find("mtp.fc.weight") == nullptr);
        const auto issue = issueWith(**opened, CheckpointIssue::Severity::Error, "mtp.fc.weight");
        QVERIFY2(issue.find(kThird) != std::string::npos, issue.c_str());
        QCOMPARE((*opened)->tensors().size(), std::size_t(21));
    }

    void orphan()
    {
        const TempDir dir;
        const auto index = writeSharded(m_fixture, dir / "m", 3);
        const std::string name = "model.layers.0.mlp.up_proj.weight";
        editText(index, "\"" + name + "\": \"model-00002-of-00003.safetensors\",", "");
        const auto opened = Checkpoint::open(index);
        HALFTONE_VERIFY(opened);
        QVERIFY(!issueWith(**opened, CheckpointIssue::Severity::Warning, name).empty());
        QVERIFY((*opened)->find(name) == nullptr);
        const auto kept = Checkpoint::open(index, {.keepOrphans = true});
        HALFTONE_VERIFY(kept);
        QVERIFY((*kept)->find(name) != nullptr);
        QVERIFY(!issueWith(**kept, CheckpointIssue::Severity::Warning, name).empty());
    }

    void doubleTensor()
    {
        // The same name in two shards, with other data; the index names the third.
        const TempDir dir;
        const auto index = writeSharded(m_fixture, dir / "m", 3);
        std::vector<FixtureTensor> second(m_fixture.tensors.begin() + 7, m_fixture.tensors.begin() + 14);
        auto other = m_fixture.tensor("lm_head.weight");
        std::ranges::fill(other.bytes, std::byte{7});
        second.push_back(other);
        writeBytes(dir / "m" / kSecond, safetensorsBytes(second));
        const auto opened = Checkpoint::open(index);
        HALFTONE_VERIFY(opened);
        const auto issue = issueWith(**opened, CheckpointIssue::Severity::Error, "lm_head.weight");
        QVERIFY2(issue.find(kSecond) != std::string::npos && issue.find(kThird) != std::string::npos,
                 issue.c_str());
        QCOMPARE((*opened)->tensors().size(), std::size_t(21));
        const auto raw = (*opened)->raw(*(*opened)->find("lm_head.weight"));
        HALFTONE_VERIFY(raw);
        QVERIFY(std::ranges::equal(*raw, m_fixture.tensor("lm_head.weight").bytes));
    }

    void hostileIndex_data()
    {
        QTest::addColumn<QByteArray>("text");
        QTest::newRow("parent") << QByteArray(R"({"weight_map":{"a":"../secret.safetensors"}})");
        QTest::newRow("absolute") << QByteArray(R"({"weight_map":{"a":"/etc/passwd"}})");
        QTest::newRow("sub-folder") << QByteArray(R"({"weight_map":{"a":"x/y.safetensors"}})");
        QTest::newRow("backslash") << QByteArray(R"({"weight_map":{"a":"..\\y.safetensors"}})");
        QTest::newRow("zero byte") << QByteArray(R"({"weight_map":{"a":"y\u0000z"}})");
        QTest::newRow("dots") << QByteArray(R"({"weight_map":{"a":".."}})");
        QTest::newRow("no name") << QByteArray(R"({"weight_map":{"a":""}})");
        QTest::newRow("number") << QByteArray(R"({"weight_map":{"a":1}})");
        QTest::newRow("nested") << QByteArray(R"({"weight_map":{"a":{"b":"c"}}})");
        QTest::newRow("list") << QByteArray(R"({"weight_map":[]})");
        QTest::newRow("twice") << QByteArray(R"({"weight_map":{"a":"x","a":"y"}})");
        QTest::newRow("empty map") << QByteArray(R"({"weight_map":{}})");
        QTest::newRow("no map") << QByteArray(R"({"model_type":"llama"})");
        QTest::newRow("cut") << QByteArray(R"({"weight_map":{"a":)");
    }
    void hostileIndex()
    {
        QFETCH(QByteArray, text);
        const TempDir dir;
        const auto path = dir / "model.safetensors.index.json";
        writeBytes(path, std::as_bytes(std::span(text.constData(), static_cast<std::size_t>(text.size()))));
        const auto opened = Checkpoint::open(path);
        QVERIFY(!opened);
        QCOMPARE(opened.error().code(), Errc::BadFormat);
        QVERIFY(opened.error().line().find("index.json") != std::string::npos);
    }
};

QTEST_GUILESS_MAIN(TestSharded)
#include "tst_sharded.moc"
