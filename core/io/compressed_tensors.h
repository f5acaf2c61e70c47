// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/base/export.h"
#include "core/base/result.h"
#include "core/io/writer.h"
#include "core/numeric/block_format.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace halftone {

// The "pack-quantized" layout of compressed-tensors, as llm-compressor writes and vLLM reads it. A weight
// X.weight [out, in] of b bits becomes
//   X.weight_packed      I32 [out, ceil(in b / 32)]  codes, a little-endian bit stream a row
//   X.weight_scale       [1], [out, 1] or [out, ceil(in / group)]
//   X.weight_zero_point  I32 [ceil(out b / 32), ceil(in / group)], asymmetric only, packed along rows;
//                        with one scale a tensor I8 [1], not packed and signed
//   X.weight_shape       I64 [2]
// Packed codes and zero points are stored unsigned, with 2^(b-1) added to the signed values.

/// One weight to be stored so.
struct CompressedWeight {
    std::string name; ///< "model.layers.0.mlp.up_proj.weight"; must end in ".weight"
    const BlockFormat* format = nullptr;
    std::string_view layout = "pack-quantized"; ///< compressed-tensors' name for how it is stored
};

/// The tensors that hold one weight, in the order codes, scale, zero (when the format has zero points),
/// shape.
struct CompressedTensors {
    OutputTensor codes, scale;
    std::optional<OutputTensor> zero;
    OutputTensor shape;
    /// All of them, in that order.
    HALFTONE_API std::vector<OutputTensor> list() const;
};

/// True when the layout can hold a weight of this name in this format: a planar integer grid on
/// "<module>.weight". Symmetric formats of both conventions decode alike.
HALFTONE_API bool isCompressible(std::string_view name, const BlockFormat& format);

/// InvalidArgument when the name, the format or the shape [out, in] does not fit the layout.
HALFTONE_API Result<CompressedTensors> compressedTensors(const CompressedWeight& weight, const Shape& shape);

/// Payload of weight_shape: two I64, little-endian.
HALFTONE_API std::vector<std::byte> compressedShapeBytes(const Shape& shape);

/// Payload of weight_zero_point from one zero point a byte (the zero plane of a PackedTensor), and back
/// for rows [begin, end). The sizes must be those of the layout.
HALFTONE_API std::vector<std::byte> packZeroPoints(const BlockFormat& format, const PackedLayout& layout,
                                                   std::span<const std::uint8_t> zeros);
HALFTONE_API std::vector<std::uint8_t> unpackZeroPoints(const BlockFormat& format, const PackedLayout& layout,
                                                        std::span<const std::byte> packed, std::int64_t begin,
                                                        std::int64_t end);

/// JSON text of "quantization_config": one config group for each format and layout, with only the keys that
/// compressed-tensors documents (it refuses others). A single one on linear layers is written with
/// the target "Linear"; otherwise the targets are module names. `ignored` are the names of weights that
/// stay as they are, as "<module>.weight" or "<module>".
HALFTONE_API Result<std::string> compressedConfig(std::span<const CompressedWeight> weights,
                                                  std::span<const std::string> ignored);

/// How some weights of a checkpoint are packed, from "quantization_config".
struct CompressedScheme {
    int bits = 4;
    bool symmetric = true;
    enum class Strategy : std::uint8_t { Tensor, Channel, Group } strategy = Strategy::Group;
    std::int64_t groupSize = 0;       ///< Group only
    std::vector<std::string> targets; ///< module names, class names, "re:..."
    friend bool operator==(const CompressedScheme&, const CompressedScheme&) = default;
};

/// The schemes of a config text: either the object itself or a config.json that holds it. Empty when there is
/// none, when it is of another method, or when it is not pack-quantized; `why` then says which.
HALFTONE_API std::vector<CompressedScheme> compressedSchemes(std::string_view json, std::string& why);

} // namespace halftone
