// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/numeric/dtype.h"

#include "core/base/checked.h"

#include <array>

namespace halftone {

namespace {

struct Entry {
    std::string_view name;
    int bits;
    bool floating;
};

// In the order of the enum; the names are those of safetensors headers.
constexpr std::array<Entry, kDTypeCount> kTypes{
    {{"BOOL", 8, false},   {"F4", 4, true},          {"F6_E2M3", 6, true},     {"F6_E3M2", 6, true},
     {"U8", 8, false},     {"I8", 8, false},         {"F8_E5M2", 8, true},     {"F8_E4M3", 8, true},
     {"F8_E8M0", 8, true}, {"F8_E4M3FNUZ", 8, true}, {"F8_E5M2FNUZ", 8, true}, {"I16", 16, false},
     {"U16", 16, false},   {"F16", 16, true},        {"BF16", 16, true},       {"I32", 32, false},
     {"U32", 32, false},   {"F32", 32, true},        {"C64", 64, false},       {"F64", 64, true},
     {"I64", 64, false},   {"U64", 64, false}}};

const Entry& entry(DType dtype) { return kTypes[static_cast<std::size_t>(dtype)]; }

} // namespace

int bitsOf(DType dtype) { return entry(dtype).bits; }

std::string_view nameOf(DType dtype) { return entry(dtype).name; }

std::optional<DType> dtypeNamed(std::string_view name)
{
    for (std::size_t i = 0; i < kTypes.size(); ++i)
        if (kTypes[i].name == name) return static_cast<DType>(i);
    return std::nullopt;
}

bool isReal(DType dtype) { return dtype != DType::Bool && dtype != DType::C64; }

bool isFloat(DType dtype) { return entry(dtype).floating; }

std::optional<std::uint64_t> bytesOf(DType dtype, std::uint64_t count)
{
    const auto bits = checkedMul<std::uint64_t>(count, static_cast<std::uint64_t>(bitsOf(dtype)));
    if (bits) return *bits % 8 == 0 ? std::optional(*bits / 8) : std::nullopt;
    // Only the count of bits overflowed: whole-byte types may still fit.
    if (bitsOf(dtype) % 8 != 0) return std::nullopt;
    return checkedMul<std::uint64_t>(count, static_cast<std::uint64_t>(bitsOf(dtype) / 8));
}

} // namespace halftone
