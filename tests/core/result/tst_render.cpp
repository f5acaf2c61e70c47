// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/rng.h"
#include "core/result/picture.h"
#include "core/result/svg/chart.h"
#include "tests/support/main.h"

#include <QXmlStreamReader>

#include <algorithm>
#include <cmath>
#include <limits>

using namespace halftone;

namespace {

Picture picture(const char* kind, Trace::Mark mark, std::size_t points)
{
    Picture p;
    p.spec.id = "f";
    p.spec.title = "Title";
    p.spec.kind = kind;
    p.spec.x = {"Bits per weight", "bit", false};
    p.spec.y = {"SQNR", "dB", false};
    p.spec.z = {"Error", "", false};
    p.spec.caption = "A caption.";
    Series s;
    s.label = "rtn";
    s.mark = mark;
    SplitMix64 rng(points);
    for (std::size_t i = 0; i < points; ++i) {
        s.x.push_back(static_cast<double>(i) / 2);
        s.y.push_back(rng.uniform() * 30);
        s.text.push_back(static_cast<std::uint32_t>(i));
        s.names.push_back("model.layers." + std::to_string(i) + ".mlp.down_proj.weight");
        s.sourceRow.push_back(static_cast<std::uint32_t>(i));
    }
    p.series = {s};
    return p;
}

Picture heatmap(std::size_t rows, std::size_t columns)
{
    Picture p = picture("heatmap", Trace::Mark::Cells, 0);
    for (std::size_t r = 0; r < rows; ++r)
        for (std::size_t c = 0; c < columns; ++c) {
            p.series[0].x.push_back(static_cast<double>(c));
            p.series[0].y.push_back(static_cast<double>(r));
            p.series[0].z.push_back(r == 5 && c == 7 ? 100.0 : 1.0);
        }
    return p;
}

Picture treemapPicture(std::size_t count)
{
    Picture p = picture("treemap", Trace::Mark::Rectangles, count);
    p.spec.y = {"Size", "B", false};
    p.series[0].categories = {"attention", "ffn"};
    for (std::size_t i = 0; i < count; ++i)
        p.series[0].category.push_back(static_cast<std::uint32_t>(i % 2));
    return p;
}

/// Five named places with a box of each series.
Picture boxPicture(std::size_t series)
{
    Picture p = picture("boxes", Trace::Mark::Boxes, 5);
    for (std::size_t i = 0; i < 5; ++i) {
        const double y = 10 + static_cast<double>(i);
        p.xNames.push_back("layer " + std::to_string(i));
        p.series[0].x[i] = static_cast<double>(i);
        p.series[0].y[i] = y;
        p.series[0].spread.push_back({y - 5, y - 1, y + 2, y + 20});
    }
    p.series.resize(series, p.series[0]);
    return p;
}

struct Label {
    QString text;
    double x, y, size, rotate;
    QString anchor;
};

/// All <text> elements; fails the test when the document isn't well-formed or holds no-numbers.
void readLabels(const std::string& svg, std::vector<Label>& out)
{
    QVERIFY(svg.find("nan") == std::string::npos && svg.find("inf\"") == std::string::npos);
    QXmlStreamReader xml(QByteArray::fromStdString(svg));
    while (!xml.atEnd()) {
        xml.readNext();
        if (!xml.isStartElement() || xml.name() != QLatin1String("text")) continue;
        const auto a = xml.attributes();
        const auto number = [&](const char* key) { return a.value(QLatin1String(key)).toDouble(); };
        Label l{{},          number("x"),
                number("y"), number("font-size"),
                0,           a.value(QLatin1String("text-anchor")).toString()};
        const QString transform = a.value(QLatin1String("transform")).toString();
        if (!transform.isEmpty()) l.rotate = transform.mid(7).split(QLatin1Char(' ')).first().toDouble();
        l.text = xml.readElementText();
        out.push_back(l);
    }
    QVERIFY2(!xml.hasError(), qPrintable(xml.errorString()));
}

svg::Box boxOf(const Label& l)
{
    const double w = svg::textWidth(l.text.toStdString(), l.size);
    const double left = l.anchor == QLatin1String("end")      ? l.x - w
                        : l.anchor == QLatin1String("middle") ? l.x - w / 2
                                                              : l.x;
    return {left, l.y - l.size * 0.8, w, l.size};
}

} // namespace

