// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/job_file.h"
#include "plugins/methods/int_vs_fp/gradient_bias.h"
#include "plugins/methods/int_vs_fp/int_vs_fp.h"
#include "plugins/methods/int_vs_fp/pair_measure.h"
#include "plugins/methods/int_vs_fp/qsnr_theory.h"
#include "plugins/methods/int_vs_fp/rotation.h"
#include "tests/support/jobs.h"
#include "tests/support/main.h"
#include "tests/support/samples.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tiny_model.h"

#include <algorithm>
#include <cmath>
#include <fmt/core.h>
#include <functional>
#include <limits>
#include <map>

using namespace halftone;
using namespace halftone::int_vs_fp;

namespace {

constexpr std::int64_t kCols = 1024;

Tensor matrixOf(const std::vector<float>& values, std::int64_t cols = kCols)
{
    auto made =
        makeTensor(cpuDevice(), DType::F32, Shape{static_cast<std::int64_t>(values.size()) / cols, cols});
    if (!made) return {};
    std::copy(values.begin(), values.end(), made->values<float>().begin());
    return *made;
}

std::vector<double> columnOf(const ResultReader& results, const char* table, const char* name)
{
    auto column = results.column(table, name);
    return column ? *column : std::vector<double>{};
}

std::vector<std::string> textsOf(const ResultReader& results, const char* table, const char* name)
{
    std::vector<std::string> out;
    const auto names = results.names(table, name);
    for (const double id : columnOf(results, table, name))
        out.push_back(names ? (*names)[static_cast<std::size_t>(id)] : std::string());
    return out;
}

} // namespace

class TestIntVsFp : public QObject {
    Q_OBJECT

    test::TempDir m_folder;
    std::shared_ptr<const Model> m_model;
    std::vector<float> m_normal, m_laplace, m_outliers, m_rotated;

    Result<std::shared_ptr<MemoryResults>> run(const ParamTexts& texts,
                                               const std::shared_ptr<const Model>& model)
    {
        const IntVsFpMethod method;
        HALFTONE_TRY(params, method.schema().complete(texts));
        auto results = MemoryResults::make({});
        HALFTONE_CHECK(test::runAsJob(results, [&](JobContext& ctx) {
            return method.run({model, {}}, params, ctx);
        }));
        return results;
    }

    /// Both formats of the pair of this id on one matrix.
    Result<PairLoss> measured(const char* id, const Tensor& matrix, const char* rule)
    {
        Result<PairLoss> loss = Error(Errc::Internal, "not run");
        const auto pairs = pairsNamed(id);
        HALFTONE_TRY(formats, formatsOf(*pairs.front(), pairs.front()->usualBlock(), rule));
        HALFTONE_CHECK(test::runAsJob(nullptr, [&](JobContext& ctx) -> Status {
            loss = measurePair(matrix, formats, ctx);
            if (!loss) return loss.error();
            return Ok{};
        }));
        return loss;
    }

    std::shared_ptr<const Model> planted(const char* folder, const char* name,
                                         const std::function<void(std::vector<float>&)>& change)
    {
        auto tensors = test::tinyLlama();
        for (auto& t : tensors)
            if (t.name == name) change(t.values);
        auto model = openModel(test::writeTinyModel(m_folder / folder, tensors));
        return model ? *model : nullptr;
    }

private Q_SLOTS:
    void initTestCase()
    {
        auto model = openModel(test::writeTinyModel(m_folder / "model", test::tinyLlama()));
        HALFTONE_VERIFY(model);
        m_model = *model;
        constexpr std::size_t kCount = std::size_t{1} << 18;
        m_normal = test::gaussian(kCount, 12345);
        m_laplace = test::laplace(kCount, 12346);
        m_outliers = test::withOutliers(kCount, 12347);
        m_rotated = m_outliers;
        test::rotateBlocksOf16(m_rotated);
    }

