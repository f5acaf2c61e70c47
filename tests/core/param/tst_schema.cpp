// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/param/table.h"
#include "tests/support/main.h"

#include <clocale>

using namespace halftone;

namespace {

struct Sample {
    int bits = 4;
    std::int64_t seed = 0;
    double damping = 0.01;
    bool symmetric = true;
    std::string granularity = "group";
    std::string note;
    std::string file;
    int groupSize = 128;
};

ParamTable<Sample> sampleTable()
{
    ParamTable<Sample> t;
    t.field(&Sample::bits, {.key = "bits", .label = "Bits", .help = "Width of a code.", .min = 2, .max = 8});
    t.field(&Sample::seed, {.key = "seed", .label = "Seed", .help = "Any."});
    t.field(&Sample::damping, {.key = "damping", .label = "Damping", .help = "Part.", .min = 0, .max = 1});
    t.field(&Sample::symmetric, {.key = "symmetric", .label = "Symmetric", .help = "Around 0."});
    t.field(&Sample::granularity, {.key = "granularity",
                                   .label = "Granularity",
                                   .help = "One scale a part.",
                                   .choices = {"tensor", "channel", "group"}});
    t.field(&Sample::note, {.key = "note", .label = "Note", .help = "Free text."});
    t.field(&Sample::file,
            {.key = "file", .label = "File", .help = "A file.", .kind = ParamSpec::Kind::File});
    t.field(&Sample::groupSize, {.key = "group-size",
                                 .label = "Group size",
                                 .help = "Values a group.",
                                 .min = 1,
                                 .enabledBy = "granularity=group|channel"});
    return t;
}

} // namespace

