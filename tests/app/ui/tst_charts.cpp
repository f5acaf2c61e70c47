// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/ui/chart_view.h"
#include "app/ui/raster_view.h"
#include "app/ui/reduce.h"
#include "app/ui/theme.h"
#include "app/ui/treemap_view.h"
#include "app/ui/view.h"
#include "tests/app/qt_main.h"
#include "tests/support/temp_dir.h"

#include <QAbstractScrollArea>
#include <QApplication>
#include <QSignalSpy>
#include <QWheelEvent>

#include <cmath>
#include <numbers>

using namespace halftone;
using namespace Qt::Literals::StringLiterals;

namespace {

Series wave(std::size_t n, Trace::Mark mark)
{
    Series s;
    s.label = "wave";
    s.mark = mark;
    for (std::size_t i = 0; i < n; ++i) {
        s.x.push_back(static_cast<double>(i));
        s.y.push_back(2 + std::sin(static_cast<double>(i) * 40 * std::numbers::pi / static_cast<double>(n)));
    }
    return s;
}

std::shared_ptr<Picture> pictureWith(Series series)
{
    auto picture = std::make_shared<Picture>();
    picture->spec.id = "test";
    picture->spec.title = "A test";
    picture->spec.kind = "curve";
    picture->spec.x = {"Step", "", false};
    picture->spec.y = {"Value", "dB", false};
    picture->series.push_back(std::move(series));
    return picture;
}

/// The widget inside that gets the mouse.
QWidget* viewportOf(QWidget& plot)
{
    auto* area = plot.findChild<QAbstractScrollArea*>();
    return area == nullptr ? &plot : area->viewport();
}

} // namespace

class TestCharts : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase() { Theme::apply(*qApp, ThemeMode::Light); }
    void init() { test::failOnQtWarnings(); }
    void m4KeepsExtremes();
    void thinBarsKeepTheHighest();
    void marksCarryTheSeriesColour_data();
    void marksCarryTheSeriesColour();
    void millionPointsStayWithinTheLimits();
    void nonPositiveValuesAreCountedOnALogAxis();
    void hoverReadsTheFullNumbers();
    void wheelBoxAndDoubleClickZoom();
    void arrowKeysMoveACursorPoint();
    void thresholdIsDraggedByMouseAndKeys();
    void stackedBarsStandOnEachOther();
    void barsOfOnePlaceStandSideBySide();
    void boxesShowTheirSpread();
    void rasterKeepsAPlantedOutlier();
    void rasterPicksTheWorstCellUnderThePixel();
    void treemapAreasFollowTheSizes();
    void viewShowsTableAndWords();
    void viewExports_data();
    void viewExports();
};

void TestCharts::m4KeepsExtremes()
{
    std::vector<double> x(100000);
    std::vector<double> y(100000, 1.0);
    for (std::size_t i = 0; i < x.size(); ++i)
        x[i] = static_cast<double>(i);
    y[77777] = 50;
    y[12345] = -50;
    const auto kept = reduceM4(x, y, 0, 99999, 500);
    QVERIFY(kept.size() <= 4 * 500 + 2);
    QVERIFY(std::find(kept.begin(), kept.end(), 77777U) != kept.end());
    QVERIFY(std::find(kept.begin(), kept.end(), 12345U) != kept.end());
    QVERIFY(std::is_sorted(kept.begin(), kept.end()));
    // A zoomed range runs on to both edges.
    const auto part = reduceM4(x, y, 100.5, 200.5, 500);
    QCOMPARE(part.front(), 100U);
    QCOMPARE(part.back(), 201U);
}

void TestCharts::thinBarsKeepTheHighest()
{
    std::vector<double> x(10000);
    std::vector<double> y(10000, 1.0);
    for (std::size_t i = 0; i < x.size(); ++i)
        x[i] = static_cast<double>(i);
    y[4321] = 9;
    const auto bars = reduceBars(x, y, 1, 0, 10000, 300);
    QVERIFY(bars.size() <= 300);
    double highest = 0;
    for (const Bar& bar : bars)
        highest = std::max(highest, bar.height);
    QCOMPARE(highest, 9.0);
}

