// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/param/schema.h"

#include "core/base/text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <numeric>

namespace halftone {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Error refused(std::string text) { return {Errc::InvalidArgument, std::move(text)}; }

std::string limitText(const ParamSpec& spec, double limit)
{
    // Limits of whole numbers are written in full: 1000000, not 1e+06.
    if (spec.kind == ParamSpec::Kind::Int && std::fabs(limit) < 0x1p53) return fmt::format("{:.0f}", limit);
    return exactNumber(limit);
}

std::string rangeText(const ParamSpec& spec)
{
    const bool below = spec.min > -kInfinity, above = spec.max < kInfinity;
    if (below && above) return fmt::format("{}..{}", limitText(spec, spec.min), limitText(spec, spec.max));
    if (below) return fmt::format("{} or more", limitText(spec, spec.min));
    return fmt::format("{} or less", limitText(spec, spec.max));
}

Status checkRange(const ParamSpec& spec, double value, std::string_view text)
{
    if (value >= spec.min && value <= spec.max) return Ok{};
    const bool interval = spec.min > -kInfinity && spec.max < kInfinity;
    return refused(fmt::format("{}: {} is not {}{}", spec.key, text, interval ? "in " : "", rangeText(spec)));
}

Result<ParamValue> parseBool(const ParamSpec& spec, std::string_view text)
{
    for (std::string_view yes : {"true", "yes", "on", "1"})
        if (text == yes) return ParamValue(true);
    for (std::string_view no : {"false", "no", "off", "0"})
        if (text == no) return ParamValue(false);
    return refused(fmt::format("{}: '{}' is not true or false", spec.key, text));
}

Result<ParamValue> parseInt(const ParamSpec& spec, std::string_view text)
{
    std::int64_t value = 0;
    const char* end = text.data() + text.size();
    const auto [stop, code] = std::from_chars(text.data(), end, value);
    const bool bounded = spec.min > -kInfinity || spec.max < kInfinity;
    const std::string allowed = bounded ? fmt::format(" ({})", rangeText(spec)) : std::string();
    if (code == std::errc::result_out_of_range && stop == end)
        return refused(fmt::format("{}: {} is too large for a whole number{}", spec.key, text, allowed));
    if (code != std::errc() || stop != end)
        return refused(fmt::format("{}: '{}' is not a whole number{}", spec.key, text, allowed));
    HALFTONE_CHECK(checkRange(spec, static_cast<double>(value), text));
    return ParamValue(value);
}

Result<ParamValue> parseReal(const ParamSpec& spec, std::string_view text)
{
    double value = 0;
    const char* end = text.data() + text.size();
    const auto [stop, code] = std::from_chars(text.data(), end, value);
    const bool bounded = spec.min > -kInfinity || spec.max < kInfinity;
    const std::string allowed = bounded ? fmt::format(" ({})", rangeText(spec)) : std::string();
    if (code == std::errc::result_out_of_range && stop == end)
        return refused(
            fmt::format("{}: {} is too large or too small for a number{}", spec.key, text, allowed));
    // from_chars reads "nan" and "inf"; no parameter means them.
    if (code != std::errc() || stop != end || !std::isfinite(value))
        return refused(fmt::format("{}: '{}' is not a number{}", spec.key, text, allowed));
    HALFTONE_CHECK(checkRange(spec, value, text));
    return ParamValue(value);
}

Result<ParamValue> parseChoice(const ParamSpec& spec, std::string_view text)
{
    if (std::find(spec.choices.begin(), spec.choices.end(), text) != spec.choices.end())
        return ParamValue(std::string(text));
    return refused(fmt::format("{}: '{}' is not one of: {}", spec.key, text, fmt::join(spec.choices, ", ")));
}

Result<ParamValue> parseText(const ParamSpec& spec, std::string_view text)
{
    if (text.find('\0') != std::string_view::npos)
        return refused(fmt::format("{}: the text holds a zero byte", spec.key));
    // A path is whatever bytes the file system has; all other text goes into JSON and HDF5.
    if (spec.kind == ParamSpec::Kind::Text && !isUtf8(text))
        return refused(fmt::format("{}: the text is not UTF-8", spec.key));
    return ParamValue(std::string(text));
}

Result<ParamValue> parseSpec(const ParamSpec& spec, std::string_view text)
{
    switch (spec.kind) {
    case ParamSpec::Kind::Bool:
        return parseBool(spec, text);
    case ParamSpec::Kind::Int:
        return parseInt(spec, text);
    case ParamSpec::Kind::Real:
        return parseReal(spec, text);
    case ParamSpec::Kind::Choice:
        return parseChoice(spec, text);
    case ParamSpec::Kind::Text:
    case ParamSpec::Kind::File:
        return parseText(spec, text);
    }
    return Error(Errc::Internal, fmt::format("{}: a parameter of unknown kind", spec.key));
}

/// Edit distance (Levenshtein) of two keys, with '_' and '-' taken as the same.
std::size_t distance(std::string_view a, std::string_view b)
{
    const auto same = [](char p, char q) { return (p == '_' ? '-' : p) == (q == '_' ? '-' : q); };
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < a.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i + 1;
        for (std::size_t j = 0; j < b.size(); ++j) {
            const std::size_t change = diagonal + (same(a[i], b[j]) ? 0 : 1);
            diagonal = row[j + 1];
            row[j + 1] = std::min({change, row[j] + 1, diagonal + 1});
        }
    }
    return row[b.size()];
}

