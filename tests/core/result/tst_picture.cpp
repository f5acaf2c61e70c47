// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/text.h"
#include "core/result/picture.h"
#include "tests/core/result/sample_results.h"
#include "tests/support/main.h"

#include <QLocale>

#include <charconv>
#include <cmath>
#include <limits>

using namespace halftone;
using namespace halftone::test;

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// Six rows: a name, a class, a size and two numbers with all that can go wrong in them.
std::shared_ptr<MemoryResults> sample()
{
    auto results = MemoryResults::make({});
    using Type = Column::Type;
    auto table = *results->table({"t",
                                  "",
                                  {{"name", Type::Name, "", ""},
                                   {"class", Type::Name, "", ""},
                                   {"x", Type::Real, "bit", ""},
                                   {"y", Type::Real, "dB", ""},
                                   {"bytes", Type::Integer, "B", ""}}});
    const auto add = [&](const char* name, const char* c, double x, double y, double bytes) {
        const std::array row{table->nameId(0, name), table->nameId(1, c), x, y, bytes};
        if (!table->append(row)) qFatal("row");
    };
    add("a", "ffn", 1, 10, 100);
    add("b", "attention", 2, 30, 200);
    add("c", "ffn", 3, kNan, 0);
    add("d", "ffn", 4, -5, 400);
    add("e", "attention", 0, 50, 500);
    add("f", "ffn", std::numeric_limits<double>::infinity(), 60, 600);
    return results;
}

FigureSpec figure(Trace::Mark mark, const char* x, const char* y)
{
    return {.id = "f",
            .title = "Title",
            .kind = "scatter",
            .x = {"Bits", "bit"},
            .y = {"SQNR", "dB"},
            .traces = {{.label = "series", .table = "t", .x = x, .y = y, .mark = mark}}};
}

} // namespace

