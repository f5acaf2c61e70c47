// SPDX-License-Identifier: GPL-3.0-or-later
#include "gpu/runtime/cuda_device.h"

#include "core/base/text.h"
#include "core/device/check.h"
#include "gpu/ops/ops.h"
#include "gpu/runtime/cuda_error.h"
#include "gpu/runtime/cuda_storage.h"

#include <algorithm>
#include <cstring>
#include <fmt/core.h>
#include <new>
#include <vector>

namespace halftone::cuda {

namespace {

class CudaStream final : public Stream {
public:
    CudaStream(cudaStream_t stream, cublasHandle_t blas, QuantizeState* state)
        : m_stream(stream), m_blas(blas), m_state(state)
    {
    }
    CudaStream(const CudaStream&) = delete;
    CudaStream& operator=(const CudaStream&) = delete;
    ~CudaStream() override
    {
        static_cast<void>(cublasDestroy(m_blas));
        static_cast<void>(cudaFree(m_state));
        static_cast<void>(cudaStreamDestroy(m_stream));
    }
    cudaStream_t get() const { return m_stream; }
    cublasHandle_t blas() const { return m_blas; }
    QuantizeState* state() const { return m_state; } ///< device memory

private:
    cudaStream_t m_stream;
    cublasHandle_t m_blas;
    QuantizeState* m_state;
};

bool isWeightType(DType dtype) { return dtype == DType::F32 || dtype == DType::F16 || dtype == DType::BF16; }

// Sums over a whole tensor have an order that a GPU does not keep, and searches are the CPU's.
bool canEncode(const BlockFormat* format)
{
    if (format == nullptr || format->desc().readOnly) return false;
    const FormatDesc& desc = format->desc();
    if (desc.layout == FormatDesc::Layout::Interleaved) return format->encodeFlops() < kSearchFlops;
    return desc.scaleRule != ScaleRule::AbsMean && desc.shared != FormatDesc::Shared::NestedScales;
}

std::uint8_t* addressOf(const Tensor& tensor)
{
    if (tensor.empty()) return nullptr;
    return static_cast<std::uint8_t*>(tensor.storage()->deviceData()) + tensor.byteOffset();
}

PlanesView viewOf(const PackedTensor& packed, const PackedLayout& layout)
{
    const std::int64_t block = packed.format->desc().blockSize;
    return {addressOf(packed.codes), addressOf(packed.scales),
            addressOf(packed.zeros), addressOf(packed.shared),
            layout.codeRowBytes,     layout.scaleRowBytes,
            layout.zeroRowBytes,     block > 0 ? block : std::max<std::int64_t>(layout.cols, 1),
            packed.firstRow};
}

class CudaDevice final : public Device, public std::enable_shared_from_this<CudaDevice> {
public:
    CudaDevice(int index, DeviceInfo info) : m_index(index), m_info(std::move(info)) {}
    const DeviceInfo& info() const override { return m_info; }

    Result<std::shared_ptr<Storage>> allocate(std::size_t bytes) override
    {
        void* data = nullptr;
        HALFTONE_CHECK(check(cudaSetDevice(m_index), "select"));
        // Zero bytes would give no address.
        if (const auto e = cudaMalloc(&data, std::max<std::size_t>(bytes, 1)); e != cudaSuccess)
            return cudaFailure(e, m_info.id, fmt::format("allocate {}", humanBytes(bytes)));
        return std::shared_ptr<Storage>(
            std::make_shared<CudaStorage>(shared_from_this(), m_index, data, bytes));
    }

    Result<std::unique_ptr<Stream>> makeStream() override
    {
        HALFTONE_CHECK(check(cudaSetDevice(m_index), "select"));
        cudaStream_t stream = nullptr;
        HALFTONE_CHECK(check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "make a stream"));
        cublasHandle_t blas = nullptr;
        void* state = nullptr;
        auto status = check(cublasCreate(&blas), "start cuBLAS");
        if (status) status = check(cublasSetStream(blas, stream), "start cuBLAS");
        if (status) status = check(cudaMalloc(&state, sizeof(QuantizeState)), "make a stream");
        auto made = std::make_unique<CudaStream>(stream, blas, static_cast<QuantizeState*>(state));
        if (!status) return std::move(status).error();
        return std::unique_ptr<Stream>(std::move(made));
    }

