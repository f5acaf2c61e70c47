// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/device/ops.h"

#include "core/numeric/small_float.h"
#include "tests/support/main.h"
#include "tests/support/samples.h"
#include "tests/support/tensors.h"

#include <cmath>
#include <limits>

using namespace halftone;
using test::floatTensor;
using test::runOn;
using test::tensorOf;

class TstOps : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void castsExactly();
    void castsWideTypes();
    void fills();
    void multiplies();
    void quantizesUnalignedInput();
    void oneScaleATensor();
    void sameBytesForAnyThreadCount();
    void firstFailingRowWins();
    void blockErrors();
    void flushedIsNotClipped();
    void clippedUnevenCodes();
    void emptyMatrices();

private:
    Device& m_device = cpuDevice();
};

// BF16 and F16 results are bit patterns; the float inputs are too.
void TstOps::castsExactly()
{
    const std::vector<std::uint32_t> bits{0x7F7FFFFF, 0x7F7F8000, 0x7F7F7FFF,
                                          0x7F800001, 0x3F808000, 0x3F818000};
    const Tensor in = tensorOf(DType::F32, {6}, bits);
    auto brain = makeTensor(m_device, DType::BF16, {6});
    HALFTONE_VERIFY(brain);
    HALFTONE_VERIFY(runOn(m_device, CastOp{in, *brain}));
    QCOMPARE(test::valuesOnHost<std::uint16_t>(*brain),
             (std::vector<std::uint16_t>{0x7F80, 0x7F80, 0x7F7F, 0x7FC0, 0x3F80, 0x3F82}));
    auto half = makeTensor(m_device, DType::F16, {2});
    HALFTONE_VERIFY(half);
    HALFTONE_VERIFY(runOn(m_device, CastOp{floatTensor({2}, {65519, 65520}), *half}));
    QCOMPARE(test::valuesOnHost<std::uint16_t>(*half), (std::vector<std::uint16_t>{0x7BFF, 0x7C00}));
    auto wide = makeTensor(m_device, DType::F32, {6});
    HALFTONE_VERIFY(wide);
    HALFTONE_VERIFY(runOn(m_device, CastOp{*brain, *wide}));
    QVERIFY(wide->values<float>()[2] == bitsFloat(0x7F7F0000) && std::isnan(wide->values<float>()[3]));
}

void TstOps::castsWideTypes()
{
    const auto to = [&](const Tensor& in, DType dtype) {
        auto out = makeTensor(m_device, dtype, in.shape());
        return out && runOn(m_device, CastOp{in, *out}) ? *out : Tensor();
    };
    const std::int64_t big = (std::int64_t{1} << 60) + (std::int64_t{1} << 36) + 1;
    const Tensor longs = tensorOf(DType::I64, {3}, std::vector<std::int64_t>{big, -big, 5});
    QCOMPARE(test::valuesOnHost<float>(to(longs, DType::F32)),
             (std::vector<float>{static_cast<float>(big), static_cast<float>(-big), 5}));
    QCOMPARE(test::valuesOnHost<double>(to(longs, DType::F64)),
             (std::vector<double>{static_cast<double>(big), static_cast<double>(-big), 5}));
    const Tensor doubles = tensorOf(DType::F64, {2}, std::vector<double>{0x1.002000001p0, 1e300});
    QCOMPARE(test::valuesOnHost<std::uint16_t>(to(doubles, DType::F16)),
             (std::vector<std::uint16_t>{0x3C01, 0x7C00}));
    const Tensor ints = tensorOf(DType::I32, {2}, std::vector<std::int32_t>{2049, -16777217});
    QCOMPARE(test::valuesOnHost<std::uint16_t>(to(ints, DType::F16)),
             (std::vector<std::uint16_t>{0x6800, 0xFC00}));
    QCOMPARE(test::valuesOnHost<float>(to(ints, DType::F32)), (std::vector<float>{2049, -16777216}));
    const Tensor small = tensorOf(DType::F8E4M3, {2}, std::vector<std::uint8_t>{0x7E, 0xB8});
    QCOMPARE(test::valuesOnHost<double>(to(small, DType::F64)), (std::vector<double>{448, -1}));
    const Tensor nibbles = tensorOf(DType::F4, {2, 2}, std::vector<std::uint8_t>{0xF1, 0x72});
    QCOMPARE(test::valuesOnHost<float>(to(nibbles, DType::F32)), (std::vector<float>{0.5f, -6, 1, 6}));
}

