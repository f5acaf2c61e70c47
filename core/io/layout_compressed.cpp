// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/checked.h"
#include "core/io/compressed_tensors.h"
#include "core/io/layout_list.h"
#include "core/io/le_bytes.h"
#include "core/io/planar_weight.h"
#include "core/numeric/planar_rows.h"

#include <algorithm>
#include <fmt/core.h>

// The layouts of compressed-tensors, as llm-compressor writes and vLLM reads them.

namespace halftone {

namespace {

using LayoutFamily = FormatDesc::Family;

std::string dividesColumns(const BlockFormat& format, const Shape& shape)
{
    const auto block = format.desc().blockSize;
    if (shape.rank() != 2 || block <= 0 || shape[1] % block == 0) return {};
    return fmt::format("groups of {} don't divide {} columns", block, shape[1]);
}

class PackQuantized final : public WeightLayout {
public:
    std::string_view name() const override { return "pack-quantized"; }
    std::string whyNot(const BlockFormat& format, const Shape&) const override
    {
        return isCompressible("x.weight", format)
                   ? std::string()
                   : fmt::format("pack-quantized holds integer grids, not {}", format.name());
    }
    Result<std::vector<OutputTensor>> tensors(const std::string& name, const BlockFormat& format,
                                              const Shape& shape) const override
    {
        HALFTONE_TRY(made, compressedTensors({name, &format}, shape));
        return made.list();
    }
    Status write(const PackedTensor& planes, const Sink& sink) const override
    {
        std::size_t next = 0;
        HALFTONE_CHECK(sink(next++, planeBytes(planes.codes)));
        HALFTONE_CHECK(sink(next++, planeBytes(planes.scales)));
        if (planes.format->desc().zeroPoint) {
            const auto rows = planes.logical.rows();
            HALFTONE_TRY(layout, planes.format->layout(rows, planes.logical.cols()));
            const auto zeros = planesOf(planes).zeros;
            // A point beyond the codes, as a wrapped one of GPTQ, would run into its neighbours.
            const auto most = 1u << planes.format->desc().bits;
            const auto bad = std::ranges::find_if(zeros, [&](std::uint8_t z) { return z >= most; });
            if (bad != zeros.end())
                return Error(Errc::Numeric,
                             fmt::format("zero point {} (entry {} of the plane) is no code of {} bits: the "
                                         "source wrapped it; quantize from the original",
                                         *bad, bad - zeros.begin(), planes.format->desc().bits));
            HALFTONE_CHECK(sink(next++, packZeroPoints(*planes.format, layout, zeros)));
        }
        return sink(next, compressedShapeBytes(planes.logical));
    }
};

class IntQuantized final : public WeightLayout {
public:
    std::string_view name() const override { return "int-quantized"; }
    std::string whyNot(const BlockFormat& format, const Shape& shape) const override
    {
        if (format.desc().family != LayoutFamily::IntGrid || format.desc().bits != 8)
            return fmt::format("int-quantized holds integers of 8 bits, not {}: choose layout=auto",
                               format.name());
        return dividesColumns(format, shape);
    }
    Result<std::vector<OutputTensor>> tensors(const std::string& name, const BlockFormat& format,
                                              const Shape& shape) const override
    {
        HALFTONE_TRY(packed, compressedTensors({name, &format}, shape));
        std::vector<OutputTensor> list{outputTensor(name, shape, DType::I8), packed.scale};
        if (format.desc().zeroPoint)
            list.push_back(outputTensor(name + "_zero_point", packed.scale.shape, DType::I8));
        return list;
    }
    Status write(const PackedTensor& planes, const Sink& sink) const override
    {
        const auto flipped = [](std::span<const std::byte> bytes) {
            std::vector<std::byte> out(bytes.size());
            std::ranges::transform(bytes, out.begin(), [](std::byte b) { return b ^ std::byte{0x80}; });
            return out;
        };
        std::vector<std::byte> buffer;
        HALFTONE_CHECK(sink(0, flipped(bareCodes(planes, buffer))));
        HALFTONE_CHECK(sink(1, planeBytes(planes.scales)));
        return planes.format->desc().zeroPoint ? sink(2, flipped(planeBytes(planes.zeros))) : Status(Ok{});
    }
};

/// Codes and scales as they stand in the planes, under the names of compressed-tensors.
class PlanarLayout : public WeightLayout {
public:
    PlanarLayout(std::string_view name, LayoutFamily family, Element element, std::int64_t block, DType codes,
                 DType scales)
        : m_name(name), m_family(family), m_element(element), m_block(block), m_codes(codes), m_scales(scales)
    {
    }
    std::string_view name() const override { return m_name; }
    std::string whyNot(const BlockFormat& format, const Shape& shape) const override
    {
        const auto& d = format.desc();
        if (d.family != m_family || d.element != m_element || (m_block != 0 && d.blockSize != m_block))
            return fmt::format("{} does not hold {}", m_name, format.name());
        return dividesColumns(format, shape);
    }
    Result<std::vector<OutputTensor>> tensors(const std::string& name, const BlockFormat& format,
                                              const Shape& shape) const override
    {
        HALFTONE_TRY(layout, format.layout(shape.rows(), shape.cols()));
        const auto& d = format.desc();
        const bool whole = d.blockSize == FormatDesc::kWholeTensor;
        const auto scales = m_family != LayoutFamily::Scaled ? m_scales
                            : d.scale == ScaleType::F32      ? DType::F32
                            : d.scale == ScaleType::F16      ? DType::F16
                                                             : DType::BF16;
        const bool nibbles = d.bits == 4;
        std::vector<OutputTensor> list{
            nibbles ? outputTensor(name + "_packed", {shape[0], shape[1] / 2}, m_codes)
                    : outputTensor(name, shape, m_codes),
            outputTensor(name + "_scale", whole ? Shape{1} : Shape{shape[0], layout.groupsPerRow}, scales)};
        if (d.shared == FormatDesc::Shared::TensorScale)
            list.push_back(outputTensor(name + "_global_scale", {1}, DType::F32));
        return list;
    }
    Status write(const PackedTensor& planes, const Sink& sink) const override
    {
        std::vector<std::byte> buffer;
        HALFTONE_CHECK(sink(0, bareCodes(planes, buffer)));
        HALFTONE_CHECK(sink(1, planeBytes(planes.scales)));
        if (planes.format->desc().shared != FormatDesc::Shared::TensorScale) return Ok{};
        return sink(2, sharedOf(1.0f / readLe<float>(planeBytes(planes.shared))));
    }
    // compressed-tensors keeps the reciprocal of the tensor's scale: what is read back is that of that.
    Result<PackedTensor> storedPlanes(const PackedTensor& planes) const override
    {
        if (planes.format->desc().shared != FormatDesc::Shared::TensorScale) return planes;
        HALFTONE_TRY(shared, makeTensor(cpuDevice(), DType::U8, planes.shared.shape()));
        const auto bytes = sharedOf(1.0f / (1.0f / readLe<float>(planeBytes(planes.shared))));
        std::ranges::copy(bytes, shared.mutableBytes().begin());
        PackedTensor out = planes;
        out.shared = shared;
        return out;
    }

private:
    std::string_view m_name;
    LayoutFamily m_family;
    Element m_element;
    std::int64_t m_block; ///< 0: any
    DType m_codes, m_scales;
};

} // namespace

std::span<const std::byte> planeBytes(const Tensor& plane)
{
    return plane.empty() ? std::span<const std::byte>() : plane.bytes();
}

std::span<const std::byte> bareCodes(const PackedTensor& planes, std::vector<std::byte>& buffer)
{
    const auto codes = planeBytes(planes.codes);
    const auto rows = static_cast<std::size_t>(planes.logical.rows());
    const auto bare = bareRowBytes(planes.format->desc(), planes.logical.cols()).value_or(0);
    const std::size_t padded = rows == 0 ? 0 : codes.size() / rows;
    if (bare == padded) return codes;
    buffer.resize(rows * bare);
    for (std::size_t r = 0; r < rows; ++r)
        std::ranges::copy(codes.subspan(r * padded, bare),
                          buffer.begin() + static_cast<std::ptrdiff_t>(r * bare));
    return buffer;
}

OutputTensor outputTensor(std::string name, const Shape& shape, DType dtype)
{
    OutputTensor t;
    t.name = std::move(name);
    t.shape = shape;
    t.dtype = dtype;
    t.bytes = bytesOf(dtype, static_cast<std::uint64_t>(shape.count())).value_or(0);
    return t;
}

const WeightLayout& packQuantizedLayout()
{
    static const PackQuantized layout;
    return layout;
}
const WeightLayout& intQuantizedLayout()
{
    static const IntQuantized layout;
    return layout;
}
const WeightLayout& floatQuantizedLayout()
{
    static const PlanarLayout layout("float-quantized", LayoutFamily::Scaled, Element::E4M3, 0, DType::F8E4M3,
                                     DType::F32);
    return layout;
}
const WeightLayout& mxfp8Layout()
{
    static const PlanarLayout layout("mxfp8-quantized", LayoutFamily::Mx, Element::E4M3, 32, DType::F8E4M3,
                                     DType::U8);
    return layout;
}
const WeightLayout& mxfp4Layout()
{
    static const PlanarLayout layout("mxfp4-pack-quantized", LayoutFamily::Mx, Element::E2M1, 32, DType::U8,
                                     DType::U8);
    return layout;
}
const WeightLayout& nvfp4Layout()
{
    static const PlanarLayout layout("nvfp4-pack-quantized", LayoutFamily::Nv, Element::E2M1, 16, DType::U8,
                                     DType::F8E4M3);
    return layout;
}

} // namespace halftone
