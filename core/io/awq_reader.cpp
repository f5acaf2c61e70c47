// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/checked.h"
#include "core/device/cpu/parallel.h"
#include "core/io/awq_codes.h"
#include "core/io/code_words.h"
#include "core/io/quant_config.h"
#include "core/io/stored_weight.h"
#include "core/io/text_names.h"
#include "core/io/turned_planes.h"

#include <fmt/core.h>
#include <optional>

// The layout that AutoAWQ writes ("gemm"). A weight X.weight [out, in] of 4 bits becomes
//   X.qweight I32 [in, out / 8]        codes of eight outputs a word, in AWQ's order
//   X.qzeros  I32 [groups, out / 8]    zero points, packed alike
//   X.scales  F16 [groups, out]

namespace halftone {

namespace {

struct AwqParts {
    const TensorInfo* codes = nullptr;
    const TensorInfo* zeros = nullptr;
    const TensorInfo* scales = nullptr;
};

class AwqWeight final : public StoredWeight {
public:
    AwqWeight(std::shared_ptr<const Checkpoint> checkpoint, const AwqParts& parts, const BlockFormat& format)
        : m_checkpoint(std::move(checkpoint)), m_parts(parts), m_format(format)
    {
    }

    Result<PackedTensor> planes(std::int64_t begin, std::int64_t end) const override
    {
        HALFTONE_TRY(words, m_checkpoint->raw(*m_parts.codes));
        HALFTONE_TRY(zeroWords, m_checkpoint->raw(*m_parts.zeros));
        HALFTONE_TRY(scales, m_checkpoint->raw(*m_parts.scales));
        const std::int64_t cols = m_parts.codes->shape[0], rows = m_parts.scales->shape[1],
                           groups = m_parts.scales->shape[0];
        HALFTONE_TRY(layout, m_format.layout(end - begin, cols));
        PackedTensor out;
        out.format = &m_format;
        out.logical = {end - begin, cols};
        HALFTONE_TRY(plane, turnedColumns(scales, groups, rows,
                                          static_cast<int>(bytesOfScale(m_format.desc().scale)), begin, end));
        out.scales = plane;
        HALFTONE_TRY(codes, makeTensor(cpuDevice(), DType::U8,
                                       {end - begin, static_cast<std::int64_t>(layout.codeRowBytes)}));
        HALFTONE_TRY(zeros, makeTensor(cpuDevice(), DType::U8, {end - begin, groups}));
        const auto codeBytes = codes.mutableBytes();
        const auto zeroBytes = zeros.values<std::uint8_t>();
        const auto at = [&](std::span<const std::byte> from, std::int64_t row, std::int64_t output) {
            const auto word = static_cast<std::size_t>(row * (rows / kAwqPerWord) + output / kAwqPerWord);
            return readLe<std::uint32_t>(from.subspan(4 * word)) >>
                       awqShift(static_cast<int>(output % kAwqPerWord)) &
                   15u;
        };
        // A tile of outputs runs down the inputs, so that a line of words serves all of the tile.
        constexpr std::int64_t kTile = 64;
        HALFTONE_CHECK(
            cpu::forRows(ceilDiv(end - begin, kTile), kTile * cols, 0, [&](std::int64_t tile, float*) {
                const std::int64_t first = begin + tile * kTile, last = std::min(end, first + kTile);
                for (std::int64_t i = 0; i < cols; i += 2)
                    for (std::int64_t o = first; o < last; ++o) {
                        const std::uint32_t high = i + 1 < cols ? at(words, i + 1, o) : 0u;
                        codeBytes[static_cast<std::size_t>(o - begin) * layout.codeRowBytes +
                                  static_cast<std::size_t>(i / 2)] =
                            static_cast<std::byte>(at(words, i, o) | high << 4);
                    }
                for (std::int64_t o = first; o < last; ++o) {
                    // Words are padded with zeros behind the last code.
                    for (auto b = static_cast<std::size_t>(ceilDiv(cols, std::int64_t{2}));
                         b < layout.codeRowBytes; ++b)
                        codeBytes[static_cast<std::size_t>(o - begin) * layout.codeRowBytes + b] = {};
                    for (std::int64_t g = 0; g < groups; ++g)
                        zeroBytes[static_cast<std::size_t>((o - begin) * groups + g)] =
                            static_cast<std::uint8_t>(at(zeroWords, g, o));
                }
            }));
        out.codes = codes;
        out.zeros = zeros;
        return out;
    }

private:
    std::shared_ptr<const Checkpoint> m_checkpoint;
    AwqParts m_parts;
    const BlockFormat& m_format;
};

Result<ReadableWeight> readable(const StoredGroups& groups, const AwqParts& parts, const QuantConfig& config)
{
    for (const auto* t : {parts.codes, parts.zeros})
        if (t == nullptr || t->stored.plain != DType::I32 || t->shape.rank() != 2)
            return unsupported(t == nullptr ? std::string("qzeros is missing beside qweight")
                                            : fmt::format("{} is {}, a matrix of I32 was expected",
                                                          shownName(t->name), shownType(*t)));
    if (!config.why.empty()) return unsupported(config.why);
    if (config.format.find("gemv") != std::string::npos)
        return unsupported("AWQ of the version gemv is not supported");
    if (config.bits && *config.bits != 4)
        return unsupported(fmt::format("AWQ weights of {} bits are not supported", *config.bits));
    HALFTONE_TRY(scale, scaleTypeOf(*parts.scales));
    const std::int64_t cols = parts.codes->shape[0], words = parts.codes->shape[1],
                       count = parts.scales->shape[0], rows = parts.scales->shape[1];
    if (cols == 0 || rows == 0 || count == 0 || rows % kAwqPerWord != 0 || rows / kAwqPerWord != words ||
        parts.zeros->shape[0] != count || parts.zeros->shape[1] != words)
        return unsupported(fmt::format("qweight {}, qzeros {} and scales {} are no AWQ weight of 4 bits",
                                       parts.codes->shape.text(), parts.zeros->shape.text(),
                                       parts.scales->shape.text()));
    const std::int64_t block = config.groupSize.value_or(cols % count == 0 ? cols / count : 0);
    if (block == 0 || (block < 0 ? 1 : ceilDiv(cols, block)) != count)
        return unsupported(fmt::format("scales have {} groups of {} inputs, group_size is {}", count, cols,
                                       config.groupSize ? std::to_string(*config.groupSize) : "not said"));
    HALFTONE_TRY(format, intGridFormat(4, GridRule::Asym, count == 1 ? FormatDesc::kWholeRow : block, scale));
    ReadableWeight out;
    out.shape = {rows, cols};
    out.type = format->name();
    out.format = format;
    out.weight = std::make_shared<AwqWeight>(groups.checkpoint(), parts, *format);
    return out;
}

} // namespace

void findAwq(StoredGroups& groups)
{
    const auto tensors = groups.checkpoint()->tensors();
    std::optional<QuantConfig> config;
    for (std::uint32_t i = 0; i < tensors.size(); ++i) {
        const std::string base(stemOf(tensors[i].name, ".qweight"));
        if (base.empty() || !groups.isFree(i) || groups.checkpoint()->find(base + ".weight") != nullptr)
            continue;
        const AwqParts parts{&tensors[i], groups.free(base + ".qzeros"), groups.free(base + ".scales")};
        if (parts.scales == nullptr || parts.scales->shape.rank() != 2) continue;
        if (!config) config = readQuantConfig(*groups.checkpoint());
        groups.add(base + ".weight", "awq", {parts.codes, parts.zeros, parts.scales},
                   readable(groups, parts, *config));
    }
}

} // namespace halftone