void TstOps::fills()
{
    auto half = makeTensor(m_device, DType::F16, {3, 3});
    HALFTONE_VERIFY(half);
    HALFTONE_VERIFY(runOn(m_device, FillOp{*half, 0.1}));
    QCOMPARE(test::valuesOnHost<std::uint16_t>(*half), std::vector<std::uint16_t>(9, 0x2E66));
    auto longs = makeTensor(m_device, DType::I64, {2});
    HALFTONE_VERIFY(longs);
    HALFTONE_VERIFY(runOn(m_device, FillOp{*longs, -9223372036854775808.0}));
    QVERIFY(longs->values<std::int64_t>()[1] == std::numeric_limits<std::int64_t>::min());
    const auto beyond = runOn(m_device, FillOp{*longs, 9223372036854775808.0});
    QVERIFY(!beyond && beyond.error().code() == Errc::InvalidArgument);
    QVERIFY(!runOn(m_device, FillOp{*longs, std::nan("")}));
}

void TstOps::multiplies()
{
    const Tensor a = floatTensor({2, 3}, {1, 2, 3, 4, 5, 6}), b = floatTensor({3, 2}, {7, 8, 9, 10, 11, 12});
    const Tensor bt = floatTensor({2, 3}, {7, 9, 11, 8, 10, 12});
    auto c = makeTensor(m_device, DType::F32, {2, 2});
    HALFTONE_VERIFY(c);
    HALFTONE_VERIFY(runOn(m_device, MatmulOp{a, b, *c, false}));
    QCOMPARE(test::valuesOnHost<float>(*c), (std::vector<float>{58, 64, 139, 154}));
    HALFTONE_VERIFY(runOn(m_device, FillOp{*c, 0}));
    HALFTONE_VERIFY(runOn(m_device, MatmulOp{a, bt, *c, true}));
    QCOMPARE(test::valuesOnHost<float>(*c), (std::vector<float>{58, 64, 139, 154}));
}

void TstOps::quantizesUnalignedInput()
{
    const auto values = test::gaussian(4 * 64, 2);
    std::vector<std::uint16_t> brain;
    std::vector<float> rounded;
    for (const float x : values) {
        brain.push_back(floatToBfloat(x));
        rounded.push_back(bfloatToFloat(brain.back()));
    }
    const auto format = formatNamed("int4a.g32.f16");
    HALFTONE_VERIFY(format);
    const auto codesOf = [&](const Tensor& in) {
        auto packed = makePacked(m_device, **format, {4, 64});
        return packed && runOn(m_device, QuantizeBlocksOp{in, *packed}) ? test::bytesOnHost(packed->codes)
                                                                        : std::vector<std::byte>{};
    };
    const auto want = codesOf(floatTensor({4, 64}, rounded));
    QVERIFY(!want.empty());
    for (const std::size_t lead : {0u, 1u, 3u}) {
        QVERIFY(codesOf(test::tensorOfBytes(DType::BF16, {4, 64}, std::as_bytes(std::span(brain)), lead)) ==
                want);
        QVERIFY(codesOf(test::tensorOfBytes(DType::F32, {4, 64}, std::as_bytes(std::span(rounded)), lead)) ==
                want);
    }
}

