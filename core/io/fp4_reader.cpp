// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/io/fp4_reader.h"

#include "core/base/checked.h"
#include "core/io/planar_weight.h"
#include "core/io/text_names.h"

#include <array>
#include <fmt/core.h>

namespace halftone {

namespace {

// Doubles the last extent: two codes a byte.
Result<Shape> unpackedShape(const TensorInfo& codes)
{
    std::array<std::int64_t, Shape::kMaxRank> dims{};
    const auto rank = static_cast<std::size_t>(codes.shape.rank());
    if (codes.stored.plain != DType::U8 || rank < 2)
        return unsupported(
            fmt::format("{} is {}, a matrix of U8 was expected", shownName(codes.name), shownType(codes)));
    for (std::size_t i = 0; i < rank; ++i)
        dims[i] = codes.shape[static_cast<int>(i)];
    const auto cols = checkedMul<std::int64_t>(dims[rank - 1], 2);
    if (cols) dims[rank - 1] = *cols;
    const auto shape = cols ? Shape::checked(std::span(dims).first(rank)) : std::nullopt;
    if (!shape) return unsupported(fmt::format("{} is too large to count", shownName(codes.name)));
    return *shape;
}

// ModelOpt: weight, weight_scale, weight_scale_2, input_scale.
void findModelOpt(StoredGroups& groups)
{
    const auto tensors = groups.checkpoint()->tensors();
    for (std::uint32_t i = 0; i < tensors.size(); ++i) {
        const auto& codes = tensors[i];
        const std::string base(stemOf(codes.name, ".weight"));
        if (base.empty() || !groups.isFree(i) || codes.stored.plain != DType::U8) continue;
        const auto* scales = groups.free(base + ".weight_scale");
        const auto* second = groups.free(base + ".weight_scale_2");
        if (scales == nullptr) continue;
        const auto read = [&]() -> Result<ReadableWeight> {
            HALFTONE_TRY(shape, unpackedShape(codes));
            return readFp4(groups, {&codes, scales, second, false}, shape);
        };
        groups.add(codes.name, second != nullptr ? "modelopt-nvfp4" : "mxfp4-quantized",
                   {&codes, scales, second, groups.free(base + ".input_scale")}, read());
    }
}

// Stacks of experts of gpt-oss: X_blocks [experts, out, in / 32, 16] and X_scales [experts, out, in / 32].
void findBlocks(StoredGroups& groups)
{
    const auto tensors = groups.checkpoint()->tensors();
    for (std::uint32_t i = 0; i < tensors.size(); ++i) {
        const auto& codes = tensors[i];
        const std::string base(stemOf(codes.name, "_blocks"));
        const auto* scales = base.empty() ? nullptr : groups.free(base + "_scales");
        if (scales == nullptr || !groups.isFree(i) || groups.checkpoint()->find(base) != nullptr) continue;
        const auto read = [&]() -> Result<ReadableWeight> {
            const auto& s = codes.shape;
            if (codes.stored.plain != DType::U8 || s.rank() < 3 || s[s.rank() - 1] != 16)
                return unsupported(fmt::format("{} is {}, U8 in blocks of 16 bytes were expected",
                                               shownName(codes.name), shownType(codes)));
            std::array<std::int64_t, Shape::kMaxRank> dims{};
            const auto rank = static_cast<std::size_t>(s.rank()) - 1;
            for (std::size_t k = 0; k < rank; ++k)
                dims[k] = s[static_cast<int>(k)];
            const auto cols = checkedMul<std::int64_t>(dims[rank - 1], 32);
            dims[rank - 1] = cols.value_or(0);
            const auto shape = Shape::checked(std::span(dims).first(rank));
            if (!cols || !shape) return unsupported("the blocks are too large to count");
            return readFp4(groups, {&codes, scales, nullptr, false}, *shape);
        };
        groups.add(base, "mxfp4", {&codes, scales}, read());
    }
}

} // namespace

Result<ReadableWeight> readFp4(const StoredGroups& groups, const Fp4Parts& parts, const Shape& shape)
{
    const bool exponents =
        parts.scales->stored.plain == DType::U8 || parts.scales->stored.plain == DType::F8E8M0;
    const bool floats = parts.scales->stored.plain == DType::F8E4M3;
    if (!exponents && !floats)
        return unsupported(
            fmt::format("FP4 codes with scales {} are not supported", shownType(*parts.scales)));
    if (floats != (parts.tensorScale != nullptr))
        return unsupported(floats ? "E4M3 scales of FP4 codes need a scale of the whole tensor"
                                  : "E8M0 scales of FP4 codes don't go with a scale of the whole tensor");
    PlanarParts planes;
    planes.codes = parts.codes;
    planes.scales = parts.scales;
    planes.rows = shape.rows();
    planes.cols = shape.cols();
    HALFTONE_TRY(format, formatNamed(floats ? "nvfp4_e2m1.g16.nearest" : "mxfp4_e2m1.g32.floor"));
    planes.format = format;
    if (floats) {
        HALFTONE_TRY(scale, readTensorScale(*groups.checkpoint(), *parts.tensorScale));
        planes.shared = sharedOf(parts.inverse ? 1.0f / scale : scale);
    }
    HALFTONE_TRY(weight, planarWeight(groups.checkpoint(), std::move(planes)));
    ReadableWeight out;
    out.shape = shape;
    out.type = format->name();
    out.format = format;
    out.weight = std::move(weight);
    return out;
}

void findFp4(StoredGroups& groups)
{
    findModelOpt(groups);
    findBlocks(groups);
}

} // namespace halftone
