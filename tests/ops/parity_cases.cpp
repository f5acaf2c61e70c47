// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/ops/parity_cases.h"

#include "core/numeric/convert.h"
#include "tests/support/samples.h"
#include "tests/support/tensors.h"

#include <cmath>
#include <limits>
#include <map>

namespace halftone::test {

namespace {

bool isBlockOp(OpId op)
{
    return op == OpId::QuantizeBlocks || op == OpId::DequantizeBlocks || op == OpId::BlockErrors;
}

Error differs(std::string text) { return {Errc::CheckFailed, std::move(text)}; }

Status sameBytes(const Tensor& got, const Tensor& want, const char* what)
{
    const auto a = bytesOnHost(got), b = bytesOnHost(want);
    if (a.size() != b.size()) return differs(std::string(what) + ": sizes differ");
    for (std::size_t i = 0; i < a.size(); ++i)
        if (a[i] != b[i])
            return differs(std::string(what) + ": byte " + std::to_string(i) + " is " + toHex(&a[i], 1) +
                           ", the reference has " + toHex(&b[i], 1));
    return Ok{};
}

// Equal values, any NaN standing for any other: devices may keep or drop a NaN's payload.
Status sameValues(const Tensor& got, const Tensor& want, const char* what)
{
    const auto a = bytesOnHost(got), b = bytesOnHost(want);
    const auto count = static_cast<std::size_t>(want.shape().count());
    std::vector<double> x(count), y(count);
    toDoubles(got.dtype(), a, 0, x);
    toDoubles(want.dtype(), b, 0, y);
    for (std::size_t i = 0; i < count; ++i) {
        const bool same = (std::isnan(x[i]) && std::isnan(y[i])) ||
                          (x[i] == y[i] && std::signbit(x[i]) == std::signbit(y[i]));
        if (!same)
            return differs(std::string(what) + ": element " + std::to_string(i) + " is " +
                           std::to_string(x[i]) + ", the reference has " + std::to_string(y[i]));
    }
    return Ok{};
}

Status copyCase(Device& device, DType dtype)
{
    for (const Shape& shape : {Shape{6, 12}, Shape{4, 4096}, Shape{0, 4}}) {
        const Tensor host = randomBits(dtype, shape);
        HALFTONE_TRY(src, onDevice(device, host));
        HALFTONE_TRY(dst, makeTensor(device, dtype, shape));
        HALFTONE_CHECK(runOn(device, CopyOp{src, dst}));
        HALFTONE_CHECK(sameBytes(dst, host, "copy"));
    }
    return Ok{};
}

Status fillCase(Device& device, DType dtype)
{
    for (const double value : {0.0, 1.0, 7.0}) {
        HALFTONE_TRY(got, makeTensor(device, dtype, Shape{3, 1000}));
        HALFTONE_TRY(want, makeTensor(referenceDevice(), dtype, Shape{3, 1000}));
        HALFTONE_CHECK(runOn(device, FillOp{got, value}));
        HALFTONE_CHECK(runOn(referenceDevice(), FillOp{want, value}));
        HALFTONE_CHECK(sameBytes(got, want, "fill"));
    }
    return Ok{};
}

Status castCase(Device& device, DType dtype)
{
    for (const DType to : {DType::F64, DType::F32, DType::F16, DType::BF16})
        for (const Shape& shape : {Shape{4, 1}, Shape{5, 1236}, Shape{4, 8192}}) {
            const Tensor host = randomBits(dtype, shape);
            HALFTONE_TRY(src, onDevice(device, host));
            HALFTONE_TRY(got, makeTensor(device, to, shape));
            HALFTONE_TRY(want, makeTensor(referenceDevice(), to, shape));
            HALFTONE_CHECK(runOn(device, CastOp{src, got}));
            HALFTONE_CHECK(runOn(referenceDevice(), CastOp{host, want}));
            HALFTONE_CHECK(sameValues(got, want, std::string(nameOf(to)).c_str()));
        }
    return Ok{};
}

Status matmulCase(Device& device, DType dtype)
{
    struct Size {
        std::int64_t m, k, n;
    };
    for (const Size s :
         {Size{1, 1, 1}, Size{5, 7, 3}, Size{64, 128, 32}, Size{1, 300, 17}, Size{33, 65, 129}})
        for (const bool transB : {false, true}) {
            const Tensor a = floatTensor({s.m, s.k}, gaussian(static_cast<std::size_t>(s.m * s.k), 1));
            const Shape shapeB = transB ? Shape{s.n, s.k} : Shape{s.k, s.n};
            const Tensor b = floatTensor(shapeB, gaussian(static_cast<std::size_t>(s.k * s.n), 2));
            HALFTONE_TRY(farA, onDevice(device, a));
            HALFTONE_TRY(farB, onDevice(device, b));
            HALFTONE_TRY(got, makeTensor(device, dtype, Shape{s.m, s.n}));
            HALFTONE_TRY(want, makeTensor(referenceDevice(), dtype, Shape{s.m, s.n}));
            HALFTONE_CHECK(runOn(device, MatmulOp{farA, farB, got, transB}));
            HALFTONE_CHECK(runOn(referenceDevice(), MatmulOp{a, b, want, transB}));
            const double error = compare(valuesOnHost<float>(want), valuesOnHost<float>(got)).normalisedMse();
            if (!(error <= 1e-7)) return differs("product: normalised error " + std::to_string(error));
        }
    return Ok{};
}

std::vector<Shape> blockShapes(const BlockFormat& format)
{
    std::vector<Shape> shapes{{16, 1024}};
    for (const Shape& ragged : {Shape{9, 160}, Shape{9, 768}, Shape{8, 33}, Shape{3, 1}, Shape{8, 509}})
        if (format.layout(ragged[0], ragged[1])) shapes.push_back(ragged);
    return shapes;
}

Result<PackedTensor> referencePacked(const Tensor& in, const BlockFormat& format)
{
    HALFTONE_TRY(packed, makePacked(referenceDevice(), format, in.shape()));
    HALFTONE_CHECK(runOn(referenceDevice(), QuantizeBlocksOp{in, packed}));
    return packed;
}

// A matrix that must be refused gives the same words everywhere.
Status sameRefusal(Device& device, DType dtype, const BlockFormat& format)
{
    for (const float bad :
         {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity()}) {
        const Shape shape{8, format.layout(8, 160) ? 160 : 512};
        const auto cols = static_cast<std::size_t>(shape[1]);
        auto values = gaussian(8 * cols, 3);
        values[5 * cols + 159] = bad;
        values[6 * cols] = bad;
        HALFTONE_TRY(in, makeTensor(referenceDevice(), dtype, shape));
        HALFTONE_CHECK(runOn(referenceDevice(), CastOp{floatTensor(shape, values), in}));
        HALFTONE_TRY(far, onDevice(device, in));
        HALFTONE_TRY(got, makePacked(device, format, in.shape()));
        HALFTONE_TRY(want, makePacked(referenceDevice(), format, in.shape()));
        const Status a = runOn(device, QuantizeBlocksOp{far, got});
        const Status b = runOn(referenceDevice(), QuantizeBlocksOp{in, want});
        if (a || b) return differs("a NaN or Inf was accepted");
        if (a.error().line() != b.error().line() || a.error().code() != b.error().code())
            return differs("refused with '" + a.error().line() + "', the reference says '" +
                           b.error().line() + "'");
    }
    return Ok{};
}

Status quantizeCase(Device& device, DType dtype, const BlockFormat& format)
{
    for (const Shape& shape : blockShapes(format)) {
        const Tensor in = mixedMatrix(dtype, shape);
        HALFTONE_TRY(want, referencePacked(in, format));
        HALFTONE_TRY(far, onDevice(device, in));
        HALFTONE_TRY(got, makePacked(device, format, shape));
        HALFTONE_CHECK(runOn(device, QuantizeBlocksOp{far, got}));
        HALFTONE_CHECK(sameBytes(got.scales, want.scales, "scales"));
        HALFTONE_CHECK(sameBytes(got.zeros, want.zeros, "zeros"));
        HALFTONE_CHECK(sameBytes(got.shared, want.shared, "shared"));
        HALFTONE_CHECK(sameBytes(got.codes, want.codes, "codes"));
    }
    return sameRefusal(device, dtype, format);
}

Status dequantizeCase(Device& device, const BlockFormat& format)
{
    for (const Shape& shape : blockShapes(format)) {
        HALFTONE_TRY(packed, referencePacked(mixedMatrix(DType::F32, shape), format));
        HALFTONE_TRY(far, onDevice(device, packed));
        HALFTONE_TRY(got, makeTensor(device, DType::F32, shape));
        HALFTONE_TRY(want, makeTensor(referenceDevice(), DType::F32, shape));
        HALFTONE_CHECK(runOn(device, DequantizeBlocksOp{far, got}));
        HALFTONE_CHECK(runOn(referenceDevice(), DequantizeBlocksOp{packed, want}));
        HALFTONE_CHECK(sameValues(got, want, "values"));
    }
    return Ok{};
}

bool close(double a, double b) { return std::fabs(a - b) <= 1e-9 * std::fabs(b); }

Status errorsCase(Device& device, DType dtype, const BlockFormat& format)
{
    for (const Shape& shape : blockShapes(format))
        for (const std::int64_t blockCols : {std::int64_t{0}, std::int64_t{50}}) {
            if (dtype != DType::F32 && blockCols == 0) continue; // the loops differ in the rows' type only
            const Tensor in = mixedMatrix(dtype, shape);
            HALFTONE_TRY(packed, referencePacked(in, format));
            HALFTONE_TRY(farIn, onDevice(device, in));
            HALFTONE_TRY(farPacked, onDevice(device, packed));
            std::vector<ErrorStats> got, want;
            HALFTONE_CHECK(runOn(device, BlockErrorsOp{farIn, farPacked, blockCols, got}));
            HALFTONE_CHECK(runOn(referenceDevice(), BlockErrorsOp{in, packed, blockCols, want}));
            if (got.size() != want.size()) return differs("number of blocks");
            for (std::size_t i = 0; i < got.size(); ++i) {
                const ErrorStats &a = got[i], &b = want[i];
                const std::string where = " of block " + std::to_string(i);
                if (a.count != b.count || a.clipped != b.clipped || a.underflowed != b.underflowed)
                    return differs("counts" + where);
                if (a.maxError != b.maxError || a.maxValue != b.maxValue) return differs("maxima" + where);
                if (!close(a.signal, b.signal) || !close(a.noise, b.noise)) return differs("sums" + where);
            }
        }
    return Ok{};
}

} // namespace

std::string Case::name() const
{
    std::string text = std::string(nameOf(op)) + " " + std::string(nameOf(dtype));
    return format == nullptr ? text : text + " " + format->name();
}

std::vector<Case> allCases()
{
    std::vector<const BlockFormat*> formats = listedFormats();
    for (const char* odd :
         {"int2a.g16.bf16", "int3.g48.f32", "int4.g8.f32", "int4a.g100.bf16", "int5.g1.f16", "int6f.g33.bf16",
          "int7a.g256.f32", "int8.g512.bf16", "int8a.t.bf16", "int8.c.f32", "e4m3.g48.bf16", "e5m2.g7.f16",
          "mxfp8_e4m3.g16.ct", "mxfp4_e2m1.g64.ggml", "mxint6.g48.ct", "nvfp4_e2m1.g32.up", "nf4.g128.f32",
          "bnbfp4.g24.dq", "ternary.c.bf16"})
        if (const auto format = formatNamed(odd)) formats.push_back(*format);
    std::vector<Case> cases;
    for (const OpId op : allOps())
        for (int i = 0; i < kDTypeCount; ++i) {
            const auto dtype = static_cast<DType>(i);
            if (!isBlockOp(op)) {
                cases.push_back({op, dtype});
                continue;
            }
            if (op == OpId::DequantizeBlocks && dtype != DType::U8) continue;
            for (const BlockFormat* format : formats)
                cases.push_back({op, dtype, format});
        }
    return cases;
}

std::vector<std::shared_ptr<Device>> usableDevices()
{
    std::vector<std::shared_ptr<Device>> devices;
    for (const DeviceInfo& info : probeDevices())
        if (info.whyUnusable.empty())
            if (auto device = openDevice(info.id)) devices.push_back(*device);
    return devices;
}

Result<Tensor> onDevice(Device& device, const Tensor& host)
{
    if (device.info().id == "cpu") return host;
    HALFTONE_TRY(far, makeTensor(device, host.dtype(), host.shape()));
    HALFTONE_CHECK(runOn(device, CopyOp{host, far}));
    return far;
}

Result<PackedTensor> onDevice(Device& device, const PackedTensor& host)
{
    PackedTensor far = host;
    for (Tensor PackedTensor::*plane : kPlanes) {
        if ((host.*plane).empty()) continue;
        HALFTONE_TRY(moved, onDevice(device, host.*plane));
        far.*plane = moved;
    }
    return far;
}

Tensor randomBits(DType dtype, const Shape& shape)
{
    const auto size = bytesOf(dtype, static_cast<std::uint64_t>(shape.count()));
    if (!size) return {};
    std::vector<std::byte> bytes(static_cast<std::size_t>(*size));
    SplitMix64 rng(41);
    for (std::byte& b : bytes)
        b = static_cast<std::byte>(rng.next() >> 56);
    return tensorOfBytes(dtype, shape, bytes);
}

namespace {

Tensor makeMixedMatrix(DType dtype, const Shape& shape)
{
    const std::int64_t rows = shape[0];
    const auto cols = static_cast<std::size_t>(shape[1]);
    std::vector<float> values;
    values.reserve(static_cast<std::size_t>(rows) * cols);
    for (std::int64_t row = 0; row < rows; ++row) {
        const auto seed = static_cast<std::uint64_t>(row + 1);
        const auto normal = row % 8 == 7 ? laplace(cols, seed) : gaussian(cols, seed);
        for (std::size_t i = 0; i < cols; ++i) {
            const float ramp = static_cast<float>(i) * 0.03125f - 1.5f;
            const float kinds[]{normal[i],
                                0.0f,
                                i == cols / 2 ? -2500.0f : normal[i],
                                i % 3 == 0 ? -4e-41f : 1e-40f,
                                i % 64 < 32 ? 1e-11f : -0.0f,
                                0.37f,
                                ramp,
                                normal[i] * 0.02f};
            values.push_back(kinds[row % 8]);
        }
    }
    if (dtype == DType::F32) return floatTensor(shape, values);
    auto out = makeTensor(cpuDevice(), dtype, shape);
    if (!out || !runOn(referenceDevice(), CastOp{floatTensor(shape, values), *out})) return {};
    return *out;
}

} // namespace

Tensor mixedMatrix(DType dtype, const Shape& shape)
{
    // Asked for by hundreds of cases; nobody writes into it.
    static std::map<std::string, Tensor> made;
    Tensor& matrix = made[std::string(nameOf(dtype)) + " " + shape.text()];
    if (matrix.empty()) matrix = makeMixedMatrix(dtype, shape);
    return matrix;
}

Status compareWithReference(Device& device, const Case& what)
{
    switch (what.op) {
    case OpId::Copy:
        return copyCase(device, what.dtype);
    case OpId::Fill:
        return fillCase(device, what.dtype);
    case OpId::Cast:
        return castCase(device, what.dtype);
    case OpId::Matmul:
        return matmulCase(device, what.dtype);
    case OpId::QuantizeBlocks:
        return quantizeCase(device, what.dtype, *what.format);
    case OpId::DequantizeBlocks:
        return dequantizeCase(device, *what.format);
    case OpId::BlockErrors:
        return errorsCase(device, what.dtype, *what.format);
    }
    return differs("an op without a comparison");
}

Status runOnce(Device& device, const Case& what)
{
    const Shape shape{2, 256}; // what every format takes
    std::vector<std::byte> zeros(static_cast<std::size_t>(bytesOf(what.dtype, 512).value_or(0)));
    HALFTONE_TRY(in, onDevice(device, tensorOfBytes(what.dtype, shape, zeros)));
    const auto packedOf = [&]() -> Result<PackedTensor> {
        HALFTONE_TRY(packed, referencePacked(floatTensor(shape, std::vector<float>(512)), *what.format));
        return onDevice(device, packed);
    };
    switch (what.op) {
    case OpId::Copy: {
        HALFTONE_TRY(out, makeTensor(device, what.dtype, shape));
        return runOn(device, CopyOp{in, out});
    }
    case OpId::Fill:
        return runOn(device, FillOp{in, 0});
    case OpId::Cast: {
        HALFTONE_TRY(out, makeTensor(device, DType::F32, shape));
        return runOn(device, CastOp{in, out});
    }
    case OpId::Matmul: {
        HALFTONE_TRY(out, makeTensor(device, what.dtype, Shape{2, 2}));
        return runOn(device, MatmulOp{in, in, out, true});
    }
    case OpId::QuantizeBlocks: {
        HALFTONE_TRY(packed, makePacked(device, *what.format, shape));
        return runOn(device, QuantizeBlocksOp{in, packed});
    }
    case OpId::DequantizeBlocks: {
        HALFTONE_TRY(packed, packedOf());
        HALFTONE_TRY(out, makeTensor(device, DType::F32, shape));
        return runOn(device, DequantizeBlocksOp{packed, out});
    }
    case OpId::BlockErrors: {
        HALFTONE_TRY(packed, packedOf());
        std::vector<ErrorStats> stats;
        return runOn(device, BlockErrorsOp{in, packed, 0, stats});
    }
    }
    return differs("an op without a trial");
}

} // namespace halftone::test
