// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>

namespace halftone::test {

/// Bytes that operator new gave out in this program so far. A program that asks has its operators
/// replaced by counting ones.
std::uint64_t allocatedBytes();

} // namespace halftone::test
