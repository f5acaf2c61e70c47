// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/io/compressed_tensors.h"
#include "core/io/weights.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace halftone {

/// The tensors that make up one pack-quantized weight, as a weight.
struct CompressedWeightParts {
    WeightInfo info; ///< parts in the order codes, scale, zero, shape, as far as they exist
    std::uint32_t codes = 0, scale = 0, zero = 0; ///< tensor indices; zero: only with zero points
    PackedLayout layout;
};

/// Finds the compressed-tensors groups of a checkpoint. Its answers hold while the checkpoint lives.
class CompressedReader {
public:
    explicit CompressedReader(const Checkpoint& checkpoint);
    /// True for X.weight_packed, which stands for the weight.
    bool isLeader(std::uint32_t tensor) const { return m_role[tensor] == Role::Leader; }
    /// True for a scale, zero point or shape that belongs to a leader.
    bool isPart(std::uint32_t tensor) const { return m_role[tensor] == Role::Part; }
    /// The weight of a leader; info.whyOpaque says why when its values can't be read.
    CompressedWeightParts read(std::uint32_t leader) const;

private:
    enum class Role : std::uint8_t { Single, Leader, Part };
    Result<CompressedWeightParts> readable(std::uint32_t leader, const std::string& base) const;
    Result<Shape> storedShape(const TensorInfo& shape) const;
    Result<const BlockFormat*> formatFor(const std::string& base, const Shape& shape, const TensorInfo& codes,
                                         const TensorInfo& scale, const TensorInfo* zero) const;
    bool fitsScheme(const CompressedScheme& scheme, const Shape& shape, const TensorInfo& codes,
                    const TensorInfo& scale, bool zero) const;
    const TensorInfo* part(const std::string& base, const char* suffix) const;

    const Checkpoint& m_checkpoint;
    std::vector<Role> m_role;
    std::vector<CompressedScheme> m_schemes;
    std::string m_why;
};

/// Rows [begin, end) as planes; codes and scales share the mapped file. BadFormat when a part is cut.
Result<PackedTensor> compressedPlanes(const std::shared_ptr<const Checkpoint>& checkpoint,
                                      const CompressedWeightParts& weight, std::int64_t begin,
                                      std::int64_t end);

} // namespace halftone
