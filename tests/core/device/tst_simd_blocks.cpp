// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/rng.h"
#include "core/device/device.h"
#include "core/numeric/small_float.h"
#include "tests/support/main.h"

#include <cmath>
#include <cstring>
#include <hwy/targets.h>

using namespace halftone;

namespace {

// Gaussian-like values with the hard cases sown among them: equal magnitudes of both signs, zeros of both
// signs, subnormals, and rows that are all zero.
float sample(SplitMix64& rng, std::int64_t row, std::int64_t column)
{
    const double u = rng.uniform() + rng.uniform() + rng.uniform() - 1.5;
    switch (row % 7) {
    case 1:
        return column % 3 == 0 ? 0.75f : column % 3 == 1 ? -0.75f : static_cast<float>(u);
    case 2:
        return column % 2 == 0 ? -0.0f : 0.0f;
    case 3:
        return static_cast<float>(u * 1e-6);
    case 4:
        return static_cast<float>(u * 1e-41);
    case 5:
        return static_cast<float>(2 + u); // one sign only
    case 6:
        return column == 5 ? 300.0f : static_cast<float>(-u * u);
    default:
        return static_cast<float>(u);
    }
}

Tensor tensorOf(DType dtype, std::int64_t rows, std::int64_t cols, std::size_t byteOffset,
                std::optional<std::pair<std::int64_t, float>> planted = {})
{
    const auto width = static_cast<std::size_t>(bitsOf(dtype) / 8);
    auto storage = *cpuDevice().allocate(static_cast<std::size_t>(rows * cols) * width + byteOffset);
    Tensor tensor(storage, dtype, Shape{rows, cols}, byteOffset);
    auto bytes = tensor.mutableBytes();
    SplitMix64 rng(17);
    for (std::int64_t i = 0; i < rows * cols; ++i) {
        float x = sample(rng, i / cols, i % cols);
        if (planted && planted->first == i) x = planted->second;
        const std::uint32_t bits = dtype == DType::F32   ? floatBits(x)
                                   : dtype == DType::F16 ? floatToHalf(x)
                                                         : floatToBfloat(x);
        std::memcpy(bytes.data() + static_cast<std::size_t>(i) * width, &bits, width);
    }
    return tensor;
}

struct Quantized {
    Status status = Ok{};
    PackedTensor packed;
};

Quantized quantize(Device& device, const Tensor& in, const BlockFormat& format)
{
    auto made = makePacked(device, format, in.shape());
    if (!made) return {std::move(made).error(), {}};
    Quantized q{Ok{}, *made};
    for (Tensor PackedTensor::*plane : kPlanes)
        if (!(q.packed.*plane).empty())
            std::memset((q.packed.*plane).mutableBytes().data(), 0xA5, (q.packed.*plane).byteSize());
    auto stream = *device.makeStream();
    q.status = device.run(QuantizeBlocksOp{in, q.packed}, *stream);
    return q;
}

bool samePlane(const Tensor& a, const Tensor& b)
{
    if (a.empty() || b.empty()) return a.empty() == b.empty();
    const auto x = a.bytes(), y = b.bytes();
    return x.size() == y.size() && std::equal(x.begin(), x.end(), y.begin());
}

bool samePlanes(const PackedTensor& a, const PackedTensor& b)
{
    return std::ranges::all_of(kPlanes,
                               [&](Tensor PackedTensor::*plane) { return samePlane(a.*plane, b.*plane); });
}

// To the last bit: both add in the order that ErrorStats names.
bool sameErrors(const Tensor& in, const PackedTensor& packed, std::int64_t blockCols)
{
    std::vector<ErrorStats> a, b;
    auto stream = *cpuDevice().makeStream();
    if (!cpuDevice().run(BlockErrorsOp{in, packed, blockCols, a}, *stream)) return false;
    if (!referenceDevice().run(BlockErrorsOp{in, packed, blockCols, b}, *stream)) return false;
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const ErrorStats& x, const ErrorStats& y) {
        return x.count == y.count && x.signal == y.signal && x.noise == y.noise && x.maxError == y.maxError &&
               x.maxValue == y.maxValue && x.clipped == y.clipped && x.underflowed == y.underflowed;
    });
}

// One case under every vector width this machine has, then under the best one.
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

