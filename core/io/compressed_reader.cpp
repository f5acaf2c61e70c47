// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/io/compressed_reader.h"

#include "core/io/le_bytes.h"
#include "core/io/mapped_storage.h"
#include "core/io/text_names.h"

#include <algorithm>
#include <fmt/core.h>

namespace halftone {

namespace {

constexpr std::string_view kLeader = ".weight_packed";
constexpr const char* kParts[] = {".weight_scale", ".weight_zero_point", ".weight_shape", ".weight_g_idx",
                                  ".weight_global_scale"};

Error unsupported(std::string text) { return Error(Errc::Unsupported, std::move(text)); }

std::optional<ScaleType> scaleTypeOf(const TensorInfo& scale)
{
    if (scale.stored.plain == DType::F32) return ScaleType::F32;
    if (scale.stored.plain == DType::F16) return ScaleType::F16;
    if (scale.stored.plain == DType::BF16) return ScaleType::BF16;
    return std::nullopt;
}

} // namespace

CompressedReader::CompressedReader(const Checkpoint& checkpoint) : m_checkpoint(checkpoint)
{
    const auto tensors = checkpoint.tensors();
    m_role.assign(tensors.size(), Role::Single);
    bool any = false;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        if (!tensors[i].name.ends_with(kLeader)) continue;
        const auto base = tensors[i].name.substr(0, tensors[i].name.size() - kLeader.size());
        // Beside a weight of the same name there would be two weights under one name.
        if (checkpoint.find(base + ".weight") != nullptr) continue;
        any = true;
        m_role[i] = Role::Leader;
        for (const char* suffix : kParts)
            if (const auto* t = part(base, suffix))
                m_role[static_cast<std::size_t>(t - tensors.data())] = Role::Part;
    }
    if (!any) return;
    // A single file carries the text itself, and a config.json beside it may be another model's.
    const auto* own = checkpoint.meta("quantization_config");
    const auto text = own != nullptr ? metaString(*own) : std::nullopt;
    m_schemes = compressedSchemes(text ? *text : checkpoint.configJson(), m_why);
}

const TensorInfo* CompressedReader::part(const std::string& base, const char* suffix) const
{
    return m_checkpoint.find(base + suffix);
}

CompressedWeightParts CompressedReader::read(std::uint32_t leader) const
{
    const auto tensors = m_checkpoint.tensors();
    const auto& codes = tensors[leader];
    const std::string base = codes.name.substr(0, codes.name.size() - kLeader.size());
    auto weight = readable(leader, base);
    CompressedWeightParts out;
    if (weight) {
        out = std::move(*weight);
    } else {
        out.info.shape = codes.shape;
        out.info.type = "packed " + codes.stored.name;
        out.info.whyOpaque = weight.error().what();
    }
    out.info.name = base + ".weight";
    out.info.parts = {leader};
    out.info.bytes = codes.bytes;
    for (const char* suffix : kParts)
        if (const auto* t = part(base, suffix)) {
            out.info.parts.push_back(static_cast<std::uint32_t>(t - tensors.data()));
            out.info.bytes += t->bytes;
        }
    return out;
}

Result<CompressedWeightParts> CompressedReader::readable(std::uint32_t leader, const std::string& base) const
{
    const auto tensors = m_checkpoint.tensors();
    const auto& codes = tensors[leader];
    const auto* scale = part(base, ".weight_scale");
    const auto* zero = part(base, ".weight_zero_point");
    const auto* shape = part(base, ".weight_shape");
    if (part(base, ".weight_global_scale") != nullptr || codes.stored.plain == DType::U8)
        return unsupported("packed FP4 weights are not decoded by this version");
    if (part(base, ".weight_g_idx") != nullptr)
        return unsupported("activation order (weight_g_idx) is not supported");
    if (codes.stored.plain != DType::I32 || codes.shape.rank() != 2)
        return unsupported(fmt::format("weight_packed is {} {}, a matrix of I32 was expected",
                                       codes.stored.name, codes.shape.text()));
    if (scale == nullptr || shape == nullptr)
        return unsupported(fmt::format("{} is missing", scale == nullptr ? "weight_scale" : "weight_shape"));
    HALFTONE_TRY(logical, storedShape(*shape));
    if (logical[0] != codes.shape[0])
        return unsupported(
            fmt::format("weight_shape says {} rows, weight_packed has {}", logical[0], codes.shape[0]));
    HALFTONE_TRY(format, formatFor(base, logical, codes, *scale, zero));
    // All sizes once more as the layout has them: decoding relies on them.
    HALFTONE_TRY(expected, compressedTensors({base + ".weight", format}, logical));
    HALFTONE_TRY(layout, format->layout(logical[0], logical[1]));
    const bool same = expected.codes.bytes == codes.bytes && expected.scale.bytes == scale->bytes &&
                      layout.codeBytes == codes.bytes && layout.scaleBytes == scale->bytes &&
                      (!expected.zero ||
                       (expected.zero->bytes == zero->bytes && expected.zero->dtype == zero->stored.plain));
    if (!same)
        return unsupported(
            fmt::format("the parts don't have the sizes of {} in {}", logical.text(), format->name()));
    for (const auto* t : {&codes, scale, zero})
        if (t != nullptr) HALFTONE_CHECK(m_checkpoint.raw(*t));

    CompressedWeightParts out;
    out.info.shape = logical;
    out.info.type = format->name();
    out.info.format = format;
    out.codes = leader;
    out.scale = static_cast<std::uint32_t>(scale - tensors.data());
    if (zero != nullptr) out.zero = static_cast<std::uint32_t>(zero - tensors.data());
    out.layout = layout;
    return out;
}

