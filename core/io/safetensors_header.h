// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/base/result.h"
#include "core/io/checkpoint.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace halftone {

/// Longest header that the format allows.
inline constexpr std::uint64_t kSafetensorsHeaderLimit = 100'000'000;

/// The header of one safetensors file. Offsets of the tensors count from the start of the file, sorted
/// by offset.
struct SafetensorsHeader {
    std::uint64_t headerBytes = 0; ///< length field and JSON
    std::vector<TensorInfo> tensors;
    std::vector<std::pair<std::string, std::string>> metadata;
    std::uint64_t end = 0;             ///< where the last tensor ends
    std::vector<std::string> problems; ///< holes and trailing bytes
    std::vector<std::string> cut;      ///< tensors that the file is too short for
};

/// Reads and checks it: length against the file, JSON, shapes times types against spans, overlaps.
/// BadFormat. A file that is too short for its tensors is no error here: see `cut`.
Result<SafetensorsHeader> readSafetensorsHeader(std::span<const std::byte> file);

} // namespace halftone