std::string unknownKey(const ParamSchema& schema, std::string_view key)
{
    constexpr std::size_t kLongestKey = 200; // the distance is quadratic, and what was typed may be anything
    if (schema.specs().empty()) return fmt::format("'{}' is unknown: there are no parameters", key);
    const ParamSpec* best = nullptr;
    std::size_t least = key.size() / 3 + 2;
    std::vector<std::string_view> known;
    for (const ParamSpec& spec : schema.specs()) {
        known.push_back(spec.key);
        if (key.size() > kLongestKey) continue;
        if (const std::size_t d = distance(key, spec.key); d < least) {
            least = d;
            best = &spec;
        }
    }
    if (best != nullptr) return fmt::format("'{}' is unknown; did you mean '{}'?", key, best->key);
    return fmt::format("'{}' is unknown; known are: {}", key.substr(0, kLongestKey), fmt::join(known, ", "));
}

} // namespace

const ParamSpec* ParamSchema::find(std::string_view key) const
{
    const auto it = std::find_if(m_specs.begin(), m_specs.end(), [&](const auto& s) { return s.key == key; });
    return it == m_specs.end() ? nullptr : &*it;
}

ParamSchema ParamSchema::joined(const ParamSchema& other) const
{
    ParamSchema all = *this;
    all.m_specs.insert(all.m_specs.end(), other.m_specs.begin(), other.m_specs.end());
    return all;
}

Result<ParamValue> ParamSchema::parse(std::string_view key, std::string_view text) const
{
    const ParamSpec* spec = find(key);
    if (spec == nullptr) return refused(unknownKey(*this, key));
    return parseSpec(*spec, text);
}

Result<ParamList> ParamSchema::complete(const ParamTexts& texts) const
{
    ParamList list;
    std::vector<std::string> problems;
    for (std::size_t i = 0; i < texts.size(); ++i) {
        const std::string& key = texts[i].first;
        const auto sameKey = [&](const auto& t) { return t.first == key; };
        // A key is complained about once, at its first place.
        if (std::any_of(texts.begin(), texts.begin() + static_cast<std::ptrdiff_t>(i), sameKey)) continue;
        if (find(key) == nullptr) problems.push_back(unknownKey(*this, key));
        if (const auto n = std::count_if(texts.begin(), texts.end(), sameKey); n > 1)
            problems.push_back(fmt::format("{}: given {} times", key, n));
    }
    for (const ParamSpec& spec : m_specs) {
        const auto given =
            std::find_if(texts.begin(), texts.end(), [&](const auto& t) { return t.first == spec.key; });
        if (given == texts.end()) {
            list.emplace_back(spec.key, spec.fallback);
            continue;
        }
        auto value = parseSpec(spec, given->second);
        if (value)
            list.emplace_back(spec.key, *std::move(value));
        else
            problems.push_back(value.error().what());
    }
    if (!problems.empty()) return refused(fmt::format("{}", fmt::join(problems, "; ")));
    return list;
}

bool ParamSchema::enabled(const ParamSpec& spec, const ParamList& values) const
{
    if (spec.enabledBy.empty()) return true;
    const std::string_view rule = spec.enabledBy;
    const std::size_t equal = rule.find('=');
    const std::string_view key = rule.substr(0, equal);
    for (const ParamSpec& other : m_specs) {
        if (other.key == spec.key)
            break; // only what is declared above counts, so that no rule goes in circles
        if (other.key != key) continue;
        if (!enabled(other, values)) return false;
        const ParamValue* given = findParam(values, key);
        const ParamValue& value = given != nullptr ? *given : other.fallback;
        if (equal == std::string_view::npos) {
            const bool* on = std::get_if<bool>(&value);
            return on == nullptr || *on;
        }
        const std::string text = toText(value);
        for (std::string_view rest = rule.substr(equal + 1);;) {
            const std::size_t bar = rest.find('|');
            if (rest.substr(0, bar) == text) return true;
            if (bar == std::string_view::npos) return false;
            rest.remove_prefix(bar + 1);
        }
    }
    return true;
}

std::string toText(const ParamValue& value)
{
    if (const bool* b = std::get_if<bool>(&value)) return *b ? "true" : "false";
    if (const std::int64_t* i = std::get_if<std::int64_t>(&value)) return fmt::format("{}", *i);
    if (const double* d = std::get_if<double>(&value)) return exactNumber(*d);
    return std::get<std::string>(value);
}

const ParamValue* findParam(const ParamList& list, std::string_view key)
{
    for (const auto& [name, value] : list)
        if (name == key) return &value;
    return nullptr;
}

ParamList paramsOf(const ParamList& list, const ParamSchema& schema)
{
    ParamList part;
    for (const auto& entry : list)
        if (schema.find(entry.first) != nullptr) part.push_back(entry);
    return part;
}

} // namespace halftone
