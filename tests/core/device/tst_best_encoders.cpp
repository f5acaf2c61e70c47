// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/device/device.h"
#include "core/numeric/convert.h"
#include "tests/support/main.h"
#include "tests/support/samples.h"
#include "tests/support/tensors.h"

#include <cmath>
#include <hwy/targets.h>
#include <limits>

using namespace halftone;

namespace {

using Family = FormatDesc::Family;

void rowPerFormat()
{
    QTest::addColumn<QString>("name");
    for (const BlockFormat* format : listedFormats())
        if (format->desc().best)
            QTest::newRow(format->name().c_str()) << QString::fromStdString(format->name());
}

Result<std::vector<std::byte>> encoded(Device& device, const Tensor& in, const BlockFormat& format,
                                       EncodeOptions options)
{
    HALFTONE_TRY(packed, makePacked(device, format, in.shape()));
    for (std::byte& b : packed.codes.mutableBytes())
        b = std::byte{0xA5};
    HALFTONE_CHECK(test::runOn(device, QuantizeBlocksOp{in, packed, options}));
    return test::bytesOnHost(packed.codes);
}

/// Rows of every kind: normal, heavy tails, an outlier, one sign, zeros of both signs, tiny, subnormal, flat,
/// a ramp, ternary.
std::vector<float> mixed(std::int64_t rows, std::int64_t cols)
{
    const auto count = static_cast<std::size_t>(rows * cols);
    auto values = test::gaussian(count, 3);
    const auto heavy = test::laplace(count, 4);
    for (std::int64_t row = 0; row < rows; ++row)
        for (std::int64_t col = 0; col < cols; ++col) {
            float& x = values[static_cast<std::size_t>(row * cols + col)];
            const float y = heavy[static_cast<std::size_t>(row * cols + col)];
            switch (row % 13) {
            case 1:
                x = y * std::abs(y);
                break;
            case 2:
                x = col == 5 ? 300.0f : x;
                break;
            case 3:
                x = 2 + 0.3f * x;
                break;
            case 4:
                x = col % 2 == 0 ? -0.0f : 0.0f;
                break;
            case 5:
                x *= 1e-11f;
                break;
            case 6:
                x *= 1e-30f;
                break;
            case 7:
                x *= 1e-41f;
                break;
            case 8:
                x = -0.75f;
                break;
            case 9:
                x = static_cast<float>(col % 32) - 16;
                break;
            case 10:
                x = col % 3 == 0 ? 0.5f : col % 3 == 1 ? -0.5f : 0.0f;
                break;
            case 11:
                x *= 1e-6f;
                break;
            case 12:
                x = -std::abs(x) - 1;
                break;
            default:
                break;
            }
        }
    return values;
}

std::vector<float> importanceOf(std::int64_t cols)
{
    auto values = test::laplace(static_cast<std::size_t>(cols), 9);
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = i % 7 == 0 ? 0.0f : values[i] * values[i];
    return values;
}

/// Weight of each element of a row in the squared error that an encoder lowers.
std::vector<double> weightsOf(std::span<const float> row, std::span<const float> importance,
                              const FormatDesc& desc)
{
    std::vector<double> weights(row.size(), 1.0);
    if (importance.empty()) return weights;
    const auto block = static_cast<std::size_t>(desc.blockSize);
    const auto meanOf = [](std::span<const float> part) {
        double sum = 0;
        for (const float x : part)
            sum += static_cast<double>(x) * x;
        return sum / static_cast<double>(part.size());
    };
    for (std::size_t i = 0; i < row.size(); ++i) {
        weights[i] = importance[i];
        const auto mine = row.subspan(i / block * block, block);
        double sigma2 = 0;
        switch (desc.family) {
        case Family::Q6_K:
        case Family::Q8_0:
        case Family::MXFP4:
        case Family::NVFP4:
            continue;
        case Family::Q4_0:
        case Family::Q4_1:
        case Family::Q5_0:
        case Family::Q5_1:
            sigma2 = meanOf(row);
            break;
        case Family::Q2_K:
            sigma2 = meanOf(mine);
            break;
        default:
            sigma2 = 2 * meanOf(mine);
        }
        weights[i] *= std::sqrt(sigma2 + static_cast<double>(row[i]) * row[i]);
    }
    return weights;
}

template <class F> void forTargets(F f)
{
    const std::int64_t all = hwy::SupportedTargets() & HWY_TARGETS;
    for (std::int64_t rest = all; rest != 0; rest &= rest - 1) {
        const std::int64_t target = rest & -rest;
        hwy::SetSupportedTargetsForTest(target);
        hwy::GetChosenTarget().Update(hwy::SupportedTargets());
        f(hwy::TargetName(target));
    }
    hwy::SetSupportedTargetsForTest(0);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

} // namespace

class TestBestEncoders : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void sameBytesForEveryTarget_data() { rowPerFormat(); }
    void sameBytesForEveryTarget()
    {
        QFETCH(QString, name);
        const BlockFormat& format = **formatNamed(name.toStdString());
        const std::int64_t block = format.desc().blockSize;
        for (const std::int64_t cols : {3 * block, std::int64_t{1024}}) {
            const std::int64_t rows = 13;
            const Tensor floats = test::floatTensor({rows, cols}, mixed(rows, cols));
            const auto importance = importanceOf(cols);
            for (const DType dtype : {DType::F32, DType::BF16}) {
                auto in = makeTensor(cpuDevice(), dtype, floats.shape());
                HALFTONE_VERIFY(in);
                HALFTONE_VERIFY(test::runOn(cpuDevice(), CastOp{floats, *in}));
                for (const bool weighted : {false, true}) {
                    EncodeOptions options{Encoder::Best, {}};
                    if (weighted) options.importance = importance;
                    const auto want = encoded(referenceDevice(), *in, format, options);
                    HALFTONE_VERIFY(want);
                    forTargets([&](const char* target) {
                        const auto got = encoded(cpuDevice(), *in, format, options);
                        HALFTONE_VERIFY(got);
                        QVERIFY2(*got == *want, target);
                    });
                }
            }
        }
    }

