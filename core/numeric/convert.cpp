// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/numeric/convert.h"

#include "core/numeric/small_float.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace halftone {

namespace {

template <class T> T loadAt(std::span<const std::byte> in, std::uint64_t index)
{
    T value;
    std::memcpy(&value, in.data() + index * sizeof(T), sizeof value);
    return value;
}

std::uint32_t bitsAt(std::span<const std::byte> in, std::uint64_t index, unsigned width)
{
    const std::uint64_t bit = index * width;
    const std::uint64_t byte = bit / 8;
    const auto shift = static_cast<unsigned>(bit % 8);
    std::uint32_t word = std::to_integer<std::uint32_t>(in[byte]);
    if (shift + width > 8) word |= std::to_integer<std::uint32_t>(in[byte + 1]) << 8;
    return word >> shift & ((1u << width) - 1u);
}

float fnuzValue(std::uint8_t code, SmallFloat f)
{
    return code == kFnuzNan ? std::numeric_limits<float>::quiet_NaN() : smallFloatValue(code, f);
}

// Calls store(i, value) with each element in its own C++ type (float for all small floats).
template <class Store>
void visit(DType dtype, std::span<const std::byte> in, std::uint64_t first, std::size_t count, Store store)
{
    const auto each = [&](auto read) {
        for (std::size_t i = 0; i < count; ++i)
            store(i, read(first + i));
    };
    const auto plain = [&]<class T>(T) { each([&](std::uint64_t k) { return loadAt<T>(in, k); }); };
    const auto small = [&](SmallFloat f, unsigned width) {
        each([&](std::uint64_t k) { return smallFloatValue(bitsAt(in, k, width), f); });
    };
    switch (dtype) {
    case DType::F4:
        return small(kE2M1, 4);
    case DType::F6E2M3:
        return small(kE2M3, 6);
    case DType::F6E3M2:
        return small(kE3M2, 6);
    case DType::F8E5M2:
        return small(kE5M2, 8);
    case DType::F8E4M3:
        return small(kE4M3, 8);
    case DType::F8E8M0:
        return each([&](std::uint64_t k) { return e8m0Value(loadAt<std::uint8_t>(in, k)); });
    case DType::F8E4M3Fnuz:
        return each([&](std::uint64_t k) { return fnuzValue(loadAt<std::uint8_t>(in, k), kE4M3Fnuz); });
    case DType::F8E5M2Fnuz:
        return each([&](std::uint64_t k) { return fnuzValue(loadAt<std::uint8_t>(in, k), kE5M2Fnuz); });
    case DType::F16:
        return each([&](std::uint64_t k) { return halfToFloat(loadAt<std::uint16_t>(in, k)); });
    case DType::BF16:
        return each([&](std::uint64_t k) { return bfloatToFloat(loadAt<std::uint16_t>(in, k)); });
    case DType::U8:
        return plain(std::uint8_t{});
    case DType::I8:
        return plain(std::int8_t{});
    case DType::I16:
        return plain(std::int16_t{});
    case DType::U16:
        return plain(std::uint16_t{});
    case DType::I32:
        return plain(std::int32_t{});
    case DType::U32:
        return plain(std::uint32_t{});
    case DType::I64:
        return plain(std::int64_t{});
    case DType::U64:
        return plain(std::uint64_t{});
    case DType::F32:
        return plain(float{});
    case DType::F64:
        return plain(double{});
    case DType::Bool:
    case DType::C64:
        return; // not real; excluded by the contract
    }
}

// The magnitude as a double whose last bit is set when anything was cut off ("round to odd"): a second
// rounding to at most 51 bits is then as good as one from the exact integer.
double oddDouble(std::uint64_t magnitude)
{
    const auto width = static_cast<int>(std::bit_width(magnitude));
    if (width > 53) {
        const std::uint64_t unit = std::uint64_t{1} << (width - 53);
        const std::uint64_t lost = magnitude & (unit - 1);
        magnitude = (magnitude - lost) | (lost != 0 ? unit : 0);
    }
    return static_cast<double>(magnitude);
}

double toDouble(std::uint64_t x) { return oddDouble(x); }
double toDouble(std::int64_t x)
{
    const auto u = static_cast<std::uint64_t>(x);
    return x < 0 ? -oddDouble(0 - u) : oddDouble(u);
}
template <class T> double toDouble(T x) { return static_cast<double>(x); }

// The float next to x on the side of zero, with its last bit set when x is not a float: keeps what a
// rounding to 16 bits needs to know.
float oddFloat(double x)
{
    const auto nearest = static_cast<float>(x);
    if (std::isnan(x) || static_cast<double>(nearest) == x) return nearest;
    std::uint32_t bits = floatBits(nearest);
    if (std::fabs(static_cast<double>(nearest)) > std::fabs(x)) --bits;
    return bitsFloat(bits | 1u);
}

} // namespace

bool fitsFloat(DType dtype)
{
    return isReal(dtype) && dtype != DType::I32 && dtype != DType::U32 && dtype != DType::I64 &&
           dtype != DType::U64 && dtype != DType::F64;
}

void toFloats(DType dtype, std::span<const std::byte> in, std::uint64_t first, std::span<float> out)
{
    if (out.empty()) return;
    if (dtype == DType::F32) {
        std::memcpy(out.data(), in.data() + first * sizeof(float), out.size_bytes());
        return;
    }
    visit(dtype, in, first, out.size(), [&](std::size_t i, auto x) { out[i] = static_cast<float>(x); });
}

void toDoubles(DType dtype, std::span<const std::byte> in, std::uint64_t first, std::span<double> out)
{
    visit(dtype, in, first, out.size(), [&](std::size_t i, auto x) { out[i] = toDouble(x); });
}

float doubleToFloat(double x) { return static_cast<float>(x); }
std::uint16_t doubleToHalf(double x) { return floatToHalf(oddFloat(x)); }
std::uint16_t doubleToBfloat(double x) { return floatToBfloat(oddFloat(x)); }

} // namespace halftone
