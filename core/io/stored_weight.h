// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/base/result.h"
#include "core/io/weights.h"

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace halftone {

/// The values of a weight that several tensors of a checkpoint make up. Rows are read on demand, so that no
/// more memory is held than what is asked for. Immutable; any thread.
class StoredWeight {
public:
    virtual ~StoredWeight() = default;
    /// Rows [begin, end) as planes of WeightInfo::format. For weights that have one.
    virtual Result<PackedTensor> planes(std::int64_t begin, std::int64_t end) const;
    /// Rows [begin, end) as floats, row-major. For weights without a format.
    virtual Status decode(std::int64_t begin, std::int64_t end, std::span<float> out) const;
};

/// One weight as found in a checkpoint.
struct StoredGroup {
    WeightInfo info;                            ///< parts: the leader first
    std::shared_ptr<const StoredWeight> weight; ///< null when info.whyOpaque says why
};

/// What a finder made out of the tensors of one weight.
struct ReadableWeight {
    Shape shape;
    std::string type;                    ///< for people; the format's name when there is one
    const BlockFormat* format = nullptr; ///< the convention holds planes of this format
    std::shared_ptr<const StoredWeight> weight;
    std::string note;
    std::string packing; ///< instead of the finder's, when the tensors decide
};

/// The groups of a checkpoint: every tensor belongs to one at most.
class StoredGroups {
public:
    explicit StoredGroups(std::shared_ptr<const Checkpoint> checkpoint);
    const std::shared_ptr<const Checkpoint>& checkpoint() const { return m_checkpoint; }
    /// The tensor of this name when it exists and belongs to no group yet.
    const TensorInfo* free(std::string_view name) const;
    bool isFree(std::uint32_t tensor) const { return m_owner[tensor] == kNone; }
    /// Adds a weight called `name` that is stored as `packing`; null parts are left out. An error of `made`
    /// becomes whyOpaque.
    void add(std::string name, std::string_view packing, std::initializer_list<const TensorInfo*> parts,
             Result<ReadableWeight> made);
    /// The group whose leader this tensor is.
    const StoredGroup* ledBy(std::uint32_t tensor) const;

private:
    static constexpr std::int32_t kNone = -1;
    std::shared_ptr<const Checkpoint> m_checkpoint;
    std::vector<StoredGroup> m_groups;
    std::vector<std::int32_t> m_owner; ///< into m_groups, one a tensor
};

// The finders, one a convention. They read headers, and no more than the index tensors of a weight.
void findCompressedTensors(StoredGroups& groups);
void findGptq(StoredGroups& groups);
void findAwq(StoredGroups& groups);
void findBitsAndBytes(StoredGroups& groups);
void findFp4(StoredGroups& groups);
void findScaledElements(StoredGroups& groups);

/// "module" of "module.suffix", or nothing when the name does not end so.
inline std::string_view stemOf(std::string_view name, std::string_view suffix)
{
    return name.size() > suffix.size() && name.ends_with(suffix) ? name.substr(0, name.size() - suffix.size())
                                                                 : std::string_view();
}

/// "F16 4 x 8": what a tensor is, for messages.
std::string shownType(const TensorInfo& tensor);
/// The type of a scale plane, or Unsupported.
Result<ScaleType> scaleTypeOf(const TensorInfo& scale);
inline Error unsupported(std::string text) { return {Errc::Unsupported, std::move(text)}; }

} // namespace halftone
