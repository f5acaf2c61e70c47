// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/text.h"

#include <array>
#include <charconv>
#include <cmath>
#include <fmt/core.h>

namespace halftone {

namespace {

std::string withPrefix(double value, const char* unit)
{
    constexpr std::array<const char*, 7> kPrefixes{"", "k", "M", "G", "T", "P", "E"};
    std::size_t p = 0;
    // 999.5 would print as "1e+03": the next prefix takes over where three digits end.
    while (value >= 999.5 && p + 1 < kPrefixes.size()) {
        value /= 1000;
        ++p;
    }
    const std::string digits = p == 0 ? fmt::format("{:.0f}", value)
                                      : fmt::format("{:.{}f}", value,
                                                    value < 9.995   ? 2
                                                    : value < 99.95 ? 1
                                                                    : 0);
    const std::string suffix = std::string(kPrefixes[p]) + unit;
    return suffix.empty() ? digits : digits + " " + suffix;
}

} // namespace

std::string humanBytes(std::uint64_t bytes) { return withPrefix(static_cast<double>(bytes), "B"); }

std::string humanCount(std::uint64_t count) { return withPrefix(static_cast<double>(count), ""); }

std::string humanDuration(std::chrono::nanoseconds duration)
{
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(duration).count();
    if (seconds < 3600) return fmt::format("{}:{:02}", seconds / 60, seconds % 60);
    return fmt::format("{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
}

std::string exactNumber(double value)
{
    if (std::isnan(value)) return "nan";
    if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
    std::array<char, 40> buffer{};
    const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
    return {buffer.data(), end.ptr};
}

std::string shortNumber(double value)
{
    if (!std::isfinite(value)) return exactNumber(value);
    return fmt::format("{:.4g}", value);
}

bool globMatch(std::string_view pattern, std::string_view name)
{
    // Greedy with one point of return: the last * seen, linear in practice and never exponential.
    std::size_t p = 0, n = 0, star = std::string_view::npos, resume = 0;
    while (n < name.size()) {
        if (p < pattern.size() && pattern[p] == '*') {
            star = p++;
            resume = n;
        } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n])) {
            ++p;
            ++n;
        } else if (star != std::string_view::npos) {
            p = star + 1;
            n = ++resume;
        } else {
            return false;
        }
    }
    while (p < pattern.size() && pattern[p] == '*')
        ++p;
    return p == pattern.size();
}

bool isUtf8(std::string_view text)
{
    for (std::size_t i = 0; i < text.size();) {
        const auto byte = [&](std::size_t k) { return static_cast<unsigned char>(text[k]); };
        const unsigned lead = byte(i);
        if (lead < 0x80) {
            ++i;
            continue;
        }
        const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
        if (lead < 0xC2 || lead > 0xF4 || i + length > text.size()) return false;
        for (std::size_t k = 1; k < length; ++k)
            if ((byte(i + k) & 0xC0) != 0x80) return false;
        const unsigned second = byte(i + 1);
        if ((lead == 0xE0 && second < 0xA0) || (lead == 0xED && second > 0x9F) ||
            (lead == 0xF0 && second < 0x90) || (lead == 0xF4 && second > 0x8F))
            return false;
        i += length;
    }
    return true;
}

} // namespace halftone
