// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/io/weight_layout.h"
#include "core/session/quantize.h"
#include "core/session/row_order.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace halftone {

/// How one weight gets into the output.
struct PlannedOutput {
    enum class How : std::uint8_t {
        Copy,     ///< the stored bytes of all its parts
        Convert,  ///< decoded, then written as a plain type
        Quantize, ///< encoded by the method
        Repack,   ///< the codes of a quantized weight in another layout
        Inline    ///< values made here (rotary factors)
    };
    How how = How::Copy;
    std::size_t planned = 0;              ///< index into QuantizePlan::weights; unused for Inline
    std::vector<std::size_t> tensors;     ///< indices into the layout: codes, scale, zero, shape; or one
    const WeightLayout* layout = nullptr; ///< of a quantized weight in safetensors
    DType convertTo = DType::F32;
    std::int64_t movedHeads = 0; ///< rows move (ropeRowOrder); 0: they stay
    RowMove move = RowMove::HfToGguf;
    std::vector<std::byte> inlineBytes;
};

/// A plan with all that writing needs.
struct OutputPlan {
    QuantizePlan plan;
    std::vector<PlannedOutput> outputs; ///< in the order of writing
    std::filesystem::path weightsFile;  ///< where the weights go
};

Result<OutputPlan> buildOutputPlan(const QuantizeRequest& request);

/// Which file the output names.
struct OutputTarget {
    Container container = Container::Safetensors;
    bool folder = false;
    std::filesystem::path weightsFile;
};
/// By the name's ending: .gguf, .safetensors, or a folder. InvalidArgument for the endings of other
/// formats.
Result<OutputTarget> outputTarget(const std::filesystem::path& output);

/// ggml's type number of a plain type, when GGUF has it.
std::optional<std::uint32_t> ggufTypeOf(DType dtype);

/// Time for a run from what it moves and computes, with rates measured once in this process.
std::chrono::nanoseconds estimateTime(std::uint64_t bytesRead, std::uint64_t bytesWritten, double values,
                                      double flops);

} // namespace halftone
