// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/io/compressed_tensors.h"

#include "core/base/checked.h"
#include "core/io/le_bytes.h"
#include "core/io/text_names.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>

namespace halftone {

namespace {

constexpr std::string_view kWeight = ".weight";

bool isWholeTensor(const BlockFormat& format) { return format.desc().blockSize == FormatDesc::kWholeTensor; }

DType scaleDType(ScaleType type)
{
    return type == ScaleType::F32 ? DType::F32 : type == ScaleType::F16 ? DType::F16 : DType::BF16;
}

OutputTensor output(std::string name, Shape shape, DType dtype)
{
    OutputTensor t;
    t.name = std::move(name);
    t.shape = shape;
    t.dtype = dtype;
    t.bytes = bytesOf(dtype, static_cast<std::uint64_t>(shape.count())).value_or(0);
    return t;
}

// Words of a little-endian bit stream of `count` codes.
std::int64_t wordsOf(std::int64_t count, int bits) { return ceilDiv<std::int64_t>(count * bits, 32); }

} // namespace

std::vector<OutputTensor> CompressedTensors::list() const
{
    std::vector<OutputTensor> all{codes, scale};
    if (zero) all.push_back(*zero);
    all.push_back(shape);
    return all;
}

bool isCompressible(std::string_view name, const BlockFormat& format)
{
    const auto& d = format.desc();
    return name.size() > kWeight.size() && name.ends_with(kWeight) &&
           d.layout == FormatDesc::Layout::Planar && d.family == FormatDesc::Family::IntGrid;
}

Result<CompressedTensors> compressedTensors(const CompressedWeight& weight, const Shape& shape)
{
    const auto refuse = [&](std::string why) {
        return Error(Errc::InvalidArgument, std::move(why)).in("tensor " + shownName(weight.name));
    };
    if (weight.format == nullptr || !isCompressible(weight.name, *weight.format))
        return refuse("can't be stored in the compressed-tensors layout: it takes integer grids on weights "
                      "called <module>.weight");
    if (shape.rank() != 2) return refuse(fmt::format("must be a matrix, is {}", shape.text()));
    HALFTONE_TRY(layout, weight.format->layout(shape[0], shape[1]).in("tensor " + shownName(weight.name)));
    const auto& d = weight.format->desc();
    if (!checkedMul<std::int64_t>(shape[0], d.bits)) return refuse("is too large to count");
    const auto part = [&](const char* suffix) { return weight.name + suffix; };
    const Shape groups = isWholeTensor(*weight.format) ? Shape{1} : Shape{shape[0], layout.groupsPerRow};
    CompressedTensors out;
    out.codes = output(part("_packed"), {shape[0], wordsOf(shape[1], d.bits)}, DType::I32);
    out.scale = output(part("_scale"), groups, scaleDType(d.scale));
    if (d.zeroPoint)
        out.zero =
            isWholeTensor(*weight.format)
                ? output(part("_zero_point"), {1}, DType::I8)
                : output(part("_zero_point"), {wordsOf(shape[0], d.bits), layout.groupsPerRow}, DType::I32);
    out.shape = output(part("_shape"), {2}, DType::I64);
    return out;
}

std::vector<std::byte> compressedShapeBytes(const Shape& shape)
{
    std::vector<std::byte> out;
    for (const std::int64_t d : shape.dims())
        appendLe(out, d);
    return out;
}

std::vector<std::byte> packZeroPoints(const BlockFormat& format, const PackedLayout& layout,
                                      std::span<const std::uint8_t> zeros)
{
    const int bits = format.desc().bits;
    if (isWholeTensor(format)) return {static_cast<std::byte>(zeros[0] - (1 << (bits - 1)))};
    const auto words = static_cast<std::size_t>(wordsOf(layout.rows, bits));
    const auto groups = static_cast<std::size_t>(layout.groupsPerRow);
    std::vector<std::uint32_t> packed(words * groups, 0u);
    for (std::size_t r = 0; r < static_cast<std::size_t>(layout.rows); ++r) {
        const std::size_t bit = r * static_cast<std::size_t>(bits), word = bit / 32;
        const auto shift = static_cast<int>(bit % 32);
        for (std::size_t g = 0; g < groups; ++g) {
            const std::uint64_t value = std::uint64_t(zeros[r * groups + g]) << shift;
            packed[word * groups + g] |= static_cast<std::uint32_t>(value);
            // A code may straddle two words.
            if (shift + bits > 32) packed[(word + 1) * groups + g] |= static_cast<std::uint32_t>(value >> 32);
        }
    }
    const auto bytes = std::as_bytes(std::span(packed));
    return {bytes.begin(), bytes.end()};
}

std::vector<std::uint8_t> unpackZeroPoints(const BlockFormat& format, const PackedLayout& layout,
                                           std::span<const std::byte> packed, std::int64_t begin,
                                           std::int64_t end)
{
    const int bits = format.desc().bits;
    if (isWholeTensor(format))
        return {static_cast<std::uint8_t>(readLe<std::int8_t>(packed) + (1 << (bits - 1)))};
    const auto groups = static_cast<std::size_t>(layout.groupsPerRow);
    const auto word = [&](std::size_t w, std::size_t g) {
        return std::uint64_t(readLe<std::uint32_t>(packed.subspan(4 * (w * groups + g))));
    };
    std::vector<std::uint8_t> out;
    out.reserve(static_cast<std::size_t>(end - begin) * groups);
    for (auto r = static_cast<std::size_t>(begin); r < static_cast<std::size_t>(end); ++r) {
        const std::size_t bit = r * static_cast<std::size_t>(bits);
        const auto shift = static_cast<int>(bit % 32);
        for (std::size_t g = 0; g < groups; ++g) {
            std::uint64_t value = word(bit / 32, g);
            if (shift + bits > 32) value |= word(bit / 32 + 1, g) << 32;
            out.push_back(static_cast<std::uint8_t>((value >> shift) & ((1u << bits) - 1u)));
        }
    }
    return out;
}

} // namespace halftone
