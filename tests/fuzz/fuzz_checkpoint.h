// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstddef>
#include <span>

namespace halftone::test {

// Each opens the bytes as a file and, when that works, reads all there is to read. They return whether the
// bytes opened; what they look for is a crash, a hang or a report of a sanitizer.

/// Any bytes.
bool fuzzSafetensors(std::span<const std::byte> bytes);
/// The bytes behind the magic, so that no time is lost on finding it.
bool fuzzGguf(std::span<const std::byte> bytes);
/// Any bytes, as an importance matrix.
bool fuzzImatrix(std::span<const std::byte> bytes);

} // namespace halftone::test
