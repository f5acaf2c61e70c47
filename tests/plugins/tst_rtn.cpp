// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/method/weight_errors.h"
#include "plugins/methods/rtn/rtn.h"
#include "tests/support/jobs.h"
#include "tests/support/main.h"
#include "tests/support/samples.h"

#include <cmath>

using namespace halftone;

namespace {

const std::vector<float> kGolden{-1.0f, -0.5f, 0.0f, 0.3f, 0.75f, 1.5f};

Tensor matrixOf(const std::vector<float>& values, std::int64_t rows)
{
    const auto cols = static_cast<std::int64_t>(values.size()) / rows;
    auto made = makeTensor(cpuDevice(), DType::F32, Shape{rows, cols});
    Tensor t = *made;
    std::copy(values.begin(), values.end(), t.values<float>().begin());
    return t;
}

struct Coded {
    std::vector<std::int32_t> codes;
    std::vector<GridPoint> points;
    std::vector<float> decoded;
};

/// Quantizes `values` and reads codes, scales and values back through the format's reference code.
Result<Coded> quantized(const std::vector<float>& values, std::int64_t rows, const ParamTexts& texts)
{
    const RtnMethod method;
    HALFTONE_TRY(params, method.schema().complete(texts));
    HALFTONE_TRY(format, method.target(WeightInfo{}, params));
    const Tensor weight = matrixOf(values, rows);
    HALFTONE_TRY(packed, makePacked(cpuDevice(), *format, weight.shape()));
    HALFTONE_CHECK(test::runAsJob(
        nullptr, [&](JobContext& ctx) { return method.quantize(weight, packed, params, {}, ctx); }));
    const auto cols = weight.shape().cols();
    Coded out;
    for (std::int64_t r = 0; r < rows; ++r) {
        HALFTONE_TRY(row, packedRows(packed, r, r + 1));
        const ConstPackedRows planes = planesOf(std::as_const(row));
        std::vector<std::int32_t> codes(static_cast<std::size_t>(cols));
        std::vector<GridPoint> points(static_cast<std::size_t>(cols));
        std::vector<float> decoded(static_cast<std::size_t>(cols));
        format->inspectRow(planes, cols, codes, points);
        format->decodeRows(planes, cols, decoded);
        out.codes.insert(out.codes.end(), codes.begin(), codes.end());
        out.points.insert(out.points.end(), points.begin(), points.end());
        out.decoded.insert(out.decoded.end(), decoded.begin(), decoded.end());
    }
    return out;
}

} // namespace