Result<Shape> CompressedReader::storedShape(const TensorInfo& shape) const
{
    const bool wide = shape.stored.plain == DType::I64;
    if ((!wide && shape.stored.plain != DType::I32) || shape.shape.count() != 2)
        return unsupported(fmt::format("weight_shape is {} {}, two I64 were expected", shape.stored.name,
                                       shape.shape.text()));
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

bool CompressedReader::fitsScheme(const CompressedScheme& scheme, const Shape& shape, const TensorInfo& codes,
                                  const TensorInfo& scale, bool zero) const
{
    if (scheme.symmetric == zero || scheme.bits < 1) return false;
    // Neither product can overflow: a count of bits beyond 2^63 is refused first.
    if (shape[1] > (std::int64_t(1) << 56) || (shape[1] * scheme.bits + 31) / 32 != codes.shape[1])
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

Result<const BlockFormat*> CompressedReader::formatFor(const std::string& base, const Shape& shape,
                                                       const TensorInfo& codes, const TensorInfo& scale,
                                                       const TensorInfo* zero) const
{
    if (m_schemes.empty()) return unsupported(m_why);
    const auto scaleType = scaleTypeOf(scale);
    if (!scaleType) return unsupported(fmt::format("scales of type {} are not supported", scale.stored.name));
    // The sizes of the parts tell the group; a target that names this very module decides between equals.
    const CompressedScheme* chosen = nullptr;
    bool named = false, ambiguous = false;
    for (const auto& s : m_schemes) {
        if (!fitsScheme(s, shape, codes, scale, zero != nullptr)) continue;
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
                                       codes.shape.text(), scale.shape.text(), shape.text(),
                                       m_why.empty() ? "" : "; " + m_why));
    if (ambiguous) return unsupported("several config groups of quantization_config fit this weight");
    const std::int64_t block = chosen->strategy == CompressedScheme::Strategy::Group ? chosen->groupSize
                               : chosen->strategy == CompressedScheme::Strategy::Channel
                                   ? FormatDesc::kWholeRow
                                   : FormatDesc::kWholeTensor;
    return intGridFormat(chosen->bits, zero != nullptr ? GridRule::Asym : GridRule::SymFull, block,
                         *scaleType);
}

Result<PackedTensor> compressedPlanes(const std::shared_ptr<const Checkpoint>& checkpoint,
                                      const CompressedWeightParts& weight, std::int64_t begin,
                                      std::int64_t end)
{
    const auto tensors = checkpoint->tensors();
    const auto& l = weight.layout;
    const auto& format = *weight.info.format;
    HALFTONE_TRY(codes, checkpoint->raw(tensors[weight.codes]));
    HALFTONE_TRY(scales, checkpoint->raw(tensors[weight.scale]));
    const auto rows = [&](std::span<const std::byte> plane, std::uint64_t rowBytes) {
        return plane.subspan(static_cast<std::size_t>(begin) * rowBytes,
                             static_cast<std::size_t>(end - begin) * rowBytes);
    };
    PackedTensor out;
    out.format = &format;
    out.logical = {end - begin, l.cols};
    out.codes = mappedPlane(checkpoint, rows(codes, l.codeRowBytes), end - begin);
    out.scales = l.scaleRowBytes > 0 ? mappedPlane(checkpoint, rows(scales, l.scaleRowBytes), end - begin)
                                     : mappedPlane(checkpoint, scales, 1);
    if (!format.desc().zeroPoint) return out;
    HALFTONE_TRY(packed, checkpoint->raw(tensors[weight.zero]));
    const auto zeros = unpackZeroPoints(format, l, packed, begin, end);
    const std::int64_t zeroRows = l.zeroRowBytes > 0 ? end - begin : 1;
    const auto perRow = zeroRows == 0 ? 0 : static_cast<std::int64_t>(zeros.size()) / zeroRows;
    HALFTONE_TRY(plane, makeTensor(cpuDevice(), DType::U8, {zeroRows, perRow}));
    std::ranges::copy(std::as_bytes(std::span(zeros)), plane.mutableBytes().begin());
    out.zeros = plane;
    return out;
}

} // namespace halftone
