// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/base/export.h"
#include "core/base/result.h"
#include "core/device/ops.h"
#include "core/io/writer.h"
#include "core/numeric/block_format.h"

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace halftone {

class WeightLayout;

/// A quantized weight and the convention that it is stored in.
struct LaidOutWeight {
    std::string name; ///< "model.layers.0.mlp.up_proj.weight"
    const BlockFormat* format = nullptr;
    const WeightLayout* layout = nullptr;
};

/// One convention of storing quantized weights in safetensors: names, types and order of the tensors, and
/// what config.json says about them. Stateless; lives as long as the program.
class HALFTONE_API WeightLayout {
public:
    virtual ~WeightLayout() = default;
    /// "gptq": what WeightInfo::packing says when such a file is read.
    virtual std::string_view name() const = 0;
    /// Empty when the layout can hold the weight without loss; else why not, with the remedy. A shape with no
    /// rows stands for any.
    virtual std::string whyNot(const BlockFormat& format, const Shape& shape) const = 0;
    /// The tensors of one weight, for a name that ends in ".weight" and a weight that fits.
    virtual Result<std::vector<OutputTensor>> tensors(const std::string& name, const BlockFormat& format,
                                                      const Shape& shape) const = 0;
    /// The format as which the stored weight is read back: the same values, perhaps with planes that the
    /// layout can't do without.
    virtual const BlockFormat& storedFormat(const BlockFormat& format) const { return format; }
    /// The planes as they are read back.
    virtual Result<PackedTensor> storedPlanes(const PackedTensor& planes) const { return planes; }
    /// Hands the payloads of tensors() to `sink`, each whole and in order. `planes` are storedPlanes(), on
    /// the CPU. Numeric for a zero point that the layout can't hold, naming row, group and remedy.
    using Sink = std::function<Status(std::size_t tensor, std::span<const std::byte> bytes)>;
    virtual Status write(const PackedTensor& planes, const Sink& sink) const = 0;
};

/// The layout called so ("gptq", "awq", ...), or for "auto" the usual one of the format: that of
/// compressed-tensors where it has one. InvalidArgument when none can hold the format.
HALFTONE_API Result<const WeightLayout*> weightLayout(std::string_view choice, const BlockFormat& format);
/// What a person can choose: "auto" first.
HALFTONE_API std::vector<std::string> weightLayoutChoices();

/// JSON text of "quantization_config" for what was laid out; `ignored` are names of the linear weights that
/// stay as they are. InvalidArgument when one file can't say all of it: other layouts beside each other, or
/// several formats where the config has room for one.
HALFTONE_API Result<std::string> layoutConfig(std::span<const LaidOutWeight> weights,
                                              std::span<const std::string> ignored);

} // namespace halftone
