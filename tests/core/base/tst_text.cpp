// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/text.h"

#include "tests/support/main.h"

#include <charconv>
#include <cmath>
#include <limits>

using namespace halftone;
using namespace std::chrono_literals;

class TstText : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void bytes_data();
    void bytes();
    void counts();
    void durations();
    void exactNumbers();
    void shortNumbers();
    void globs_data();
    void globs();
    void longGlobsEnd();
    void utf8_data();
    void utf8();
};

void TstText::bytes_data()
{
    QTest::addColumn<qulonglong>("count");
    QTest::addColumn<QString>("text");
    const auto row = [](qulonglong count, const char* text) {
        QTest::newRow(text) << count << QString::fromLatin1(text);
    };
    row(0, "0 B");
    row(860, "860 B");
    row(999, "999 B");
    row(1000, "1.00 kB");
    row(9994, "9.99 kB");
    row(9995, "9.99 kB");
    row(9999, "10.0 kB");
    row(52'100'000, "52.1 MB");
    row(999'499, "999 kB");
    row(999'500, "1.00 MB");
    row(std::numeric_limits<qulonglong>::max(), "18.4 EB");
}

void TstText::bytes()
{
    QFETCH(qulonglong, count);
    QFETCH(QString, text);
    const QString got = QString::fromStdString(humanBytes(count));
    // 9995 stands between 9.99 and 10.0: either reads well, one digit more does not.
    if (count == 9995)
        QVERIFY(got == text || got == QStringLiteral("10.0 kB"));
    else
        QCOMPARE(got, text);
}

void TstText::counts()
{
    QCOMPARE(humanCount(135'000'000), std::string("135 M"));
    QCOMPARE(humanCount(1'240'000'000), std::string("1.24 G"));
    QCOMPARE(humanCount(42), std::string("42"));
}

void TstText::durations()
{
    QCOMPARE(humanDuration(0s), std::string("0:00"));
    QCOMPARE(humanDuration(23s + 999ms), std::string("0:23"));
    QCOMPARE(humanDuration(59min + 59s), std::string("59:59"));
    QCOMPARE(humanDuration(1h + 2min + 3s), std::string("1:02:03"));
}

void TstText::exactNumbers()
{
    QCOMPARE(exactNumber(0.1), std::string("0.1"));
    QCOMPARE(exactNumber(-0.0), std::string("-0"));
    QCOMPARE(exactNumber(1e300), std::string("1e+300"));
    QCOMPARE(exactNumber(std::nan("")), std::string("nan"));
    QCOMPARE(exactNumber(-std::numeric_limits<double>::infinity()), std::string("-inf"));
    for (const double x : {1.0 / 3, 6.02214076e23, 5e-324, 123456789.125}) {
        const std::string text = exactNumber(x);
        double back = 0;
        std::from_chars(text.data(), text.data() + text.size(), back);
        QVERIFY(back == x);
    }
}

void TstText::shortNumbers()
{
    QCOMPARE(shortNumber(3.14159265), std::string("3.142"));
    QCOMPARE(shortNumber(0), std::string("0"));
    QCOMPARE(shortNumber(1e-9), std::string("1e-09"));
    QCOMPARE(shortNumber(std::numeric_limits<double>::infinity()), std::string("inf"));
}

void TstText::globs_data()
{
    QTest::addColumn<QString>("pattern");
    QTest::addColumn<QString>("name");
    QTest::addColumn<bool>("matches");
    const auto row = [](const char* pattern, const char* name, bool matches) {
        QTest::addRow("'%s' on '%s'", pattern, name)
            << QString::fromLatin1(pattern) << QString::fromLatin1(name) << matches;
    };
    row("", "", true);
    row("", "a", false);
    row("*", "", true);
    row("*", "anything", true);
    row("*.weight", "blk.0.ffn_up.weight", true);
    row("*.weight", "blk.0.ffn_up.weights", false);
    row("blk.?.ffn*", "blk.3.ffn_up", true);
    row("blk.?.ffn*", "blk.33.ffn_up", false);
    row("*a*b*", "xxaxxbxx", true);
    row("*a*b*", "xxbxxaxx", false);
    row("a**b", "ab", true);
    row("?", "", false);
    row("[a]", "a", false);
}

void TstText::globs()
{
    QFETCH(QString, pattern);
    QFETCH(QString, name);
    QFETCH(bool, matches);
    QCOMPARE(globMatch(pattern.toStdString(), name.toStdString()), matches);
}

void TstText::longGlobsEnd()
{
    // The classic that takes exponential time by plain recursion.
    std::string pattern;
    for (int i = 0; i < 50; ++i)
        pattern += "*a";
    QVERIFY(!globMatch(pattern + "b", std::string(3000, 'a')));
    QVERIFY(globMatch(pattern, std::string(3000, 'a')));
}

void TstText::utf8_data()
{
    QTest::addColumn<QByteArray>("bytes");
    QTest::addColumn<bool>("good");
    QTest::newRow("empty") << QByteArray() << true;
    QTest::newRow("ASCII") << QByteArray("tensor.weight") << true;
    QTest::newRow("two, three, four bytes") << QByteArray("\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80") << true;
    QTest::newRow("last code point") << QByteArray("\xF4\x8F\xBF\xBF") << true;
    QTest::newRow("beyond the last") << QByteArray("\xF4\x90\x80\x80") << false;
    QTest::newRow("overlong slash") << QByteArray("\xC0\xAF") << false;
    QTest::newRow("overlong three") << QByteArray("\xE0\x80\xAF") << false;
    QTest::newRow("overlong four") << QByteArray("\xF0\x80\x80\xAF") << false;
    QTest::newRow("surrogate") << QByteArray("\xED\xA0\x80") << false;
    QTest::newRow("lone continuation") << QByteArray("\x80") << false;
    QTest::newRow("cut") << QByteArray("a\xE2\x82") << false;
    QTest::newRow("wrong continuation") << QByteArray("\xC3\x41") << false;
    QTest::newRow("0xFF") << QByteArray("\xFF") << false;
    QTest::newRow("zero byte") << QByteArray("a\0b", 3) << true;
}

void TstText::utf8()
{
    QFETCH(QByteArray, bytes);
    QFETCH(bool, good);
    QCOMPARE(isUtf8({bytes.data(), static_cast<std::size_t>(bytes.size())}), good);
}

QTEST_GUILESS_MAIN(TstText)
#include "tst_text.moc"
