// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/io/weights.h"

#include "core/io/compressed_reader.h"
#include "core/io/decode.h"
#include "core/io/mapped_storage.h"
#include "core/io/text_names.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>
#include <new>
#include <numeric>

namespace halftone {

namespace {

// Names under which other programs keep the scales of a weight of 8-bit elements, or the scale of a whole
// NVFP4 weight. Without them the values would be read thousands of times too large.
std::string scaleSibling(const Checkpoint& checkpoint, const TensorInfo& t)
{
    constexpr std::string_view kWeight = ".weight";
    const bool bytes = t.stored.plain && bitsOf(*t.stored.plain) == 8 && *t.stored.plain != DType::Bool;
    const bool floats =
        t.stored.blocks != nullptr && t.stored.blocks->desc().family == FormatDesc::Family::NVFP4;
    if (!(bytes || floats) || !t.name.ends_with(kWeight)) return {};
    const std::string base = t.name.substr(0, t.name.size() - kWeight.size());
    for (const auto& name : {t.name + "_scale_inv", t.name + "_scale", base + ".scale", base + ".scales",
                             t.name + ".absmax", base + ".SCB"})
        if (checkpoint.find(name) != nullptr) return name;
    return {};
}

class WeightSetImpl final : public WeightSet {
public:
    explicit WeightSetImpl(std::shared_ptr<const Checkpoint> checkpoint) : m_checkpoint(std::move(checkpoint))
    {
        const CompressedReader compressed(*m_checkpoint);
        const auto tensors = m_checkpoint->tensors();
        m_all.reserve(tensors.size());
        for (std::uint32_t i = 0; i < tensors.size(); ++i) {
            if (compressed.isLeader(i)) {
                m_packed.push_back(compressed.read(i));
                m_packedIndex.push_back(static_cast<std::int32_t>(m_packed.size()) - 1);
                m_all.push_back(m_packed.back().info);
            } else if (!compressed.isPart(i)) {
                m_packedIndex.push_back(-1);
                m_all.push_back(single(i));
            }
        }
        m_byName.resize(m_all.size());
        std::iota(m_byName.begin(), m_byName.end(), 0u);
        std::ranges::stable_sort(m_byName, [&](auto a, auto b) { return m_all[a].name < m_all[b].name; });
    }

    const std::shared_ptr<const Checkpoint>& checkpoint() const override { return m_checkpoint; }
    std::span<const WeightInfo> all() const override { return m_all; }
    const WeightInfo* find(std::string_view name) const override
    {
        const auto at =
            std::lower_bound(m_byName.begin(), m_byName.end(), name,
                             [&](std::uint32_t i, std::string_view n) { return m_all[i].name < n; });
        return at != m_byName.end() && m_all[*at].name == name ? &m_all[*at] : nullptr;
    }

    Result<Tensor> loadRows(const WeightInfo& info, std::int64_t begin, std::int64_t end, DType want,
                            Device& device, std::stop_token stop) const override
    {
        HALFTONE_CHECK(readable(info));
        const auto* compressed = compressedOf(info);
        if (compressed == nullptr)
            return m_checkpoint->loadRows(part(info, 0), begin, end, want, device, std::move(stop));
        if (begin < 0 || begin > end || end > info.shape.rows())
            return Error(Errc::InvalidArgument, fmt::format("rows {} to {} asked for, but there are {}",
                                                            begin, end, info.shape.rows()))
                .in("tensor " + shownName(info.name));
        HALFTONE_TRY(planes, compressedPlanes(m_checkpoint, *compressed, begin, end));
        auto rows = decodePackedRows(planes, {0, end - begin, want}, device, std::move(stop));
        if (!rows && rows.error().code() == Errc::Cancelled) return rows;
        HALFTONE_CHECK(intact(info));
        return std::move(rows).in("tensor " + shownName(info.name));
    }

