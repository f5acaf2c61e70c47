// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/io/imatrix.h"
#include "tests/support/imatrix_files.h"
#include "tests/support/main.h"
#include "tests/support/temp_dir.h"

#include <functional>
#include <limits>

using namespace halftone;
using namespace halftone::test;

namespace {

const std::vector<ImatrixPart> kParts{{"blk.0.ffn_down.weight", {8, 2, 0, 6}, {4}},
                                      {"blk.0.ffn_up_exps.weight", {3, 6, 9, 12, 5, 5}, {3, 0, 5}}};

} // namespace

class TestImatrix : public QObject {
    Q_OBJECT

    TempDir m_dir;
    Result<std::shared_ptr<const Imatrix>> opened(const Bytes& bytes) const
    {
        const auto path = m_dir.path() / "imatrix.gguf";
        writeBytes(path, bytes);
        return Imatrix::open(path);
    }

private Q_SLOTS:
    void gguf()
    {
        const auto matrix = opened(ggufImatrix(kParts));
        HALFTONE_VERIFY(matrix);
        QVERIFY(!(*matrix)->old());
        QCOMPARE((*matrix)->entries().size(), std::size_t{2});
        QCOMPARE((*matrix)->chunks(), 100);
        QCOMPARE((*matrix)->chunkTokens(), 512);
        QVERIFY((*matrix)->datasets() == std::vector<std::string>{"wiki.train.raw"});
        const ImatrixEntry* down = (*matrix)->find("blk.0.ffn_down.weight");
        QVERIFY(down != nullptr && down->values == 4 && down->sets == 1);
        QVERIFY(*(*matrix)->values(*down) == (std::vector<float>{2, 0.5f, 0, 1.5f}));
        // The second expert saw no token: its columns count alike.
        const ImatrixEntry* experts = (*matrix)->find("blk.0.ffn_up_exps.weight");
        QVERIFY(experts != nullptr && experts->values == 6 && experts->sets == 3);
        QVERIFY(*(*matrix)->values(*experts) == (std::vector<float>{1, 2, 1, 1, 1, 1}));
        QVERIFY((*matrix)->find("blk.0.ffn_down") == nullptr);
        QVERIFY((*matrix)->find("") == nullptr);
    }

    void old_data()
    {
        QTest::addColumn<bool>("tail");
        QTest::newRow("with a data set") << true;
        QTest::newRow("without") << false;
    }
    void old()
    {
        QFETCH(bool, tail);
        const auto matrix = opened(oldImatrix(kParts, tail ? "wiki.train.raw" : ""));
        HALFTONE_VERIFY(matrix);
        QVERIFY((*matrix)->old());
        QCOMPARE((*matrix)->chunks(), tail ? 7 : 0);
        QCOMPARE((*matrix)->datasets().size(), std::size_t(tail ? 1 : 0));
        const ImatrixEntry* down = (*matrix)->find("blk.0.ffn_down.weight");
        QVERIFY(down != nullptr && down->sets == 0);
        QVERIFY(*(*matrix)->values(*down) == (std::vector<float>{2, 0.5f, 0, 1.5f}));
        QVERIFY(*(*matrix)->values(*(*matrix)->find("blk.0.ffn_up_exps.weight")) ==
                (std::vector<float>{1, 2, 3, 4, 5.0f / 3, 5.0f / 3}));
    }

