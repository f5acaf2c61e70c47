// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/hash.h"

#include <fmt/core.h>
#include <xxhash.h>

namespace halftone {

struct Hasher::State {
    XXH3_state_t* xxh = XXH3_createState();
};

Hasher::Hasher() : m_state(std::make_unique<State>()) { XXH3_128bits_reset(m_state->xxh); }

Hasher::~Hasher() { XXH3_freeState(m_state->xxh); }

void Hasher::add(std::span<const std::byte> bytes)
{
    XXH3_128bits_update(m_state->xxh, bytes.data(), bytes.size());
}

void Hasher::add(std::string_view text) { XXH3_128bits_update(m_state->xxh, text.data(), text.size()); }

std::string Hasher::hex() const
{
    const XXH128_hash_t h = XXH3_128bits_digest(m_state->xxh);
    return fmt::format("{:016x}{:016x}", h.high64, h.low64);
}

} // namespace halftone