    // Signs of one stream, then the transform: the same as written out, and its own inverse but for signs.
    void rotation()
    {
        auto values = m_outliers;
        const Rotation turn(16, 777);
        for (std::size_t begin = 0; begin < values.size(); begin += kCols)
            turn.apply(std::span(values).subspan(begin, kCols));
        for (std::size_t i = 0; i < values.size(); ++i)
            QVERIFY(std::abs(values[i] - m_rotated[i]) <= 1e-5f * (1 + std::abs(m_rotated[i])));
        double before = 0, after = 0;
        for (std::size_t i = 0; i < values.size(); ++i) {
            before += static_cast<double>(m_outliers[i]) * static_cast<double>(m_outliers[i]);
            after += static_cast<double>(values[i]) * static_cast<double>(values[i]);
        }
        QVERIFY(std::abs(after / before - 1) < 1e-6);
    }

    void rotationSizes_data()
    {
        QTest::addColumn<qint64>("cols");
        QTest::addColumn<qint64>("block");
        QTest::addColumn<qint64>("size");
        QTest::newRow("row") << qint64{768} << qint64{0} << qint64{256};
        QTest::newRow("block") << qint64{768} << qint64{32} << qint64{32};
        QTest::newRow("odd row") << qint64{171} << qint64{0} << qint64{1};
        QTest::newRow("short") << qint64{172} << qint64{16} << qint64{4};
        QTest::newRow("block of 24") << qint64{768} << qint64{24} << qint64{8};
        QTest::newRow("empty") << qint64{0} << qint64{0} << qint64{1};
    }
    void rotationSizes()
    {
        QFETCH(qint64, cols);
        QFETCH(qint64, block);
        QFETCH(qint64, size);
        QCOMPARE(rotationSize(cols, block), size);
    }

    void crestFactorsOfSamples_data()
    {
        QTest::addColumn<int>("which");
        QTest::addColumn<double>("of16");
        QTest::addColumn<double>("of32");
        // Over 2^20 values; these are a quarter of them.
        QTest::newRow("normal") << 0 << 2.1123 << 2.3670;
        QTest::newRow("Laplace") << 1 << 2.4448 << 2.8947;
        QTest::newRow("rotated") << 3 << 2.0604 << 2.3150;
    }
    void crestFactorsOfSamples()
    {
        QFETCH(int, which);
        QFETCH(double, of16);
        QFETCH(double, of32);
        const auto matrix = matrixOf(which == 0 ? m_normal : which == 1 ? m_laplace : m_rotated);
        HALFTONE_VERIFY(test::runAsJob(nullptr, [&](JobContext& ctx) -> Status {
            for (const auto& [block, expected] : {std::pair{16, of16}, std::pair{32, of32}}) {
                HALFTONE_TRY(crests, crestFactors(matrix, block, ctx));
                const auto spread = spreadOf(crests);
                if (std::abs(spread.mean - expected) > 0.01 || spread.least < 1 ||
                    spread.most > largestCrest(block) + 1e-9)
                    return Error(Errc::CheckFailed, std::to_string(spread.mean));
            }
            return Ok{};
        }));
    }

    // Theory within 0.4 dB of what normal values really lose.
    void theoryAgreesOnNormalValues()
    {
        const auto matrix = matrixOf(m_normal);
        for (const Pair& pair : allPairs()) {
            const auto loss = measured(pair.id().c_str(), matrix, pair.fineScale() ? "nearest" : "ceil");
            HALFTONE_VERIFY(loss);
            const auto formats = formatsOf(pair, pair.usualBlock(), pair.fineScale() ? "nearest" : "ceil");
            const TheoryOptions exact{.rhoFine = 1.0, .exactSteps = true};
            const double a = *theoreticalQsnr(modelOf(formats->integer->desc()), loss->crest.mean, exact);
            const double b = *theoreticalQsnr(modelOf(formats->floating->desc()), loss->crest.mean, exact);
            QVERIFY2(std::abs(a - loss->integer.total.sqnr()) < 0.7, pair.id().c_str());
            QVERIFY2(std::abs(b - loss->floating.total.sqnr()) < 0.5, pair.id().c_str());
        }
    }