void TstOps::oneScaleATensor()
{
    const auto format = formatNamed("int8a.t.f32");
    HALFTONE_VERIFY(format);
    const Tensor in = floatTensor({3, 2}, {0, 1, 2, 254, -1, 0.5f});
    auto packed = makePacked(m_device, **format, {3, 2});
    HALFTONE_VERIFY(packed);
    HALFTONE_VERIFY(runOn(m_device, QuantizeBlocksOp{in, *packed}));
    QVERIFY(test::valuesOnHost<float>(Tensor(packed->scales.storage(), DType::F32, {1}))[0] == 1);
    QVERIFY(packed->zeros.values<std::uint8_t>()[0] == 1);
    auto out = makeTensor(m_device, DType::F32, {3, 2});
    HALFTONE_VERIFY(out);
    HALFTONE_VERIFY(runOn(m_device, DequantizeBlocksOp{*packed, *out}));
    QCOMPARE(test::valuesOnHost<float>(*out), (std::vector<float>{0, 1, 2, 254, -1, 0}));
}

void TstOps::sameBytesForAnyThreadCount()
{
    const Tensor in = floatTensor({300, 512}, test::laplace(300 * 512, 6));
    for (const char* name : {"q4_0", "q8_0", "q4_k", "iq4_xs", "int4.g128.f16", "int3a.g32.bf16",
                             "int8a.t.f16", "int5f.c.f32"}) {
        const auto format = formatNamed(name);
        HALFTONE_VERIFY(format);
        std::vector<std::vector<std::byte>> seen;
        std::vector<double> noise;
        for (const int threads : {1, 2, 5}) {
            setThreadCount(threads);
            auto packed = makePacked(m_device, **format, {300, 512});
            HALFTONE_VERIFY(packed);
            HALFTONE_VERIFY(runOn(m_device, QuantizeBlocksOp{in, *packed}));
            auto all = test::bytesOnHost(packed->codes);
            for (const Tensor* t : {&packed->scales, &packed->zeros})
                for (const std::byte b : test::bytesOnHost(*t))
                    all.push_back(b);
            seen.push_back(std::move(all));
            std::vector<ErrorStats> stats;
            HALFTONE_VERIFY(runOn(m_device, BlockErrorsOp{in, *packed, 0, stats}));
            ErrorStats sum;
            for (const ErrorStats& s : stats)
                sum.merge(s);
            noise.push_back(sum.noise);
        }
        setThreadCount(0);
        QVERIFY(seen[0] == seen[1] && seen[0] == seen[2]);
        QVERIFY(noise[0] == noise[1] && noise[0] == noise[2]);
    }
}

void TstOps::firstFailingRowWins()
{
    auto values = test::gaussian(200 * 512, 6);
    for (const int row : {150, 90, 31, 199})
        values[static_cast<std::size_t>(row) * 512 + 7] = std::nanf("");
    const Tensor in = floatTensor({200, 512}, values);
    for (const char* name : {"q8_0", "int4.g128.f16", "int8.t.f16"})
        for (const int threads : {1, 2, 4}) {
            setThreadCount(threads);
            const auto format = formatNamed(name);
            HALFTONE_VERIFY(format);
            auto packed = makePacked(m_device, **format, {200, 512});
            HALFTONE_VERIFY(packed);
            const auto status = runOn(m_device, QuantizeBlocksOp{in, *packed});
            setThreadCount(0);
            QVERIFY(!status && status.error().code() == Errc::Numeric);
            QVERIFY2(status.error().line().starts_with("row 31: column 7 is NaN"),
                     status.error().line().c_str());
        }
}

