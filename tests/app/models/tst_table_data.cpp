// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/models/jobs_model.h"
#include "app/models/selection.h"
#include "app/models/table_data.h"
#include "tests/support/main.h"

#include <QAbstractItemModelTester>
#include <QSignalSpy>

#include <array>
#include <cmath>

using namespace halftone;
using namespace Qt::Literals::StringLiterals;

class TestTableData : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void writesFullPrecisionAndQuotes();
    void readsATableOfResults();
    void sortsNumbersWithUnknownLast();
    void tableOfAPicture();
    void jobsAreUpdatedInPlace();
    void selectionStepsAndGoesBack();
};

namespace {

std::shared_ptr<const TableData> sample()
{
    auto table = std::make_shared<TableData>();
    table->columns = {{"name", "", "", {0, 1, 0}, {"plain", "with,comma"}},
                      {"value", "dB", "", {0.1, std::nan(""), -2.0}, {}}};
    return table;
}

} // namespace

void TestTableData::writesFullPrecisionAndQuotes()
{
    QCOMPARE(sample()->text(','), std::string("name,value\nplain,0.1\n\"with,comma\",nan\nplain,-2\n"));
    const std::array<std::size_t, 1> rows{2};
    QCOMPARE(sample()->text(rows, '\t'), std::string("name\tvalue\nplain\t-2\n"));
}

void TestTableData::readsATableOfResults()
{
    const auto results = MemoryResults::make({});
    auto table =
        results->table({"t", "", {{"name", Column::Type::Name, "", ""}, {"x", Column::Type::Real, "", ""}}});
    HALFTONE_VERIFY(table);
    const std::array<double, 2> row{(*table)->nameId(0, "a"), 1.0 / 3.0};
    HALFTONE_VERIFY((*table)->append(row));
    const auto read = readTable(*results, "t");
    HALFTONE_VERIFY(read);
    QCOMPARE(read->rows(), std::size_t{1});
    QCOMPARE(read->cell(0, 0), std::string("a"));
    QCOMPARE(std::stod(read->cell(0, 1)), 1.0 / 3.0);
    const auto missing = readTable(*results, "other");
    QVERIFY(!missing);
    QCOMPARE(missing.error().code(), Errc::NotFound);
}

void TestTableData::sortsNumbersWithUnknownLast()
{
    TableDataModel model;
    const QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
    model.setTable(sample());
    model.sort(1, Qt::AscendingOrder);
    QCOMPARE(model.sourceRow(0), std::size_t{2});
    QCOMPARE(model.sourceRow(2), std::size_t{1});
    model.sort(1, Qt::DescendingOrder);
    QCOMPARE(model.sourceRow(0), std::size_t{0});
    QCOMPARE(model.sourceRow(2), std::size_t{1});
    QCOMPARE(model.headerData(1, Qt::Horizontal, Qt::DisplayRole).toString(), u"value [dB]"_s);
}

void TestTableData::tableOfAPicture()
{
    Picture picture;
    picture.spec.x.label = "Bits";
    picture.spec.y.label = "SQNR";
    Series a;
    a.label = "a";
    a.x = {1, 2};
    a.y = {10, 20};
    Series b = a;
    b.label = "b";
    picture.series = {a, b};
    const TableData table = tableOf(picture);
    QCOMPARE(table.rows(), std::size_t{4});
    QCOMPARE(table.text(','), std::string("series,Bits,SQNR\na,1,10\na,2,20\nb,1,10\nb,2,20\n"));
}

void TestTableData::jobsAreUpdatedInPlace()
{
    JobsModel model;
    const QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
    JobSnapshot job;
    job.id = 1;
    job.title = "first";
    job.state = JobState::Running;
    job.fraction = 0.41;
    model.update(job);
    job.id = 2;
    job.title = "second";
    model.update(job);
    QCOMPARE(model.rowCount(), 2);
    QCOMPARE(model.index(0, JobsModel::Title).data().toString(), u"second"_s);
    QCOMPARE(model.index(1, JobsModel::ProgressText).data().toString(), u"41 %"_s);
    job.id = 1;
    job.state = JobState::Failed;
    job.error = Error(Errc::Io, "lost");
    model.update(job);
    QCOMPARE(model.rowCount(), 2);
    QCOMPARE(model.index(1, JobsModel::State).data().toString(), u"failed"_s);
    QCOMPARE(model.index(1, JobsModel::Stage).data().toString(), u"lost"_s);
    QVERIFY(!model.index(1, 0).data(JobsModel::RunningRole).toBool());
}

void TestTableData::selectionStepsAndGoesBack()
{
    Selection selection;
    QSignalSpy changed(&selection, &Selection::changed);
    selection.step(1); // no order yet
    QCOMPARE(changed.count(), 0);
    selection.setOrder({4, 2, 7});
    selection.step(1);
    QCOMPARE(selection.place().weight, 4);
    selection.step(1);
    QCOMPARE(selection.place().weight, 2);
    selection.step(5);
    QCOMPARE(selection.place().weight, 7);
    selection.back();
    QCOMPARE(selection.place().weight, 2);
    QVERIFY(selection.canGoForward());
    selection.forward();
    QCOMPARE(selection.place().weight, 7);
    selection.back();
    selection.select({9, 1, 2});
    QVERIFY(!selection.canGoForward());
    const int before = static_cast<int>(changed.count());
    selection.select({9, 1, 2});
    QCOMPARE(changed.count(), before); // the same place again is no news
}

QTEST_GUILESS_MAIN(TestTableData)
#include "tst_table_data.moc"