class TestRtn : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void golden_data()
    {
        QTest::addColumn<int>("bits");
        QTest::addColumn<QString>("symmetry");
        QTest::addColumn<double>("scale");
        QTest::addColumn<int>("zero");
        QTest::addColumn<QList<int>>("codes");
        const auto row = [](int bits, const char* symmetry, double scale, int zero, QList<int> codes) {
            QTest::addRow("%s %d", symmetry, bits)
                << bits << QString::fromLatin1(symmetry) << scale << zero << codes;
        };
        row(2, "restricted", 1.5, 0, {-1, 0, 0, 0, 0, 1});
        row(3, "restricted", 0.5, 0, {-2, -1, 0, 1, 2, 3});
        row(4, "restricted", .214285714, 0, {-5, -2, 0, 1, 4, 7});
        row(5, "restricted", .1, 0, {-10, -5, 0, 3, 8, 15});
        row(6, "restricted", .0483870968, 0, {-21, -10, 0, 6, 16, 31});
        row(7, "restricted", .0238095238, 0, {-42, -21, 0, 13, 32, 63});
        row(8, "restricted", .0118110236, 0, {-85, -42, 0, 25, 64, 127});
        row(2, "asymmetric", .833333333, 1, {0, 0, 1, 1, 2, 3});
        row(3, "asymmetric", .357142857, 3, {0, 2, 3, 4, 5, 7});
        row(4, "asymmetric", .166666667, 6, {0, 3, 6, 8, 10, 15});
        row(5, "asymmetric", .0806451613, 12, {0, 6, 12, 16, 21, 31});
        row(6, "asymmetric", .0396825397, 25, {0, 12, 25, 33, 44, 63});
        row(7, "asymmetric", .0196850394, 51, {0, 26, 51, 66, 89, 127});
        row(8, "asymmetric", .00980392157, 102, {0, 51, 102, 133, 178, 255});
        row(2, "full", 1.0, 0, {-1, 0, 0, 0, 1, 1});
        row(3, "full", .428571429, 0, {-2, -1, 0, 1, 2, 3});
        row(4, "full", .2, 0, {-5, -2, 0, 1, 4, 7});
        row(5, "full", .0967741935, 0, {-10, -5, 0, 3, 8, 15});
        row(6, "full", .0476190476, 0, {-21, -10, 0, 6, 16, 31});
        row(7, "full", .0236220472, 0, {-42, -21, 0, 13, 32, 63});
        row(8, "full", .0117647059, 0, {-85, -42, 0, 26, 64, 127});
    }
    void golden()
    {
        QFETCH(int, bits);
        QFETCH(QString, symmetry);
        QFETCH(double, scale);
        QFETCH(int, zero);
        QFETCH(QList<int>, codes);
        const auto coded = quantized(kGolden, 1,
                                     {{"bits", std::to_string(bits)},
                                      {"symmetry", symmetry.toStdString()},
                                      {"granularity", "channel"},
                                      {"scale-type", "f32"}});
        HALFTONE_VERIFY(coded);
        for (std::size_t i = 0; i < kGolden.size(); ++i) {
            QVERIFY(std::abs(static_cast<double>(coded->points[i].scale) / scale - 1) < 1e-6);
            QCOMPARE(coded->points[i].zero, zero);
            // Values on the middle between two codes may go either way with the order of the operations.
            const double exact = static_cast<double>(kGolden[i]) / scale;
            const bool tie = std::abs(std::abs(exact - std::floor(exact)) - 0.5) < 1e-5;
            QVERIFY2(std::abs(coded->codes[i] - codes[static_cast<qsizetype>(i)]) <= (tie ? 1 : 0),
                     qPrintable(QStringLiteral("value %1: code %2").arg(i).arg(coded->codes[i])));
        }
    }

    void errorIsHalfAStep_data()
    {
        QTest::addColumn<QString>("granularity");
        QTest::addColumn<int>("group");
        QTest::newRow("tensor") << "tensor" << 32;
        QTest::newRow("channel") << "channel" << 32;
        QTest::newRow("group") << "group" << 32;
        QTest::newRow("short last group") << "group" << 48;
        QTest::newRow("one") << "group" << 1;
        QTest::newRow("larger than the row") << "group" << 65536;
    }
    void errorIsHalfAStep()
    {
        QFETCH(QString, granularity);
        QFETCH(int, group);
        const auto values = test::gaussian(8 * 100, 5);
        for (const char* symmetry : {"restricted", "full", "asymmetric"})
            for (int bits = 2; bits <= 8; ++bits) {
                const auto coded = quantized(values, 8,
                                             {{"bits", std::to_string(bits)},
                                              {"symmetry", symmetry},
                                              {"granularity", granularity.toStdString()},
                                              {"group-size", std::to_string(group)},
                                              {"scale-type", "f32"}});
                HALFTONE_VERIFY(coded);
                for (std::size_t i = 0; i < values.size(); ++i) {
                    const auto scale = static_cast<double>(coded->points[i].scale);
                    const double error = std::abs(static_cast<double>(values[i]) - coded->decoded[i]);
                    // An integer zero point moves an asymmetric grid by up to half a step; a full one lacks
                    // its last positive code: both may clip by as much again.
                    const double most = std::string_view(symmetry) == "restricted" ? 0.5 : 1.0;
                    QVERIFY(error <= most * scale * (1 + 1e-5));
                }
            }
    }

    void idempotent()
    {
        const auto values = test::gaussian(512, 6);
        const ParamTexts texts{{"bits", "4"}, {"scale-type", "f32"}};
        const auto once = quantized(values, 4, texts);
        HALFTONE_VERIFY(once);
        const auto twice = quantized(once->decoded, 4, texts);
        HALFTONE_VERIFY(twice);
        QCOMPARE(twice->codes, once->codes);
    }

    void signSymmetric()
    {
        auto values = test::gaussian(512, 7);
        const auto plus = quantized(values, 4, {});
        for (float& v : values)
            v = -v;
        const auto minus = quantized(values, 4, {});
        HALFTONE_VERIFY(plus);
        HALFTONE_VERIFY(minus);
        for (std::size_t i = 0; i < values.size(); ++i)
            QCOMPARE(minus->codes[i], -plus->codes[i]);
    }

    void zerosStayZeros()
    {
        const RtnMethod method;
        for (const auto& format : method.schema().find("format")->choices) {
            const auto coded = quantized(std::vector<float>(256, 0.0f), 1, {{"format", format}});
            HALFTONE_VERIFY(coded);
            for (const float v : coded->decoded)
                QCOMPARE(v, 0.0f);
        }
    }

    void targets_data()
    {
        QTest::addColumn<QString>("settings");
        QTest::addColumn<QString>("name");
        QTest::newRow("default") << ""
                                 << "int4.g32.f16";
        QTest::newRow("channel") << "bits=8 granularity=channel scale-type=bf16"
                                 << "int8.c.bf16";
        QTest::newRow("tensor") << "bits=3 symmetry=full granularity=tensor scale-type=f32"
                                << "int3f.t.f32";
        QTest::newRow("asymmetric") << "symmetry=asymmetric group-size=128"
                                    << "int4a.g128.f16";
        QTest::newRow("gguf") << "format=q5_1"
                              << "q5_1";
        QTest::newRow("MX") << "format=mxfp4_e2m1"
                            << "mxfp4_e2m1.g32.floor";
        QTest::newRow("MX, another rule") << "format=mxint8 scale-rule=ceil block-size=64"
                                          << "mxint8.g64.ceil";
        QTest::newRow("NVFP4") << "format=nvfp4_e2m1 scale-rounding=up"
                               << "nvfp4_e2m1.g16.up";
        QTest::newRow("NF4") << "format=nf4 double-quant=true"
                             << "nf4.g64.dq";
        QTest::newRow("FP8") << "format=e4m3 granularity=channel scale-type=f32"
                             << "e4m3.c.f32";
        QTest::newRow("ternary") << "format=ternary granularity=tensor"
                                 << "ternary.t.f16";
        QTest::newRow("searched") << "format=q4_k"
                                  << "q4_k";
    }
    void targets()
    {
        QFETCH(QString, settings);
        QFETCH(QString, name);
        ParamTexts texts;
        for (const auto& setting : settings.split(QLatin1Char(' '), Qt::SkipEmptyParts)) {
            const auto parts = setting.split(QLatin1Char('='));
            texts.emplace_back(parts[0].toStdString(), parts[1].toStdString());
        }
        const RtnMethod method;
        const auto params = method.schema().complete(texts);
        HALFTONE_VERIFY(params);
        const auto format = method.target(WeightInfo{}, *params);
        HALFTONE_VERIFY(format);
        QCOMPARE(QString::fromStdString((*format)->name()), name);
    }

    void refusesWhatIsNotANumber()
    {
        auto values = test::gaussian(64, 8);
        values[40] = std::nanf("");
        const auto coded = quantized(values, 2, {});
        QVERIFY(!coded);
        QCOMPARE(coded.error().code(), Errc::Numeric);
    }
};

QTEST_GUILESS_MAIN(TestRtn)
#include "tst_rtn.moc"
