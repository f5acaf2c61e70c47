// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/base/result.h"
#include "core/io/checkpoint.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace halftone {

/// Everything in front of the tensor data of one GGUF file. Offsets of the tensors count from the start
/// of the file, sorted by offset.
struct GgufHeader {
    std::uint64_t headerBytes = 0;   ///< without the padding in front of the data
    std::vector<MetaEntry> metadata; ///< `raw` points into the file
    std::vector<TensorInfo> tensors;
    std::uint64_t end = 0;             ///< where the last tensor ends
    std::vector<std::string> problems; ///< holes, trailing bytes, what other readers refuse
    std::vector<std::string> cut;      ///< tensors that the file is too short for
};

/// Reads and checks it: every length and count against the file before use, names, dimensions, types,
/// alignment, overlaps. BadFormat; Unsupported for version 1 and big-endian files. A file that is too
/// short for its tensors is no error here: see `cut`. Memory grows with the file, never with what it claims.
Result<GgufHeader> readGgufHeader(std::span<const std::byte> file);

/// Bytes of one value of a scalar type; 0 for strings and arrays.
std::size_t metaBytes(MetaType type);

inline constexpr std::uint64_t kGgufAlignment = 32; ///< when general.alignment is not given
inline constexpr std::size_t kGgufNameLimit = 64;   ///< llama.cpp takes names shorter than this
inline constexpr int kGgufMaxDims = 4;

} // namespace halftone