    // What the distribution does to NV, and rotation to both: the order that the paper reports.
    void orders()
    {
        const auto nv = [&](const std::vector<float>& values) {
            return measured("nvint4_nvfp4_e2m1", matrixOf(values), "nearest");
        };
        const auto normal = nv(m_normal), laplace = nv(m_laplace), outliers = nv(m_outliers),
                   turned = nv(m_rotated);
        HALFTONE_VERIFY(normal);
        HALFTONE_VERIFY(laplace);
        HALFTONE_VERIFY(outliers);
        HALFTONE_VERIFY(turned);
        const auto lead = [](const PairLoss& l) { return l.integer.total.sqnr() - l.floating.total.sqnr(); };
        QVERIFY(lead(*normal) > 0.5);
        QVERIFY(lead(*laplace) < -0.5);
        QVERIFY(lead(*outliers) < -0.5);
        QVERIFY(lead(*turned) > 0.5);
        QVERIFY(turned->floating.total.sqnr() < outliers->floating.total.sqnr() - 0.4);
        QVERIFY(normal->winShare() > 0.6);
        QVERIFY(outliers->winShare() < normal->winShare());
        const auto eight = measured("mxint8_mxfp8_e4m3", matrixOf(m_outliers), "ceil");
        HALFTONE_VERIFY(eight);
        QVERIFY(lead(*eight) > 3);
        QVERIFY(eight->winShare() > 0.95);
        for (const char* id : {"mxint6_mxfp6_e2m3", "mxint4_mxfp4_e2m1"}) {
            const auto fewer = measured(id, matrixOf(m_normal), "ceil");
            HALFTONE_VERIFY(fewer);
            QVERIFY2(lead(*fewer) < 0, id);
        }
    }

    // Measured signal to noise of INT2 to INT8 on normal values; steps go to 6.02 dB.
    void stepsOfOneBit()
    {
        constexpr double kExpected[]{2.307, 11.258, 18.613, 25.241, 31.544, 37.693, 43.785};
        const auto matrix = matrixOf(m_normal);
        HALFTONE_VERIFY(test::runAsJob(nullptr, [&](JobContext& ctx) -> Status {
            for (int bits = 2; bits <= 8; ++bits) {
                HALFTONE_TRY(format, intGridFormat(bits, GridRule::SymRestricted, 128, ScaleType::F32));
                HALFTONE_TRY(stats, measureFormat(matrix, *format, ctx));
                if (std::abs(stats.sqnr() - kExpected[bits - 2]) > 0.06)
                    return Error(Errc::CheckFailed, std::to_string(stats.sqnr()));
            }
            return Ok{};
        }));
    }

    void zeroAndConstantBlocks()
    {
        // One row: a block of zeros, one of a constant, one of tiny values, one with a single outlier.
        std::vector<float> values(128, 0.0f);
        std::fill(values.begin() + 32, values.begin() + 64, -3.0f);
        for (std::size_t i = 64; i < 96; ++i)
            values[i] = 1e-41f * static_cast<float>(i - 63);
        values[100] = 7.0f;
        const auto loss = measured("mxint8_mxfp8_e4m3", matrixOf(values, 128), "ceil");
        HALFTONE_VERIFY(loss);
        QCOMPARE(loss->zeroBlocks, 1);
        QCOMPARE(loss->crest.count, 3);
        QCOMPARE(loss->crest.least, 1.0);
        QVERIFY(std::abs(loss->crest.most - std::sqrt(32.0)) < 1e-9);
        QVERIFY(std::isfinite(loss->crest.mean));
        // 7 is exact in both: a block without error has an infinite ratio and ties.
        QCOMPARE(loss->integer.blocks.most, std::numeric_limits<double>::infinity());
        QVERIFY(loss->ties >= 1);
        QVERIFY(loss->winShare() >= 0 && loss->winShare() <= 1);
        const auto zeros = measured("nvint4_nvfp4_e2m1", matrixOf(std::vector<float>(128), 128), "nearest");
        HALFTONE_VERIFY(zeros);
        QCOMPARE(zeros->zeroBlocks, 8);
        QCOMPARE(zeros->crest.count, 0);
        QVERIFY(std::isnan(zeros->winShare()));
        QCOMPARE(zeros->integer.total.noise, 0.0);
    }

