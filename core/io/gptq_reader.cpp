// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/checked.h"
#include "core/device/cpu/parallel.h"
#include "core/io/code_words.h"
#include "core/io/indexed_grid.h"
#include "core/io/quant_config.h"
#include "core/io/stored_weight.h"
#include "core/io/text_names.h"
#include "core/io/turned_planes.h"

#include <algorithm>
#include <fmt/core.h>
#include <optional>

// The layout that AutoGPTQ and GPTQModel write. A weight X.weight [out, in] of b bits becomes
//   X.qweight I32 [ceil(in b / 32), out]       codes, a dense bit stream down each column
//   X.qzeros  I32 [groups, ceil(out b / 32)]   zero points, a dense bit stream along each row
//   X.scales  F16 [groups, out]
//   X.g_idx   I32 [in]                         the group of each input; may be absent
// Version 1 ("gptq") stores zero points minus 1, version 2 ("gptq_v2") as they are.

namespace halftone {

namespace {

struct GptqParts {
    const TensorInfo* codes = nullptr;
    const TensorInfo* zeros = nullptr;
    const TensorInfo* scales = nullptr;
    const TensorInfo* index = nullptr;
};

class GptqWeight final : public StoredWeight {
public:
    GptqWeight(std::shared_ptr<const Checkpoint> checkpoint, const GptqParts& parts,
               const BlockFormat& format, std::int64_t cols, int zeroOffset)
        : m_checkpoint(std::move(checkpoint)), m_parts(parts), m_format(format), m_cols(cols),
          m_zeroOffset(zeroOffset)
    {
    }

    Result<PackedTensor> planes(std::int64_t begin, std::int64_t end) const override
    {
        HALFTONE_TRY(words, m_checkpoint->raw(*m_parts.codes));
        HALFTONE_TRY(scales, m_checkpoint->raw(*m_parts.scales));
        const std::int64_t rows = m_parts.scales->shape[1], groups = m_parts.scales->shape[0];
        PackedTensor out;
        out.format = &m_format;
        out.logical = {end - begin, m_cols};
        // Both layouts are dense streams of codes along the inputs: only the words change places.
        HALFTONE_TRY(codes, turnedColumns(words, m_parts.codes->shape[0], rows, 4, begin, end));
        HALFTONE_TRY(plane, turnedColumns(scales, groups, rows,
                                          static_cast<int>(bytesOfScale(m_format.desc().scale)), begin, end));
        HALFTONE_TRY(zeros, zeroPoints(begin, end, groups));
        out.codes = codes;
        out.scales = plane;
        if (m_format.desc().zeroPoint) out.zeros = zeros;
        return out;
    }

private:
    Result<Tensor> zeroPoints(std::int64_t begin, std::int64_t end, std::int64_t groups) const
    {
        HALFTONE_TRY(words, m_checkpoint->raw(*m_parts.zeros));
        HALFTONE_TRY(plane, makeTensor(cpuDevice(), DType::U8, {end - begin, groups}));
        const auto out = plane.values<std::uint8_t>();
        const int bits = m_format.desc().bits;
        const auto rowBytes = static_cast<std::size_t>(m_parts.zeros->shape[1]) * 4;
        const bool free = m_format.desc().zeroPoint;
        const std::uint32_t middle = 1u << (bits - 1);
        for (std::int64_t g = 0; g < groups; ++g) {
            const auto row = words.subspan(static_cast<std::size_t>(g) * rowBytes, rowBytes);
            for (std::int64_t o = begin; o < end; ++o) {
                const std::uint32_t zero = codeAt(row, static_cast<std::uint64_t>(o), bits) +
                                           static_cast<std::uint32_t>(m_zeroOffset);
                if (!free && zero != middle)
                    return Error(Errc::BadFormat,
                                 fmt::format("quantization_config says sym, but the zero point of output {}, "
                                             "group {} is {}, not {}; set sym to false there",
                                             o, g, zero, middle));
                if (zero > 255)
                    return Error(Errc::BadFormat,
                                 fmt::format("the zero point of output {}, group {} is {}", o, g, zero));
                out[static_cast<std::size_t>((o - begin) * groups + g)] = static_cast<std::uint8_t>(zero);
            }
        }
        return std::move(plane);
    }

