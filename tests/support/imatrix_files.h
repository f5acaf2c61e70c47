// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "tests/support/byte_writer.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace halftone::test {

/// One weight of an importance matrix: sums of squares, `counts.size()` sets one after the other.
struct ImatrixPart {
    std::string name;
    std::vector<float> sums;
    std::vector<float> counts;
};

inline Bytes floatBytes(const std::vector<float>& values)
{
    ByteWriter out;
    for (const float x : values)
        out.put(x);
    return out.out;
}

/// Keys of a GGUF importance matrix.
inline GgufBuilder imatrixKeys()
{
    GgufBuilder b;
    b.text("general.type", "imatrix").u32("imatrix.chunk_count", 100).u32("imatrix.chunk_size", 512);
    b.raw("imatrix.datasets", 9, ByteWriter().put(8u).put(std::uint64_t(1)).ggufString("wiki.train.raw").out);
    return b;
}

inline Bytes ggufImatrix(const std::vector<ImatrixPart>& parts)
{
    GgufBuilder b = imatrixKeys();
    for (const auto& part : parts) {
        const std::uint64_t sets = part.counts.size();
        b.tensor(part.name + ".in_sum2", {part.sums.size() / sets, sets}, 0, floatBytes(part.sums));
        b.tensor(part.name + ".counts", {1, sets}, 0, floatBytes(part.counts));
    }
    return b.finish();
}

/// The older form, with one count of calls a weight; `tail` closes it.
inline Bytes oldImatrix(const std::vector<ImatrixPart>& parts, std::string_view dataset = "wiki.train.raw")
{
    ByteWriter out;
    out.put(static_cast<std::int32_t>(parts.size()));
    for (const auto& part : parts) {
        out.put(static_cast<std::int32_t>(part.name.size())).text(part.name);
        out.put(static_cast<std::int32_t>(part.counts.at(0)))
            .put(static_cast<std::int32_t>(part.sums.size()));
        out.bytes(floatBytes(part.sums));
    }
    if (!dataset.empty())
        out.put(std::int32_t{7}).put(static_cast<std::int32_t>(dataset.size())).text(dataset);
    return out.out;
}

} // namespace halftone::test