    void tables()
    {
        const auto results = run({}, m_model);
        HALFTONE_VERIFY(results);
        const ResultReader& r = **results;
        QCOMPARE(r.rows("pairs"), 14 * 4);
        QCOMPARE(r.rows("pair_summary"), 4);
        QCOMPARE(r.rows("crossings"), 4);
        QCOMPARE(r.rows("crest"), 14 * 6);
        QCOMPARE(r.rows("integer_range"), 14 * 3);
        QCOMPARE(r.rows("gradient_bias"), 5 * 2);
        for (const auto& operand : textsOf(r, "pairs", "operand"))
            QCOMPARE(operand, std::string("weight"));
        const auto least = columnOf(r, "crest", "crest_least"), most = columnOf(r, "crest", "crest_most");
        const auto blocks = textsOf(r, "crest", "block");
        for (std::size_t i = 0; i < least.size(); ++i) {
            QVERIFY(least[i] >= 1);
            if (blocks[i] != "row") QVERIFY(most[i] <= std::sqrt(std::stod(blocks[i])) + 1e-9);
        }
        // The tiny model's weights are normal: eight bits of whole numbers win everywhere.
        const auto won = columnOf(r, "pair_summary", "int_wins_weights");
        QCOMPARE(won.at(0), 100.0);
        QVERIFY(won.at(2) < 50);
        const auto published = columnOf(r, "pair_summary", "published_int_wins");
        QVERIFY(std::abs(published.at(3) - 64.3) < 1e-9);
        int told = 0;
        for (const auto& figure : r.figures())
            told += figure.caption.find("published tables, not the abstract") != std::string::npos ? 1 : 0;
        QVERIFY(told >= 4);
    }

    void sweepAndRotation()
    {
        const auto results =
            run({{"sweep", "true"}, {"hadamard", "row"}, {"block-sizes", "16, 32,64"}, {"clipping", "false"}},
                m_model);
        HALFTONE_VERIFY(results);
        const ResultReader& r = **results;
        QCOMPARE(r.rows("pairs"), 14 * 4 * 3);
        QCOMPARE(r.rows("pair_summary"), 4 * 3);
        const auto by = columnOf(r, "pairs", "rotated_by");
        // Rows of 64, and of 172 = 4 * 43.
        QVERIFY(std::all_of(by.begin(), by.end(), [](double v) { return v == 64 || v == 4; }));
        std::map<std::string, int> figures;
        for (const auto& figure : r.figures())
            ++figures[figure.id];
        QVERIFY(figures.contains("block_sweep"));
        QVERIFY(figures.contains("win_rate_rotated_row"));
        QVERIFY(!figures.contains("gradient_bias"));
        // Smaller blocks never lose more on the mean.
        const auto size = columnOf(r, "pair_summary", "block_size"),
                   qsnr = columnOf(r, "pair_summary", "int_qsnr_db");
        for (std::size_t i = 1; i < size.size(); ++i)
            if (size[i] > size[i - 1]) QVERIFY(qsnr[i] < qsnr[i - 1]);
    }

    void anyThreadCount()
    {
        const int before = threadCount();
        std::vector<std::vector<double>> runs;
        for (const int threads : {1, 3}) {
            setThreadCount(threads);
            const auto results = run({{"hadamard", "block"}, {"bias-steps", "3"}}, m_model);
            HALFTONE_VERIFY(results);
            runs.emplace_back();
            for (const char* column : {"crest_mean", "int_qsnr_db", "fp_qsnr_db", "int_win_share"})
                for (const double v : columnOf(**results, "pairs", column))
                    runs.back().push_back(v);
            for (const double v : columnOf(**results, "gradient_bias", "bias"))
                runs.back().push_back(v);
        }
        setThreadCount(before);
        QVERIFY(!runs[0].empty());
        QCOMPARE(runs[0], runs[1]);
    }

