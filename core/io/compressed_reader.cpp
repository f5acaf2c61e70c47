// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/io/compressed_tensors.h"
#include "core/io/fp4_reader.h"
#include "core/io/indexed_grid.h"
#include "core/io/le_bytes.h"
#include "core/io/mapped_storage.h"
#include "core/io/quant_config.h"
#include "core/io/stored_weight.h"
#include "core/io/text_names.h"

#include <algorithm>
#include <fmt/core.h>
#include <optional>

namespace halftone {

namespace {

constexpr std::string_view kLeader = ".weight_packed";
constexpr std::int64_t kMostBytes = std::int64_t(1) << 61; ///< of a row

/// The tensors of one pack-quantized weight.
struct PackedParts {
    const TensorInfo* codes = nullptr;
    const TensorInfo* scale = nullptr;
    const TensorInfo* zero = nullptr;
    const TensorInfo* shape = nullptr;
    const TensorInfo* index = nullptr;
    const TensorInfo* globalScale = nullptr;
    const TensorInfo* inputScale = nullptr;
};

/// Codes and scales share the mapped file; zero points are unpacked.
class PackQuantizedWeight final : public StoredWeight {
public:
    PackQuantizedWeight(std::shared_ptr<const Checkpoint> checkpoint, const PackedParts& parts,
                        const BlockFormat& format, const PackedLayout& layout)
        : m_checkpoint(std::move(checkpoint)), m_parts(parts), m_format(format), m_layout(layout)
    {
    }

    Result<PackedTensor> planes(std::int64_t begin, std::int64_t end) const override
    {
        const auto& l = m_layout;
        HALFTONE_TRY(codes, m_checkpoint->raw(*m_parts.codes));
        HALFTONE_TRY(scales, m_checkpoint->raw(*m_parts.scale));
        const auto rows = [&](std::span<const std::byte> plane, std::uint64_t rowBytes) {
            return plane.subspan(static_cast<std::size_t>(begin) * rowBytes,
                                 static_cast<std::size_t>(end - begin) * rowBytes);
        };
        PackedTensor out;
        out.format = &m_format;
        out.logical = {end - begin, l.cols};
        out.codes = mappedPlane(m_checkpoint, rows(codes, l.codeRowBytes), end - begin);
        out.scales = l.scaleRowBytes > 0
                         ? mappedPlane(m_checkpoint, rows(scales, l.scaleRowBytes), end - begin)
                         : mappedPlane(m_checkpoint, scales, 1);
        if (!m_format.desc().zeroPoint) return out;
        HALFTONE_TRY(packed, m_checkpoint->raw(*m_parts.zero));
        const auto zeros = unpackZeroPoints(m_format, l, packed, begin, end);
        const std::int64_t zeroRows = l.zeroRowBytes > 0 ? end - begin : 1;
        const auto perRow = zeroRows == 0 ? 0 : static_cast<std::int64_t>(zeros.size()) / zeroRows;
        HALFTONE_TRY(plane, makeTensor(cpuDevice(), DType::U8, {zeroRows, perRow}));
        std::ranges::copy(std::as_bytes(std::span(zeros)), plane.mutableBytes().begin());
        out.zeros = plane;
        return out;
    }

private:
    std::shared_ptr<const Checkpoint> m_checkpoint;
    PackedParts m_parts;
    const BlockFormat& m_format;
    PackedLayout m_layout;
};

class CompressedFinder {
public:
    explicit CompressedFinder(StoredGroups& groups) : m_groups(groups), m_checkpoint(*groups.checkpoint()) {}
    void find();

private:
    Result<ReadableWeight> readable(const PackedParts& parts, const std::string& base) const;
    Result<ReadableWeight> readableFp4(const PackedParts& parts) const;
    Result<Shape> storedShape(const TensorInfo& shape) const;
    Result<const BlockFormat*> formatFor(const std::string& base, const Shape& shape,
                                         const PackedParts& parts) const;
    bool fitsScheme(const CompressedScheme& scheme, const Shape& shape, const PackedParts& parts) const;