    Status synchronize(Stream& stream) override
    {
        HALFTONE_TRY(mine, streamOf(stream));
        return wait(*mine, "synchronize");
    }

    bool supports(OpId op, DType dtype, const BlockFormat* format) const override
    {
        switch (op) {
        case OpId::Copy:
            return true;
        case OpId::Fill:
            return cpuDevice().supports(op, dtype, format);
        case OpId::Cast:
            return isWeightType(dtype);
        case OpId::Matmul:
            return dtype == DType::F32;
        case OpId::QuantizeBlocks:
            return canEncode(format) && isWeightType(dtype);
        case OpId::DequantizeBlocks:
            return format != nullptr;
        case OpId::BlockErrors:
            return false; // sums in a fixed order; the CPU has them
        }
        return false;
    }

    Status run(const CopyOp& op, Stream& stream) override
    {
        HALFTONE_TRY(s, prepare(op, stream));
        if (op.src.byteSize() == 0) return Ok{};
        // The addresses of all GPUs and of the host are one space: CUDA sees the direction itself.
        HALFTONE_CHECK(check(cudaMemcpyAsync(addressOf(op.dst), addressOf(op.src), op.src.byteSize(),
                                             cudaMemcpyDefault, s->get()),
                             "copy"));
        return wait(*s, "copy");
    }

    Status run(const FillOp& op, Stream& stream) override
    {
        HALFTONE_TRY(s, prepare(op, stream));
        HALFTONE_CHECK(mine({&op.dst}));
        // The CPU makes one element: one place decides what a value is in each type.
        HALFTONE_TRY(one, makeTensor(cpuDevice(), op.dst.dtype(), Shape{1}));
        HALFTONE_TRY(cpuStream, cpuDevice().makeStream());
        HALFTONE_CHECK(cpuDevice().run(FillOp{one, op.value}, *cpuStream));
        std::uint64_t pattern = 0;
        std::memcpy(&pattern, one.bytes().data(), one.bytes().size());
        const auto count = static_cast<std::uint64_t>(op.dst.shape().count());
        if (count == 0) return Ok{};
        HALFTONE_CHECK(check(
            fill(addressOf(op.dst), count, pattern, static_cast<int>(one.bytes().size()), s->get()), "fill"));
        return wait(*s, "fill");
    }

    Status run(const CastOp& op, Stream& stream) override
    {
        HALFTONE_TRY(s, prepare(op, stream));
        HALFTONE_CHECK(mine({&op.src, &op.dst}));
        const DType to = op.dst.dtype();
        if (!isWeightType(to) && to != DType::F64)
            return Error(Errc::Unsupported,
                         fmt::format("Cast to {} is not available on {}", nameOf(to), m_info.id));
        if (op.src.shape().count() == 0) return Ok{};
        HALFTONE_CHECK(check(
            cast(addressOf(op.src), op.src.dtype(), addressOf(op.dst), to, op.src.shape().count(), s->get()),
            "cast"));
        return wait(*s, "cast");
    }

    Status run(const MatmulOp& op, Stream& stream) override
    {
        HALFTONE_TRY(s, prepare(op, stream));
        HALFTONE_CHECK(mine({&op.a, &op.b, &op.c}));
        const std::int64_t m = op.c.shape()[0], n = op.c.shape()[1], k = op.a.shape()[1];
        if (m == 0 || n == 0) return Ok{};
        const auto at = [](const Tensor& t) { return reinterpret_cast<float*>(addressOf(t)); };
        if (k == 0) {
            HALFTONE_CHECK(check(cudaMemsetAsync(at(op.c), 0, op.c.byteSize(), s->get()), "matrix product"));
        } else {
            HALFTONE_CHECK(
                check(matmul(s->blas(), at(op.a), at(op.b), at(op.c), m, n, k, op.transB), "matrix product"));
        }
        return wait(*s, "matrix product");
    }

