// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/checked.h"
#include "core/device/cpu/kernels.h"
#include "core/device/cpu/parallel.h"
#include "core/numeric/convert.h"
#include "core/numeric/small_float.h"

#include <array>
#include <cmath>
#include <cstring>
#include <fmt/core.h>
#include <limits>

namespace halftone::cpu {

namespace {

constexpr std::int64_t kChunk = 4096;

bool isCastTarget(DType dtype)
{
    return dtype == DType::F64 || dtype == DType::F32 || dtype == DType::F16 || dtype == DType::BF16;
}

template <class T> void storeAt(std::span<std::byte> out, std::int64_t index, T value)
{
    std::memcpy(out.data() + static_cast<std::size_t>(index) * sizeof(T), &value, sizeof value);
}

void storeFloat(std::span<std::byte> out, DType dtype, std::int64_t index, float x)
{
    if (dtype == DType::F32) storeAt(out, index, x);
    if (dtype == DType::F16) storeAt(out, index, floatToHalf(x));
    if (dtype == DType::BF16) storeAt(out, index, floatToBfloat(x));
}

void storeDouble(std::span<std::byte> out, DType dtype, std::int64_t index, double x)
{
    if (dtype == DType::F64) storeAt(out, index, x);
    if (dtype == DType::F32) storeAt(out, index, doubleToFloat(x));
    if (dtype == DType::F16) storeAt(out, index, doubleToHalf(x));
    if (dtype == DType::BF16) storeAt(out, index, doubleToBfloat(x));
}

// Elements [first, first + count) of a cast; count <= kChunk.
void castChunk(const CastOp& op, std::int64_t first, std::int64_t count)
{
    const auto in = op.src.bytes();
    const auto out = op.dst.mutableBytes();
    const DType from = op.src.dtype(), to = op.dst.dtype();
    const auto begin = static_cast<std::uint64_t>(first);
    const auto n = static_cast<std::size_t>(count);
    if (fitsFloat(from) && to != DType::F64) {
        std::array<float, kChunk> values;
        toFloats(from, in, begin, std::span(values).first(n));
        for (std::int64_t i = 0; i < count; ++i)
            storeFloat(out, to, first + i, values[static_cast<std::size_t>(i)]);
        return;
    }
    if (to == DType::F64 && (from == DType::I64 || from == DType::U64)) {
        // toDoubles() rounds these to odd, which is for types below double only.
        for (std::int64_t i = 0; i < count; ++i) {
            std::uint64_t bits;
            std::memcpy(&bits, in.data() + (begin + static_cast<std::uint64_t>(i)) * sizeof bits,
                        sizeof bits);
            storeAt(out, first + i,
                    from == DType::U64 ? static_cast<double>(bits)
                                       : static_cast<double>(static_cast<std::int64_t>(bits)));
        }
        return;
    }
    std::array<double, kChunk> values;
    toDoubles(from, in, begin, std::span(values).first(n));
    for (std::int64_t i = 0; i < count; ++i)
        storeDouble(out, to, first + i, values[static_cast<std::size_t>(i)]);
}

// `value` as the element's bytes, or nothing when an integer type can't hold it.
struct Pattern {
    std::array<std::byte, 8> bytes{};
    std::size_t size = 0;
};

template <class T> Pattern patternOf(T value)
{
    Pattern p;
    std::memcpy(p.bytes.data(), &value, sizeof value);
    p.size = sizeof value;
    return p;
}

template <class T> std::optional<Pattern> integerPattern(double value)
{
    using Limits = std::numeric_limits<T>;
    // max + 1 is a power of two and so exact as a double, which max need not be.
    const double end = std::ldexp(1.0, Limits::digits);
    const bool fitting =
        value == std::floor(value) && value >= static_cast<double>(Limits::min()) && value < end;
    return fitting ? std::optional(patternOf(static_cast<T>(value))) : std::nullopt;
}

std::optional<Pattern> fillPattern(DType dtype, double value)
{
    switch (dtype) {
    case DType::F64:
        return patternOf(value);
    case DType::F32:
        return patternOf(doubleToFloat(value));
    case DType::F16:
        return patternOf(doubleToHalf(value));
    case DType::BF16:
        return patternOf(doubleToBfloat(value));
    case DType::U8:
        return integerPattern<std::uint8_t>(value);
    case DType::I8:
        return integerPattern<std::int8_t>(value);
    case DType::I16:
        return integerPattern<std::int16_t>(value);
    case DType::U16:
        return integerPattern<std::uint16_t>(value);
    case DType::I32:
        return integerPattern<std::int32_t>(value);
    case DType::U32:
        return integerPattern<std::uint32_t>(value);
    case DType::I64:
        return integerPattern<std::int64_t>(value);
    case DType::U64:
        return integerPattern<std::uint64_t>(value);
    default:
        return std::nullopt;
    }
}

} // namespace

bool referenceSupportsCopy(DType, const BlockFormat*) { return true; }

Status referenceCopy(const CopyOp& op)
{
    const auto from = op.src.bytes();
    const auto to = op.dst.mutableBytes();
    // The same storage may stand on both sides.
    if (!from.empty()) std::memmove(to.data(), from.data(), from.size());
    return Ok{};
}

bool referenceSupportsFill(DType dtype, const BlockFormat*)
{
    return isCastTarget(dtype) || (isReal(dtype) && !isFloat(dtype));
}

Status referenceFill(const FillOp& op)
{
    const DType dtype = op.dst.dtype();
    const auto pattern = fillPattern(dtype, op.value);
    if (!pattern)
        return Error(Errc::InvalidArgument, fmt::format("fill: {} can't hold {}", nameOf(dtype), op.value));
    const auto out = op.dst.mutableBytes();
    for (std::size_t at = 0; at < out.size(); at += pattern->size)
        std::memcpy(out.data() + at, pattern->bytes.data(), pattern->size);
    return Ok{};
}

bool referenceSupportsCast(DType dtype, const BlockFormat*) { return isReal(dtype); }

Status referenceCast(const CastOp& op)
{
    if (!isCastTarget(op.dst.dtype()))
        return Error(Errc::Unsupported, fmt::format("no cast to {}: F64, F32, F16 and BF16 can be made",
                                                    nameOf(op.dst.dtype())));
    const std::int64_t count = op.src.shape().count();
    return forRows(ceilDiv(count, kChunk), kChunk, 0, [&](std::int64_t chunk, float*) {
        const std::int64_t first = chunk * kChunk;
        castChunk(op, first, std::min(kChunk, count - first));
    });
}

} // namespace halftone::cpu
