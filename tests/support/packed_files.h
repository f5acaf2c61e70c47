// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "tests/support/fixtures.h"

#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

namespace halftone::test {

// Weights as GPTQ, AWQ and others store them, packed here from the descriptions of those layouts, without a
// line of the product's code.

/// A grid in numbers: codes and zero points of a weight [rows, cols] with `groups` groups of inputs.
struct PlainGrid {
    std::int64_t rows = 0, cols = 0, groups = 1;
    int bits = 4;
    std::vector<std::uint32_t> codes;  ///< [rows, cols]
    std::vector<std::uint32_t> zeros;  ///< [rows, groups]
    std::vector<std::uint16_t> scales; ///< [rows, groups], F16
    std::vector<std::int32_t> group;   ///< [cols]
};

/// Bits [i b, i b + b) of a stream of `count` numbers, in whole 32-bit words.
inline std::vector<std::uint32_t> bitStream(int bits, std::int64_t count,
                                            const std::function<std::uint32_t(std::int64_t)>& at)
{
    std::vector<std::uint32_t> words(static_cast<std::size_t>((count * bits + 31) / 32));
    for (std::int64_t i = 0; i < count; ++i)
        for (int b = 0; b < bits; ++b)
            if ((at(i) >> b & 1u) != 0)
                words[static_cast<std::size_t>((i * bits + b) / 32)] |= 1u << ((i * bits + b) % 32);
    return words;
}

template <class T>
FixtureTensor tensorOfList(std::string name, Shape shape, DType dtype, const std::vector<T>& list)
{
    FixtureTensor t{std::move(name), shape, dtype, Bytes(list.size() * sizeof(T))};
    if (!list.empty()) std::memcpy(t.bytes.data(), list.data(), t.bytes.size());
    return t;
}

/// scales [groups, rows] from [rows, groups].
inline FixtureTensor turnedScales(const std::string& name, const PlainGrid& g)
{
    std::vector<std::uint16_t> turned;
    for (std::int64_t k = 0; k < g.groups; ++k)
        for (std::int64_t r = 0; r < g.rows; ++r)
            turned.push_back(g.scales[static_cast<std::size_t>(r * g.groups + k)]);
    return tensorOfList(name, {g.groups, g.rows}, DType::F16, turned);
}

/// qweight, qzeros, scales and g_idx of a module; `minus` is what version 1 takes from a zero point.
inline std::vector<FixtureTensor> gptqTensors(const std::string& module, const PlainGrid& g, int minus,
                                              bool index = true)
{
    const auto wordRows = (g.cols * g.bits + 31) / 32, zeroWords = (g.rows * g.bits + 31) / 32;
    std::vector<std::uint32_t> codes(static_cast<std::size_t>(wordRows * g.rows)), zeros;
    for (std::int64_t r = 0; r < g.rows; ++r) {
        const auto words = bitStream(g.bits, g.cols, [&](std::int64_t c) {
            return g.codes[static_cast<std::size_t>(r * g.cols + c)];
        });
        for (std::int64_t w = 0; w < wordRows; ++w)
            codes[static_cast<std::size_t>(w * g.rows + r)] = words[static_cast<std::size_t>(w)];
    }
    const std::uint32_t mask = (1u << g.bits) - 1u;
    for (std::int64_t k = 0; k < g.groups; ++k)
        for (const auto word : bitStream(g.bits, g.rows, [&](std::int64_t r) {
                 return (g.zeros[static_cast<std::size_t>(r * g.groups + k)] -
                         static_cast<std::uint32_t>(minus)) &
                        mask;
             }))
            zeros.push_back(word);
    std::vector<FixtureTensor> out{tensorOfList(module + ".qweight", {wordRows, g.rows}, DType::I32, codes),
                                   tensorOfList(module + ".qzeros", {g.groups, zeroWords}, DType::I32, zeros),
                                   turnedScales(module + ".scales", g)};
    if (index) out.push_back(tensorOfList(module + ".g_idx", {g.cols}, DType::I32, g.group));
    return out;
}

/// qweight, qzeros and scales of a module with 4 bits, words in the order 0 2 4 6 1 3 5 7.
inline std::vector<FixtureTensor> awqTensors(const std::string& module, const PlainGrid& g)
{
    constexpr int kOrder[] = {0, 2, 4, 6, 1, 3, 5, 7};
    const auto pack = [&](std::int64_t lines,
                          const std::function<std::uint32_t(std::int64_t, std::int64_t)>& at) {
        std::vector<std::uint32_t> words;
        for (std::int64_t i = 0; i < lines; ++i)
            for (std::int64_t o = 0; o < g.rows; o += 8) {
                std::uint32_t word = 0;
                for (int k = 0; k < 8; ++k)
                    word |= at(i, o + kOrder[k]) << (4 * k);
                words.push_back(word);
            }
        return words;
    };
    const auto codes = pack(g.cols, [&](std::int64_t i, std::int64_t o) {
        return g.codes[static_cast<std::size_t>(o * g.cols + i)];
    });
    const auto zeros = pack(g.groups, [&](std::int64_t k, std::int64_t o) {
        return g.zeros[static_cast<std::size_t>(o * g.groups + k)];
    });
    return {tensorOfList(module + ".qweight", {g.cols, g.rows / 8}, DType::I32, codes),
            tensorOfList(module + ".qzeros", {g.groups, g.rows / 8}, DType::I32, zeros),
            turnedScales(module + ".scales", g)};
}

} // namespace halftone::test