class TestRender : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void labelsNeverOverlapNorLeaveThePage_data()
    {
        QTest::addColumn<int>("which");
        QTest::addColumn<int>("width");
        QTest::addColumn<int>("height");
        const std::array names{"scatter", "line",    "bars",   "named bars", "histogram",
                               "heatmap", "treemap", "legend", "boxes"};
        const std::array<std::pair<int, int>, 3> sizes{{{960, 600}, {480, 320}, {1600, 500}}};
        for (std::size_t n = 0; n < names.size(); ++n)
            for (const auto& [w, h] : sizes)
                QTest::addRow("%s %dx%d", names[n], w, h) << static_cast<int>(n) << w << h;
    }
    void labelsNeverOverlapNorLeaveThePage()
    {
        QFETCH(int, which);
        QFETCH(int, width);
        QFETCH(int, height);
        Picture p;
        if (which == 0) {
            p = picture("pareto", Trace::Mark::Points, 30);
            p.series[0].hull = upperLeftHull(p.series[0].x, p.series[0].y);
        } else if (which == 1) {
            p = picture("curve", Trace::Mark::Line, 50);
        } else if (which == 2) {
            p = picture("bars", Trace::Mark::Bars, 40);
        } else if (which == 3) {
            p = picture("bars", Trace::Mark::Bars, 5);
            for (std::size_t i = 0; i < 5; ++i) {
                p.xNames.push_back("layer " + std::to_string(i));
                p.series[0].x[i] = static_cast<double>(i);
            }
        } else if (which == 4) {
            p = picture("histogram", Trace::Mark::Bars, 100);
            p.spec.y.log = true;
        } else if (which == 5) {
            p = heatmap(30, 50);
        } else if (which == 6) {
            p = treemapPicture(80);
        } else if (which == 8) {
            p = boxPicture(2);
        } else {
            p = picture("curve", Trace::Mark::Line, 20);
            for (int i = 0; i < 12; ++i) {
                p.series.push_back(p.series[0]);
                p.series.back().label = "a series with a long name, number " + std::to_string(i);
            }
        }
        std::vector<Label> labels;
        readLabels(renderSvg(p, {width, height, PictureTheme::Light}), labels);
        QVERIFY(labels.size() >= 4);
        std::vector<svg::Box> boxes;
        for (const Label& l : labels) {
            if (l.rotate != 0) continue;
            const svg::Box b = boxOf(l);
            QVERIFY2(b.x >= 0 && b.right() <= width && b.y >= 0 && b.bottom() <= height, qPrintable(l.text));
            for (std::size_t i = 0; i < boxes.size(); ++i)
                QVERIFY2(!boxes[i].overlaps(b), qPrintable(l.text));
            boxes.push_back(b);
        }
    }

    void hasTitleAxesAndWords()
    {
        Picture p = picture("curve", Trace::Mark::Line, 10);
        p.note = "3 values <= 0 not shown on the log axis";
        const std::string svg = renderSvg(p, {});
        std::vector<Label> labels;
        readLabels(svg, labels);
        QStringList texts;
        for (const Label& l : labels)
            texts << l.text;
        for (const char* expected : {"Title", "Bits per weight (bit)", "SQNR (dB)",
                                     "A caption. 3 values <= 0 not shown on the log axis."})
            QVERIFY2(texts.contains(QString::fromLatin1(expected)), expected);
        QVERIFY(svg.find("<title>Title</title>") != std::string::npos);
        QVERIFY(svg.find("<desc>") != std::string::npos);
        QVERIFY(svg.find("role=\"img\"") != std::string::npos);
    }

    void escapesTextsFromFiles()
    {
        Picture p = picture("scatter", Trace::Mark::Points, 3);
        p.spec.title = "<script>alert(\"&\")</script>\x01\xff";
        p.series[0].names[0] = "]]><x a='\"'>";
        std::vector<Label> labels;
        const std::string svg = renderSvg(p, {});
        readLabels(svg, labels);
        QVERIFY(svg.find("<script") == std::string::npos);
        QCOMPARE(labels[0].text, QString::fromUtf8("<script>alert(\"&\")</script> \xEF\xBF\xBD"));
    }

    void survivesHardNumbers_data()
    {
        QTest::addColumn<QList<double>>("y");
        QTest::addColumn<bool>("log");
        const double most = std::numeric_limits<double>::max(),
                     least = std::numeric_limits<double>::denorm_min();
        QTest::newRow("none") << QList<double>{} << false;
        QTest::newRow("one") << QList<double>{5} << false;
        QTest::newRow("one zero") << QList<double>{0} << false;
        QTest::newRow("one, log") << QList<double>{5} << true;
        QTest::newRow("equal") << QList<double>{2, 2, 2} << false;
        QTest::newRow("all there is") << QList<double>{-most, most} << false;
        QTest::newRow("all there is, log") << QList<double>{least, most} << true;
        QTest::newRow("tiny") << QList<double>{0, least} << false;
        QTest::newRow("neighbours") << QList<double>{1, std::nextafter(1.0, 2.0)} << false;
    }
    void survivesHardNumbers()
    {
        QFETCH(QList<double>, y);
        QFETCH(bool, log);
        for (const auto mark : {Trace::Mark::Line, Trace::Mark::Points, Trace::Mark::Bars, Trace::Mark::Cells,
                                Trace::Mark::Rectangles, Trace::Mark::Boxes}) {
            Picture p = picture(mark == Trace::Mark::Cells ? "heatmap" : "x", mark, 0);
            p.spec.x.log = p.spec.y.log = p.spec.z.log = log;
            for (double v : y) {
                if (mark == Trace::Mark::Rectangles && v <= 0) continue;
                p.series[0].x.push_back(v);
                p.series[0].y.push_back(v);
                p.series[0].z.push_back(v);
                p.series[0].sourceRow.push_back(0);
                if (mark == Trace::Mark::Boxes) p.series[0].spread.push_back({v, v, v, v});
            }
            std::vector<Label> labels;
            readLabels(renderSvg(p, {}), labels);
            QVERIFY(!labels.empty());
        }
    }

    // Whiskers reach to the ends of what is shown, boxes of several series stand side by side.
    void boxesStandSideBySide()
    {
        Picture p = boxPicture(3);
        const svg::Layout layout = svg::layOut(p, {0, 0, 600, 400});
        QVERIFY(layout.y.scale.min <= 5 && layout.y.scale.max >= 34);
        const svg::Slots places = svg::slotsOf(p, Trace::Mark::Boxes, layout);
        QCOMPARE(places.series.size(), std::size_t{3});
        QVERIFY(std::abs(places.left(1) + places.width / 2) < 1e-9); // the middle one on its place
        QVERIFY(places.full < layout.plot.width / 5);
        // Two whiskers and two ends a box; how many lines the axes have depends on the legend.
        const std::string one = renderSvg(boxPicture(1), {}), three = renderSvg(p, {});
        const auto count = [](const std::string& text, const std::string& what) {
            std::size_t n = 0;
            for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1))
                ++n;
            return n;
        };
        const std::string stroke = "stroke-width=\"1.5\"";
        QVERIFY(count(one, stroke) >= 5 * 4);
        QCOMPARE(count(three, stroke), 3 * count(one, stroke));
    }

    void isTheSameEachTime()
    {
        const Picture p = treemapPicture(50);
        QCOMPARE(renderSvg(p, {}), renderSvg(p, {}));
        QVERIFY(renderSvg(p, {}) != renderSvg(p, {960, 600, PictureTheme::Dark}));
    }

    void mergesCellsByTheirMaximum()
    {
        // 600 x 600 cells on a plot of some hundreds of pixels: the one large cell must still show.
        Picture p = heatmap(600, 600);
        const svg::Layout layout = svg::layOut(p, {0, 0, 400, 300});
        const svg::Raster raster = svg::rasterOf(p, layout);
        QVERIFY(raster.columns < 200 && raster.rows < 150);
        QVERIFY(raster.cellsInOne > 10);
        QCOMPARE(*std::max_element(raster.values.begin(), raster.values.end()), 100.0);
        QCOMPARE(std::count(raster.values.begin(), raster.values.end(), 100.0), std::ptrdiff_t{1});
        const std::string svg = renderSvg(p, {});
        QVERIFY(svg.find("Each cell is the maximum of up to") != std::string::npos);
        QVERIFY(svg.size() < 2'000'000);
        // Without merging, each cell is itself.
        p = heatmap(20, 10);
        const svg::Raster exact = svg::rasterOf(p, svg::layOut(p, {0, 0, 400, 300}));
        QCOMPARE(exact.columns, std::size_t{10});
        QCOMPARE(exact.rows, std::size_t{20});
        QCOMPARE(exact.values[5 * 10 + 7], 100.0);
        QCOMPARE(exact.cellsInOne, std::size_t{1});
    }

    void manyMarksStaySmall()
    {
        for (const auto mark :
             {Trace::Mark::Line, Trace::Mark::Points, Trace::Mark::Bars, Trace::Mark::Rectangles}) {
            Picture p = picture("x", mark, 30000);
            const std::string svg = renderSvg(p, {});
            QVERIFY2(svg.size() < 12'000'000, qPrintable(QString::number(svg.size())));
        }
    }

    void textsCanBeRead()
    {
        for (const auto theme : {PictureTheme::Light, PictureTheme::Dark}) {
            const svg::Theme& t = svg::themeOf(theme);
            QVERIFY(svg::contrast(t.text, t.background) >= 7);
            QVERIFY(svg::contrast(t.muted, t.background) >= 4.5);
            QVERIFY(svg::contrast(t.axis, t.background) >= 3);
            for (std::size_t i = 0; i < 7; ++i)
                QVERIFY(svg::contrast(svg::readable(seriesColour(i), t.background, 3), t.background) >= 3);
        }
        QVERIFY(std::fabs(svg::contrast(0x000000, 0xFFFFFF) - 21) < 1e-9);
    }

    void elidesInTheMiddle()
    {
        QCOMPARE(svg::elided("short", 100, 12), std::string("short"));
        const std::string cut = svg::elided("model.layers.10.self_attn.q_proj.weight", 120, 12);
        QVERIFY(svg::textWidth(cut, 12) <= 120);
        QVERIFY(cut.starts_with("mod") && cut.ends_with("weight"));
        QVERIFY(cut.find("…") != std::string::npos);
        QCOMPARE(svg::elided("model", 10, 12), std::string());
        QCOMPARE(svg::elided("üüüüüüüüüüüü", 60, 12), std::string("üüü…üüü"));
        const auto lines = svg::wrapped("one two three four five six seven", 80, 12, 2);
        QCOMPARE(lines.size(), std::size_t{2});
        QVERIFY(svg::textWidth(lines[1], 12) <= 80);
    }

    void secondSeriesHasAnotherLook()
    {
        Picture p = picture("curve", Trace::Mark::Line, 10);
        p.series.push_back(p.series[0]);
        p.series[1].label = "neuqi";
        const std::string svg = renderSvg(p, {});
        QVERIFY(svg.find("stroke-dasharray") != std::string::npos);
        QVERIFY(svg.find("neuqi") != std::string::npos);
    }

    void pngHasTheSizeAskedFor()
    {
        const Picture p = picture("scatter", Trace::Mark::Points, 5);
        const auto png = renderPng(p, {320, 200, PictureTheme::Dark}, 2);
        HALFTONE_VERIFY(png);
        const QByteArray bytes(reinterpret_cast<const char*>(png->data()),
                               static_cast<qsizetype>(png->size()));
        QVERIFY(bytes.startsWith("\x89PNG\r\n"));
        const auto number = [&](qsizetype at) {
            int v = 0;
            for (qsizetype i = 0; i < 4; ++i)
                v = v * 256 + static_cast<unsigned char>(bytes[at + i]);
            return v;
        };
        QCOMPARE(number(16), 640);
        QCOMPARE(number(20), 400);
        QCOMPARE(renderPng(p, {}, 0).error().code(), Errc::InvalidArgument);
        QCOMPARE(renderPng(p, {}, 1000).error().code(), Errc::InvalidArgument);
        QCOMPARE(renderPng(p, {}, std::nan("")).error().code(), Errc::InvalidArgument);
    }
};

QTEST_GUILESS_MAIN(TestRender)
#include "tst_render.moc"
