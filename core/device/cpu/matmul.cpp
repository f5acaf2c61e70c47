// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/device/cpu/matmul.h"

#include "core/device/device.h"

#include <cstring>
#include <fmt/core.h>
#include <omp.h>
#include <oneapi/dnnl/dnnl.hpp>

namespace halftone::cpu {

namespace {

// oneDNN takes its threads from OpenMP's setting of the calling thread, not from an argument.
class ThreadScope {
public:
    ThreadScope() : m_before(omp_get_max_threads()) { omp_set_num_threads(threadCount()); }
    ThreadScope(const ThreadScope&) = delete;
    ThreadScope& operator=(const ThreadScope&) = delete;
    ~ThreadScope() { omp_set_num_threads(m_before); }

private:
    int m_before;
};

void multiply(const MatmulOp& op)
{
    using Tag = dnnl::memory::format_tag;
    const std::int64_t m = op.c.shape()[0], n = op.c.shape()[1], k = op.a.shape()[1];
    // Made once: an engine owns nothing but the choice of the processor.
    static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
    const auto f32 = dnnl::memory::data_type::f32;
    const dnnl::memory::desc a({m, k}, f32, Tag::ab), b({k, n}, f32, op.transB ? Tag::ba : Tag::ab);
    const dnnl::memory::desc c({m, n}, f32, Tag::ab);
    const dnnl::matmul::primitive_desc desc(dnnl::matmul::desc(a, b, c), engine);
    dnnl::stream stream(engine);
    // oneDNN's handles are not const, but sources are only read.
    const auto handle = [](const Tensor& t) {
        return const_cast<std::byte*>(t.bytes().data()); // NOLINT(cppcoreguidelines-pro-type-const-cast)
    };
    dnnl::matmul(desc).execute(stream, {{DNNL_ARG_SRC, dnnl::memory(a, engine, handle(op.a))},
                                        {DNNL_ARG_WEIGHTS, dnnl::memory(b, engine, handle(op.b))},
                                        {DNNL_ARG_DST, dnnl::memory(c, engine, op.c.mutableBytes().data())}});
    stream.wait();
}

} // namespace

bool onednnSupportsMatmul(DType dtype, const BlockFormat*) { return dtype == DType::F32; }

Status onednnMatmul(const MatmulOp& op)
{
    if (op.c.byteSize() == 0) return Ok{};
    if (op.a.shape()[1] == 0) {
        // An empty sum; oneDNN refuses such shapes.
        std::memset(op.c.mutableBytes().data(), 0, op.c.mutableBytes().size());
        return Ok{};
    }
    try {
        const ThreadScope threads;
        multiply(op);
    } catch (const std::bad_alloc&) {
        return Error(Errc::OutOfMemory, "no memory for a matrix product");
    } catch (const dnnl::error& e) {
        const bool memory = e.status == dnnl_out_of_memory;
        return Error(memory ? Errc::OutOfMemory : Errc::Internal,
                     fmt::format("matrix product {} by {}: oneDNN says {}", op.a.shape().text(),
                                 op.b.shape().text(), e.what()));
    }
    return Ok{};
}

} // namespace halftone::cpu
