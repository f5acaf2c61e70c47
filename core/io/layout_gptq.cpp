// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/checked.h"
#include "core/device/cpu/parallel.h"
#include "core/io/awq_codes.h"
#include "core/io/code_words.h"
#include "core/io/layout_list.h"
#include "core/io/turned_planes.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>

// GPTQ and AWQ keep weights [in, out], the other way round than nn.Linear and our planes.

namespace halftone {

namespace {

// What both ask of scales and groups.
std::string whyNotTurned(std::string_view layout, const BlockFormat& format, const Shape& shape,
                         std::int64_t outputs)
{
    const auto& d = format.desc();
    if (d.family != FormatDesc::Family::IntGrid)
        return fmt::format("{} holds integer grids, not {}", layout, format.name());
    if (d.scale != ScaleType::F16)
        return fmt::format("{} keeps F16 scales, not those of {}: choose scale-type=f16", layout,
                           format.name());
    if (d.blockSize == FormatDesc::kWholeTensor)
        return fmt::format("{} has a scale for each output at least: choose granularity=channel or group",
                           layout);
    if (shape.rank() != 2) return {};
    if (d.blockSize > 0 && shape[1] % d.blockSize != 0)
        return fmt::format("groups of {} don't divide {} columns", d.blockSize, shape[1]);
    if (shape[0] % outputs != 0)
        return fmt::format("{} needs outputs in multiples of {}, this weight has {}", layout, outputs,
                           shape[0]);
    return {};
}

std::int64_t groupsOf(const BlockFormat& format, const Shape& shape)
{
    const auto block = format.desc().blockSize;
    return block > 0 ? ceilDiv(shape[1], block) : 1;
}

Result<Tensor> turnedScales(const PackedTensor& planes)
{
    const auto width = bytesOfScale(planes.format->desc().scale);
    return turned(planeBytes(planes.scales), planes.logical.rows(), groupsOf(*planes.format, planes.logical),
                  static_cast<int>(width));
}

class Gptq final : public WeightLayout {
public:
    explicit Gptq(bool second) : m_second(second) {}
    std::string_view name() const override { return m_second ? "gptq-v2" : "gptq"; }
    std::string whyNot(const BlockFormat& format, const Shape& shape) const override
    {
        const int bits = format.desc().bits;
        const std::int64_t step = 32 / std::int64_t(bits == 3 ? 1 : bits);
        if (auto why = whyNotTurned(name(), format, shape, step); !why.empty()) return why;
        if (bits != 2 && bits != 3 && bits != 4 && bits != 8)
            return fmt::format("{} holds 2, 3, 4 or 8 bits, not {}", name(), bits);
        if (shape.rank() == 2 && shape[1] % step != 0)
            return fmt::format("{} needs columns in multiples of {}, this weight has {}", name(), step,
                               shape[1]);
        return {};
    }
    Result<std::vector<OutputTensor>> tensors(const std::string& name, const BlockFormat& format,
                                              const Shape& shape) const override
    {
        const auto module = moduleOf(name);
        const std::int64_t bits = format.desc().bits, groups = groupsOf(format, shape);
        return std::vector<OutputTensor>{
            outputTensor(module + ".qweight", {ceilDiv<std::int64_t>(shape[1] * bits, 32), shape[0]},
                         DType::I32),
            outputTensor(module + ".qzeros", {groups, ceilDiv<std::int64_t>(shape[0] * bits, 32)},
                         DType::I32),
            outputTensor(module + ".scales", {groups, shape[0]}, DType::F16),
            outputTensor(module + ".g_idx", {shape[1]}, DType::I32)};
    }
    Status write(const PackedTensor& planes, const Sink& sink) const override
    {
        const auto& format = *planes.format;
        const std::int64_t rows = planes.logical[0], cols = planes.logical[1],
                           groups = groupsOf(format, planes.logical);
        const std::int64_t words = ceilDiv<std::int64_t>(cols * format.desc().bits, 32);
        {
            HALFTONE_TRY(codes, turned(planeBytes(planes.codes), rows, words, 4));
            HALFTONE_CHECK(sink(0, planeBytes(codes)));
        }
        HALFTONE_TRY(zeros, packedZeros(planes, rows, groups));
        HALFTONE_CHECK(sink(1, zeros));
        HALFTONE_TRY(scales, turnedScales(planes));
        HALFTONE_CHECK(sink(2, planeBytes(scales)));
        std::vector<std::int32_t> group(static_cast<std::size_t>(cols));
        const auto block = format.desc().blockSize;
        for (std::size_t c = 0; c < group.size(); ++c)
            group[c] = block > 0 ? static_cast<std::int32_t>(static_cast<std::int64_t>(c) / block) : 0;
        return sink(3, std::as_bytes(std::span(group)));
    }

private:
    Result<std::vector<std::byte>> packedZeros(const PackedTensor& planes, std::int64_t rows,
                                               std::int64_t groups) const
    {
        const int bits = planes.format->desc().bits;
        const auto most = 1u << bits, offset = m_second ? 0u : 1u;
        const auto points = planesOf(planes).zeros;
        const auto rowBytes = static_cast<std::size_t>(ceilDiv<std::int64_t>(rows * bits, 32)) * 4;
        std::vector<std::byte> out(static_cast<std::size_t>(groups) * rowBytes);
        for (std::int64_t g = 0; g < groups; ++g) {
            const auto row = std::span(out).subspan(static_cast<std::size_t>(g) * rowBytes, rowBytes);
            for (std::int64_t o = 0; o < rows; ++o) {
                const std::uint32_t zero =
                    points.empty() ? most / 2 : points[static_cast<std::size_t>(o * groups + g)];
                // Version 1 stores zero - 1: 0 would wrap to the largest code, and read back as 2^bits.
                if (zero < offset || zero - offset >= most)
                    return Error(Errc::Numeric,
                                 fmt::format("row {}, group {}: {} can't hold the zero point {}: choose "
                                             "layout=gptq-v2 or auto",
                                             o, g, name(), zero));
                putCode(row, static_cast<std::uint64_t>(o), bits, zero - offset);
            }
        }
        return out;
    }