    void fewerRowsGiveNearlyTheSame()
    {
        const auto all = run({{"rows", "0"}, {"clipping", "false"}}, m_model);
        const auto some = run({{"rows", "32"}, {"clipping", "false"}}, m_model);
        HALFTONE_VERIFY(all);
        HALFTONE_VERIFY(some);
        const auto a = columnOf(**all, "pair_summary", "int_qsnr_db");
        const auto b = columnOf(**some, "pair_summary", "int_qsnr_db");
        for (std::size_t i = 0; i < a.size(); ++i) {
            QVERIFY(std::abs(a[i] - b[i]) < 0.3);
            QVERIFY(a[i] != b[i]);
        }
    }

    void badValuesArePlaced_data()
    {
        QTest::addColumn<QString>("hadamard");
        QTest::newRow("plain") << "none";
        QTest::newRow("rotated") << "row";
    }
    void badValuesArePlaced()
    {
        QFETCH(QString, hadamard);
        const char* name = "model.layers.1.self_attn.q_proj.weight";
        const auto model = planted(("nan_" + hadamard.toStdString()).c_str(), name,
                                   [](std::vector<float>& v) { v[5 * 64 + 17] = std::nanf(""); });
        QVERIFY(model);
        const auto results = run({{"hadamard", hadamard.toStdString()}}, model);
        QVERIFY(!results);
        QCOMPARE(results.error().code(), Errc::Numeric);
        const auto line = results.error().line();
        QVERIFY2(line.find(name) != std::string::npos, line.c_str());
        QVERIFY2(line.find("row 5, column 17") != std::string::npos, line.c_str());
    }

    void wrongSizesAreRefused_data()
    {
        QTest::addColumn<QString>("sizes");
        for (const char* text : {"", "16,", "1", "0", "-4", "16;32", "70000", "99999999999999999999", "x"})
            QTest::newRow(*text ? text : "nothing") << text;
    }
    void wrongSizesAreRefused()
    {
        QFETCH(QString, sizes);
        const auto results = run({{"block-sizes", sizes.toStdString()}}, m_model);
        QVERIFY(!results);
        QCOMPARE(results.error().code(), Errc::InvalidArgument);
        QVERIFY(results.error().line().find("block-sizes") != std::string::npos);
    }

    // The code that only negative values have pushes sums of gradients down, the more the smaller the blocks
    // are; symmetric codes don't.
    void fullRangeIsBiased()
    {
        HALFTONE_VERIFY(test::runAsJob(nullptr, [&](JobContext& ctx) -> Status {
            double before = -1;
            for (const std::int64_t block : {16, 64, 256}) {
                BiasTrial trial;
                trial.block = block;
                trial.steps = 128;
                HALFTONE_TRY(symmetric, gradientBias(trial, ctx));
                trial.fullRange = true;
                HALFTONE_TRY(full, gradientBias(trial, ctx));
                if (std::abs(symmetric.perStep) > 4 * symmetric.standardError)
                    return Error(Errc::CheckFailed, "symmetric codes are biased");
                if (full.perStep > -6 * full.standardError)
                    return Error(Errc::CheckFailed, fmt::format("full range of {} shows no bias: {} +- {}",
                                                                block, full.perStep, full.standardError));
                if (full.perStep < before * 0.7)
                    return Error(Errc::CheckFailed, "larger blocks are not better");
                if (std::abs(full.drift.back() / trial.steps / full.perStep - 1) > 1e-9)
                    return Error(Errc::CheckFailed, "drift and bias differ");
                before = full.perStep;
            }
            return Ok{};
        }));
    }

    void planNeedsNoWeights()
    {
        const IntVsFpMethod method;
        const auto params = method.schema().complete({{"sweep", "true"}});
        HALFTONE_VERIFY(params);
        const auto plan = method.plan({m_model, {}}, *params);
        HALFTONE_VERIFY(plan);
        QCOMPARE(plan->weights, 14);
        QVERIFY(plan->flops > 0);
        // Rows of 172 end in a short block.
        QCOMPARE(plan->warnings.size(), std::size_t{1});
    }
};

QTEST_GUILESS_MAIN(TestIntVsFp)
#include "tst_int_vs_fp.moc"