void TstOps::blockErrors()
{
    // Q4_0 of [-8 .. 8]: d = 1 with the first largest at -8, so +8 is cut to 7 (error 1, clipped).
    std::vector<float> values(64, 0.0f);
    values[0] = -8;
    values[1] = 8;
    values[2] = 3.25f;
    values[3] = 0.25f; // rounds to 0
    const Tensor in = floatTensor({1, 64}, values);
    const auto format = formatNamed("q4_0");
    auto packed = makePacked(m_device, **format, {1, 64});
    HALFTONE_VERIFY(packed);
    HALFTONE_VERIFY(runOn(m_device, QuantizeBlocksOp{in, *packed}));
    std::vector<ErrorStats> stats{{}, {}, {}, {}, {}};
    HALFTONE_VERIFY(runOn(m_device, BlockErrorsOp{in, *packed, 32, stats}));
    QCOMPARE(stats.size(), std::size_t{2});
    const ErrorStats& s = stats[0];
    QVERIFY(s.count == 32 && s.clipped == 1 && s.underflowed == 1);
    QVERIFY(s.signal == 64 + 64 + 3.25 * 3.25 + 0.0625);
    QVERIFY(s.noise == 1 + 0.0625 + 0.0625);
    QVERIFY(s.maxError == 1 && s.maxValue == 8);
    QVERIFY(stats[1].signal == 0 && stats[1].noise == 0 && stats[1].count == 32);
    HALFTONE_VERIFY(runOn(m_device, BlockErrorsOp{in, *packed, 0, stats}));
    QVERIFY(stats.size() == 1 && stats[0].count == 64 && stats[0].noise == s.noise);
    HALFTONE_VERIFY(runOn(m_device, BlockErrorsOp{in, *packed, 48, stats}));
    QVERIFY(stats.size() == 2 && stats[0].count == 48 && stats[1].count == 16);
}

// Codes that are not evenly spaced end half a last step beyond the outermost value.
void TstOps::clippedUnevenCodes()
{
    // MXFP4 of a largest value 3.9: scale 0.5, values up to 3, the last step from 2 to 3.
    std::vector<float> values(32, 0.25f);
    values[0] = 3.9f;
    values[1] = -3.6f;
    values[2] = 3.4f;
    values[3] = -3.0f;
    const Tensor in = floatTensor({1, 32}, values);
    const auto format = formatNamed("mxfp4");
    HALFTONE_VERIFY(format);
    auto packed = makePacked(m_device, **format, {1, 32});
    HALFTONE_VERIFY(packed);
    HALFTONE_VERIFY(runOn(m_device, QuantizeBlocksOp{in, *packed}));
    std::vector<ErrorStats> stats;
    HALFTONE_VERIFY(runOn(m_device, BlockErrorsOp{in, *packed, 0, stats}));
    QCOMPARE(stats.size(), std::size_t{1});
    QCOMPARE(stats[0].clipped, decltype(stats[0].clipped){2});
    QVERIFY(std::fabs(stats[0].maxError - 0.9) < 1e-6);
}

void TstOps::flushedIsNotClipped()
{
    const Tensor in = floatTensor({1, 32}, std::vector<float>(32, 1e-9f));
    const auto format = formatNamed("int4.g32.f16");
    auto packed = makePacked(m_device, **format, {1, 32});
    HALFTONE_VERIFY(packed);
    HALFTONE_VERIFY(runOn(m_device, QuantizeBlocksOp{in, *packed}));
    std::vector<ErrorStats> stats;
    HALFTONE_VERIFY(runOn(m_device, BlockErrorsOp{in, *packed, 0, stats}));
    QVERIFY(stats[0].underflowed == 32 && stats[0].clipped == 0);
    QVERIFY(stats[0].sqnr() == 0);
}

void TstOps::emptyMatrices()
{
    for (const char* name : {"q4_0", "int4a.g32.f16", "int8a.c.f16", "int8a.t.f32"})
        for (const Shape& shape : {Shape{0, 64}, Shape{3, 0}}) {
            const auto format = formatNamed(name);
            Tensor in = floatTensor(shape, {});
            auto packed = makePacked(m_device, **format, shape);
            HALFTONE_VERIFY(packed);
            HALFTONE_VERIFY(runOn(m_device, QuantizeBlocksOp{in, *packed}));
            HALFTONE_VERIFY(runOn(m_device, DequantizeBlocksOp{*packed, in}));
            std::vector<ErrorStats> stats(7);
            HALFTONE_VERIFY(runOn(m_device, BlockErrorsOp{in, *packed, 0, stats}));
            QVERIFY(stats.empty());
        }
}

QTEST_GUILESS_MAIN(TstOps)
#include "tst_ops.moc"
