// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/numeric/block_format.h"
#include "core/numeric/element_format.h"
#include "core/numeric/gguf_formats.h"
#include "core/numeric/int_grid_format.h"

#include <charconv>
#include <fmt/core.h>
#include <map>
#include <memory>
#include <mutex>

namespace halftone {

namespace {

// The formats made so far. They live to the end of the program, so pointers to them never dangle; the
// registry itself is leaked for the same reason (other statics may still use formats while they die).
class Registry {
public:
    Registry() : m_blocks(makeGgufFormats()) {}
    const std::vector<std::unique_ptr<const BlockFormat>>& blocks() const { return m_blocks; }
    /// The one of this name that was made first.
    const BlockFormat* keep(std::unique_ptr<const BlockFormat> made)
    {
        const std::lock_guard lock(m_mutex);
        auto& slot = m_planar[made->name()];
        if (slot == nullptr) slot = std::move(made);
        return slot.get();
    }
    const BlockFormat* grid(int bits, GridRule rule, std::int64_t blockSize, ScaleType scale)
    {
        return keep(std::make_unique<IntGridFormat>(bits, rule, blockSize, scale));
    }

private:
    std::vector<std::unique_ptr<const BlockFormat>> m_blocks;
    std::mutex m_mutex; ///< guards m_planar
    std::map<std::string, std::unique_ptr<const BlockFormat>> m_planar;
};

Registry& registry()
{
    static auto* const all = new Registry;
    return *all;
}

// A decimal number without sign, leading zero or rest: one text a format.
std::optional<std::int64_t> plainNumber(std::string_view text)
{
    if (text.empty() || text.front() < '1' || text.front() > '9') return std::nullopt;
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return value;
}

std::optional<std::int64_t> blockSizeNamed(std::string_view text)
{
    if (text == "t") return FormatDesc::kWholeTensor;
    if (text == "c") return FormatDesc::kWholeRow;
    return text.starts_with('g') ? plainNumber(text.substr(1)) : std::nullopt;
}

std::optional<ScaleType> scaleTypeNamed(std::string_view text)
{
    if (text == "f32") return ScaleType::F32;
    if (text == "f16") return ScaleType::F16;
    if (text == "bf16") return ScaleType::BF16;
    return std::nullopt;
}

Error unknownFormat(std::string_view name, std::string_view why)
{
    std::string known;
    for (const auto& block : registry().blocks())
        known += block->name() + ", ";
    std::string heads;
    for (const FormatHead& head : formatHeads())
        heads += fmt::format("{}{}.{}.{}", heads.empty() ? "" : ", ", head.name, groupName(head.usualBlock),
                             head.tails.front());
    return {Errc::InvalidArgument,
            fmt::format("format '{}': {}; known are {}int<bits>[a|f].<t|c|gN>.<f32|f16|bf16>, for example "
                        "int4.g128.f16, and in other groups as well {}",
                        name, why, known, heads)};
}

} // namespace

Result<const BlockFormat*> intGridFormat(int bits, GridRule rule, std::int64_t blockSize, ScaleType scale)
{
    if (bits < 2 || bits > 8)
        return Error(Errc::InvalidArgument, fmt::format("{} bits: an integer grid has 2 to 8", bits));
    if (scale > ScaleType::BF16)
        return Error(Errc::InvalidArgument, "an integer grid has scales in f32, f16 or bf16");
    if (blockSize <= 0 && blockSize != FormatDesc::kWholeRow && blockSize != FormatDesc::kWholeTensor)
        return Error(Errc::InvalidArgument, fmt::format("group size {} must be at least 1", blockSize));
    return registry().grid(bits, rule, blockSize, scale);
}

Result<const BlockFormat*> formatNamed(std::string_view name)
{
    for (const auto& block : registry().blocks())
        if (block->name() == name) return block.get();
    const auto first = name.find('.');
    const auto second = first == std::string_view::npos ? first : name.find('.', first + 1);
    if (second == std::string_view::npos) return unknownFormat(name, "group or scales are missing");
    const auto group = name.substr(first + 1, second - first - 1);
    const auto blockSize = blockSizeNamed(group);
    if (!blockSize) return unknownFormat(name, fmt::format("group '{}' must be t, c or g1, g2, ...", group));
    auto head = name.substr(0, first);
    const auto tail = name.substr(second + 1);
    if (!head.starts_with("int")) {
        auto made = elementFormatNamed(head, *blockSize, tail);
        if (!made) return unknownFormat(name, made.error().line());
        return registry().keep(std::move(*made));
    }
    head.remove_prefix(3);
    GridRule rule = GridRule::SymRestricted;
    if (head.ends_with('a') || head.ends_with('f')) {
        rule = head.back() == 'a' ? GridRule::Asym : GridRule::SymFull;
        head.remove_suffix(1);
    }
    const auto bits = plainNumber(head);
    if (!bits || *bits < 2 || *bits > 8)
        return unknownFormat(name, fmt::format("bits '{}' must be 2 to 8", head));
    const auto scale = scaleTypeNamed(tail);
    if (!scale) return unknownFormat(name, fmt::format("scale type '{}' must be f32, f16 or bf16", tail));
    return intGridFormat(static_cast<int>(*bits), rule, *blockSize, *scale);
}

const BlockFormat* formatOfGgufType(std::uint32_t type)
{
    for (const auto& block : registry().blocks())
        if (block->ggufType() == type) return block.get();
    return nullptr;
}

std::vector<const BlockFormat*> listedFormats()
{
    std::vector<const BlockFormat*> list;
    for (const auto& block : registry().blocks())
        if (!block->desc().readOnly) list.push_back(block.get());
    for (int bits = 2; bits <= 8; ++bits)
        for (const auto rule : {GridRule::SymRestricted, GridRule::SymFull, GridRule::Asym})
            for (const std::int64_t size : {std::int64_t{32}, std::int64_t{64}, std::int64_t{128},
                                            FormatDesc::kWholeRow, FormatDesc::kWholeTensor})
                list.push_back(registry().grid(bits, rule, size, ScaleType::F16));
    for (const std::string& name : usualElementFormats())
        if (const auto format = formatNamed(name)) list.push_back(*format);
    return list;
}

} // namespace halftone
