// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/device/device.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace halftone::test {

/// A CPU tensor with these raw bytes; `lead` spare bytes before them make it unaligned.
inline Tensor tensorOfBytes(DType dtype, const Shape& shape, std::span<const std::byte> bytes,
                            std::size_t lead = 0)
{
    auto storage = cpuDevice().allocate(bytes.size() + lead);
    if (!storage) return {};
    if (!bytes.empty()) std::memcpy((*storage)->host().data() + lead, bytes.data(), bytes.size());
    return {*storage, dtype, shape, lead};
}

template <class T> Tensor tensorOf(DType dtype, const Shape& shape, const std::vector<T>& values)
{
    return tensorOfBytes(dtype, shape, std::as_bytes(std::span(values)));
}

inline Tensor floatTensor(const Shape& shape, const std::vector<float>& values)
{
    return tensorOf(DType::F32, shape, values);
}

/// The bytes of a tensor on any device, by way of its own copy to the CPU.
inline std::vector<std::byte> bytesOnHost(const Tensor& tensor)
{
    if (tensor.empty()) return {};
    Device& device = tensor.device();
    auto host = makeTensor(cpuDevice(), tensor.dtype(), tensor.shape());
    auto stream = device.makeStream();
    if (!host || !stream) return {};
    if (!device.run(CopyOp{tensor, *host}, **stream) || !device.synchronize(**stream)) return {};
    const auto bytes = host->bytes();
    return {bytes.begin(), bytes.end()};
}

template <class T> std::vector<T> valuesOnHost(const Tensor& tensor)
{
    const auto bytes = bytesOnHost(tensor);
    std::vector<T> values(bytes.size() / sizeof(T));
    if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
    return values;
}

/// Runs one op on a stream of its own and waits.
template <class Op> Status runOn(Device& device, const Op& op)
{
    HALFTONE_TRY(stream, device.makeStream());
    HALFTONE_CHECK(device.run(op, *stream));
    return device.synchronize(*stream);
}

} // namespace halftone::test