    Result<Tensor> source(const WeightInfo& info, Device& device, std::stop_token stop) const override
    {
        HALFTONE_CHECK(readable(info));
        const bool asStored =
            info.plain == DType::F32 || info.plain == DType::F16 || info.plain == DType::BF16;
        if (asStored && isHostDevice(device)) return m_checkpoint->mapped(part(info, 0));
        return loadRows(info, 0, info.shape.rows(), DType::F32, device, std::move(stop));
    }

    Result<PackedTensor> packed(const WeightInfo& info) const override
    {
        HALFTONE_CHECK(readable(info));
        const auto where = "tensor " + shownName(info.name);
        if (info.format == nullptr)
            return Error(Errc::InvalidArgument, fmt::format("is stored as {}, not quantized", info.type))
                .in(where);
        if (const auto* compressed = compressedOf(info))
            return compressedPlanes(m_checkpoint, *compressed, 0, info.shape.rows());
        HALFTONE_TRY(bytes, m_checkpoint->raw(part(info, 0)));
        PackedTensor packed;
        packed.format = info.format;
        packed.logical = {info.shape.rows(), info.shape.cols()};
        packed.codes = mappedPlane(m_checkpoint, bytes, info.shape.rows());
        return packed;
    }

    void release(const WeightInfo& info) const override
    {
        for (const auto i : info.parts)
            m_checkpoint->release(m_checkpoint->tensors()[i]);
    }
    Status intact(const WeightInfo& info) const override
    {
        for (const auto i : info.parts)
            HALFTONE_CHECK(m_checkpoint->intact(m_checkpoint->tensors()[i]));
        return Ok{};
    }

private:
    WeightInfo single(std::uint32_t index) const
    {
        const auto& t = m_checkpoint->tensors()[index];
        WeightInfo w;
        w.name = t.name;
        w.shape = t.shape;
        w.type = t.stored.name;
        w.format = t.stored.blocks;
        w.plain = t.stored.plain;
        w.whyOpaque = t.stored.whyOpaque;
        w.bytes = t.bytes;
        w.parts = {index};
        if (const auto bytes = m_checkpoint->raw(t); !bytes)
            w.whyOpaque = bytes.error().what();
        else if (const auto scale = scaleSibling(*m_checkpoint, t); w.whyOpaque.empty() && !scale.empty())
            w.whyOpaque = fmt::format("{} values with the scales {}: block-scaled {} is not supported yet",
                                      w.type, shownName(scale), w.type);
        return w;
    }

    static Status readable(const WeightInfo& info)
    {
        if (info.whyOpaque.empty()) return Ok{};
        return Error(Errc::Unsupported, info.whyOpaque).in("tensor " + shownName(info.name));
    }

    const TensorInfo& part(const WeightInfo& info, std::size_t i) const
    {
        return m_checkpoint->tensors()[info.parts[i]];
    }

    const CompressedWeightParts* compressedOf(const WeightInfo& info) const
    {
        // A copy of a WeightInfo is as good as the one in all().
        const auto* own = find(info.name);
        if (own == nullptr) return nullptr;
        const auto at = m_packedIndex[static_cast<std::size_t>(own - m_all.data())];
        return at < 0 ? nullptr : &m_packed[static_cast<std::size_t>(at)];
    }

    std::shared_ptr<const Checkpoint> m_checkpoint;
    std::vector<WeightInfo> m_all;
    std::vector<std::int32_t> m_packedIndex; ///< into m_packed, one a weight; -1: a single tensor
    std::vector<CompressedWeightParts> m_packed;
    std::vector<std::uint32_t> m_byName;
};

} // namespace

Result<std::shared_ptr<const WeightSet>> WeightSet::of(std::shared_ptr<const Checkpoint> checkpoint)
{
    if (checkpoint == nullptr) return Error(Errc::InvalidArgument, "no checkpoint given");
    try {
        return std::shared_ptr<const WeightSet>(std::make_shared<WeightSetImpl>(std::move(checkpoint)));
    } catch (const std::bad_alloc&) {
        return Error(Errc::OutOfMemory, "not enough memory to list the weights");
    }
}

} // namespace halftone
