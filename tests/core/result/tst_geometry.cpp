// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/rng.h"
#include "core/result/picture.h"
#include "core/result/short_names.h"
#include "tests/support/main.h"

#include <cmath>
#include <limits>
#include <numeric>

using namespace halftone;

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

using Indices = std::vector<std::uint32_t>;

QString text(const std::vector<std::string>& labels)
{
    QString out;
    for (const auto& label : labels)
        out += QString::fromStdString(label) + QLatin1Char(' ');
    return out.trimmed();
}

} // namespace

class TestGeometry : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void hullOfSmallSets_data()
    {
        QTest::addColumn<QList<double>>("x");
        QTest::addColumn<QList<double>>("y");
        QTest::addColumn<QList<int>>("hull");
        using D = QList<double>;
        using I = QList<int>;
        QTest::newRow("none") << D{} << D{} << I{};
        QTest::newRow("one") << D{1} << D{1} << I{0};
        QTest::newRow("beaten") << D{1, 2} << D{5, 4} << I{0};
        QTest::newRow("both") << D{2, 1} << D{5, 4} << I{1, 0};
        QTest::newRow("under the line") << D{0, 1, 2} << D{0, 0.5, 2} << I{0, 2};
        QTest::newRow("over the line") << D{0, 1, 2} << D{0, 1.5, 2} << I{0, 1, 2};
        QTest::newRow("on the line") << D{0, 1, 2} << D{0, 1, 2} << I{0, 1, 2};
        QTest::newRow("equal points") << D{1, 1, 1} << D{2, 2, 1} << I{0};
        QTest::newRow("same x") << D{1, 1, 2} << D{2, 3, 3} << I{1};
        QTest::newRow("not finite") << D{kNan, 1, -kInf, 2} << D{9, 1, 9, kInf} << I{1};
        QTest::newRow("huge") << D{-1e308, 0, 1e308} << D{-1e308, 1e308, 1.5e308} << I{0, 1, 2};
        QTest::newRow("later point lower") << D{1, 2, 3, 4} << D{1, 3, 2, 4} << I{0, 1, 3};
    }
    void hullOfSmallSets()
    {
        QFETCH(QList<double>, x);
        QFETCH(QList<double>, y);
        QFETCH(QList<int>, hull);
        const Indices found =
            upperLeftHull(std::vector<double>(x.begin(), x.end()), std::vector<double>(y.begin(), y.end()));
        QCOMPARE(QList<int>(found.begin(), found.end()), hull);
    }

    void hullOfManyPoints()
    {
        SplitMix64 rng(5);
        for (int round = 0; round < 30; ++round) {
            std::vector<double> x(60), y(60);
            for (std::size_t i = 0; i < x.size(); ++i) {
                x[i] = std::floor(rng.uniform() * 20); // many ties
                y[i] = rng.uniform();
            }
            const Indices hull = upperLeftHull(x, y);
            QVERIFY(!hull.empty());
            for (std::size_t k = 1; k < hull.size(); ++k)
                QVERIFY(x[hull[k]] > x[hull[k - 1]] && y[hull[k]] > y[hull[k - 1]]);
            // No point is above the hull: left of it, above a piece, or above its end.
            for (std::size_t i = 0; i < x.size(); ++i) {
                QVERIFY(x[i] >= x[hull.front()]);
                if (x[i] >= x[hull.back()]) {
                    QVERIFY(y[i] <= y[hull.back()]);
                    continue;
                }
                std::size_t k = 1;
                while (x[hull[k]] < x[i])
                    ++k;
                const double x0 = x[hull[k - 1]], y0 = y[hull[k - 1]];
                const double line = y0 + (y[hull[k]] - y0) * (x[i] - x0) / (x[hull[k]] - x0);
                QVERIFY(y[i] <= line + 1e-12);
            }
        }
    }

    void treemapFillsItsArea_data()
    {
        QTest::addColumn<int>("count");
        QTest::addColumn<double>("width");
        QTest::addColumn<double>("height");
        QTest::newRow("one") << 1 << 300.0 << 200.0;
        QTest::newRow("few") << 7 << 300.0 << 200.0;
        QTest::newRow("many") << 500 << 900.0 << 500.0;
        QTest::newRow("flat") << 60 << 1000.0 << 10.0;
    }
    void treemapFillsItsArea()
    {
        QFETCH(int, count);
        QFETCH(double, width);
        QFETCH(double, height);
        SplitMix64 rng(9);
        std::vector<double> sizes(static_cast<std::size_t>(count));
        for (double& s : sizes)
            s = std::exp(6 * rng.uniform());
        const double sum = std::accumulate(sizes.begin(), sizes.end(), 0.0);
        const auto cells = treemap(sizes, width, height);
        QCOMPARE(cells.size(), sizes.size());
        for (std::size_t i = 0; i < cells.size(); ++i) {
            const TreemapCell& c = cells[i];
            const double area = sizes[i] / sum * width * height;
            QVERIFY(std::fabs(c.width * c.height - area) < 1e-6 * width * height);
            QVERIFY(c.x >= 0 && c.y >= 0 && c.x + c.width <= width * (1 + 1e-12) &&
                    c.y + c.height <= height * (1 + 1e-12));
            for (std::size_t j = 0; j < i; ++j) {
                const TreemapCell& d = cells[j];
                const double dx = std::min(c.x + c.width, d.x + d.width) - std::max(c.x, d.x);
                const double dy = std::min(c.y + c.height, d.y + d.height) - std::max(c.y, d.y);
                QVERIFY(dx < 1e-7 || dy < 1e-7);
            }
        }
    }

    void treemapOfThePaper()
    {
        // The example of Bruls, Huizing and van Wijk (2000): areas 6 6 4 3 2 2 1 in a 6 x 4 rectangle.
        const std::vector<double> sizes{6, 6, 4, 3, 2, 2, 1};
        const auto cells = treemap(sizes, 6, 4);
        const auto near = [](double a, double b) { return std::fabs(a - b) < 1e-12; };
        QVERIFY(near(cells[0].width, 3) && near(cells[0].height, 2)); // two of 3 x 2 on the left
        QVERIFY(near(cells[1].width, 3) && near(cells[1].height, 2) && near(cells[1].y, 2));
        QVERIFY(near(cells[2].height, 7.0 / 3) && near(cells[2].width, 12.0 / 7)); // 4 and 3 on top
        QVERIFY(near(cells[3].height, 7.0 / 3) && near(cells[3].width, 9.0 / 7));
    }

    void treemapPassesOverWhatHasNoSize()
    {
        const std::vector<double> sizes{0, kNan, 1e308, -1, 1e308, kInf};
        const auto cells = treemap(sizes, 10, 10);
        for (std::size_t i : {0u, 1u, 3u, 5u})
            QCOMPARE(cells[i].width * cells[i].height, 0.0);
        QVERIFY(std::fabs(cells[2].width * cells[2].height - 50) < 1e-9);
        QCOMPARE(treemap(sizes, 0, 10).size(), sizes.size());
        QVERIFY(treemap({}, 10, 10).empty());
    }

    void ticksAreRound_data()
    {
        QTest::addColumn<double>("min");
        QTest::addColumn<double>("max");
        QTest::addColumn<bool>("log");
        QTest::addColumn<int>("most");
        QTest::addColumn<QString>("labels");
        const auto row = [](const char* name, double min, double max, bool log, int most,
                            const char* labels) {
            QTest::newRow(name) << min << max << log << most << QString::fromUtf8(labels);
        };
        row("ten", 0, 10, false, 6, "0 2 4 6 8 10");
        row("fives", 0, 23, false, 6, "0 5 10 15 20");
        row("around zero", -1, 1, false, 5, "-1.0 -0.5 0 0.5 1.0");
        row("tenths", 0.1, 0.32, false, 5, "0.10 0.15 0.20 0.25 0.30");
        row("third tenth", 0, 0.3, false, 4, "0 0.1 0.2 0.3");
        row("thousands", 0, 50000, false, 6, "0 10k 20k 30k 40k 50k");
        row("millions", 0, 3e6, false, 4, "0 1M 2M 3M");
        row("offset", 1000, 1004, false, 5, "1000 1001 1002 1003 1004");
        row("tiny", 0, 4e-5, false, 5, "0 1e-05 2e-05 3e-05 4e-05");
        row("swapped", 10, 0, false, 6, "0 2 4 6 8 10");
        row("one value", 3, 3, false, 5, "3");
        row("powers", 1e-3, 1e2, true, 10, "10⁻³ 10⁻² 10⁻¹ 10⁰ 10¹ 10²");
        row("some powers", 1e-6, 1e6, true, 5, "10⁻⁶ 10⁻³ 10⁰ 10³ 10⁶");
        row("within a power", 1, 8, true, 6, "1 2 5");
        row("within a large power", 2e6, 8e6, true, 6, "2×10⁶ 5×10⁶");
        row("within a step", 3, 3.5, true, 6, "3.0 3.1 3.2 3.3 3.4 3.5");
        row("no room", 0, 1, false, 0, "");
        row("log of zero", 0, 1, true, 5, "");
        row("not finite", 0, kInf, false, 5, "");
        row("nan", kNan, 1, false, 5, "");
    }
    void ticksAreRound()
    {
        QFETCH(double, min);
        QFETCH(double, max);
        QFETCH(bool, log);
        QFETCH(int, most);
        QFETCH(QString, labels);
        const Ticks ticks = ticksFor(min, max, log, most);
        QCOMPARE(text(ticks.labels), labels);
        QCOMPARE(ticks.at.size(), ticks.labels.size());
    }

    void ticksStayInsideAndFew()
    {
        SplitMix64 rng(11);
        for (int round = 0; round < 2000; ++round) {
            const double scale = std::pow(10.0, rng.uniform() * 40 - 20);
            double a = (rng.uniform() - 0.5) * scale,
                   b = a + rng.uniform() * std::pow(10.0, rng.uniform() * 8 - 6) * scale;
            const bool log = round % 2 == 0;
            if (log) {
                a = std::fabs(a);
                b = a * (1 + std::pow(10.0, rng.uniform() * 12 - 3));
            }
            const int most = 2 + round % 10;
            const Ticks ticks = ticksFor(a, b, log, most);
            QVERIFY(ticks.at.size() <= static_cast<std::size_t>(most));
            for (std::size_t i = 0; i < ticks.at.size(); ++i) {
                QVERIFY(ticks.at[i] >= a && ticks.at[i] <= b);
                QVERIFY(i == 0 || ticks.at[i] > ticks.at[i - 1]);
            }
        }
        QVERIFY(ticksFor(1e300, std::nextafter(1e300, 1e301), false, 5).at.size() <= 5);
        QVERIFY(ticksFor(0, 5e-324, false, 5).at.size() <= 5);
        QVERIFY(ticksFor(-1.7e308, 1.7e308, false, 5).at.empty());
    }

    void coloursAreThePublishedOnes()
    {
        QCOMPARE(viridis(0), 0x440154u);
        QCOMPARE(viridis(1), 0xFDE725u);
        QCOMPARE(viridis(0.5), 0x21918Cu); // entry 128 of 256
        QCOMPARE(viridis(-1), 0x440154u);
        QCOMPARE(viridis(2), 0xFDE725u);
        QCOMPARE(viridis(kNan), 0x440154u);
        // Perceptually even: the green channel, which lightness follows most, never falls.
        for (int i = 1; i < 256; ++i)
            QVERIFY((viridis(i / 255.0) >> 8 & 0xFF) + 1 >= (viridis((i - 1) / 255.0) >> 8 & 0xFF));
        QCOMPARE(categoryColour("attention"), 0x0072B2u);
        QCOMPARE(categoryColour("FFN"), 0xD55E00u);
        QCOMPARE(categoryColour("embedding"), 0x009E73u);
        QCOMPARE(categoryColour("norm"), 0x999999u);
        QCOMPARE(categoryColour("other"), 0x999999u);
        QCOMPARE(categoryColour("expert"), 0xCC79A7u);
        QCOMPARE(categoryColour("something"), categoryColour("something"));
        QVERIFY(isRoleClass("head") && !isRoleClass("something"));
        QVERIFY(seriesColour(0) != seriesColour(1));
    }

    void namesAreShortenedButStayDifferent()
    {
        const std::vector<std::string> names{"model.embed.weight", "model.layers.0.q.weight",
                                             "model.layers.0.q.bias"};
        QCOMPARE(text(shortNames(names)), QStringLiteral("embed layers.0.q layers.0.q.bias"));
        const std::vector<std::string> clash{"a.x", "a.y", "x"}; // "a." gone, two would be "x"
        QCOMPARE(text(shortNames(clash)), QStringLiteral("a.x a.y x"));
        const std::vector<std::string> one{"a.b.c"};
        QCOMPARE(text(shortNames(one)), QStringLiteral("a.b.c"));
        QCOMPARE(quantityText(56e6, "B"), std::string("56.0 MB"));
        QCOMPARE(quantityText(1.5, "dB"), std::string("1.5 dB"));
    }
};

QTEST_GUILESS_MAIN(TestGeometry)
#include "tst_geometry.moc"