    Status run(const QuantizeBlocksOp& op, Stream& stream) override
    {
        HALFTONE_TRY(s, prepare(op, stream));
        HALFTONE_CHECK(
            mine({&op.in, &op.packed.codes, &op.packed.scales, &op.packed.zeros, &op.packed.shared}));
        const std::int64_t rows = op.packed.logical[0], cols = op.packed.logical[1];
        HALFTONE_TRY(layout, op.packed.format->layout(rows, cols));
        if (op.options.encoder == Encoder::Best && op.packed.format->desc().best)
            return Error(Errc::Unsupported,
                         fmt::format("{}: the best encoder runs on the CPU only: choose the CPU or the "
                                     "reference encoder",
                                     op.packed.format->name()));
        if (rows == 0 || cols == 0) return clearPlanes(op.packed, *s);
        const WeightView in{addressOf(op.in), op.in.dtype(), rows, cols};
        HALFTONE_CHECK(check(
            quantizeBlocks(op.packed.format->desc(), in, viewOf(op.packed, layout), s->state(), s->get()),
            "quantize"));
        QuantizeState state{};
        HALFTONE_CHECK(check(
            cudaMemcpyAsync(&state, s->state(), sizeof state, cudaMemcpyDeviceToHost, s->get()), "quantize"));
        HALFTONE_CHECK(wait(*s, "quantize"));
        if (state.badRow == kNoRow) return Ok{};
        return nameBadRow(op, layout, static_cast<std::int64_t>(state.badRow), *s);
    }

    Status run(const DequantizeBlocksOp& op, Stream& stream) override
    {
        HALFTONE_TRY(s, prepare(op, stream));
        HALFTONE_CHECK(
            mine({&op.out, &op.packed.codes, &op.packed.scales, &op.packed.zeros, &op.packed.shared}));
        const std::int64_t rows = op.packed.logical[0], cols = op.packed.logical[1];
        if (rows == 0 || cols == 0) return Ok{};
        HALFTONE_TRY(layout, op.packed.format->layout(rows, cols));
        HALFTONE_CHECK(check(dequantizeBlocks(op.packed.format->desc(), viewOf(op.packed, layout), rows, cols,
                                              reinterpret_cast<float*>(addressOf(op.out)), s->get()),
                             "dequantize"));
        return wait(*s, "dequantize");
    }

    Status run(const BlockErrorsOp& op, Stream& stream) override
    {
        auto prepared = prepare(op, stream); // refuses it: supports() says so
        if (!prepared) return std::move(prepared).error();
        return Error(Errc::Internal, fmt::format("block errors reached {}", m_info.id));
    }

private:
    Status check(cudaError_t code, std::string_view what) const
    {
        if (code == cudaSuccess) return Ok{};
        return cudaFailure(code, m_info.id, what);
    }
    Status check(cublasStatus_t code, std::string_view what) const
    {
        if (code == CUBLAS_STATUS_SUCCESS) return Ok{};
        return cublasFailure(code, m_info.id, what);
    }
    // Kernels run later than they are launched: their errors show here.
    Status wait(const CudaStream& stream, std::string_view what) const
    {
        return check(cudaStreamSynchronize(stream.get()), what);
    }

    Result<CudaStream*> streamOf(Stream& stream) const
    {
        auto* mine = dynamic_cast<CudaStream*>(&stream);
        if (mine == nullptr)
            return Error(Errc::InvalidArgument, fmt::format("the stream is not one of {}", m_info.id));
        HALFTONE_CHECK(check(cudaSetDevice(m_index), "select"));
        return mine;
    }

