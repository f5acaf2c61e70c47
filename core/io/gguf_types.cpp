// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/io/checkpoint.h"

#include <algorithm>
#include <array>

namespace halftone {

namespace {

constexpr std::uint32_t kNone = 0xffffffffu;

// Block sizes are those of ggml's structs. The last column are llama.cpp's LLAMA_FTYPE numbers of files in
// which every matrix has this type. 4, 5, 31-33 and 36-38 are retired: no current program writes them, but
// their sizes are known.
constexpr std::array<GgufTypeInfo, 43> kTypes{{
    {0, "F32", 1, 4, DType::F32, 0},
    {1, "F16", 1, 2, DType::F16, 1},
    {2, "Q4_0", 32, 18, {}, 2},
    {3, "Q4_1", 32, 20, {}, 3},
    {4, "Q4_2", 16, 10, {}, kNone},
    {5, "Q4_3", 16, 12, {}, kNone},
    {6, "Q5_0", 32, 22, {}, 8},
    {7, "Q5_1", 32, 24, {}, 9},
    {8, "Q8_0", 32, 34, {}, 7},
    {9, "Q8_1", 32, 36, {}, kNone},
    {10, "Q2_K", 256, 84, {}, 10},
    {11, "Q3_K", 256, 110, {}, 11},
    {12, "Q4_K", 256, 144, {}, 14},
    {13, "Q5_K", 256, 176, {}, 16},
    {14, "Q6_K", 256, 210, {}, 18},
    {15, "Q8_K", 256, 292, {}, kNone},
    {16, "IQ2_XXS", 256, 66, {}, 19},
    {17, "IQ2_XS", 256, 74, {}, 20},
    {18, "IQ3_XXS", 256, 98, {}, 23},
    {19, "IQ1_S", 256, 50, {}, 24},
    {20, "IQ4_NL", 32, 18, {}, 25},
    {21, "IQ3_S", 256, 110, {}, 26},
    {22, "IQ2_S", 256, 82, {}, 28},
    {23, "IQ4_XS", 256, 136, {}, 30},
    {24, "I8", 1, 1, DType::I8, kNone},
    {25, "I16", 1, 2, DType::I16, kNone},
    {26, "I32", 1, 4, DType::I32, kNone},
    {27, "I64", 1, 8, DType::I64, kNone},
    {28, "F64", 1, 8, DType::F64, kNone},
    {29, "IQ1_M", 256, 56, {}, 31},
    {30, "BF16", 1, 2, DType::BF16, 32},
    {31, "Q4_0_4_4", 32, 18, {}, 33},
    {32, "Q4_0_4_8", 32, 18, {}, 34},
    {33, "Q4_0_8_8", 32, 18, {}, 35},
    {34, "TQ1_0", 256, 54, {}, 36},
    {35, "TQ2_0", 256, 66, {}, 37},
    {36, "IQ4_NL_4_4", 32, 18, {}, kNone},
    {37, "IQ4_NL_4_8", 32, 18, {}, kNone},
    {38, "IQ4_NL_8_8", 32, 18, {}, kNone},
    {39, "MXFP4", 32, 17, {}, 38},
    {40, "NVFP4", 64, 36, {}, 39},
    {41, "Q1_0", 128, 18, {}, 40},
    {42, "Q2_0", 64, 18, {}, kNone},
}};

} // namespace

const GgufTypeInfo* ggufTypeInfo(std::uint32_t id) { return id < kTypes.size() ? &kTypes[id] : nullptr; }

static_assert(std::ranges::all_of(kTypes, [](const GgufTypeInfo& t) {
    return t.id == static_cast<std::uint32_t>(&t - kTypes.data());
}));

} // namespace halftone
