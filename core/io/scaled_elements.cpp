// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/checked.h"
#include "core/device/cpu/parallel.h"
#include "core/io/mapped_storage.h"
#include "core/io/planar_weight.h"
#include "core/io/quant_config.h"
#include "core/io/scale_siblings.h"
#include "core/io/stored_weight.h"
#include "core/io/text_names.h"
#include "core/numeric/convert.h"
#include "core/numeric/planar_rows.h"

#include <algorithm>
#include <fmt/core.h>
#include <optional>

// Weights of 8-bit elements with scales in a tensor of their own: FP8 as DeepSeek, ModelOpt, fbgemm and
// compressed-tensors ("float-quantized") store it, INT8 of compressed-tensors ("int-quantized") and of
// bitsandbytes (LLM.int8), MXFP8 with E8M0 scales. The scale multiplies, also where it is called "inv".

namespace halftone {

namespace {

constexpr std::string_view kWeight = ".weight";

/// Where the scale of an element stands: scale[stack, row / blockRows, col / blockCols].
struct ScaleGrid {
    std::int64_t rows = 1, cols = 1;           ///< of the scales of one matrix of the stack
    std::int64_t blockRows = 1, blockCols = 1; ///< elements under one scale
    std::int64_t matrixRows = 1;               ///< rows of one matrix of the stack
    bool perMatrix = false;                    ///< the scales repeat for each matrix of the stack
};

class ScaledElements final : public StoredWeight {
public:
    ScaledElements(std::shared_ptr<const Checkpoint> checkpoint, const TensorInfo& elements,
                   const TensorInfo& scales, DType scaleType, const ScaleGrid& grid, float factor)
        : m_checkpoint(std::move(checkpoint)), m_elements(elements), m_scales(scales), m_scaleType(scaleType),
          m_grid(grid), m_factor(factor)
    {
    }

    Status decode(std::int64_t begin, std::int64_t end, std::span<float> out) const override
    {
        HALFTONE_TRY(elements, m_checkpoint->raw(m_elements));
        HALFTONE_TRY(scales, m_checkpoint->raw(m_scales));
        const std::int64_t cols = m_elements.shape.cols();
        return cpu::forRows(end - begin, cols, m_grid.cols, [&](std::int64_t i, float* scratch) {
            const std::int64_t row = begin + i;
            const auto to = out.subspan(static_cast<std::size_t>(i * cols), static_cast<std::size_t>(cols));
            toFloats(*m_elements.stored.plain, elements, static_cast<std::uint64_t>(row * cols), to);
            const std::span scale(scratch, static_cast<std::size_t>(m_grid.cols));
            toFloats(m_scaleType, scales, static_cast<std::uint64_t>(firstScale(row)), scale);
            for (std::int64_t c = 0, g = 0; c < cols; c += m_grid.blockCols, ++g) {
                const float s = m_factor * scale[static_cast<std::size_t>(g)];
                const std::int64_t last = std::min(cols, c + m_grid.blockCols);
                for (std::int64_t k = c; k < last; ++k)
                    to[static_cast<std::size_t>(k)] *= s;
            }
        });
    }

private:
    std::int64_t firstScale(std::int64_t row) const
    {
        const std::int64_t matrix = row / m_grid.matrixRows, inside = row % m_grid.matrixRows;
        return ((m_grid.perMatrix ? matrix * m_grid.rows : 0) + inside / m_grid.blockRows) * m_grid.cols;
    }

    std::shared_ptr<const Checkpoint> m_checkpoint;
    const TensorInfo& m_elements;
    const TensorInfo& m_scales;
    DType m_scaleType;
    ScaleGrid m_grid;
    float m_factor;
};

/// INT8 with a scale a tensor, row or group: planes of int8, codes stored with 128 added.
class Int8Weight final : public StoredWeight {
public:
    Int8Weight(std::shared_ptr<const Checkpoint> checkpoint, const TensorInfo& codes,
               const TensorInfo& scales, const TensorInfo* zeros, const BlockFormat& format)
        : m_checkpoint(std::move(checkpoint)), m_codes(codes), m_scales(scales), m_zeros(zeros),
          m_format(format)
    {
    }