    // What every op needs first: its checks, its type, and the calling thread on this GPU.
    template <class Op> Result<CudaStream*> prepare(const Op& op, Stream& stream) const
    {
        HALFTONE_CHECK(checkOp(op));
        const DType dtype = dtypeOf(op);
        if (!supports(idOf(op), dtype, formatOf(op)))
            return Error(Errc::Unsupported, fmt::format("{} of {} is not available on {}", nameOf(idOf(op)),
                                                        nameOf(dtype), m_info.id));
        return streamOf(stream);
    }
#define X(name)                                                                                              \
    static OpId idOf(const name##Op&) { return OpId::name; }
    HALFTONE_OPS(X)
#undef X

    Status mine(std::initializer_list<const Tensor*> tensors) const
    {
        for (const Tensor* tensor : tensors)
            if (!tensor->empty() && &tensor->device() != this)
                return Error(Errc::InvalidArgument, fmt::format("the tensor is on {}: copy it to {} first",
                                                                tensor->device().info().id, m_info.id));
        return Ok{};
    }

    Status clearPlanes(const PackedTensor& packed, const CudaStream& stream) const
    {
        for (const Tensor* plane : {&packed.codes, &packed.scales, &packed.zeros})
            if (!plane->empty())
                HALFTONE_CHECK(
                    check(cudaMemsetAsync(addressOf(*plane), 0, plane->byteSize(), stream.get()), "clear"));
        std::vector<std::byte> shared(packed.shared.empty() ? 0 : packed.shared.byteSize());
        packed.format->encodeShared({}, {}, shared);
        if (!shared.empty())
            HALFTONE_CHECK(check(cudaMemcpyAsync(addressOf(packed.shared), shared.data(), shared.size(),
                                                 cudaMemcpyHostToDevice, stream.get()),
                                 "clear"));
        return wait(stream, "clear");
    }

    // The CPU's encoder meets the same value and says where it is and what to do, in the same words.
    Status nameBadRow(const QuantizeBlocksOp& op, const PackedLayout& layout, std::int64_t row,
                      Stream& stream)
    {
        const std::int64_t cols = layout.cols;
        HALFTONE_TRY(state, streamOf(stream));
        ValueRange range;
        if (op.packed.format->desc().needsWholeTensor()) {
            QuantizeState found{};
            HALFTONE_CHECK(
                check(cudaMemcpy(&found, state->state(), sizeof found, cudaMemcpyDeviceToHost), "quantize"));
            range.min = floatOf(found.min);
            range.max = floatOf(found.max);
        }
        HALFTONE_TRY(raw, makeTensor(cpuDevice(), op.in.dtype(), Shape{1, cols}));
        HALFTONE_CHECK(run(CopyOp{op.in.rows(row, row + 1), raw}, stream));
        HALFTONE_TRY(values, makeTensor(cpuDevice(), DType::F32, Shape{1, cols}));
        HALFTONE_TRY(cpuStream, cpuDevice().makeStream());
        HALFTONE_CHECK(cpuDevice().run(CastOp{raw, values}, *cpuStream));
        HALFTONE_TRY(spare, makePacked(cpuDevice(), *op.packed.format, Shape{1, cols}));
        op.packed.format->encodeShared(range, {}, planesOf(spare).shared);
        HALFTONE_CHECK(
            op.packed.format->encodeRow(std::as_const(values).values<float>(), row, range, planesOf(spare)));
        return Error(Errc::Internal,
                     fmt::format("row {}: {} refused values that the CPU takes", row, m_info.id));
    }

    static float floatOf(std::int32_t orderedKey)
    {
        const std::int32_t bits = orderedKey < 0 ? orderedKey ^ 0x7fffffff : orderedKey;
        float x;
        std::memcpy(&x, &bits, sizeof x);
        return x;
    }

    const int m_index;
    const DeviceInfo m_info;
};

} // namespace

Result<std::shared_ptr<Device>> openGpu(int index, DeviceInfo info)
{
    return std::shared_ptr<Device>(std::make_shared<CudaDevice>(index, std::move(info)));
}

} // namespace halftone::cuda
