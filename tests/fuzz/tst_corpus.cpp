// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/rng.h"
#include "tests/fuzz/fuzz_checkpoint.h"
#include "tests/support/byte_writer.h"
#include "tests/support/main.h"

#include <algorithm>
#include <filesystem>

using namespace halftone;
using namespace halftone::test;

using Target = bool (*)(std::span<const std::byte>);

/// Runs the fuzz targets over the committed corpora, and over changed copies of each file: the same changes
/// in every run.
class TestCorpus : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void files_data()
    {
        QTest::addColumn<QByteArray>("target");
        QTest::addColumn<QByteArray>("name");
        const std::filesystem::path root = qEnvironmentVariable("HALFTONE_SOURCE").toStdString();
        for (const char* target : {"safetensors", "gguf", "imatrix"}) {
            std::vector<std::string> names;
            for (const auto& e : std::filesystem::directory_iterator(root / "tests/fuzz/corpus" / target))
                names.push_back(e.path().filename().string());
            std::ranges::sort(names);
            QVERIFY(names.size() >= 10);
            for (const auto& name : names)
                QTest::addRow("%s %s", target, name.c_str())
                    << QByteArray(target) << QByteArray::fromStdString(name);
        }
    }
    void files()
    {
        QFETCH(QByteArray, target);
        QFETCH(QByteArray, name);
        const std::filesystem::path root = qEnvironmentVariable("HALFTONE_SOURCE").toStdString();
        const auto bytes = readBytes(root / "tests/fuzz/corpus" / target.toStdString() / name.toStdString());
        const Target run = target == "gguf" ? fuzzGguf : target == "imatrix" ? fuzzImatrix : fuzzSafetensors;
        constexpr const char* kGood[] = {"one",    "types",  "odd",      "hole",   "scaled",
                                         "packed", "blocks", "opaque",   "lists",  "empty-tensor",
                                         "split",  "old",    "old-tail", "experts"};
        const bool good = std::ranges::any_of(kGood, [&](const char* g) { return name == g; });
        QCOMPARE(run(bytes), good);

        SplitMix64 random(fnv1a64(name.toStdString()));
        for (int i = 0; i < 60; ++i) {
            auto changed = bytes;
            // Some bytes of another value, then perhaps a cut or a repetition.
            for (std::uint64_t n = 1 + random.next() % 3; n > 0 && !changed.empty(); --n)
                changed[random.next() % changed.size()] = static_cast<std::byte>(random.next());
            if (i % 5 == 3) changed.resize(random.next() % (changed.size() + 1));
            if (i % 5 == 4) changed.insert(changed.end(), bytes.begin(), bytes.end());
            (void)run(changed);
        }
    }
};

QTEST_GUILESS_MAIN(TestCorpus)
#include "tst_corpus.moc"