class TestPicture : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void dropsAndCounts()
    {
        const auto results = sample();
        FigureSpec f = figure(Trace::Mark::Points, "x", "y");
        auto p = pictureOf(f, *results);
        HALFTONE_VERIFY(p);
        QCOMPARE(p->dropped, std::int64_t{2});
        QCOMPARE(p->note, std::string("2 values that are not finite not shown"));
        QVERIFY((p->series[0].sourceRow == std::vector<std::uint32_t>{0, 1, 3, 4}));
        f.y.log = true;
        p = pictureOf(f, *results);
        QCOMPARE(
            p->note,
            std::string("1 value <= 0 not shown on the log axis; 2 values that are not finite not shown"));
        f.x.log = true;
        p = pictureOf(f, *results);
        QCOMPARE(p->dropped, std::int64_t{4});
        QVERIFY(p->note.starts_with("2 values <= 0 not shown on the log axis"));
        QVERIFY((p->series[0].x == std::vector<double>{1, 2}));
    }

    void filtersByName()
    {
        const auto results = sample();
        FigureSpec f = figure(Trace::Mark::Points, "x", "y");
        f.traces[0].where = "class";
        f.traces[0].is = "attention";
        f.traces[0].text = "name";
        auto p = pictureOf(f, *results);
        HALFTONE_VERIFY(p);
        const Series& s = p->series[0];
        QVERIFY((s.x == std::vector<double>{2, 0}));
        QCOMPARE(s.names[s.text[1]], std::string("e"));
        QCOMPARE(p->dropped, std::int64_t{0}); // rows of other names are not missing
        f.traces[0].is = "nothing";
        QVERIFY(pictureOf(f, *results)->series[0].x.empty());
    }

    void givesNamesPositions()
    {
        const auto results = sample();
        FigureSpec f = figure(Trace::Mark::Bars, "name", "y");
        f.x.log = true; // has no meaning for names
        f.traces.push_back(f.traces[0]);
        f.traces[1].where = "class";
        f.traces[1].is = "attention";
        const auto p = pictureOf(f, *results);
        HALFTONE_VERIFY(p);
        // "c" is not shown, so it takes no place; both traces share the places.
        QVERIFY((p->xNames == std::vector<std::string>{"a", "b", "d", "e", "f"}));
        QVERIFY((p->series[1].x == std::vector<double>{1, 3}));
    }

    void drawsRectanglesFromSizes()
    {
        const auto results = sample();
        FigureSpec f = figure(Trace::Mark::Rectangles, "", "bytes");
        f.kind = "treemap";
        f.y = {"Size", "B", false};
        f.traces[0].z = "class";
        f.traces[0].text = "name";
        const auto p = pictureOf(f, *results);
        HALFTONE_VERIFY(p);
        QCOMPARE(p->series[0].y.size(), std::size_t{5});
        QCOMPARE(p->note, std::string("1 entry without a size not shown"));
        QCOMPARE(p->series[0].categories[p->series[0].category[1]], std::string("attention"));
        QVERIFY(describe(*p).find("the largest (f) is 600 B") != std::string::npos);
    }

    void marksTheHull()
    {
        const auto results = sample();
        FigureSpec f = figure(Trace::Mark::Points, "x", "y");
        f.traces[0].hull = true;
        const auto p = pictureOf(f, *results);
        HALFTONE_VERIFY(p);
        // Rows 0, 1, 3, 4 are shown; (0, 50) beats all others.
        QVERIFY((p->series[0].hull == std::vector<std::uint32_t>{3}));
    }

    void explainsWhatIsMissing_data()
    {
        QTest::addColumn<QByteArray>("field");
        QTest::addColumn<QByteArray>("value");
        QTest::addColumn<QByteArray>("message");
        const auto row = [](const char* field, const char* value, const char* message) {
            QTest::newRow(field) << QByteArray(field) << QByteArray(value) << QByteArray(message);
        };
        row("table", "no", "figure f: there is no table 'no'; there are: t");
        row("x", "no", "figure f: table t: there is no column 'no'; there are: name, class, x, y, bytes");
        row("text", "x", "figure f: table t: column x holds numbers, and names are needed");
        row("where", "y", "figure f: table t: column y holds numbers, and names are needed");
        row("y", "", "figure f: trace series needs a column for x and for y");
    }
    void explainsWhatIsMissing()
    {
        QFETCH(QByteArray, field);
        QFETCH(QByteArray, value);
        QFETCH(QByteArray, message);
        const auto results = sample();
        FigureSpec f = figure(Trace::Mark::Points, "x", "y");
        Trace& t = f.traces[0];
        (field == "table"  ? t.table
         : field == "x"    ? t.x
         : field == "y"    ? t.y
         : field == "text" ? t.text
                           : t.where) = value.toStdString();
        const auto p = pictureOf(f, *results);
        QVERIFY(!p);
        QCOMPARE(QByteArray::fromStdString(p.error().line()), message);
    }

    void csvKeepsEveryDigit()
    {
        auto results = MemoryResults::make({});
        auto table = *results->table(
            {"t", "", {{"x", Column::Type::Real, "", ""}, {"y", Column::Type::Real, "", ""}}});
        SplitMix64 rng(3);
        std::vector<double> values;
        for (int i = 0; i < 200; ++i) {
            const double v = (rng.uniform() - 0.5) * std::pow(10.0, rng.uniform() * 600 - 300);
            values.push_back(v);
            HALFTONE_VERIFY(table->append(std::array{v, static_cast<double>(i) / 3}));
        }
        const auto p = pictureOf(figure(Trace::Mark::Line, "x", "y"), *results);
        HALFTONE_VERIFY(p);
        const QList<QByteArray> lines = QByteArray::fromStdString(renderCsv(*p)).split('\n');
        QCOMPARE(lines[0], QByteArray("series,Bits (bit),SQNR (dB)"));
        QCOMPARE(lines.size(), qsizetype{202});
        for (int i = 0; i < 200; ++i) {
            const QByteArray field = lines[i + 1].split(',')[1];
            double read = 0;
            std::from_chars(field.constData(), field.constData() + field.size(), read);
            QCOMPARE(read, values[static_cast<std::size_t>(i)]);
        }
    }

    void csvQuotes()
    {
        auto results = MemoryResults::make({});
        const TableSchema schema{"t",
                                 "",
                                 {{"a, b", Column::Type::Name, "", ""},
                                  {"n", Column::Type::Integer, "", ""},
                                  {"v", Column::Type::Real, "", ""}}};
        auto table = *results->table(schema);
        const auto add = [&](const char* name, double n, double v) {
            const std::array row{table->nameId(0, name), n, v};
            HALFTONE_VERIFY(table->append(row));
        };
        add("plain", 1000000000000, 0.1);
        add("with, comma", -5, kNan);
        add("with \"quotes\"", 0, 1e-300);
        add("with\nbreak", 7, -0.0);
        const auto csv = tableCsv(*results, "t");
        HALFTONE_VERIFY(csv);
        QCOMPARE(QByteArray::fromStdString(*csv), QByteArray("\"a, b\",n,v\n"
                                                             "plain,1000000000000,0.1\n"
                                                             "\"with, comma\",-5,nan\n"
                                                             "\"with \"\"quotes\"\"\",0,1e-300\n"
                                                             "\"with\nbreak\",7,-0\n"));
        QCOMPARE(tableCsv(*results, "u").error().code(), Errc::NotFound);
    }

    // Boxes read four more columns; a box with an end that is not finite is not shown.
    void boxes()
    {
        const auto results = MemoryResults::make({});
        using Type = Column::Type;
        auto table = *results->table({"b",
                                      "",
                                      {{"name", Type::Name, "", ""},
                                       {"low", Type::Real, "", ""},
                                       {"lower", Type::Real, "", ""},
                                       {"middle", Type::Real, "", ""},
                                       {"upper", Type::Real, "", ""},
                                       {"high", Type::Real, "", ""}}});
        const auto add = [&](const char* name, std::array<double, 5> v) {
            const std::array row{table->nameId(0, name), v[0], v[1], v[2], v[3], v[4]};
            HALFTONE_VERIFY(table->append(row));
        };
        add("one", {1, 2, 3, 4, 9});
        add("two", {2, 3, 4, 5, kNan});
        add("three", {0, 4, 5, 6, 7});
        FigureSpec f = figure(Trace::Mark::Boxes, "name", "middle");
        f.traces[0].table = "b";
        f.traces[0].spread = {"low", "lower", "upper", "high"};
        const auto back = figureFromJson(toJson(f));
        HALFTONE_VERIFY(back);
        QVERIFY(back->traces[0].spread == f.traces[0].spread);
        QCOMPARE(back->traces[0].mark, Trace::Mark::Boxes);
        const auto p = pictureOf(*back, *results);
        HALFTONE_VERIFY(p);
        QCOMPARE(p->series[0].spread.size(), std::size_t{2});
        QVERIFY((p->series[0].spread[0] == std::array<double, 4>{1, 2, 4, 9}));
        QVERIFY((p->xNames == std::vector<std::string>{"one", "three"}));
        QCOMPARE(p->note, std::string("1 value that is not finite not shown"));
        QCOMPARE(QByteArray::fromStdString(renderCsv(*p)),
                 QByteArray("series,Bits (bit),SQNR (dB),lower whisker,lower edge,upper edge,upper whisker\n"
                            "series,one,3,1,2,4,9\n"
                            "series,three,5,0,4,6,7\n"));
        QVERIFY(describe(*p).find("The whiskers reach from 0 dB to 9 dB.") != std::string::npos);
        f.y.log = true;
        QCOMPARE(pictureOf(f, *results)->series[0].spread.size(), std::size_t{1});
        f.traces[0].spread[2] = "name";
        QCOMPARE(pictureOf(f, *results).error().code(), Errc::InvalidArgument);
        f.traces[0].spread[2] = "none";
        QCOMPARE(pictureOf(f, *results).error().code(), Errc::NotFound);
    }

    void saysItInWords()
    {
        const auto results = sample();
        FigureSpec f = figure(Trace::Mark::Points, "x", "y");
        f.caption = "One line.";
        f.traces[0].text = "name";
        f.traces[0].hull = true;
        const auto p = pictureOf(f, *results);
        HALFTONE_VERIFY(p);
        QCOMPARE(
            QByteArray::fromStdString(describe(*p)),
            QByteArray(
                "Title. One line. Across: Bits in bit; up: SQNR in dB. series: 4 points; SQNR from -5 dB at "
                "4 bit (d) to 50 dB at 0 bit (e). 1 of them is on the upper left hull. 2 values that are "
                "not finite not shown."));
    }
};

QTEST_GUILESS_MAIN(TestPicture)
#include "tst_picture.moc"
