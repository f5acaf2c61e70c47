// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/result/table_check.h"
#include "core/result/writer.h"
#include "tests/core/result/sample_results.h"
#include "tests/support/main.h"

#include <atomic>
#include <cmath>
#include <thread>

using namespace halftone;
using namespace halftone::test;

class TestMemoryResults : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void readsBackWhatWasWritten()
    {
        const auto results = MemoryResults::make(sampleProvenance());
        HALFTONE_VERIFY(fillSample(*results, 10));
        QCOMPARE(results->provenance().methodId, std::string("rtn"));
        QCOMPARE(results->outcome(), Outcome::Cancelled);
        results->setOutcome(Outcome::Complete);
        QCOMPARE(results->outcome(), Outcome::Complete);
        QCOMPARE(results->tables().size(), std::size_t{1});
        QCOMPARE(results->rows("weights"), std::int64_t{10});
        QCOMPARE(results->rows("nothing"), std::int64_t{0});
        const auto names = results->names("weights", "class");
        HALFTONE_VERIFY(names);
        QVERIFY((*names == std::vector<std::string>{"ffn", "attention"}));
        const auto column = results->column("weights", "class");
        HALFTONE_VERIFY(column);
        QCOMPARE((*column)[3], 1.0);
        QVERIFY(std::isnan((*results->column("weights", "sqnr_db"))[5]));
        QCOMPARE(results->figures().size(), std::size_t{1});
        QVERIFY((results->arrays() == std::vector<std::string>{"hessian/layer 0"}));
        const auto array = results->arrayData("hessian/layer 0");
        HALFTONE_VERIFY(array);
        QCOMPARE(array->values[29], 7.25f);
        QCOMPARE(results->log()[1].first, std::string(logLevelName(LogLevel::Warning)));
    }

    void namesWhatThereIs()
    {
        const auto results = MemoryResults::make({});
        HALFTONE_VERIFY(fillSample(*results, 1));
        QCOMPARE(results->column("weight", "bytes").error().line(),
                 std::string("there is no table 'weight'; there are: weights"));
        QCOMPARE(
            results->column("weights", "byte").error().line(),
            std::string("table weights: there is no column 'byte'; there are: name, bytes, sqnr_db, class"));
        QCOMPARE(results->column("weights", "byte").error().code(), Errc::NotFound);
        QCOMPARE(results->names("weights", "bytes").error().code(), Errc::InvalidArgument);
        QCOMPARE(results->arrayData("x").error().code(), Errc::NotFound);
    }

    void refusesWrongRows_data()
    {
        QTest::addColumn<QList<double>>("row");
        const double nan = std::numeric_limits<double>::quiet_NaN();
        QTest::newRow("short") << QList<double>{0, 1, 2};
        QTest::newRow("long") << QList<double>{0, 1, 2, 0, 0};
        QTest::newRow("unknown name") << QList<double>{1, 1, 2, 0};
        QTest::newRow("negative name") << QList<double>{-1, 1, 2, 0};
        QTest::newRow("nan name") << QList<double>{nan, 1, 2, 0};
        QTest::newRow("fraction") << QList<double>{0, 1.5, 2, 0};
        QTest::newRow("nan integer") << QList<double>{0, nan, 2, 0};
        QTest::newRow("too large integer") << QList<double>{0, 1e300, 2, 0};
    }
    void refusesWrongRows()
    {
        QFETCH(QList<double>, row);
        const auto results = MemoryResults::make({});
        auto table = results->table(sampleSchema());
        HALFTONE_VERIFY(table);
        QCOMPARE((*table)->nameId(0, "a"), 0.0);
        QCOMPARE((*table)->nameId(3, "b"), 0.0);
        const Status status = (*table)->append(std::vector<double>(row.begin(), row.end()));
        QVERIFY(!status);
        QCOMPARE(status.error().code(), Errc::InvalidArgument);
        QVERIFY(status.error().line().find("weights") != std::string::npos);
        QCOMPARE(results->rows("weights"), std::int64_t{0});
    }

    void continuesATableOfTheSameColumns()
    {
        const auto results = MemoryResults::make({});
        HALFTONE_VERIFY(fillSample(*results, 3));
        auto again = results->table(sampleSchema());
        HALFTONE_VERIFY(again);
        QCOMPARE((*again)->nameId(3, "attention"), 1.0);
        HALFTONE_VERIFY((*again)->append(std::array{0.0, 1.0, 2.0, 1.0}));
        QCOMPARE(results->rows("weights"), std::int64_t{4});
        TableSchema other = sampleSchema();
        other.columns.pop_back();
        QCOMPARE(results->table(other).error().code(), Errc::InvalidArgument);
    }

    void refusesBadSchemas()
    {
        QVERIFY(!checkSchema({"t", "", {}}));
        QVERIFY(!checkSchema({"", "", {{"a", Column::Type::Real, "", ""}}}));
        QVERIFY(
            !checkSchema({"t", "", {{"a", Column::Type::Real, "", ""}, {"a", Column::Type::Real, "", ""}}}));
        QVERIFY(!checkSchema(
            {"t", "", {{"a", Column::Type::Name, "", ""}, {"a_names", Column::Type::Real, "", ""}}}));
        QVERIFY(!checkSchema({"t", "", {{"\xff", Column::Type::Real, "", ""}}}));
        const std::array<std::int64_t, 2> dims{2, 3};
        HALFTONE_VERIFY(checkArray("a", dims, 6));
        QVERIFY(!checkArray("a", dims, 5));
        const std::array<std::int64_t, 3> huge{1ll << 40, 1ll << 40, 1};
        QVERIFY(!checkArray("a", huge, 0));
        QVERIFY(!checkArray("a", {}, 1));
    }

    void figuresReplaceByIdAndSurviveJson()
    {
        const auto results = MemoryResults::make({});
        HALFTONE_VERIFY(results->figure(sampleFigure()));
        FigureSpec second = sampleFigure();
        second.title = "other";
        HALFTONE_VERIFY(results->figure(second));
        QCOMPARE(results->figures().size(), std::size_t{1});
        QCOMPARE(results->figures()[0].title, std::string("other"));
        const auto back = figureFromJson(toJson(second));
        HALFTONE_VERIFY(back);
        QCOMPARE(toJson(*back), toJson(second));
        QCOMPARE(back->caption, second.caption);
        QCOMPARE(back->traces[0].hull, true);
        QCOMPARE(back->y.log, true);
        for (const char* broken :
             {"", "{", "[]", "{}", "{\"id\":5}", "{\"id\":\"a\",\"traces\":5}",
              "{\"id\":\"a\",\"traces\":[{\"mark\":\"pie\"}]}", "{\"id\":\"a\",\"x\":[]}"})
            QVERIFY2(!figureFromJson(broken), broken);
    }

    void cleansText()
    {
        QCOMPARE(cleanText("plain ü"), std::string("plain ü"));
        QCOMPARE(cleanText("a\xff"
                           "b"),
                 std::string("a\xEF\xBF\xBD"
                             "b"));
        QCOMPARE(cleanText(std::string_view("a\0b", 3)), std::string("a\xEF\xBF\xBD"
                                                                     "b"));
        QCOMPARE(cleanText("\xc3\xbc\xc3"), std::string("\xc3\xbc\xEF\xBF\xBD"));
    }

    void viewsSeeWholeRowsWhileAJobAppends()
    {
        const auto results = MemoryResults::make({});
        const TableSchema schema{
            "t", "", {{"a", Column::Type::Integer, "", ""}, {"b", Column::Type::Integer, "", ""}}};
        auto table = results->table(schema);
        HALFTONE_VERIFY(table);
        std::atomic<bool> over = false, wrong = false;
        std::jthread view([&] {
            std::uint64_t last = 0;
            while (!over) {
                const auto rows = static_cast<std::size_t>(results->rows("t"));
                const auto a = results->column("t", "a"), b = results->column("t", "b");
                const std::uint64_t revision = results->revision();
                if (!a || !b || a->size() < rows || b->size() < a->size() || revision < last) wrong = true;
                last = revision;
                for (std::size_t i = 0; a && i < a->size(); ++i)
                    if ((*a)[i] != static_cast<double>(i)) wrong = true;
            }
        });
        for (int i = 0; i < 3000; ++i)
            HALFTONE_VERIFY((*table)->append(std::array{static_cast<double>(i), 2.0 * i}));
        over = true;
        view.join();
        QVERIFY(!wrong);
    }
};

QTEST_GUILESS_MAIN(TestMemoryResults)
#include "tst_memory_results.moc"
