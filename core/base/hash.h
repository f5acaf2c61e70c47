// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/base/export.h"

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace halftone {

/// XXH3, 128 bits, streaming. Names inputs in results; not a defence against a forger.
class HALFTONE_API Hasher {
public:
    Hasher();
    ~Hasher();
    Hasher(const Hasher&) = delete;
    Hasher& operator=(const Hasher&) = delete;
    void add(std::span<const std::byte> bytes);
    void add(std::string_view text);
    /// 32 hexadecimal digits of all that was added.
    std::string hex() const;

private:
    struct State;
    std::unique_ptr<State> m_state;
};

} // namespace halftone