    Result<PackedTensor> planes(std::int64_t begin, std::int64_t end) const override
    {
        HALFTONE_TRY(codes, m_checkpoint->raw(m_codes));
        HALFTONE_TRY(scales, m_checkpoint->raw(m_scales));
        const std::int64_t cols = m_codes.shape[1];
        HALFTONE_TRY(all, m_format.layout(m_codes.shape[0], cols));
        const bool whole = all.scaleRowBytes == 0;
        PackedTensor out;
        out.format = &m_format;
        out.logical = {end - begin, cols};
        const auto rows = [&](std::span<const std::byte> plane, std::uint64_t rowBytes) {
            return whole ? plane
                         : plane.subspan(static_cast<std::size_t>(begin) * rowBytes,
                                         static_cast<std::size_t>(end - begin) * rowBytes);
        };
        out.scales = mappedPlane(m_checkpoint, rows(scales, all.scaleRowBytes), whole ? 1 : end - begin);
        HALFTONE_TRY(plane, makeTensor(cpuDevice(), DType::U8,
                                       {end - begin, static_cast<std::int64_t>(all.codeRowBytes)}));
        const auto to = plane.mutableBytes();
        const auto width = static_cast<std::size_t>(cols);
        HALFTONE_CHECK(cpu::forRows(end - begin, cols, 0, [&](std::int64_t i, float*) {
            const auto from = codes.subspan(static_cast<std::size_t>(begin + i) * width, width);
            const auto row = to.subspan(static_cast<std::size_t>(i) * all.codeRowBytes, all.codeRowBytes);
            std::ranges::transform(from, row.begin(), [](std::byte b) { return b ^ std::byte{0x80}; });
            std::ranges::fill(row.subspan(width), std::byte{0});
        }));
        out.codes = plane;
        if (m_zeros == nullptr) return out;
        HALFTONE_TRY(zeros, m_checkpoint->raw(*m_zeros));
        const auto part = rows(zeros, all.zeroRowBytes);
        const std::int64_t zeroRows = whole ? 1 : end - begin;
        HALFTONE_TRY(points, makeTensor(cpuDevice(), DType::U8, {zeroRows, whole ? 1 : all.groupsPerRow}));
        std::ranges::transform(part, points.mutableBytes().begin(),
                               [](std::byte b) { return b ^ std::byte{0x80}; });
        out.zeros = points;
        return out;
    }

private:
    std::shared_ptr<const Checkpoint> m_checkpoint;
    const TensorInfo& m_codes;
    const TensorInfo& m_scales;
    const TensorInfo* m_zeros;
    const BlockFormat& m_format;
};

bool isFloat8(const TensorInfo& t)
{
    return t.stored.plain && bitsOf(*t.stored.plain) == 8 && isFloat(*t.stored.plain) &&
           *t.stored.plain != DType::F8E8M0;
}

// Elements under one scale along one axis, or 0: what the config says, 128, or an even share.
std::int64_t blockAlong(std::int64_t length, std::int64_t scales, std::int64_t told)
{
    if (scales <= 0 || scales > length) return 0;
    if (scales == 1) return length;
    for (const std::int64_t block : {told, length % scales == 0 ? length / scales : 0, std::int64_t{128}})
        if (block > 0 && ceilDiv(length, block) == scales) return block;
    return 0;
}

Result<ScaleGrid> gridFor(const TensorInfo& weight, const TensorInfo& scale, const QuantConfig& config)
{
    const auto& w = weight.shape;
    const auto& s = scale.shape;
    const auto refuse = [&] {
        return unsupported(fmt::format("scales {} of {} don't fit the {} elements", shownName(scale.name),
                                       s.text(), w.text()));
    };
    if (w.rank() < 1 || w.rank() > 3 || w.count() == 0) return refuse();
    ScaleGrid grid;
    grid.matrixRows = w.rank() == 3 ? w[1] : w.rows();
    grid.perMatrix = w.rank() == 3 && s.count() > 1;
    if (grid.perMatrix && (s.rank() == 0 || s[0] != w[0])) return refuse();
    // The scales of one matrix: none, rows, or rows and columns.
    const int first = grid.perMatrix ? 1 : 0;
    if (s.rank() - first > 2) return refuse();
    grid.rows = s.rank() > first ? s[first] : 1;
    grid.cols = s.rank() > first + 1 ? s[first + 1] : 1;
    // 128 stands for DeepSeek's blocks when both axes are cut.
    const bool square = grid.rows > 1 && grid.rows != grid.matrixRows && grid.cols > 1;
    const std::int64_t rowBlock = config.blockRows > 0 ? config.blockRows
                                  : square             ? 128
                                                       : 0,
                       colBlock = config.blockCols > 0                        ? config.blockCols
                                  : square                                    ? 128
                                  : config.groupSize && *config.groupSize > 0 ? *config.groupSize
                                                                              : 0;
    grid.blockRows = blockAlong(grid.matrixRows, grid.rows, rowBlock);
    grid.blockCols = blockAlong(w.cols(), grid.cols, colBlock);
    if (grid.blockRows == 0 || grid.blockCols == 0) return refuse();
    return grid;
}

std::string shownScales(const TensorInfo& scale, const ScaleGrid& grid, const Shape& weight)
{
    const bool allRows = grid.rows == 1, allCols = grid.cols == 1;
    const std::string per =
        allRows && allCols ? (grid.perMatrix ? "matrix" : "tensor")
        : allCols && grid.blockRows == 1
            ? "row"
            : fmt::format("{}x{}", grid.blockRows, std::min(grid.blockCols, weight.cols()));
    return fmt::format("{}/{}", scale.stored.name, per);
}

struct ElementParts {
    const TensorInfo* elements = nullptr;
    const TensorInfo* scale = nullptr;
    const TensorInfo* zero = nullptr;
    const TensorInfo* inputScale = nullptr;
    const TensorInfo* other = nullptr;
};

Result<ReadableWeight> readInt8(const StoredGroups& groups, const ElementParts& parts, const ScaleGrid& grid)
{
    const auto& w = parts.elements->shape;
    HALFTONE_TRY(scale, scaleTypeOf(*parts.scale));
    if (parts.zero != nullptr &&
        (parts.zero->stored.plain != DType::I8 ||
         parts.zero->bytes != static_cast<std::uint64_t>(parts.scale->shape.count())))
        return unsupported(
            fmt::format("weight_zero_point is {}, I8 like the scales was expected", shownType(*parts.zero)));
    const std::int64_t block = parts.scale->shape.count() == 1 ? FormatDesc::kWholeTensor
                               : grid.cols == 1                ? FormatDesc::kWholeRow
                                                               : grid.blockCols;
    HALFTONE_TRY(format,
                 intGridFormat(8, parts.zero != nullptr ? GridRule::Asym : GridRule::SymFull, block, scale));
    HALFTONE_TRY(layout, format->layout(w[0], w[1]));
    if (layout.scaleBytes != parts.scale->bytes)
        return unsupported(
            fmt::format("the scales don't have the size of {} in {}", w.text(), format->name()));
    ReadableWeight out;
    out.shape = w;
    out.type = format->name();
    out.format = format;
    if (parts.scale->name.ends_with(".weight_scale")) out.packing = "int-quantized";
    out.weight =
        std::make_shared<Int8Weight>(groups.checkpoint(), *parts.elements, *parts.scale, parts.zero, *format);
    return out;
}

// The planar format that codes and scales are planes of, or null.
const BlockFormat* floatFormat(const ElementParts& parts, const ScaleGrid& grid)
{
    const auto element = *parts.elements->stored.plain;
    const char* head = element == DType::F8E4M3 ? "e4m3" : element == DType::F8E5M2 ? "e5m2" : nullptr;
    if (head == nullptr || parts.zero != nullptr || parts.scale->name.ends_with(".SCB")) return nullptr;
    const bool exponents =
        parts.scale->stored.plain == DType::U8 || parts.scale->stored.plain == DType::F8E8M0;
    std::string name;
    if (exponents) {
        if (grid.blockCols != 32) return nullptr;
        name = fmt::format("mxfp8_{}.g32.floor", head);
    } else {
        const auto scale = scaleTypeOf(*parts.scale);
        if (!scale) return nullptr;
        const std::int64_t block = parts.scale->shape.count() == 1 ? FormatDesc::kWholeTensor
                                   : grid.cols == 1                ? FormatDesc::kWholeRow
                                                                   : grid.blockCols;
        name = fmt::format("{}.{}.{}", head, groupName(block), scaleTypeName(*scale));
    }
    const auto format = formatNamed(name);
    return format ? *format : nullptr;
}

Result<ReadableWeight> readFloat8(const StoredGroups& groups, const ElementParts& parts,
                                  const BlockFormat& format)
{
    const auto& w = parts.elements->shape;
    HALFTONE_TRY(weight,
                 planarWeight(groups.checkpoint(), {parts.elements, parts.scale, &format, w[0], w[1], {}}));
    ReadableWeight out;
    out.shape = w;
    out.type = format.name();
    out.format = &format;
    out.weight = std::move(weight);
    // The names and types of compressed-tensors; others keep the same planes under other names.
    if (parts.scale->name.ends_with(".weight_scale") && *parts.elements->stored.plain == DType::F8E4M3)
        out.packing = format.desc().family == FormatDesc::Family::Mx ? "mxfp8-quantized" : "float-quantized";
    return out;
}

Result<ReadableWeight> readable(const StoredGroups& groups, const ElementParts& parts,
                                const QuantConfig& config)
{
    const auto& elements = *parts.elements;
    const auto& scale = *parts.scale;
    if (!config.why.empty()) return unsupported(config.why);
    HALFTONE_TRY(grid, gridFor(elements, scale, config));
    const bool integers = elements.stored.plain == DType::I8;
    const bool absmax = scale.name.ends_with(".SCB");
    const bool byRow = grid.rows == elements.shape.rows() || parts.scale->shape.count() == 1;
    if (integers && elements.shape.rank() == 2 && byRow && !absmax && scaleTypeOf(scale))
        return readInt8(groups, parts, grid);
    if (elements.shape.rank() == 2 && byRow && !integers)
        if (const auto* format = floatFormat(parts, grid)) return readFloat8(groups, parts, *format);
    if (parts.zero != nullptr) return unsupported("zero points of such weights are not supported");
    // MXFP8 keeps its E8M0 scales as U8.
    const bool exponents = scale.stored.plain == DType::U8 || scale.stored.plain == DType::F8E8M0;
    if (!exponents && !scaleTypeOf(scale)) return unsupported(scaleTypeOf(scale).error().what());
    ReadableWeight out;
    out.shape = elements.shape;
    out.type = elements.stored.name + "+" + shownScales(scale, grid, elements.shape);
    out.weight = std::make_shared<ScaledElements>(groups.checkpoint(), elements, scale,
                                                  exponents ? DType::F8E8M0 : *scale.stored.plain, grid,
                                                  absmax ? 1.0f / 127.0f : 1.0f);
    return out;
}

std::vector<std::string> siblingNames(std::string_view name)
{
    const std::string weight(name), base(name.substr(0, name.size() - kWeight.size()));
    return {weight + "_scale_inv", weight + "_scale", base + ".scale",      base + ".scale_weight",
            weight + ".absmax",    base + ".SCB",     base + ".weight_scb", base + ".scales"};
}

} // namespace

const TensorInfo* scaleSibling(const Checkpoint& checkpoint, const TensorInfo& weight)
{
    if (!weight.name.ends_with(kWeight)) return nullptr;
    for (const auto& name : siblingNames(weight.name))
        if (const auto* found = checkpoint.find(name)) return found;
    return nullptr;
}

std::string noteOnScales(const Checkpoint& checkpoint, const TensorInfo& weight)
{
    if (!isFloat8(weight) || checkpoint.container() == Container::Gguf) return {};
    if (!weight.name.ends_with(kWeight))
        return "no scale is known for this name: its codes are shown as plain values";
    const auto names = siblingNames(weight.name);
    return fmt::format("no scale beside it (looked for {}): its codes are shown as plain values",
                       shownNames(names));
}

void findScaledElements(StoredGroups& groups)
{
    const auto& checkpoint = *groups.checkpoint();
    const auto tensors = checkpoint.tensors();
    std::optional<QuantConfig> config;
    for (std::uint32_t i = 0; i < tensors.size(); ++i) {
        const auto& t = tensors[i];
        const bool integers = t.stored.plain == DType::I8;
        if (!groups.isFree(i) || !(integers || isFloat8(t))) continue;
        const auto* scale = scaleSibling(checkpoint, t);
        if (scale == nullptr || !groups.isFree(static_cast<std::uint32_t>(scale - tensors.data()))) continue;
        if (!config) config = readQuantConfig(checkpoint);
        const std::string base = t.name.substr(0, t.name.size() - kWeight.size());
        const auto* input = groups.free(base + ".input_scale");
        const auto* other = groups.free(base + ".weight_format"); // bitsandbytes
        const ElementParts parts{&t, scale, groups.free(base + ".weight_zero_point"), input, other};
        const auto* zero = parts.zero;
        groups.add(t.name, integers ? "int8" : "fp8", {&t, scale, zero, input, other},
                   readable(groups, parts, *config));
    }
}

} // namespace halftone
