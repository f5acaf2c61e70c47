// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/io/checkpoint.h"

#include <array>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace halftone {

/// One weight as a person sees it: a stored tensor, or several that make up one quantized matrix (codes,
/// scales, zero points, as compressed-tensors, GPTQ, AWQ and others name them).
struct WeightInfo {
    std::string name;                    ///< "model.layers.0.mlp.up_proj.weight"
    Shape shape;                         ///< logical
    std::string type;                    ///< "BF16", "Q4_0", "int4.g128.f16"
    const BlockFormat* format = nullptr; ///< null: plain elements
    std::optional<DType> plain;
    std::string packing;              ///< convention of a weight of several tensors: "gptq", "awq", "fp8"
    std::string whyOpaque;            ///< not empty: values can't be read, and why
    std::string note;                 ///< what a person should know about its values; may be empty
    std::uint64_t bytes = 0;          ///< of all parts
    std::vector<std::uint32_t> parts; ///< indices into Checkpoint::tensors(): codes, scale, zero, shape
    bool isMatrix() const { return shape.rank() == 2; }
    /// Codes that are read with scales, whether or not they make up one of our formats.
    bool isPacked() const { return format != nullptr || !packing.empty(); }
    /// Its values are real numbers that can be read.
    bool isDecodable() const { return whyOpaque.empty() && (isPacked() || (plain && isFloat(*plain))); }
    /// source() is the file itself: nothing is decoded.
    bool isMappable() const
    {
        return !isPacked() && (plain == DType::F32 || plain == DType::F16 || plain == DType::BF16);
    }
    std::int64_t count() const { return shape.count(); }
    double bitsPerWeight() const
    {
        return count() == 0 ? 0 : 8.0 * static_cast<double>(bytes) / static_cast<double>(count());
    }
};

/// The weights of a checkpoint. Immutable; any thread. This, not Checkpoint, is what methods, views and
/// verify read: decoding through it is the only way stored bytes become numbers.
class HALFTONE_API WeightSet {
public:
    static Result<std::shared_ptr<const WeightSet>> of(std::shared_ptr<const Checkpoint> checkpoint);
    virtual ~WeightSet() = default;
    virtual const std::shared_ptr<const Checkpoint>& checkpoint() const = 0;
    virtual std::span<const WeightInfo> all() const = 0; ///< in file order
    virtual const WeightInfo* find(std::string_view name) const = 0;
    /// Rows [begin, end) decoded to `want` (F32, F16, BF16) on `device`.
    virtual Result<Tensor> loadRows(const WeightInfo& info, std::int64_t begin, std::int64_t end, DType want,
                                    Device& device, std::stop_token stop) const = 0;
    /// All values: as stored (zero copy) when that is F32, F16 or BF16 and the device is the CPU,
    /// decoded to F32 otherwise. What quantizers read.
    virtual Result<Tensor> source(const WeightInfo& info, Device& device, std::stop_token stop) const = 0;
    /// The packed planes of a quantized weight, on the CPU.
    virtual Result<PackedTensor> packed(const WeightInfo& info) const = 0;
    virtual void release(const WeightInfo& info) const = 0;
    virtual Status intact(const WeightInfo& info) const = 0;
    /// An error met while working on one weight, with the weight's name. A numeric one also gets the file
    /// and, where the weight holds NaN or Inf, the row and column in the whole of it with the remedy:
    /// methods see pieces and name rows inside them.
    Error placed(const WeightInfo& info, Error error) const;
};

} // namespace halftone
