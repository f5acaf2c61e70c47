// SPDX-License-Identifier: GPL-3.0-or-later
// What each folder may include. A forbidden include is the first step of a cycle between folders.
#include "tests/layout/source_tree.h"
#include "tests/support/main.h"

#include <QHash>
#include <QRegularExpression>

using namespace halftone::test;

namespace {

// Lowest first: a core folder may include itself and those in front of it.
const QStringList kCoreOrder{QStringLiteral("base"),   QStringLiteral("numeric"), QStringLiteral("tensor"),
                             QStringLiteral("device"), QStringLiteral("param"),   QStringLiteral("io"),
                             QStringLiteral("model"),  QStringLiteral("result"),  QStringLiteral("job"),
                             QStringLiteral("method"), QStringLiteral("session")};

// The exceptions to "all that is lower": what a folder must not know although it stands below.
const QHash<QString, QStringList> kForbiddenCore{
    {QStringLiteral("param"),
     {QStringLiteral("numeric"), QStringLiteral("tensor"), QStringLiteral("device")}},
    {QStringLiteral("io"), {QStringLiteral("param")}},
    {QStringLiteral("model"), {QStringLiteral("param")}},
    {QStringLiteral("result"), {QStringLiteral("io"), QStringLiteral("model"), QStringLiteral("device")}},
    {QStringLiteral("job"), {QStringLiteral("io"), QStringLiteral("model")}}};

struct Include {
    QString path;
    bool quoted;
};

QList<Include> includesOf(const QString& file)
{
    static const QRegularExpression line(QStringLiteral("^\\s*#\\s*include\\s*([<\"])([^>\"]+)[>\"]"));
    QList<Include> found;
    for (const auto& text : linesOf(file))
        if (const auto m = line.match(text); m.hasMatch())
            found.append({m.captured(2), m.captured(1) == QLatin1String("\"")});
    return found;
}

// Why `file` must not include `include`; empty when it may.
QString objection(const QString& file, const Include& include)
{
    const auto parts = file.split(QLatin1Char('/'));
    const auto target = include.path.split(QLatin1Char('/'));
    static const QRegularExpression qt(QStringLiteral("^(Qt?[A-Z]\\w*(/Q\\w+)?|Qt\\w+)$"));
    static const QRegularExpression cuda(QStringLiteral("^(cuda|cublas|cusolver)"));
    static const QRegularExpression heavy(
        QStringLiteral("^(nlohmann/|spdlog/|hdf5|H5|CLI/|Eigen/|dnnl|oneapi/dnnl)"));
    static const QRegularExpression umbrella(
        QStringLiteral("^(QtWidgets|QtCharts|QtGui|QtCore|Eigen/Dense)$"));
    const QString& top = parts[0];

    if (umbrella.match(include.path).hasMatch())
        return QStringLiteral("umbrella headers cost seconds in every build");
    if ((top == QLatin1String("core") || top == QLatin1String("gpu")) && qt.match(include.path).hasMatch())
        return QStringLiteral("no Qt in core and gpu");
    if (top == QLatin1String("core")) {
        if (cuda.match(include.path).hasMatch()) return QStringLiteral("no CUDA in core");
        if (file.endsWith(QLatin1String(".h")) && heavy.match(include.path).hasMatch())
            return QStringLiteral("heavy libraries stay in .cpp files");
        if (!include.quoted || target[0] == QLatin1String("hwy")) return {};
        if (target[0] != QLatin1String("core")) return QStringLiteral("core includes core only");
        const auto from = kCoreOrder.indexOf(parts[1]);
        const auto to = kCoreOrder.indexOf(target.value(1));
        if (to > from) return QStringLiteral("core/%1 stands above core/%2").arg(target.value(1), parts[1]);
        if (kForbiddenCore.value(parts[1]).contains(target.value(1)))
            return QStringLiteral("core/%1 must not know core/%2").arg(parts[1], target.value(1));
        return {};
    }
    if (!include.quoted) return {};
    if (target.size() < 2) return {}; // moc and local headers of one folder
    const QString& other = target[0];
    if (top == QLatin1String("gpu")) {
        if (other == QLatin1String("gpu")) return {};
        if (other == QLatin1String("core") &&
            kCoreOrder.indexOf(target[1]) <= kCoreOrder.indexOf(QStringLiteral("device")))
            return {};
        return QStringLiteral("gpu knows core/base, numeric, tensor and device only");
    }
    if (top == QLatin1String("plugins")) {
        const bool own = other == QLatin1String("plugins") && target.mid(0, 3) == parts.mid(0, 3);
        const bool shell = include.path == QLatin1String("app/host/plugin_interface.h") &&
                           parts.last() == QLatin1String("shell.cpp");
        if (own || shell || other == QLatin1String("core")) return {};
        return QStringLiteral("a plugin knows core and itself; what two need moves down into core");
    }
    if (top == QLatin1String("app")) {
        if (other == QLatin1String("core")) return {};
        if (other != QLatin1String("app")) return QStringLiteral("app includes core and app");
        static const QStringList order{QStringLiteral("host"), QStringLiteral("models"), QStringLiteral("ui"),
                                       QStringLiteral("window")};
        const auto from = order.indexOf(parts[1]);
        const auto to = order.indexOf(target[1]);
        if (parts[1] == QLatin1String("batch"))
            return to == 0 || target[1] == QLatin1String("batch") ? QString()
                                                                  : QStringLiteral("batch knows host only");
        if (to > from || to < 0) return QStringLiteral("app/%1 stands above app/%2").arg(target[1], parts[1]);
        return {};
    }
    return {};
}

} // namespace