void TestCharts::marksCarryTheSeriesColour_data()
{
    QTest::addColumn<int>("mark");
    QTest::addColumn<int>("least");
    QTest::newRow("line") << static_cast<int>(Trace::Mark::Line) << 600;
    QTest::newRow("points") << static_cast<int>(Trace::Mark::Points) << 1500;
    QTest::newRow("bars") << static_cast<int>(Trace::Mark::Bars) << 20000;
}

void TestCharts::marksCarryTheSeriesColour()
{
    QFETCH(int, mark);
    QFETCH(int, least);
    ChartView chart;
    chart.resize(600, 400);
    chart.setPicture(pictureWith(wave(100, static_cast<Trace::Mark>(mark))));
    chart.show();
    QVERIFY(QTest::qWaitForWindowExposed(&chart));
    const QColor colour(QRgb(seriesColour(0)));
    const QImage image = chart.grab().toImage();
    QVERIFY2(test::pixelsOf(image, colour) > least,
             qPrintable(QString::number(test::pixelsOf(image, colour))));
    chart.setPicture(nullptr);
    QCOMPARE(test::pixelsOf(chart.grab().toImage(), colour), 0);
}

void TestCharts::millionPointsStayWithinTheLimits()
{
    ChartView chart;
    chart.resize(900, 600);
    auto picture = pictureWith(wave(1000000, Trace::Mark::Line));
    picture->series[0].y[654321] = 40; // one spike in a million
    chart.setPicture(picture);
    QVERIFY(chart.shownPoints() > 1000);
    QVERIFY(chart.shownPoints() <= ChartView::kMostPoints);
    QVERIFY(chart.shownRange().bottom() > 40);
    // Many points go into the background image, not to Qt Charts.
    chart.setPicture(pictureWith(wave(50000, Trace::Mark::Points)));
    QCOMPARE(chart.shownPoints(), 0);
    QVERIFY(test::pixelsOf(chart.grab().toImage(), Theme::colours().surface) < 900 * 600 - 5000);
}

void TestCharts::nonPositiveValuesAreCountedOnALogAxis()
{
    Series s;
    s.label = "loss";
    s.x = {0, 1, 2, 3, 4};
    s.y = {1, 0, -2, std::nan(""), 1000};
    auto picture = pictureWith(s);
    picture->spec.y.log = true;
    ChartView chart;
    chart.resize(500, 300);
    chart.setPicture(picture);
    QVERIFY2(chart.note().endsWith(u": 3"_s), qPrintable(chart.note()));
    // What remains is drawn: one zero must not make a whole series disappear.
    QCOMPARE(chart.shownPoints(), 2);
    chart.show();
    QVERIFY(QTest::qWaitForWindowExposed(&chart));
    QVERIFY(test::pixelsOf(chart.grab().toImage(), QColor(QRgb(seriesColour(0)))) > 100);
}

void TestCharts::hoverReadsTheFullNumbers()
{
    ChartView chart;
    chart.resize(800, 500);
    auto picture = pictureWith(wave(200000, Trace::Mark::Line));
    picture->series[0].y[123456] = 30;
    chart.setPicture(picture);
    const auto hit = chart.pointAt(chart.pixelOf(123456, 30));
    QVERIFY(hit.has_value());
    QCOMPARE(hit->index, 123456);
    QCOMPARE(chart.textOf(*hit), u"Step 123456  ·  Value 30 dB"_s);
    QVERIFY(!chart.pointAt(QPointF(2, 2)).has_value());
}

void TestCharts::wheelBoxAndDoubleClickZoom()
{
    ChartView chart;
    chart.resize(800, 500);
    chart.setPicture(pictureWith(wave(1000, Trace::Mark::Line)));
    chart.show();
    QVERIFY(QTest::qWaitForWindowExposed(&chart));
    QWidget* target = viewportOf(chart);
    const QRectF full = chart.shownRange();
    const QPointF centre = chart.plotArea().center();
    QWheelEvent wheel(centre, target->mapToGlobal(centre), {}, {0, 120}, Qt::NoButton, Qt::NoModifier,
                      Qt::NoScrollPhase, false);
    QCoreApplication::sendEvent(target, &wheel);
    QVERIFY(chart.shownRange().width() < full.width() * 0.85);
    QTest::mouseDClick(target, Qt::LeftButton, {}, centre.toPoint());
    QCOMPARE(chart.shownRange(), full);
    const QPoint from = chart.plotArea().topLeft().toPoint() + QPoint(100, 60);
    QTest::mousePress(target, Qt::LeftButton, {}, from);
    QTest::mouseMove(target, from + QPoint(100, 50));
    QMouseEvent move(QEvent::MouseMove, from + QPoint(200, 100), target->mapToGlobal(from + QPoint(200, 100)),
                     Qt::NoButton, Qt::LeftButton, Qt::NoModifier);
    QCoreApplication::sendEvent(target, &move);
    QTest::mouseRelease(target, Qt::LeftButton, {}, from + QPoint(200, 100));
    QVERIFY(chart.shownRange().width() < full.width() / 2);
    QTest::keyClick(&chart, Qt::Key_Home);
    QCOMPARE(chart.shownRange(), full);
}