    void sameBytesForAnyThreads_data() { rowPerFormat(); }
    void sameBytesForAnyThreads()
    {
        QFETCH(QString, name);
        const BlockFormat& format = **formatNamed(name.toStdString());
        const Tensor in = test::floatTensor({65, 1024}, mixed(65, 1024));
        std::vector<std::byte> first;
        for (const int threads : {1, 2, 5}) {
            setThreadCount(threads);
            const auto got = encoded(cpuDevice(), in, format, {Encoder::Best, {}});
            HALFTONE_VERIFY(got);
            if (first.empty()) first = *got;
            QVERIFY(*got == first);
        }
        setThreadCount(0);
    }

    void neverWorseThanReference_data() { rowPerFormat(); }
    void neverWorseThanReference()
    {
        QFETCH(QString, name);
        const BlockFormat& format = **formatNamed(name.toStdString());
        const std::int64_t rows = 39, cols = 512;
        const auto values = mixed(rows, cols);
        const Tensor in = test::floatTensor({rows, cols}, values);
        const auto importance = importanceOf(cols);
        const auto reference = encoded(cpuDevice(), in, format, {});
        HALFTONE_VERIFY(reference);
        const auto block = static_cast<std::size_t>(format.desc().blockSize);
        for (const bool weighted : {false, true}) {
            EncodeOptions options{Encoder::Best, {}};
            if (weighted) options.importance = importance;
            const auto best = encoded(cpuDevice(), in, format, options);
            HALFTONE_VERIFY(best);
            std::vector<float> a(values.size()), b(values.size());
            format.decodeRows({*best, {}, {}}, cols, a);
            format.decodeRows({*reference, {}, {}}, cols, b);
            std::size_t better = 0;
            for (std::size_t row = 0; row < static_cast<std::size_t>(rows); ++row) {
                const auto original = std::span(values).subspan(row * static_cast<std::size_t>(cols),
                                                                static_cast<std::size_t>(cols));
                const auto weights = weightsOf(original, options.importance, format.desc());
                for (std::size_t at = 0; at < original.size(); at += block) {
                    double ofBest = 0, ofReference = 0;
                    for (std::size_t i = at; i < at + block; ++i) {
                        const std::size_t k = row * static_cast<std::size_t>(cols) + i;
                        const double x = values[k];
                        ofBest += weights[i] * (a[k] - x) * (a[k] - x);
                        ofReference += weights[i] * (b[k] - x) * (b[k] - x);
                    }
                    QVERIFY2(ofBest <= ofReference * (1 + 1e-6) + 1e-60,
                             qPrintable(QStringLiteral("row %1, column %2: %3 against %4")
                                            .arg(row)
                                            .arg(at)
                                            .arg(ofBest, 0, 'g', 9)
                                            .arg(ofReference, 0, 'g', 9)));
                    better += ofBest < ofReference * 0.999 ? 1 : 0;
                }
            }
            // Few rows leave room for it, and MXFP4 has few scales to choose from.
            QVERIFY(better * 20 > a.size() / block);
        }
    }

