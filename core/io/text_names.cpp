// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/io/text_names.h"

#include "core/base/text.h"

#include <algorithm>
#include <fmt/core.h>

namespace halftone {

std::string shownName(std::string_view name, std::size_t limit)
{
    std::string out(name.substr(0, limit));
    const bool cut = out.size() < name.size();
    // A cut may fall inside a character: drop its continuation bytes and its lead byte.
    if (cut)
        while (!out.empty() && (static_cast<unsigned char>(out.back()) & 0x80u) != 0)
            out.pop_back();
    const bool good = isUtf8(out);
    for (char& c : out) {
        const auto u = static_cast<unsigned char>(c);
        if (u < 0x20 || u == 0x7f || (u >= 0x80 && !good)) c = '?';
    }
    return cut ? out + "..." : out;
}

std::string shownNames(std::span<const std::string> names)
{
    constexpr std::size_t kShown = 3, kLimit = 250;
    std::string out;
    for (std::size_t i = 0; i < std::min(kShown, names.size()); ++i)
        out += (i == 0 ? "" : ", ") + shownName(names[i], kLimit);
    if (names.size() > kShown) out += fmt::format(" and {} more", names.size() - kShown);
    return out;
}

} // namespace halftone