void TestCharts::arrowKeysMoveACursorPoint()
{
    ChartView chart;
    chart.resize(400, 300);
    chart.setPicture(pictureWith(wave(10, Trace::Mark::Points)));
    chart.show();
    QVERIFY(QTest::qWaitForWindowExposed(&chart));
    QSignalSpy hovered(&chart, &Plot::hovered);
    QSignalSpy picked(&chart, &Plot::picked);
    QTest::keyClick(&chart, Qt::Key_Right);
    QTest::keyClick(&chart, Qt::Key_Right);
    QTest::keyClick(&chart, Qt::Key_Right);
    QCOMPARE(chart.highlighted()->index, 2);
    QVERIFY(hovered.last().front().toString().contains(u"Step 2"_s));
    QVERIFY(chart.accessibleDescription().contains(u"Step 2"_s));
    QTest::keyClick(&chart, Qt::Key_Return);
    QCOMPARE(picked.count(), 1);
}

void TestCharts::thresholdIsDraggedByMouseAndKeys()
{
    ChartView chart;
    chart.resize(800, 500);
    chart.setPicture(pictureWith(wave(100, Trace::Mark::Points)));
    chart.setThreshold(40.0, u"budget"_s);
    chart.show();
    QVERIFY(QTest::qWaitForWindowExposed(&chart));
    QSignalSpy dragged(&chart, &ChartView::thresholdDragged);
    QWidget* target = viewportOf(chart);
    const QPoint from(static_cast<int>(chart.pixelOf(40, 2).x()),
                      static_cast<int>(chart.plotArea().top()) + 5);
    const QPoint to(static_cast<int>(chart.pixelOf(70, 2).x()), from.y());
    QTest::mousePress(target, Qt::LeftButton, {}, from);
    QMouseEvent move(QEvent::MouseMove, to, target->mapToGlobal(to), Qt::NoButton, Qt::LeftButton,
                     Qt::NoModifier);
    QCoreApplication::sendEvent(target, &move);
    QTest::mouseRelease(target, Qt::LeftButton, {}, to);
    QVERIFY(dragged.count() >= 1);
    QVERIFY(std::abs(*chart.threshold() - 70) < 1);
    const double before = *chart.threshold();
    QTest::keyClick(&chart, Qt::Key_Right, Qt::ShiftModifier);
    QVERIFY(*chart.threshold() > before);
}

void TestCharts::stackedBarsStandOnEachOther()
{
    Series low;
    low.label = "attention";
    low.mark = Trace::Mark::Bars;
    low.x = {0, 1};
    low.y = {10, 20};
    Series high = low;
    high.label = "ffn";
    auto picture = pictureWith(low);
    picture->series.push_back(high);
    picture->spec.kind = "stacked";
    ChartView chart;
    chart.resize(500, 400);
    chart.setPicture(picture);
    QVERIFY(chart.shownRange().bottom() >= 40);
    // Half-way up the second bar: the second series, with its own number.
    const auto hit = chart.pointAt(chart.pixelOf(1, 30));
    QVERIFY(hit.has_value());
    QCOMPARE(hit->series, 1);
    QVERIFY(chart.textOf(*hit).contains(u"20 dB"_s));
    QCOMPARE(chart.pointAt(chart.pixelOf(1, 10))->series, 0);
}

