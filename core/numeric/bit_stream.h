// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/numeric/hd.h"

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace halftone {

// The bit stream of one row, in whole little-endian 32-bit words. `highFirst` swaps the nibbles of all bytes:
// the first of two 4-bit codes then has the high one.

HALFTONE_HD std::uint32_t swapNibbles(std::uint32_t word)
{
    return (word & 0x0f0f0f0fu) << 4 | (word >> 4 & 0x0f0f0f0fu);
}

class BitWriter {
public:
    explicit BitWriter(std::byte* out, bool highFirst = false) : m_out(out), m_highFirst(highFirst) {}
    void put(std::uint32_t value, int bits)
    {
        m_pending |= static_cast<std::uint64_t>(value) << m_count;
        m_count += bits;
        if (m_count >= 32) flushWord();
    }
    void finish()
    {
        if (m_count > 0) flushWord();
    }

private:
    void flushWord()
    {
        auto word = static_cast<std::uint32_t>(m_pending);
        if (m_highFirst) word = swapNibbles(word);
        std::memcpy(m_out, &word, sizeof word);
        m_out += sizeof word;
        m_pending >>= 32;
        m_count -= 32;
    }
    std::byte* m_out;
    const bool m_highFirst;
    std::uint64_t m_pending = 0;
    int m_count = 0;
};

class BitReader {
public:
    explicit BitReader(const std::byte* in, bool highFirst = false) : m_in(in), m_highFirst(highFirst) {}
    std::uint32_t get(int bits)
    {
        if (m_count < bits) {
            std::uint32_t word;
            std::memcpy(&word, m_in, sizeof word);
            if (m_highFirst) word = swapNibbles(word);
            m_in += sizeof word;
            m_pending |= static_cast<std::uint64_t>(word) << m_count;
            m_count += 32;
        }
        const auto value = static_cast<std::uint32_t>(m_pending) & ((1u << bits) - 1u);
        m_pending >>= bits;
        m_count -= bits;
        return value;
    }

private:
    const std::byte* m_in;
    const bool m_highFirst;
    std::uint64_t m_pending = 0;
    int m_count = 0;
};

} // namespace halftone
