// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/device/device.h"
#include "core/session/job_file.h"
#include "core/session/job_points.h"
#include "core/session/quantize.h"
#include "tests/support/jobs.h"
#include "tests/support/main.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tiny_model.h"
#include "tests/support/tiny_quantizer.h"

#include <cmath>

using namespace halftone;

class TestSweep : public QObject {
    Q_OBJECT
    test::TempDir m_folder;
    std::shared_ptr<const Model> m_model;
    const std::shared_ptr<const QuantizeMethod> m_method = std::make_shared<const test::TinyQuantizer>();

    SweepRequest request(const std::vector<SweepAxis>& axes) const
    {
        auto points = expandPoints(m_method, axes);
        return {m_model, points ? *points : std::vector<SweepPoint>{}, {}};
    }

private Q_SLOTS:
    void initTestCase()
    {
        auto model = openModel(test::writeTinyModel(m_folder / "model", test::tinyLlama()));
        HALFTONE_VERIFY(model);
        m_model = *model;
    }

    void moreBitsLoseLess()
    {
        const auto sweep = request({{"bits", {"2", "4", "8"}}});
        QCOMPARE(sweep.points.size(), std::size_t{3});
        QCOMPARE(sweep.points[1].label, std::string("tiny bits=4"));
        auto results = MemoryResults::make({});
        HALFTONE_VERIFY(test::runAsJob(results, [&](JobContext& ctx) { return runSweep(sweep, ctx); }));
        QCOMPARE(results->rows("pareto"), 3);
        const auto bits = results->column("pareto", "bits_per_weight");
        const auto sqnr = results->column("pareto", "sqnr_db");
        const auto weighted = results->column("pareto", "weighted_error");
        const auto hull = results->column("pareto", "hull");
        HALFTONE_VERIFY(bits);
        HALFTONE_VERIFY(sqnr);
        HALFTONE_VERIFY(weighted);
        HALFTONE_VERIFY(hull);
        for (std::size_t p = 1; p < 3; ++p) {
            QVERIFY((*bits)[p] > (*bits)[p - 1]);
            QVERIFY((*sqnr)[p] > (*sqnr)[p - 1] + 5);
            QVERIFY((*weighted)[p] < (*weighted)[p - 1]);
        }
        QCOMPARE((*hull)[0], 1.0);
        QCOMPARE((*hull)[2], 1.0);
        QCOMPARE(results->figures().size(), std::size_t{3});
    }

    // The curve's costs are those of the plan that would write the file.
    void costsAreThePlans()
    {
        const auto sweep = request({{"bits", {"3", "5"}}, {"group-size", {"16", "64"}}});
        auto results = MemoryResults::make({});
        HALFTONE_VERIFY(test::runAsJob(results, [&](JobContext& ctx) { return runSweep(sweep, ctx); }));
        const auto bits = results->column("pareto", "bits_per_weight");
        HALFTONE_VERIFY(bits);
        for (std::size_t p = 0; p < sweep.points.size(); ++p) {
            QuantizeRequest one;
            one.model = m_model;
            one.method = m_method;
            one.params = sweep.points[p].params;
            const auto plan = planQuantize(one);
            HALFTONE_VERIFY(plan);
            QVERIFY(std::abs((*bits)[p] - plan->bitsPerWeight) < 1e-9);
        }
    }

    void totalsAreSumsOfRows()
    {
        const auto sweep = request({{"bits", {"4"}}});
        auto results = MemoryResults::make({});
        HALFTONE_VERIFY(test::runAsJob(results, [&](JobContext& ctx) { return runSweep(sweep, ctx); }));
        const auto signal = results->column("sweep", "signal");
        const auto noise = results->column("sweep", "noise");
        const auto nmse = results->column("sweep", "nmse");
        const auto elements = results->column("sweep", "elements");
        const auto bytes = results->column("sweep", "bytes");
        HALFTONE_VERIFY(signal);
        HALFTONE_VERIFY(noise);
        HALFTONE_VERIFY(nmse);
        HALFTONE_VERIFY(elements);
        HALFTONE_VERIFY(bytes);
        double s = 0, n = 0, e = 0, weighted = 0, b = 0;
        for (std::size_t i = 0; i < signal->size(); ++i) {
            s += (*signal)[i];
            n += (*noise)[i];
            e += (*elements)[i];
            b += (*bytes)[i];
            weighted += (*elements)[i] * (*nmse)[i];
        }
        QCOMPARE(results->column("pareto", "sqnr_db")->at(0), -10 * std::log10(n / s));
        QCOMPARE(results->column("pareto", "weighted_error")->at(0), weighted / e);
        QCOMPARE(results->column("pareto", "bytes")->at(0),
                 b + results->column("pareto", "fixed_bytes")->at(0));
    }