class TestIncludes : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void objections_data();
    void objections();
    void everyIncludeIsAllowed();
    void onlyChartViewTouchesQtCharts();
};

void TestIncludes::objections_data()
{
    QTest::addColumn<QString>("file");
    QTest::addColumn<QString>("include");
    QTest::addColumn<bool>("allowed");
    QTest::newRow("Qt in core") << "core/io/a.cpp"
                                << "<QString>" << false;
    QTest::newRow("json in a core header") << "core/io/a.h"
                                           << "<nlohmann/json.hpp>" << false;
    QTest::newRow("json in a core source") << "core/io/a.cpp"
                                           << "<nlohmann/json.hpp>" << true;
    QTest::newRow("upwards in core") << "core/io/a.cpp"
                                     << "\"core/session/quantize.h\"" << false;
    QTest::newRow("downwards in core") << "core/io/a.cpp"
                                       << "\"core/base/result.h\"" << true;
    QTest::newRow("plugin to plugin") << "plugins/methods/rtn/a.cpp"
                                      << "\"plugins/methods/block_error/b.h\"" << false;
    QTest::newRow("gpu to io") << "gpu/ops/a.cu"
                               << "\"core/io/checkpoint.h\"" << false;
    QTest::newRow("batch to window") << "app/batch/main.cpp"
                                     << "\"app/ui/theme.h\"" << false;
    QTest::newRow("umbrella") << "app/ui/a.cpp"
                              << "<QtWidgets>" << false;
    QTest::newRow("standard header") << "core/base/a.h"
                                     << "<vector>" << true;
}

void TestIncludes::objections()
{
    QFETCH(QString, file);
    QFETCH(QString, include);
    QFETCH(bool, allowed);
    const Include parsed{include.mid(1, include.size() - 2), include.startsWith(QLatin1Char('"'))};
    QCOMPARE(objection(file, parsed).isEmpty(), allowed);
}

void TestIncludes::everyIncludeIsAllowed()
{
    QStringList problems;
    int seen = 0;
    for (const char* top : {"core", "gpu", "plugins", "app"})
        for (const auto& file : sourcesBelow(QLatin1String(top)))
            for (const auto& include : includesOf(file)) {
                ++seen;
                if (const auto why = objection(file, include); !why.isEmpty())
                    problems << QStringLiteral("%1 includes %2: %3").arg(file, include.path, why);
            }
    QVERIFY2(seen > 100, "the sources were not found");
    QVERIFY2(problems.isEmpty(), qPrintable(problems.join(QLatin1Char('\n'))));
}

void TestIncludes::onlyChartViewTouchesQtCharts()
{
    static const QRegularExpression charts(
        QStringLiteral("^(QtCharts/)?Q(Chart|ChartView|\\w+Series|ValueAxis|LogValueAxis|BarSet)$"));
    for (const auto& file : sourcesBelow(QStringLiteral("app"))) {
        if (file.startsWith(QLatin1String("app/ui/chart_"))) continue;
        for (const auto& include : includesOf(file))
            QVERIFY2(!charts.match(include.path).hasMatch(),
                     qPrintable(file + QStringLiteral(" includes ") + include.path));
    }
}

QTEST_GUILESS_MAIN(TestIncludes)
#include "tst_includes.moc"