    void refused_data()
    {
        QTest::addColumn<QByteArray>("bytes");
        QTest::addColumn<QString>("word");
        const auto row = [](const char* name, const Bytes& bytes, const char* word) {
            QTest::newRow(name) << QByteArray(reinterpret_cast<const char*>(bytes.data()),
                                              static_cast<qsizetype>(bytes.size()))
                                << QString::fromLatin1(word);
        };
        const Bytes four = floatBytes({1, 2, 3, 4}), one = floatBytes({1});
        row("empty", {}, "no importance matrix");
        row("a model", GgufBuilder().text("general.type", "model").tensor("t", {4}, 0, four).finish(),
            "llama-imatrix");
        row("no type", GgufBuilder().tensor("t.in_sum2", {4}, 0, four).finish(), "llama-imatrix");
        row("no sums at all", imatrixKeys().tensor("t", {4}, 0, four).finish(), "in_sum2");
        row("no counts", imatrixKeys().tensor("t.in_sum2", {4}, 0, four).finish(), "t.counts");
        row("no sums", imatrixKeys().tensor("t.counts", {1}, 0, one).finish(), "t.in_sum2");
        row("half sums",
            imatrixKeys().tensor("t.in_sum2", {8}, 1, four).tensor("t.counts", {1}, 0, one).finish(), "F16");
        row("too few counts",
            imatrixKeys().tensor("t.in_sum2", {2, 2}, 0, four).tensor("t.counts", {1, 1}, 0, one).finish(),
            "1 counts");
        row(
            "cut",
            [&] {
                Bytes bytes = ggufImatrix(kParts);
                bytes.resize(bytes.size() - 40);
                return bytes;
            }(),
            "too short");
        row("wrapping dims", imatrixKeys().info("t.in_sum2", {1ull << 62, 1ull << 62}, 0, 0).finish(), "");
        const auto head = [](std::int32_t count) { return ByteWriter().put(count); };
        row("negative entries", head(-1).put(1).put(1).put(1).put(1).put(1).out, "-1 entries");
        row("many entries", head(0x7fffffff).put(1).put(1).put(1).put(1).put(1).out, "2147483647 entries");
        row("long name", head(1).put(1000).put(1).put(1).put(1).put(1).out, "1000 bytes");
        row("negative name", head(1).put(-5).put(1).put(1).put(1).put(1).out, "-5 bytes");
        row("huge name", head(1).put(0x7fffffff).put(1).put(1).put(1).put(1).out, "2147483647 bytes");
        row("huge values", head(1).put(1).text("t").put(1).put(0x7fffffff).bytes(four).out,
            "2147483647 values");
        row("no values", head(1).put(1).text("t").put(1).put(0).bytes(four).out, "0 values");
        row("negative values", head(1).put(1).text("t").put(1).put(-1).bytes(four).out, "-1 values");
        row("negative calls", head(1).put(1).text("t").put(-2).put(4).bytes(four).out, "-2 calls");
        row("second entry missing", head(2).put(1).text("t").put(1).put(4).bytes(four).put('x').pad(64).out,
            "");
        row("twice", oldImatrix({kParts[0], kParts[0]}), "twice");
        row("trailing", ByteWriter().bytes(oldImatrix({kParts[0]}, "")).put('x').out, "end of the file");
        row("data set's length", ByteWriter().bytes(oldImatrix({kParts[0]}, "")).put(1).put(99).out,
            "end of the file");
    }
    void refused()
    {
        QFETCH(QByteArray, bytes);
        QFETCH(QString, word);
        const auto matrix = opened({reinterpret_cast<const std::byte*>(bytes.constData()),
                                    reinterpret_cast<const std::byte*>(bytes.constData()) + bytes.size()});
        QVERIFY(!matrix);
        const auto line = QString::fromStdString(matrix.error().line());
        QVERIFY2(line.contains(word) && line.contains(QStringLiteral("imatrix.gguf")), qPrintable(line));
    }

    void badValues_data()
    {
        QTest::addColumn<float>("sum");
        QTest::addColumn<float>("count");
        QTest::newRow("negative") << -1.0f << 4.0f;
        QTest::newRow("infinite") << std::numeric_limits<float>::infinity() << 4.0f;
        QTest::newRow("not a number") << std::numeric_limits<float>::quiet_NaN() << 4.0f;
        QTest::newRow("negative count") << 1.0f << -4.0f;
        QTest::newRow("count is no number") << 1.0f << std::numeric_limits<float>::quiet_NaN();
        QTest::newRow("quotient overflows") << 3e38f << 1e-3f;
    }
    void badValues()
    {
        QFETCH(float, sum);
        QFETCH(float, count);
        const auto matrix = opened(ggufImatrix({{"t", {1, sum}, {count}}}));
        HALFTONE_VERIFY(matrix);
        const auto values = (*matrix)->values((*matrix)->entries()[0]);
        QVERIFY(!values);
        QCOMPARE(values.error().code(), Errc::BadFormat);
    }

    // No prefix of a good file may pass for a whole one, nor crash.
    void prefixes()
    {
        for (const Bytes& whole : {oldImatrix(kParts), ggufImatrix(kParts)}) {
            int good = 0;
            for (std::size_t size = 0; size < whole.size(); size += 3)
                good += opened({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)}) ? 1 : 0;
            // The old form may end behind the entries, or behind the chunk count; GGUF within its last
            // padding.
            QVERIFY(good <= 32);
        }
    }
};

QTEST_GUILESS_MAIN(TestImatrix)
#include "tst_imatrix.moc"
