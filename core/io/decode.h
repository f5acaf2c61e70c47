// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/base/result.h"
#include "core/device/device.h"

#include <cstdint>
#include <functional>
#include <span>
#include <stop_token>

namespace halftone {

/// Rows [begin, end) of a tensor seen as a matrix, and the type to decode them to (F32, F16, BF16).
struct RowRange {
    std::int64_t begin = 0, end = 0;
    DType want = DType::F32;
};

/// Both work in chunks of some megabytes and ask `stop` between them. What the device can't do is done on the
/// CPU and copied over. InvalidArgument for a range outside the tensor or another type.
Result<Tensor> decodePlainRows(const Tensor& source, const RowRange& range, Device& device,
                               std::stop_token stop);
/// Planes as ops.h describes them, on the CPU, of any alignment.
Result<Tensor> decodePackedRows(const PackedTensor& source, const RowRange& range, Device& device,
                                std::stop_token stop);

/// Rows that `decode` makes as floats, row-major, piece by piece.
using RowDecoder = std::function<Status(std::int64_t begin, std::int64_t end, std::span<float> out)>;
Result<Tensor> computedRows(std::int64_t cols, const RowRange& range, Device& device,
                            const std::stop_token& stop, const RowDecoder& decode);

/// True for the devices whose memory is the host's.
bool isHostDevice(const Device& device);

} // namespace halftone