class TestSimdBlocks : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void sameBytesAsReference_data()
    {
        QTest::addColumn<QString>("name");
        for (const BlockFormat* format : listedFormats())
            QTest::newRow(format->name().c_str()) << QString::fromStdString(format->name());
        for (const char* name :
             {"int4.g8.f32", "int3.g7.f32", "int4a.g16.bf16", "int5a.g40.f16", "int8.g100.f32",
              "int6f.g33.bf16", "int2.c.bf16", "int8a.t.f32", "e4m3.g48.f16", "e5m2.g7.bf16", "e2m3.g128.f32",
              "e3m2.c.f16", "mxfp8_e4m3.g16.ct", "mxfp4_e2m1.g32.ggml", "mxint6.g64.ct", "nvfp4_e2m1.g32.up",
              "nf4.g128.f32", "bnbfp4.g24.dq"})
            QTest::newRow(name) << QString::fromLatin1(name);
    }

    void sameBytesAsReference()
    {
        QFETCH(QString, name);
        const auto found = formatNamed(name.toStdString());
        HALFTONE_VERIFY(found);
        const BlockFormat& format = **found;
        const bool blocks = format.desc().layout == FormatDesc::Layout::Interleaved;
        for (const DType dtype : {DType::BF16, DType::F16, DType::F32})
            for (const auto& [rows, cols] : {std::pair<std::int64_t, std::int64_t>{9, 96},
                                             {1, 8320},
                                             {3, 8192},
                                             {7, blocks ? 160 : 75},
                                             {8, blocks ? 32 : 8}}) {
                if (!format.layout(rows, cols)) continue;
                const Tensor in = tensorOf(dtype, rows, cols, static_cast<std::size_t>(rows % 4));
                const Quantized expected = quantize(referenceDevice(), in, format);
                HALFTONE_VERIFY(expected.status);
                forTargets([&](const char* target) {
                    const Quantized got = quantize(cpuDevice(), in, format);
                    HALFTONE_VERIFY(got.status);
                    QVERIFY2(samePlanes(got.packed, expected.packed),
                             qPrintable(QStringLiteral("%1 %2 x %3 type %4")
                                            .arg(QLatin1String(target))
                                            .arg(rows)
                                            .arg(cols)
                                            .arg(static_cast<int>(dtype))));
                    Tensor a = *makeTensor(cpuDevice(), DType::F32, in.shape());
                    Tensor b = *makeTensor(cpuDevice(), DType::F32, in.shape());
                    auto stream = *cpuDevice().makeStream();
                    HALFTONE_VERIFY(cpuDevice().run(DequantizeBlocksOp{got.packed, a}, *stream));
                    HALFTONE_VERIFY(referenceDevice().run(DequantizeBlocksOp{got.packed, b}, *stream));
                    QVERIFY2(samePlane(a, b), target);
                    for (const std::int64_t blockCols : {std::int64_t{0}, std::int64_t{43}})
                        QVERIFY2(sameErrors(in, got.packed, blockCols), target);
                });
            }
    }

    void sharedAmongThreads_data()
    {
        QTest::addColumn<QString>("name");
        QTest::addColumn<int>("rows");
        QTest::addColumn<int>("cols");
        QTest::newRow("one long row of groups") << "int4.g128.f16" << 1 << 300032;
        QTest::newRow("one row, one scale") << "int8a.c.f16" << 1 << 300032;
        QTest::newRow("one row, odd length") << "int3.c.f16" << 1 << 300007;
        QTest::newRow("large groups") << "int5.g262144.f16" << 1 << 600000;
        QTest::newRow("many rows, odd length") << "int6a.g64.f16" << 301 << 1001;
        QTest::newRow("one scale, padded rows") << "int7.t.f32" << 301 << 1001;
        QTest::newRow("rows of one scale") << "int4.c.f16" << 40 << 9984;
        QTest::newRow("groups that meet no word") << "int4.g9.f16" << 40 << 9984;
        QTest::newRow("GGUF blocks") << "q5_1" << 40 << 9984;
        QTest::newRow("FP8, one row, one scale") << "e4m3.c.f32" << 1 << 300032;
        QTest::newRow("FP8, one scale, padded rows") << "e5m2.t.bf16" << 301 << 1001;
        QTest::newRow("FP4, large groups") << "e2m1.g262144.f16" << 1 << 600000;
        QTest::newRow("MX, odd length") << "mxfp6_e2m3.g32.floor" << 301 << 1001;
        QTest::newRow("MX, large groups") << "mxint8.g262144.ceil" << 1 << 600000;
        QTest::newRow("tensor scale") << "nvfp4_e2m1.g16.nearest" << 40 << 9984;
        QTest::newRow("tensor scale, odd length") << "nvint4.g16.up" << 301 << 1001;
        QTest::newRow("nested scales") << "nf4.g64.dq" << 40 << 9984;
        QTest::newRow("nested scales, odd length") << "bnbfp4.g64.dq" << 301 << 1001;
        QTest::newRow("mean magnitude") << "ternary.t.f32" << 301 << 1001;
    }

    void sharedAmongThreads()
    {
        QFETCH(QString, name);
        QFETCH(int, rows);
        QFETCH(int, cols);
        const auto format = formatNamed(name.toStdString());
        HALFTONE_VERIFY(format);
        const Tensor in = tensorOf(DType::BF16, rows, cols, 0);
        const Quantized expected = quantize(referenceDevice(), in, **format);
        HALFTONE_VERIFY(expected.status);
        const int before = threadCount();
        for (int threads : {1, 2, 3, 5}) {
            setThreadCount(threads);
            const Quantized got = quantize(cpuDevice(), in, **format);
            HALFTONE_VERIFY(got.status);
            QVERIFY(samePlanes(got.packed, expected.packed));
            Tensor a = *makeTensor(cpuDevice(), DType::F32, in.shape());
            Tensor b = *makeTensor(cpuDevice(), DType::F32, in.shape());
            auto stream = *cpuDevice().makeStream();
            HALFTONE_VERIFY(cpuDevice().run(DequantizeBlocksOp{got.packed, a}, *stream));
            HALFTONE_VERIFY(referenceDevice().run(DequantizeBlocksOp{got.packed, b}, *stream));
            QVERIFY(samePlane(a, b));
        }
        setThreadCount(before);
    }

    void badValuesAreNamed_data()
    {
        QTest::addColumn<QString>("name");
        for (const char* name :
             {"int4.g32.f16", "int8a.c.f32", "int3.t.bf16", "q4_0", "q4_1", "q8_0", "e4m3.c.f32",
              "mxfp4_e2m1.g32.floor", "nvfp4_e2m1.g16.nearest", "nf4.g64.dq"})
            QTest::newRow(name) << QString::fromLatin1(name);
    }

    void badValuesAreNamed()
    {
        QFETCH(QString, name);
        const auto format = formatNamed(name.toStdString());
        HALFTONE_VERIFY(format);
        for (const DType dtype : {DType::BF16, DType::F16, DType::F32})
            for (const float bad : {INFINITY, -INFINITY, std::nanf("")}) {
                const Tensor in = tensorOf(dtype, 6, 96, 0, std::pair<std::int64_t, float>{3 * 96 + 41, bad});
                const Quantized expected = quantize(referenceDevice(), in, **format);
                QVERIFY(!expected.status);
                forTargets([&](const char*) {
                    const Quantized got = quantize(cpuDevice(), in, **format);
                    QVERIFY(!got.status);
                    QCOMPARE(got.status.error().line(), expected.status.error().line());
                    QVERIFY(got.status.error().code() == Errc::Numeric);
                });
            }
    }

    void overflowingScalesAreNamed()
    {
        for (const char* name : {"int4.g32.f16", "e4m3.g32.f16", "q4_0", "q4_1"}) {
            const auto format = formatNamed(name);
            HALFTONE_VERIFY(format);
            const Tensor in =
                tensorOf(DType::F32, 6, 96, 0, std::pair<std::int64_t, float>{4 * 96 + 70, -3e38f});
            const Quantized expected = quantize(referenceDevice(), in, **format);
            QVERIFY(!expected.status);
            const Quantized got = quantize(cpuDevice(), in, **format);
            QVERIFY(!got.status);
            QCOMPARE(got.status.error().line(), expected.status.error().line());
        }
    }
};

QTEST_GUILESS_MAIN(TestSimdBlocks)
#include "tst_simd_blocks.moc"
