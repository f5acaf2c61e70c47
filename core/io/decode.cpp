// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/io/decode.h"

#include <algorithm>
#include <cstring>
#include <fmt/core.h>

namespace halftone {

namespace {

constexpr std::int64_t kChunkElements = std::int64_t(1) << 22; // some 10 ms of work

Status checkRange(const RowRange& range, std::int64_t rows)
{
    if (range.want != DType::F32 && range.want != DType::F16 && range.want != DType::BF16)
        return Error(Errc::InvalidArgument,
                     fmt::format("can't decode to {}; ask for F32, F16 or BF16", nameOf(range.want)));
    if (range.begin < 0 || range.begin > range.end || range.end > rows)
        return Error(Errc::InvalidArgument,
                     fmt::format("rows {} to {} asked for, but there are {}", range.begin, range.end, rows));
    return Ok{};
}

// Vector loads of plain elements need aligned memory; a header of odd length makes all of a file's tensors
// unaligned.
bool isAligned(const Tensor& tensor)
{
    const auto size = static_cast<std::uintptr_t>(std::max(1, bitsOf(tensor.dtype()) / 8));
    return reinterpret_cast<std::uintptr_t>(tensor.bytes().data()) % size == 0;
}

Result<Tensor> alignedCopy(const Tensor& source)
{
    HALFTONE_TRY(copy, makeTensor(cpuDevice(), source.dtype(), source.shape()));
    const auto from = source.bytes();
    if (!from.empty()) std::memcpy(copy.mutableBytes().data(), from.data(), from.size());
    return std::move(copy);
}

// Runs `chunk(first, last, rows of out)` over the rows. Each chunk is computed on the CPU into `want` and
// copied to the device when that is another one.
using Chunk = std::function<Status(std::int64_t begin, std::int64_t end, Tensor& out, Stream& stream)>;
Result<Tensor> inChunks(const RowRange& range, std::int64_t cols, Device& device, const std::stop_token& stop,
                        const Chunk& chunk)
{
    Device& cpu = isHostDevice(device) ? device : cpuDevice();
    HALFTONE_TRY(out, makeTensor(device, range.want, {range.end - range.begin, cols}));
    HALFTONE_TRY(stream, cpu.makeStream());
    std::unique_ptr<Stream> upload;
    if (&cpu != &device) {
        HALFTONE_TRY(made, device.makeStream());
        upload = std::move(made);
    }
    const std::int64_t step = std::max<std::int64_t>(1, kChunkElements / std::max<std::int64_t>(1, cols));
    for (std::int64_t b = range.begin; b < range.end; b += step) {
        if (stop.stop_requested()) return Error(Errc::Cancelled, "cancelled");
        const std::int64_t e = std::min(range.end, b + step);
        Tensor part = out.rows(b - range.begin, e - range.begin);
        if (upload == nullptr) {
            HALFTONE_CHECK(chunk(b, e, part, *stream));
            continue;
        }
        HALFTONE_TRY(staging, makeTensor(cpu, range.want, part.shape()));
        HALFTONE_CHECK(chunk(b, e, staging, *stream));
        HALFTONE_CHECK(device.run(CopyOp{staging, part}, *upload));
        // The staging memory goes away with this round.
        HALFTONE_CHECK(device.synchronize(*upload));
    }
    return std::move(out);
}

} // namespace

bool isHostDevice(const Device& device) { return &device == &cpuDevice() || &device == &referenceDevice(); }

Result<Tensor> decodePlainRows(const Tensor& source, const RowRange& range, Device& device,
                               std::stop_token stop)
{
    HALFTONE_CHECK(checkRange(range, source.shape().rows()));
    Device& cpu = isHostDevice(device) ? device : cpuDevice();
    if (source.dtype() != range.want && !cpu.supports(OpId::Cast, source.dtype()))
        return Error(Errc::Unsupported,
                     fmt::format("{} can't be turned into numbers by this version", nameOf(source.dtype())));
    return inChunks(range, source.shape().cols(), device, stop,
                    [&](std::int64_t b, std::int64_t e, Tensor& out, Stream& stream) -> Status {
                        Tensor in = source.rows(b, e);
                        if (in.dtype() == range.want) return cpu.run(CopyOp{in, out}, stream);
                        if (!isAligned(in)) {
                            HALFTONE_TRY(copy, alignedCopy(in));
                            in = copy;
                        }
                        return cpu.run(CastOp{in, out}, stream);
                    });
}

Result<Tensor> computedRows(std::int64_t cols, const RowRange& range, Device& device,
                            const std::stop_token& stop, const RowDecoder& decode)
{
    HALFTONE_CHECK(checkRange(range, range.end));
    Device& cpu = isHostDevice(device) ? device : cpuDevice();
    return inChunks(range, cols, device, stop,
                    [&](std::int64_t b, std::int64_t e, Tensor& out, Stream& stream) -> Status {
                        if (range.want == DType::F32) return decode(b, e, out.values<float>());
                        HALFTONE_TRY(floats, makeTensor(cpu, DType::F32, out.shape()));
                        HALFTONE_CHECK(decode(b, e, floats.values<float>()));
                        return cpu.run(CastOp{floats, out}, stream);
                    });
}

Result<Tensor> decodePackedRows(const PackedTensor& source, const RowRange& range, Device& device,
                                std::stop_token stop)
{
    HALFTONE_CHECK(checkRange(range, source.logical.rows()));
    Device& cpu = isHostDevice(device) ? device : cpuDevice();
    return inChunks(range, source.logical.cols(), device, stop,
                    [&](std::int64_t b, std::int64_t e, Tensor& out, Stream& stream) -> Status {
                        const PackedTensor in = rowsOf(source, b, e);
                        if (range.want == DType::F32) return cpu.run(DequantizeBlocksOp{in, out}, stream);
                        HALFTONE_TRY(floats, makeTensor(cpu, DType::F32, out.shape()));
                        HALFTONE_CHECK(cpu.run(DequantizeBlocksOp{in, floats}, stream));
                        return cpu.run(CastOp{floats, out}, stream);
                    });
}

} // namespace halftone