    void anySelection()
    {
        auto sweep = request({{"bits", {"4"}}});
        const auto weights = matchWeights(*m_model, {"layers.0.attn.*"});
        HALFTONE_VERIFY(weights);
        sweep.weights = *weights;
        auto results = MemoryResults::make({});
        HALFTONE_VERIFY(test::runAsJob(results, [&](JobContext& ctx) { return runSweep(sweep, ctx); }));
        QCOMPARE(results->rows("sweep"), 4);
        sweep.weights = {9999};
        QVERIFY(
            !test::runAsJob(MemoryResults::make({}), [&](JobContext& ctx) { return runSweep(sweep, ctx); }));
    }

    void sameForAnyNumberOfThreads()
    {
        const auto sweep = request({{"bits", {"3", "4"}}});
        std::vector<double> first;
        const int before = threadCount();
        for (const int threads : {1, 2, 5}) {
            setThreadCount(threads);
            auto results = MemoryResults::make({});
            HALFTONE_VERIFY(test::runAsJob(results, [&](JobContext& ctx) { return runSweep(sweep, ctx); }));
            const auto noise = results->column("sweep", "noise");
            HALFTONE_VERIFY(noise);
            if (first.empty()) first = *noise;
            QVERIFY(*noise == first);
        }
        setThreadCount(before);
    }

    void refusesAnEmptySweep()
    {
        const SweepRequest none{m_model, {}, {}};
        const auto done = test::runAsJob(nullptr, [&](JobContext& ctx) { return runSweep(none, ctx); });
        QVERIFY(!done);
        QCOMPARE(done.error().code(), Errc::InvalidArgument);
    }

    void ranges_data()
    {
        QTest::addColumn<QString>("key");
        QTest::addColumn<double>("from");
        QTest::addColumn<double>("to");
        QTest::addColumn<double>("step");
        QTest::addColumn<QString>("texts");
        QTest::newRow("integers") << "bits" << 2.0 << 5.0 << 0.0 << "2 3 4 5";
        QTest::newRow("step") << "bits" << 2.0 << 8.0 << 3.0 << "2 5 8";
        QTest::newRow("past the end") << "bits" << 2.0 << 7.0 << 3.0 << "2 5";
        QTest::newRow("one") << "bits" << 4.0 << 4.0 << 0.0 << "4";
        QTest::newRow("doubling") << "group-size" << 16.0 << 128.0 << 0.0 << "16 32 64 128";
        QTest::newRow("factor") << "group-size" << 1.0 << 100.0 << 10.0 << "1 10 100";
        QTest::newRow("backwards") << "bits" << 5.0 << 2.0 << 0.0 << "";
        QTest::newRow("from zero") << "group-size" << 0.0 << 8.0 << 0.0 << "";
        QTest::newRow("no number") << "grouped" << 0.0 << 1.0 << 1.0 << "";
        QTest::newRow("endless") << "bits" << 0.0 << 1e9 << 0.5 << "";
    }
    void ranges()
    {
        QFETCH(QString, key);
        QFETCH(double, from);
        QFETCH(double, to);
        QFETCH(double, step);
        QFETCH(QString, texts);
        const auto values = rangeTexts(*m_method->schema().find(key.toStdString()), from, to, step);
        QStringList made;
        if (values)
            for (const auto& v : *values)
                made << QString::fromStdString(v);
        QCOMPARE(made.join(QLatin1Char(' ')), texts);
    }

    void switchedOffParametersMakeNoPoints()
    {
        const auto points =
            expandPoints(m_method, {{"grouped", {"true", "false"}}, {"group-size", {"16", "32", "64"}}});
        HALFTONE_VERIFY(points);
        QCOMPARE(points->size(), std::size_t{3 + 1});
        QCOMPARE(points->back().label, std::string("tiny grouped=false"));
    }
};

QTEST_GUILESS_MAIN(TestSweep)
#include "tst_sweep.moc"