void TestCharts::barsOfOnePlaceStandSideBySide()
{
    Series first;
    first.label = "blocks";
    first.mark = Trace::Mark::Bars;
    first.x = {0, 1};
    first.y = {10, 20};
    Series second = first;
    second.label = "weights";
    second.y = {20, 5};
    auto picture = pictureWith(first);
    picture->series.push_back(second);
    picture->xNames = {"one", "two"};
    ChartView chart;
    chart.resize(500, 400);
    chart.setPicture(picture);
    const double unit = chart.pixelOf(1, 0).x() - chart.pixelOf(0, 0).x();
    const QPointF middle = chart.pixelOf(0, 5);
    QCOMPARE(chart.pointAt(middle - QPointF(unit * 0.2, 0)), (PlotPoint{0, 0}));
    QCOMPARE(chart.pointAt(middle + QPointF(unit * 0.2, 0)), (PlotPoint{1, 0}));
    QVERIFY(chart.textOf({1, 1}).contains(u"two"_s));
    QVERIFY(chart.textOf({1, 1}).contains(u"5 dB"_s));
}

void TestCharts::boxesShowTheirSpread()
{
    Series s;
    s.label = "crest factors";
    s.mark = Trace::Mark::Boxes;
    for (int i = 0; i < 4; ++i) {
        s.x.push_back(i);
        s.y.push_back(10 + i);
        s.spread.push_back({8.0 + i, 9.0 + i, 12.0 + i, 40.0 + i});
    }
    auto picture = pictureWith(s);
    picture->spec.kind = "boxes";
    ChartView chart;
    chart.resize(500, 400);
    chart.setPicture(picture);
    // All of the whiskers is in sight.
    QVERIFY(chart.shownRange().bottom() >= 43);
    QVERIFY(chart.shownRange().top() <= 8);
    const auto hit = chart.pointAt(chart.pixelOf(2, 30));
    QVERIFY(hit.has_value());
    QCOMPARE(hit->index, 2);
    QVERIFY(chart.textOf(*hit).contains(u"11 dB"_s));
    QVERIFY(chart.textOf(*hit).contains(u"42 dB"_s));
    // The box is painted in the colour of its series.
    const QImage image = chart.grab().toImage();
    const QPointF inside = chart.pixelOf(2, 13);
    const QColor seen = image.pixelColor((inside * image.devicePixelRatio()).toPoint());
    QCOMPARE(seen.rgb() & 0xFFFFFFU, colourOfSeries(*picture, 0) & 0xFFFFFFU);
}

namespace {

std::shared_ptr<Picture> map(int rows, int columns, int outlierRow, int outlierColumn)
{
    auto picture = std::make_shared<Picture>();
    picture->spec.id = "map";
    picture->spec.kind = "heatmap";
    picture->spec.x = {"Block", "", false};
    picture->spec.y = {"Row", "", false};
    picture->spec.z = {"Error", "", true};
    Series s;
    s.mark = Trace::Mark::Cells;
    for (int r = 0; r < rows; ++r)
        for (int c = 0; c < columns; ++c) {
            s.x.push_back(c);
            s.y.push_back(r);
            s.z.push_back(r == outlierRow && c == outlierColumn ? 1.0 : 1e-6);
        }
    picture->series.push_back(std::move(s));
    return picture;
}

} // namespace

void TestCharts::rasterKeepsAPlantedOutlier()
{
    RasterView raster;
    raster.resize(500, 400);
    raster.setPicture(map(3000, 1000, 1234, 567));
    const QImage& image = raster.image();
    QVERIFY(!image.isNull());
    // Seven rows and three columns share a pixel: the one large value must still be seen, at its place.
    const QColor top(QRgb(viridis(1)));
    QVERIFY(test::pixelsOf(image, top, 0) >= 1);
    QVERIFY(test::pixelsOf(image, top, 0) <= 4);
    const QPointF at = raster.pixelOf(567.5, 1234.5) - raster.plotArea().topLeft();
    bool near = false;
    for (int dy = -1; dy <= 1; ++dy)
        for (int dx = -1; dx <= 1; ++dx)
            near =
                near || image.pixelColor(static_cast<int>(at.x()) + dx, static_cast<int>(at.y()) + dy) == top;
    QVERIFY(near);
    QCOMPARE(image.pixelColor(5, 5), QColor(QRgb(viridis(0))));
}