class TestSchema : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void parsesWhatIsAllowed_data()
    {
        QTest::addColumn<QByteArray>("key");
        QTest::addColumn<QByteArray>("text");
        QTest::addColumn<QByteArray>("back");
        QTest::newRow("int") << QByteArray("bits") << QByteArray("8") << QByteArray("8");
        QTest::newRow("int, leading zero") << QByteArray("bits") << QByteArray("04") << QByteArray("4");
        QTest::newRow("least int64") << QByteArray("seed") << QByteArray("-9223372036854775808")
                                     << QByteArray("-9223372036854775808");
        QTest::newRow("real") << QByteArray("damping") << QByteArray("0.1") << QByteArray("0.1");
        QTest::newRow("real, exponent") << QByteArray("damping") << QByteArray("1e-3") << QByteArray("0.001");
        QTest::newRow("whole real") << QByteArray("damping") << QByteArray("1") << QByteArray("1");
        QTest::newRow("bool word") << QByteArray("symmetric") << QByteArray("off") << QByteArray("false");
        QTest::newRow("bool digit") << QByteArray("symmetric") << QByteArray("1") << QByteArray("true");
        QTest::newRow("choice") << QByteArray("granularity") << QByteArray("tensor") << QByteArray("tensor");
        QTest::newRow("text") << QByteArray("note") << QByteArray("a=b, c") << QByteArray("a=b, c");
        QTest::newRow("odd path") << QByteArray("file") << QByteArray("/a/\xff") << QByteArray("/a/\xff");
    }
    void parsesWhatIsAllowed()
    {
        QFETCH(QByteArray, key);
        QFETCH(QByteArray, text);
        QFETCH(QByteArray, back);
        const auto table = sampleTable();
        const auto value = table.schema().parse(key.toStdString(), text.toStdString());
        HALFTONE_VERIFY(value);
        QCOMPARE(QByteArray::fromStdString(toText(*value)), back);
        const auto again = table.schema().parse(key.toStdString(), toText(*value));
        HALFTONE_VERIFY(again);
        QVERIFY(*again == *value);
    }

    void refuses_data()
    {
        QTest::addColumn<QByteArray>("key");
        QTest::addColumn<QByteArray>("text");
        QTest::addColumn<QByteArray>("message");
        const auto row = [](const char* name, const char* key, QByteArray text, const char* message) {
            QTest::newRow(name) << QByteArray(key) << text << QByteArray(message);
        };
        row("above", "bits", "9", "bits: 9 is not in 2..8");
        row("below", "bits", "-1", "bits: -1 is not in 2..8");
        row("one side", "group-size", "0", "group-size: 0 is not 1 or more");
        row("fraction", "bits", "4.5", "bits: '4.5' is not a whole number (2..8)");
        row("unit", "bits", "4 bit", "bits: '4 bit' is not a whole number (2..8)");
        row("blank", "bits", " 4", "bits: ' 4' is not a whole number (2..8)");
        row("empty", "bits", "", "bits: '' is not a whole number (2..8)");
        row("beyond int64", "seed", "9223372036854775808",
            "seed: 9223372036854775808 is too large for a whole number");
        row("nan", "damping", "nan", "damping: 'nan' is not a number (0..1)");
        row("inf", "damping", "inf", "damping: 'inf' is not a number (0..1)");
        row("comma", "damping", "0,5", "damping: '0,5' is not a number (0..1)");
        row("huge", "damping", "1e999", "damping: 1e999 is too large or too small for a number (0..1)");
        row("real above", "damping", "1.5", "damping: 1.5 is not in 0..1");
        row("bool", "symmetric", "maybe", "symmetric: 'maybe' is not true or false");
        row("choice", "granularity", "row", "granularity: 'row' is not one of: tensor, channel, group");
        row("not UTF-8", "note", "\xff", "note: the text is not UTF-8");
        row("zero byte", "file", QByteArray("a\0b", 3), "file: the text holds a zero byte");
        row("near key", "group_size", "4", "'group_size' is unknown; did you mean 'group-size'?");
        row("far key", "xylophone", "4",
            "'xylophone' is unknown; known are: bits, seed, damping, symmetric, granularity, note, file, "
            "group-size");
    }
    void refuses()
    {
        QFETCH(QByteArray, key);
        QFETCH(QByteArray, text);
        QFETCH(QByteArray, message);
        const auto table = sampleTable();
        const auto value = table.schema().parse(key.toStdString(), text.toStdString());
        QVERIFY(!value);
        QCOMPARE(value.error().code(), Errc::InvalidArgument);
        QCOMPARE(QByteArray::fromStdString(value.error().line()), message);
    }

    void readsTheSameInEveryLocale()
    {
        // A locale with a decimal comma may be missing on this machine; parsing must not care either way.
        const std::string before = std::setlocale(LC_ALL, nullptr);
        std::setlocale(LC_ALL, "de_DE.UTF-8");
        const auto table = sampleTable();
        const auto value = table.schema().parse("damping", "0.25");
        std::setlocale(LC_ALL, before.c_str());
        HALFTONE_VERIFY(value);
        QCOMPARE(std::get<double>(*value), 0.25);
    }

    void completesDefaultsInOrder()
    {
        const auto table = sampleTable();
        const auto list = table.schema().complete({{"damping", "0.5"}, {"bits", "3"}});
        HALFTONE_VERIFY(list);
        QCOMPARE(list->size(), table.schema().specs().size());
        for (std::size_t i = 0; i < list->size(); ++i)
            QCOMPARE((*list)[i].first, table.schema().specs()[i].key);
        const Sample s = table.bind(*list);
        QCOMPARE(s.bits, 3);
        QCOMPARE(s.damping, 0.5);
        QCOMPARE(s.groupSize, 128);
        QCOMPARE(s.granularity, std::string("group"));

        ParamTexts texts;
        for (const auto& [key, value] : *list)
            texts.emplace_back(key, toText(value));
        const auto again = table.schema().complete(texts);
        HALFTONE_VERIFY(again);
        QVERIFY(*again == *list);
    }

    void namesAllProblemsAtOnce()
    {
        const auto table = sampleTable();
        const auto list = table.schema().complete(
            {{"bits", "9"}, {"bit", "3"}, {"seed", "1"}, {"seed", "2"}, {"damping", "x"}});
        QVERIFY(!list);
        QCOMPARE(QByteArray::fromStdString(list.error().what()),
                 QByteArray("'bit' is unknown; did you mean 'bits'?; seed: given 2 times; "
                            "bits: 9 is not in 2..8; damping: 'x' is not a number (0..1)"));
        const auto none = ParamSchema().complete({{"bits", "4"}});
        QVERIFY(!none);
        QCOMPARE(QByteArray::fromStdString(none.error().what()),
                 QByteArray("'bits' is unknown: there are no parameters"));
    }

    void enablesByBoolAndChoice()
    {
        ParamSchema s;
        s.add({.key = "on", .kind = ParamSpec::Kind::Bool, .fallback = false});
        s.add({.key = "mode",
               .kind = ParamSpec::Kind::Choice,
               .fallback = std::string("a"),
               .choices = {"a", "b", "c"},
               .enabledBy = "on"});
        s.add({.key = "size", .fallback = std::int64_t{1}, .enabledBy = "mode=b|c"});
        s.add({.key = "circle", .fallback = std::int64_t{1}, .enabledBy = "circle"});
        const auto enabled = [&](const char* key, const ParamList& values) {
            return s.enabled(*s.find(key), values);
        };
        QVERIFY(enabled("on", {}));
        QVERIFY(!enabled("mode", {}));
        QVERIFY(enabled("mode", {{"on", true}}));
        QVERIFY(!enabled("size", {{"on", true}}));
        QVERIFY(enabled("size", {{"on", true}, {"mode", std::string("c")}}));
        // What enables it is itself switched off.
        QVERIFY(!enabled("size", {{"on", false}, {"mode", std::string("c")}}));
        QVERIFY(enabled("circle", {}));
    }

    void splitsAListBySchema()
    {
        const auto table = sampleTable();
        ParamSchema extra;
        extra.add({.key = "other", .fallback = std::int64_t{7}});
        const ParamSchema both = table.schema().joined(extra);
        QCOMPARE(both.specs().size(), table.schema().specs().size() + 1);
        const auto list = both.complete({});
        HALFTONE_VERIFY(list);
        const ParamList part = paramsOf(*list, extra);
        QCOMPARE(part.size(), std::size_t{1});
        QVERIFY(*findParam(part, "other") == ParamValue(std::int64_t{7}));
        QVERIFY(findParam(part, "bits") == nullptr);
    }

    void survivesLongKeys()
    {
        const auto table = sampleTable();
        const auto value = table.schema().parse(std::string(1 << 20, 'b'), "1");
        QVERIFY(!value);
        QVERIFY(value.error().what().size() < 1000);
    }
};

QTEST_GUILESS_MAIN(TestSchema)
#include "tst_schema.moc"
