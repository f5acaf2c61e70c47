// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/io/stored_weight.h"

#include <fmt/core.h>

namespace halftone {

Result<PackedTensor> StoredWeight::planes(std::int64_t, std::int64_t) const
{
    return Error(Errc::Internal, "this weight has no planes of its own");
}

Status StoredWeight::decode(std::int64_t, std::int64_t, std::span<float>) const
{
    return Error(Errc::Internal, "this weight is decoded through its planes");
}

StoredGroups::StoredGroups(std::shared_ptr<const Checkpoint> checkpoint)
    : m_checkpoint(std::move(checkpoint)), m_owner(m_checkpoint->tensors().size(), kNone)
{
}

const TensorInfo* StoredGroups::free(std::string_view name) const
{
    const auto* t = m_checkpoint->find(name);
    return t != nullptr && isFree(static_cast<std::uint32_t>(t - m_checkpoint->tensors().data())) ? t
                                                                                                  : nullptr;
}

void StoredGroups::add(std::string name, std::string_view packing,
                       std::initializer_list<const TensorInfo*> parts, Result<ReadableWeight> made)
{
    const auto number = static_cast<std::int32_t>(m_groups.size());
    StoredGroup group;
    WeightInfo& info = group.info;
    info.name = std::move(name);
    info.packing = packing;
    for (const auto* t : parts) {
        if (t == nullptr) continue;
        const auto index = static_cast<std::uint32_t>(t - m_checkpoint->tensors().data());
        m_owner[index] = number;
        info.parts.push_back(index);
        info.bytes += t->bytes;
        // A shard that is short must not be found out in the middle of the work.
        if (const auto bytes = m_checkpoint->raw(*t); !bytes && info.whyOpaque.empty())
            info.whyOpaque = bytes.error().what();
    }
    if (made) {
        info.shape = made->shape;
        info.type = std::move(made->type);
        info.format = made->format;
        info.note = std::move(made->note);
        if (!made->packing.empty()) info.packing = std::move(made->packing);
        if (info.whyOpaque.empty()) group.weight = std::move(made->weight);
    } else {
        const auto& leader = m_checkpoint->tensors()[info.parts.front()];
        info.shape = leader.shape;
        info.type = "packed " + leader.stored.name;
        if (info.whyOpaque.empty()) info.whyOpaque = made.error().what();
    }
    if (!info.whyOpaque.empty()) info.format = nullptr;
    m_groups.push_back(std::move(group));
}

const StoredGroup* StoredGroups::ledBy(std::uint32_t tensor) const
{
    if (isFree(tensor)) return nullptr;
    const auto& group = m_groups[static_cast<std::size_t>(m_owner[tensor])];
    return group.info.parts.front() == tensor ? &group : nullptr;
}

std::string shownType(const TensorInfo& tensor)
{
    return fmt::format("{} {}", tensor.stored.name, tensor.shape.text());
}

Result<ScaleType> scaleTypeOf(const TensorInfo& scale)
{
    if (scale.stored.plain == DType::F32) return ScaleType::F32;
    if (scale.stored.plain == DType::F16) return ScaleType::F16;
    if (scale.stored.plain == DType::BF16) return ScaleType::BF16;
    return unsupported(fmt::format("scales of type {} are not supported", scale.stored.name));
}

} // namespace halftone