    StoredGroups& m_groups;
    const Checkpoint& m_checkpoint;
    std::vector<CompressedScheme> m_schemes;
    std::string m_why;
};

void CompressedFinder::find()
{
    const auto tensors = m_checkpoint.tensors();
    bool read = false;
    for (std::uint32_t i = 0; i < tensors.size(); ++i) {
        const auto& codes = tensors[i];
        const std::string base(stemOf(codes.name, kLeader));
        // Beside a weight of the same name there would be two weights under one name.
        if (base.empty() || !m_groups.isFree(i) || m_checkpoint.find(base + ".weight") != nullptr) continue;
        if (!read) m_schemes = compressedSchemes(quantConfigText(m_checkpoint), m_why);
        read = true;
        const auto part = [&](const char* suffix) { return m_groups.free(base + suffix); };
        const PackedParts parts{&codes,
                                part(".weight_scale"),
                                part(".weight_zero_point"),
                                part(".weight_shape"),
                                part(".weight_g_idx"),
                                part(".weight_global_scale"),
                                part(".input_global_scale")};
        m_groups.add(base + ".weight", "pack-quantized",
                     {parts.codes, parts.scale, parts.zero, parts.shape, parts.index, parts.globalScale,
                      parts.inputScale},
                     readable(parts, base));
    }
}

Result<ReadableWeight> CompressedFinder::readable(const PackedParts& parts, const std::string& base) const
{
    const auto& codes = *parts.codes;
    if (parts.globalScale != nullptr || codes.stored.plain == DType::U8) return readableFp4(parts);
    if (codes.stored.plain != DType::I32 || codes.shape.rank() != 2)
        return unsupported(
            fmt::format("weight_packed is {}, a matrix of I32 was expected", shownType(codes)));
    if (parts.scale == nullptr || parts.shape == nullptr)
        return unsupported(
            fmt::format("{} is missing", parts.scale == nullptr ? "weight_scale" : "weight_shape"));
    HALFTONE_TRY(logical, storedShape(*parts.shape));
    if (logical[0] != codes.shape[0])
        return unsupported(
            fmt::format("weight_shape says {} rows, weight_packed has {}", logical[0], codes.shape[0]));
    HALFTONE_TRY(format, formatFor(base, logical, parts));
    // All sizes once more as the layout has them: decoding relies on them.
    HALFTONE_TRY(expected, compressedTensors({base + ".weight", format}, logical));
    HALFTONE_TRY(layout, format->layout(logical[0], logical[1]));
    const bool same = expected.codes.bytes == codes.bytes && expected.scale.bytes == parts.scale->bytes &&
                      layout.codeBytes == codes.bytes && layout.scaleBytes == parts.scale->bytes &&
                      (!expected.zero || (expected.zero->bytes == parts.zero->bytes &&
                                          expected.zero->dtype == parts.zero->stored.plain));
    if (!same)
        return unsupported(
            fmt::format("the parts don't have the sizes of {} in {}", logical.text(), format->name()));
    ReadableWeight out;
    out.shape = logical;
    out.type = format->name();
    out.format = format;
    out.weight = std::make_shared<PackQuantizedWeight>(m_groups.checkpoint(), parts, *format, layout);
    if (parts.index == nullptr) return out;
    HALFTONE_TRY(group, readGroupIndex(m_checkpoint, *parts.index, logical[1], layout.groupsPerRow,
                                       format->desc().blockSize));
    if (group.empty()) return out;
    out.type += ", ordered";
    out.format = nullptr;
    out.weight = indexedGrid(std::move(out.weight), *format, std::move(group));
    return out;
}

Result<ReadableWeight> CompressedFinder::readableFp4(const PackedParts& parts) const
{
    const auto& codes = *parts.codes;
    if (codes.stored.plain != DType::U8 || codes.shape.rank() != 2 || codes.shape[1] > kMostBytes)
        return unsupported(
            fmt::format("weight_packed is {}, a matrix of U8 was expected for FP4", shownType(codes)));
    if (parts.scale == nullptr) return unsupported("weight_scale is missing");
    HALFTONE_TRY(out, readFp4(m_groups, {&codes, parts.scale, parts.globalScale, true},
                              {codes.shape[0], 2 * codes.shape[1]}));
    out.packing = parts.globalScale != nullptr ? "nvfp4-pack-quantized" : "mxfp4-pack-quantized";
    return out;
}

Result<Shape> CompressedFinder::storedShape(const TensorInfo& shape) const
{
    const bool wide = shape.stored.plain == DType::I64;
    if ((!wide && shape.stored.plain != DType::I32) || shape.shape.count() != 2)
        return unsupported(fmt::format("weight_shape is {}, two I64 were expected", shownType(shape)));
    HALFTONE_TRY(bytes, m_checkpoint.raw(shape));
    std::int64_t dims[2];
    for (std::size_t i = 0; i < 2; ++i)
        dims[i] =
            wide ? readLe<std::int64_t>(bytes.subspan(8 * i)) : readLe<std::int32_t>(bytes.subspan(4 * i));
    HALFTONE_CHECK(m_checkpoint.intact(shape));
    const auto checked = Shape::checked(dims);
    // Packed rows of 8 bits at most can't hold more columns than four times their words.
    if (!checked || dims[0] == 0 || dims[1] == 0)
        return unsupported(fmt::format("weight_shape is {} x {}", dims[0], dims[1]));
    return *checked;
}

bool CompressedFinder::fitsScheme(const CompressedScheme& scheme, const Shape& shape,
                                  const PackedParts& parts) const
{
    const TensorInfo& scale = *parts.scale;
    if (scheme.symmetric == (parts.zero != nullptr) || scheme.bits < 1) return false;
    // Neither product can overflow: a count of bits beyond 2^63 is refused first.
    if (shape[1] > (std::int64_t(1) << 56) || (shape[1] * scheme.bits + 31) / 32 != parts.codes->shape[1])
        return false;
    switch (scheme.strategy) {
    case CompressedScheme::Strategy::Tensor:
        return scale.shape.count() == 1;
    case CompressedScheme::Strategy::Channel:
        return scale.shape.count() == shape[0];
    case CompressedScheme::Strategy::Group:
        break;
    }
    return scale.shape.rank() == 2 && scale.shape[0] == shape[0] &&
           scale.shape[1] == shape[1] / scheme.groupSize + (shape[1] % scheme.groupSize != 0 ? 1 : 0);
}

Result<const BlockFormat*> CompressedFinder::formatFor(const std::string& base, const Shape& shape,
                                                       const PackedParts& parts) const
{
    if (m_schemes.empty()) return unsupported(m_why);
    HALFTONE_TRY(scaleType, scaleTypeOf(*parts.scale));
    // The sizes of the parts tell the group; a target that names this very module decides between equals.
    const CompressedScheme* chosen = nullptr;
    bool named = false, ambiguous = false;
    for (const auto& s : m_schemes) {
        if (!fitsScheme(s, shape, parts)) continue;
        const bool names = std::ranges::find(s.targets, base) != s.targets.end();
        const bool same = chosen != nullptr && s.bits == chosen->bits && s.strategy == chosen->strategy &&
                          s.groupSize == chosen->groupSize;
        if (chosen != nullptr && names == named && !same) ambiguous = true;
        if (chosen == nullptr || (names && !named)) {
            chosen = &s;
            ambiguous = ambiguous && named == names;
            named = names;
        }
    }
    if (chosen == nullptr)
        return unsupported(fmt::format("no config group of quantization_config fits packed {}, scales {} and "
                                       "weight_shape {}{}",
                                       parts.codes->shape.text(), parts.scale->shape.text(), shape.text(),
                                       m_why.empty() ? "" : "; " + m_why));
    if (ambiguous) return unsupported("several config groups of quantization_config fit this weight");
    const std::int64_t block = chosen->strategy == CompressedScheme::Strategy::Group ? chosen->groupSize
                               : chosen->strategy == CompressedScheme::Strategy::Channel
                                   ? FormatDesc::kWholeRow
                                   : FormatDesc::kWholeTensor;
    return intGridFormat(chosen->bits, parts.zero != nullptr ? GridRule::Asym : GridRule::SymFull, block,
                         scaleType);
}

} // namespace

void findCompressedTensors(StoredGroups& groups) { CompressedFinder(groups).find(); }

} // namespace halftone
