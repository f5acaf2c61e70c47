// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace halftone {

/// FNV-1a, 64 bits: seeds random streams from names.
constexpr std::uint64_t fnv1a64(std::string_view text)
{
    std::uint64_t h = 0xcbf29ce484222325u;
    for (char c : text)
        h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    return h;
}

/// Sequential generator of the fixtures and golden data (Steele et al. 2014).
class SplitMix64 {
public:
    explicit constexpr SplitMix64(std::uint64_t seed) : m_state(seed) {}
    constexpr std::uint64_t next()
    {
        std::uint64_t z = (m_state += 0x9E3779B97F4A7C15u);
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
        return z ^ (z >> 31);
    }
    /// Uniform in (0, 1).
    constexpr double uniform() { return (static_cast<double>(next() >> 11) + 0.5) * 0x1.0p-53; }

private:
    std::uint64_t m_state;
};

/// Counter-based generator: a value depends on (seed, stream, index) only, never on thread order.
/// Philox4x32-10 (Salmon et al. 2011).
class CounterRng {
public:
    explicit constexpr CounterRng(std::uint64_t seed) : m_seed(seed) {}
    constexpr std::uint64_t seed() const { return m_seed; }
    /// 128 random bits of one counter.
    constexpr std::array<std::uint32_t, 4> block(std::uint64_t stream, std::uint64_t index) const
    {
        std::array<std::uint32_t, 4> c{
            static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32),
            static_cast<std::uint32_t>(stream), static_cast<std::uint32_t>(stream >> 32)};
        auto k0 = static_cast<std::uint32_t>(m_seed);
        auto k1 = static_cast<std::uint32_t>(m_seed >> 32);
        for (int round = 0; round < 10; ++round) {
            const std::uint64_t p0 = 0xD2511F53ull * c[0];
            const std::uint64_t p1 = 0xCD9E8D57ull * c[2];
            c = {static_cast<std::uint32_t>(p1 >> 32) ^ c[1] ^ k0, static_cast<std::uint32_t>(p1),
                 static_cast<std::uint32_t>(p0 >> 32) ^ c[3] ^ k1, static_cast<std::uint32_t>(p0)};
            k0 += 0x9E3779B9u;
            k1 += 0xBB67AE85u;
        }
        return c;
    }
    /// Uniform in (0, 1).
    constexpr double uniform(std::uint64_t stream, std::uint64_t index) const
    {
        const auto b = block(stream, index);
        const std::uint64_t bits = (static_cast<std::uint64_t>(b[1]) << 32 | b[0]) >> 11;
        return (static_cast<double>(bits) + 0.5) * 0x1.0p-53;
    }

private:
    std::uint64_t m_seed;
};

} // namespace halftone
