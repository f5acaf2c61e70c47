// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/fuzz/fuzz_checkpoint.h"

#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    halftone::test::fuzzImatrix(std::as_bytes(std::span(data, size)));
    return 0;
}