void TestCharts::rasterPicksTheWorstCellUnderThePixel()
{
    RasterView raster;
    raster.resize(500, 400);
    raster.setPicture(map(3000, 1000, 1234, 567));
    raster.show();
    QVERIFY(QTest::qWaitForWindowExposed(&raster));
    QSignalSpy picked(&raster, &Plot::picked);
    const QPointF at = raster.pixelOf(567.5, 1234.5);
    QTest::mouseClick(&raster, Qt::LeftButton, {},
                      QPoint(static_cast<int>(at.x()), static_cast<int>(at.y())));
    QCOMPARE(picked.count(), 1);
    const auto point = picked.front().front().value<PlotPoint>();
    QCOMPARE(point.index, 1234 * 1000 + 567);
    QVERIFY(raster.textOf(point).contains(u"Row 1234"_s));
    QCOMPARE(raster.cellAt(567, 1234), std::optional(point));
}

void TestCharts::treemapAreasFollowTheSizes()
{
    auto picture = std::make_shared<Picture>();
    picture->spec.kind = "treemap";
    picture->spec.y = {"Size", "B", false};
    Series s;
    s.mark = Trace::Mark::Rectangles;
    s.x = {0, 1, 2};
    s.y = {100, 300, 600};
    s.names = {"a.weight", "b.weight", "c.weight"};
    s.text = {0, 1, 2};
    s.categories = {"attention", "ffn"};
    s.category = {0, 1, 1};
    picture->series.push_back(std::move(s));
    TreemapView view;
    view.resize(400, 300);
    view.setPicture(picture);
    const auto area = [&](int i) {
        const QRectF box = view.cellOf({0, i});
        return box.width() * box.height();
    };
    QVERIFY(std::abs(area(2) / area(0) - 6) < 0.01);
    QVERIFY(std::abs(area(1) / area(0) - 3) < 0.01);
    const auto hit = view.pointAt(view.cellOf({0, 1}).center());
    QCOMPARE(hit->index, 1);
    QVERIFY(view.textOf(*hit).contains(u"30.0 %"_s));
    const QColor attention(QRgb(categoryColour("attention")));
    QVERIFY(test::pixelsOf(view.image(), attention) > 5000);
}

void TestCharts::viewShowsTableAndWords()
{
    View view(u"A panel"_s);
    view.resize(700, 500);
    QVERIFY(view.isEmpty());
    auto picture = pictureWith(wave(50, Trace::Mark::Line));
    picture->spec.caption = "The finding.";
    view.setPicture(picture);
    QVERIFY(!view.isEmpty());
    QCOMPARE(view.reading(), u"The finding."_s);
    QVERIFY(!view.describe().isEmpty());
    QCOMPARE(view.dataTable()->rows(), std::size_t{50});
    view.show();
    QVERIFY(QTest::qWaitForWindowExposed(&view));
    QTest::keyClick(view.plot(), Qt::Key_T);
    QVERIFY(view.tableShown());
    QTest::keyClick(view.focusWidget(), Qt::Key_T);
    QVERIFY(!view.tableShown());
}

void TestCharts::viewExports_data()
{
    QTest::addColumn<QString>("name");
    QTest::addColumn<QByteArray>("start");
    QTest::newRow("png") << u"a.png"_s << QByteArray("\x89PNG");
    QTest::newRow("svg") << u"a.svg"_s << QByteArray("<");
    QTest::newRow("csv") << u"a.csv"_s << QByteArray();
}

void TestCharts::viewExports()
{
    QFETCH(QString, name);
    QFETCH(QByteArray, start);
    test::TempDir dir;
    View view(u"A panel"_s);
    const QString file = QString::fromStdString((dir / name.toStdString()).string());
    QVERIFY(!view.exportTo(file)); // nothing yet
    view.setPicture(pictureWith(wave(50, Trace::Mark::Line)));
    HALFTONE_VERIFY(view.exportTo(file));
    QFile written(file);
    QVERIFY(written.open(QIODevice::ReadOnly));
    const QByteArray bytes = written.readAll();
    QVERIFY(bytes.size() > 300);
    QVERIFY(bytes.startsWith(start));
    const Status odd = view.exportTo(file + u".bmp"_s);
    QVERIFY(!odd);
    QCOMPARE(odd.error().code(), Errc::InvalidArgument);
}

QTEST_MAIN(TestCharts)
#include "tst_charts.moc"
