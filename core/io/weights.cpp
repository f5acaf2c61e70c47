// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/io/weights.h"

#include "core/io/decode.h"
#include "core/io/mapped_storage.h"
#include "core/io/scale_siblings.h"
#include "core/io/stored_weight.h"
#include "core/io/text_names.h"

#include <algorithm>
#include <fmt/core.h>
#include <new>
#include <numeric>

namespace halftone {

namespace {

// GGUF keeps the scale of a whole NVFP4 weight in a tensor beside it.
bool isTensorScaled(const TensorInfo& t)
{
    return t.stored.blocks != nullptr && t.stored.blocks->desc().family == FormatDesc::Family::NVFP4;
}

class WeightSetImpl final : public WeightSet {
public:
    explicit WeightSetImpl(std::shared_ptr<const Checkpoint> checkpoint) : m_checkpoint(std::move(checkpoint))
    {
        StoredGroups groups(m_checkpoint);
        for (const auto find :
             {findCompressedTensors, findGptq, findAwq, findBitsAndBytes, findFp4, findScaledElements})
            find(groups);
        const auto tensors = m_checkpoint->tensors();
        m_all.reserve(tensors.size());
        for (std::uint32_t i = 0; i < tensors.size(); ++i) {
            if (const auto* group = groups.ledBy(i)) {
                m_all.push_back(group->info);
                m_stored.push_back(group->weight);
            } else if (groups.isFree(i)) {
                m_all.push_back(single(i));
                m_stored.emplace_back();
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
        const auto* stored = storedOf(info);
        if (stored == nullptr)
            return m_checkpoint->loadRows(part(info, 0), begin, end, want, device, std::move(stop));
        if (begin < 0 || begin > end || end > info.shape.rows())
            return Error(Errc::InvalidArgument, fmt::format("rows {} to {} asked for, but there are {}",
                                                            begin, end, info.shape.rows()))
                .in("tensor " + shownName(info.name));
        auto rows = storedRows(info, *stored, {begin, end, want}, device, stop);
        if (!rows && rows.error().code() == Errc::Cancelled) return rows;
        HALFTONE_CHECK(intact(info));
        return std::move(rows).in("tensor " + shownName(info.name));
    }

    Result<Tensor> source(const WeightInfo& info, Device& device, std::stop_token stop) const override
    {
        HALFTONE_CHECK(readable(info));
        if (info.isMappable() && isHostDevice(device)) return m_checkpoint->mapped(part(info, 0));
        return loadRows(info, 0, info.shape.rows(), DType::F32, device, std::move(stop));
    }

    Result<PackedTensor> packed(const WeightInfo& info) const override
    {
        HALFTONE_CHECK(readable(info));
        const auto where = "tensor " + shownName(info.name);
        if (info.format == nullptr)
            return Error(Errc::InvalidArgument, fmt::format("is stored as {}, not quantized", info.type))
                .in(where);
        if (const auto* stored = storedOf(info)) {
            auto planes = stored->planes(0, info.shape.rows());
            HALFTONE_CHECK(intact(info));
            return std::move(planes).in(where);
        }
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
        else if (const auto* scale = scaleSibling(*m_checkpoint, t); scale != nullptr && isTensorScaled(t))
            w.whyOpaque = fmt::format("{} values with the scales {}: block-scaled {} is not supported yet",
                                      w.type, shownName(scale->name), w.type);
        else if (w.whyOpaque.empty())
            w.note = noteOnScales(*m_checkpoint, t);
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

    const StoredWeight* storedOf(const WeightInfo& info) const
    {
        // A copy of a WeightInfo is as good as the one in all().
        const auto* own = find(info.name);
        return own == nullptr ? nullptr : m_stored[static_cast<std::size_t>(own - m_all.data())].get();
    }

    static Result<Tensor> storedRows(const WeightInfo& info, const StoredWeight& stored,
                                     const RowRange& range, Device& device, const std::stop_token& stop)
    {
        if (info.format == nullptr)
            return computedRows(info.shape.cols(), range, device, stop,
                                [&](std::int64_t b, std::int64_t e, std::span<float> out) {
                                    return stored.decode(b, e, out);
                                });
        HALFTONE_TRY(planes, stored.planes(range.begin, range.end));
        return decodePackedRows(planes, {0, range.end - range.begin, range.want}, device, stop);
    }

    std::shared_ptr<const Checkpoint> m_checkpoint;
    std::vector<WeightInfo> m_all;
    std::vector<std::shared_ptr<const StoredWeight>> m_stored; ///< one a weight; null: a single tensor
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