    // ggml's quantizers with an importance matrix of ones, on normal values of standard deviation 0.02.
    void errorsOfNormalValues_data()
    {
        QTest::addColumn<QString>("name");
        QTest::addColumn<double>("ggml");
        const auto row = [](const char* name, double ggml) {
            QTest::newRow(name) << QString::fromLatin1(name) << ggml;
        };
        row("q8_0", 2.861e-5);
        row("q6_k", 3.001e-4);
        row("q5_k", 1.250e-3);
        row("q4_k", 5.002e-3);
        row("q3_k", 2.087e-2);
        row("q2_k", 7.175e-2);
        row("q4_0", 6.659e-3);
        row("q4_1", 4.884e-3);
        row("q5_0", 1.633e-3);
        row("q5_1", 1.141e-3);
        row("iq4_nl", 5.611e-3);
        row("iq4_xs", 5.715e-3);
        row("mxfp4", 1.301e-2);
        row("nvfp4", 1.064e-2); // its reference: ggml searches no scale
    }
    void errorsOfNormalValues()
    {
        QFETCH(QString, name);
        QFETCH(double, ggml);
        const BlockFormat& format = **formatNamed(name.toStdString());
        auto values = test::gaussian(64 * 1024, 21);
        for (float& x : values)
            x *= 0.02f;
        const auto best =
            encoded(cpuDevice(), test::floatTensor({64, 1024}, values), format, {Encoder::Best, {}});
        HALFTONE_VERIFY(best);
        std::vector<float> decoded(values.size());
        format.decodeRows({*best, {}, {}}, 1024, decoded);
        const double error = compare(values, decoded).normalisedMse();
        QVERIFY2(error < 0.999 * ggml, qPrintable(QString::number(error)));
        QVERIFY2(error > 0.5 * ggml, qPrintable(QString::number(error)));
    }

    void importanceMovesTheError_data() { rowPerFormat(); }
    void importanceMovesTheError()
    {
        QFETCH(QString, name);
        const BlockFormat& format = **formatNamed(name.toStdString());
        const std::int64_t cols = 1024, rows = 32;
        const auto values = test::laplace(static_cast<std::size_t>(rows * cols), 5);
        const Tensor in = test::floatTensor({rows, cols}, values);
        std::vector<float> importance(static_cast<std::size_t>(cols), 1e-3f);
        for (std::size_t i = 0; i < importance.size(); i += 8)
            importance[i] = 1.0f;
        const auto plain = encoded(cpuDevice(), in, format, {Encoder::Best, {}});
        const auto weighted = encoded(cpuDevice(), in, format, {Encoder::Best, importance});
        HALFTONE_VERIFY(plain);
        HALFTONE_VERIFY(weighted);
        const auto errorOf = [&](const std::vector<std::byte>& codes) {
            std::vector<float> decoded(values.size());
            format.decodeRows({codes, {}, {}}, cols, decoded);
            double sum = 0;
            for (std::size_t i = 0; i < decoded.size(); i += 8)
                sum += (decoded[i] - values[i]) * static_cast<double>(decoded[i] - values[i]);
            return sum;
        };
        QVERIFY(errorOf(*weighted) < 0.97 * errorOf(*plain));
    }

    void refusesAsTheReference_data() { rowPerFormat(); }
    void refusesAsTheReference()
    {
        QFETCH(QString, name);
        const BlockFormat& format = **formatNamed(name.toStdString());
        const std::int64_t cols = 2048;
        for (const float bad :
             {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity(), 3e38f}) {
            if (format.desc().family == Family::MXFP4 && std::isfinite(bad)) continue;
            auto values = test::gaussian(static_cast<std::size_t>(9 * cols), 5);
            values[static_cast<std::size_t>(7 * cols + 700)] = bad;
            const Tensor in = test::floatTensor({9, cols}, values);
            const auto best = encoded(cpuDevice(), in, format, {Encoder::Best, {}});
            const auto reference = encoded(cpuDevice(), in, format, {});
            QVERIFY(!best && !reference);
            QCOMPARE(best.error().line(), reference.error().line());
            QVERIFY(best.error().line().find("row 7") != std::string::npos);
        }
    }

    void importanceIsChecked()
    {
        const BlockFormat& format = **formatNamed("q4_k");
        const Tensor in = test::floatTensor({2, 256}, test::gaussian(512, 1));
        for (const float bad :
             {-1.0f, std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
            std::vector<float> importance(256, 1.0f);
            importance[17] = bad;
            QVERIFY(!encoded(cpuDevice(), in, format, {Encoder::Best, importance}));
        }
        const std::vector<float> tooFew(255, 1.0f);
        const auto got = encoded(cpuDevice(), in, format, {Encoder::Best, tooFew});
        QVERIFY(!got && got.error().line().find("255") != std::string::npos);
        // All columns weightless: nothing to choose by, the reference's points stay.
        const std::vector<float> none(256, 0.0f);
        const auto weightless = encoded(cpuDevice(), in, format, {Encoder::Best, none});
        const auto reference = encoded(cpuDevice(), in, format, {});
        HALFTONE_VERIFY(weightless);
        QVERIFY(*weightless == *reference);
    }

    void othersHaveTheReferenceOnly()
    {
        const Tensor in = test::floatTensor({4, 256}, test::gaussian(1024, 1));
        for (const char* name : {"int4.g32.f16", "tq2_0"}) {
            const BlockFormat& format = **formatNamed(name);
            QVERIFY(!format.desc().best);
            QCOMPARE(format.encodeFlops(Encoder::Best), format.encodeFlops());
            QVERIFY(*encoded(cpuDevice(), in, format, {Encoder::Best, {}}) ==
                    *encoded(cpuDevice(), in, format, {}));
        }
    }
};

QTEST_GUILESS_MAIN(TestBestEncoders)
#include "tst_best_encoders.moc"