    bool m_second;
};

class Awq final : public WeightLayout {
public:
    std::string_view name() const override { return "awq"; }
    std::string whyNot(const BlockFormat& format, const Shape& shape) const override
    {
        if (format.desc().bits != 4) return fmt::format("awq holds 4 bits, not {}", format.desc().bits);
        return whyNotTurned(name(), format, shape, kAwqPerWord);
    }
    const BlockFormat& storedFormat(const BlockFormat& format) const override
    {
        const auto& d = format.desc();
        const auto same = intGridFormat(4, GridRule::Asym, d.blockSize, d.scale);
        return same ? **same : format;
    }
    // A symmetric grid is one whose zero points are all 8.
    Result<PackedTensor> storedPlanes(const PackedTensor& planes) const override
    {
        if (planes.format->desc().zeroPoint) return planes;
        PackedTensor out = planes;
        out.format = &storedFormat(*planes.format);
        HALFTONE_TRY(zeros, makeTensor(cpuDevice(), DType::U8,
                                       {planes.logical[0], groupsOf(*planes.format, planes.logical)}));
        std::ranges::fill(zeros.mutableBytes(), std::byte{8});
        out.zeros = zeros;
        return out;
    }
    Result<std::vector<OutputTensor>> tensors(const std::string& name, const BlockFormat& format,
                                              const Shape& shape) const override
    {
        const auto module = moduleOf(name);
        const std::int64_t words = shape[0] / kAwqPerWord, groups = groupsOf(format, shape);
        return std::vector<OutputTensor>{outputTensor(module + ".qweight", {shape[1], words}, DType::I32),
                                         outputTensor(module + ".qzeros", {groups, words}, DType::I32),
                                         outputTensor(module + ".scales", {groups, shape[0]}, DType::F16)};
    }
    Status write(const PackedTensor& planes, const Sink& sink) const override
    {
        const std::int64_t rows = planes.logical[0], cols = planes.logical[1],
                           groups = groupsOf(*planes.format, planes.logical), words = rows / kAwqPerWord;
        const auto codes = planeBytes(planes.codes);
        const auto rowBytes = codes.size() / static_cast<std::size_t>(std::max<std::int64_t>(1, rows));
        std::vector<std::uint32_t> packed(static_cast<std::size_t>(cols * words));
        // One word a thread at a time: eight rows run along their columns together.
        HALFTONE_CHECK(cpu::forRows(words, cols * kAwqPerWord, 0, [&](std::int64_t w, float*) {
            for (std::int64_t i = 0; i < cols; ++i) {
                std::uint32_t word = 0;
                for (int k = 0; k < kAwqPerWord; ++k) {
                    const auto row = static_cast<std::size_t>(w * kAwqPerWord + k);
                    const auto byte = std::to_integer<std::uint32_t>(
                        codes[row * rowBytes + static_cast<std::size_t>(i / 2)]);
                    word |= (i % 2 == 0 ? byte & 15u : byte >> 4) << awqShift(k);
                }
                packed[static_cast<std::size_t>(i * words + w)] = word;
            }
        }));
        HALFTONE_CHECK(sink(0, std::as_bytes(std::span(packed))));
        const auto points = planesOf(planes).zeros;
        std::vector<std::uint32_t> zeros(static_cast<std::size_t>(groups * words));
        for (std::int64_t o = 0; o < rows; ++o)
            for (std::int64_t g = 0; g < groups; ++g) {
                const std::uint32_t zero = points[static_cast<std::size_t>(o * groups + g)];
                if (zero > 15)
                    return Error(Errc::Numeric,
                                 fmt::format("row {}, group {}: awq can't hold the zero point {}; the source "
                                             "wrapped it: quantize from the original",
                                             o, g, zero));
                zeros[static_cast<std::size_t>(g * words + o / kAwqPerWord)] |=
                    zero << awqShift(static_cast<int>(o % kAwqPerWord));
            }
        HALFTONE_CHECK(sink(1, std::as_bytes(std::span(zeros))));
        HALFTONE_TRY(scales, turnedScales(planes));
        return sink(2, planeBytes(scales));
    }
};

} // namespace

const WeightLayout& gptqLayout(bool second)
{
    static const Gptq first(false), other(true);
    return second ? other : first;
}

const WeightLayout& awqLayout()
{
    static const Awq layout;
    return layout;
}

} // namespace halftone