    std::shared_ptr<const Checkpoint> m_checkpoint;
    GptqParts m_parts;
    const BlockFormat& m_format;
    std::int64_t m_cols;
    int m_zeroOffset;
};

/// Sizes of one weight as its tensors give them.
struct GptqSizes {
    std::int64_t rows = 0, cols = 0, groups = 0;
    int bits = 4;
};

// Bits that fit the words of qweight and qzeros; what the config says is checked like any other.
Result<GptqSizes> sizesOf(const GptqParts& parts, const QuantConfig& config)
{
    GptqSizes s;
    s.rows = parts.scales->shape[1];
    s.groups = parts.scales->shape[0];
    const std::int64_t words = parts.codes->shape[0];
    const auto fits = [&](int bits) {
        if (s.rows > (std::int64_t(1) << 56) || words > (std::int64_t(1) << 56)) return false;
        s.cols = parts.index != nullptr && parts.index->shape.rank() == 1 ? parts.index->shape[0]
                                                                          : words * 32 / bits;
        return s.cols > 0 && s.cols < (std::int64_t(1) << 56) &&
               ceilDiv(s.cols * bits, std::int64_t{32}) == words && parts.zeros->shape[0] == s.groups &&
               parts.zeros->shape[1] == ceilDiv(s.rows * bits, std::int64_t{32});
    };
    for (const int bits : {4, 8, 2, 3, 5, 6, 7})
        if ((!config.bits || *config.bits == bits) && fits(bits)) {
            s.bits = bits;
            return s;
        }
    return unsupported(fmt::format("qweight {}, qzeros {} and scales {} are no weight of {} bits",
                                   parts.codes->shape.text(), parts.zeros->shape.text(),
                                   parts.scales->shape.text(),
                                   config.bits ? std::to_string(*config.bits) : "2, 3, 4 or 8"));
}

Result<std::int64_t> blockOf(const GptqSizes& s, const QuantConfig& config)
{
    const std::int64_t told = config.groupSize.value_or(s.cols % s.groups == 0 ? s.cols / s.groups : 0);
    if (told == 0)
        return unsupported(
            fmt::format("{} groups don't divide {} inputs, and no config says group_size", s.groups, s.cols));
    const std::int64_t groups = told < 0 ? 1 : ceilDiv(s.cols, told);
    if (groups != s.groups)
        return unsupported(fmt::format("group_size {} makes {} groups of {} inputs, scales have {}", told,
                                       groups, s.cols, s.groups));
    return s.groups == 1 ? FormatDesc::kWholeRow : told;
}

// Whether the first and the last group have the zero points of a symmetric grid: all are looked at when
// they are read.
Result<bool> looksSymmetric(const Checkpoint& checkpoint, const TensorInfo& zeros, const GptqSizes& s,
                            int offset)
{
    HALFTONE_TRY(words, checkpoint.raw(zeros));
    const auto rowBytes = static_cast<std::size_t>(zeros.shape[1]) * 4;
    for (const std::int64_t g : {std::int64_t{0}, s.groups - 1})
        for (std::int64_t o = 0; o < s.rows; ++o)
            if (codeAt(words.subspan(static_cast<std::size_t>(g) * rowBytes, rowBytes),
                       static_cast<std::uint64_t>(o), s.bits) +
                    static_cast<std::uint32_t>(offset) !=
                1u << (s.bits - 1))
                return false;
    return true;
}

Result<ReadableWeight> readable(const StoredGroups& groups, const GptqParts& parts, const QuantConfig& config)
{
    const auto& checkpoint = *groups.checkpoint();
    if (parts.codes->stored.plain != DType::I32 || parts.codes->shape.rank() != 2)
        return unsupported(
            fmt::format("qweight is {}, a matrix of I32 was expected", shownType(*parts.codes)));
    if (parts.scales == nullptr || parts.zeros == nullptr)
        return unsupported(
            fmt::format("{} is missing beside qweight", parts.scales == nullptr ? "scales" : "qzeros"));
    if (parts.zeros->stored.plain != DType::I32 || parts.zeros->shape.rank() != 2 ||
        parts.scales->shape.rank() != 2)
        return unsupported(fmt::format("qzeros is {}, scales are {}: matrices of I32 and F16 were expected",
                                       shownType(*parts.zeros), shownType(*parts.scales)));
    if (!config.why.empty()) return unsupported(config.why);
    for (const char* other : {"marlin", "gptq_p", "exllama", "bitblas", "qqq"})
        if (config.format.find(other) != std::string::npos)
            return unsupported(fmt::format("the GPTQ format {} is not supported", shownName(config.format)));
    HALFTONE_TRY(scale, scaleTypeOf(*parts.scales));
    if (parts.scales->shape.count() == 0 || parts.codes->shape[1] != parts.scales->shape[1])
        return unsupported(fmt::format("qweight has {} outputs, scales have {}", parts.codes->shape[1],
                                       parts.scales->shape[1]));
    HALFTONE_TRY(s, sizesOf(parts, config));
    HALFTONE_TRY(block, blockOf(s, config));
    const bool second = config.format.find("v2") != std::string::npos;
    const int offset = second ? 0 : 1;
    bool symmetric = config.symmetric.value_or(false);
    if (symmetric) {
        HALFTONE_TRY(looks, looksSymmetric(checkpoint, *parts.zeros, s, offset));
        symmetric = looks;
    }
    HALFTONE_TRY(format, intGridFormat(s.bits, symmetric ? GridRule::SymFull : GridRule::Asym, block, scale));
    HALFTONE_TRY(layout, format->layout(s.rows, s.cols));
    if (layout.codeBytes != parts.codes->bytes || layout.scaleBytes != parts.scales->bytes)
        return unsupported(
            fmt::format("the parts don't have the sizes of {} x {} in {}", s.rows, s.cols, format->name()));
    ReadableWeight out;
    out.shape = {s.rows, s.cols};
    out.type = format->name();
    out.format = format;
    out.weight = std::make_shared<GptqWeight>(groups.checkpoint(), parts, *format, s.cols, offset);
    if (config.method.empty()) out.note = "no config says which version of GPTQ it is: read as version 1";
    if (parts.index == nullptr) return out;
    HALFTONE_TRY(group, readGroupIndex(checkpoint, *parts.index, s.cols, s.groups, block));
    if (group.empty()) return out;
    out.type += ", ordered";
    out.format = nullptr;
    out.weight = indexedGrid(std::move(out.weight), *format, std::move(group));
    return out;
}

} // namespace

void findGptq(StoredGroups& groups)
{
    const auto tensors = groups.checkpoint()->tensors();
    std::optional<QuantConfig> config;
    for (std::uint32_t i = 0; i < tensors.size(); ++i) {
        const std::string base(stemOf(tensors[i].name, ".qweight"));
        if (base.empty() || !groups.isFree(i) || groups.checkpoint()->find(base + ".weight") != nullptr)
            continue;
        const auto part = [&](const char* suffix) { return groups.free(base + suffix); };
        const GptqParts parts{&tensors[i], part(".qzeros"), part(".scales"), part(".g_idx")};
        // AWQ packs along the outputs instead: its words are fewer than the scales.
        if (parts.scales != nullptr && parts.scales->shape.rank() == 2 && tensors[i].shape.rank() == 2 &&
            tensors[i].shape[1] != parts.scales->shape[1] && parts.index == nullptr)
            continue;
        if (!config) config = readQuantConfig(*groups.checkpoint());
        const bool second = config->format.find("v2") != std::string::npos;
        groups.add(base + ".weight", second ? "gptq-v2" : "gptq",
                   {parts.codes, parts.zeros, parts.scales, parts.index}, readable(groups, parts, *config));
    }
}

} // namespace halftone
