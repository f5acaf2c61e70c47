// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/models/weight_filter.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

namespace halftone {

namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::string lowered(std::string_view text)
{
    std::string out(text);
    std::transform(out.begin(), out.end(), out.begin(), lower);
    return out;
}

std::string_view trimmed(std::string_view text)
{
    while (!text.empty() && text.front() == ' ')
        text.remove_prefix(1);
    while (!text.empty() && text.back() == ' ')
        text.remove_suffix(1);
    return text;
}

/// `needle` is lower case already.
bool contains(std::string_view text, std::string_view needle)
{
    return std::search(text.begin(), text.end(), needle.begin(), needle.end(),
                       [](char a, char b) { return lower(a) == b; }) != text.end();
}

bool equals(std::string_view text, std::string_view wanted)
{
    return text.size() == wanted.size() && contains(text, wanted);
}

std::optional<double> number(std::string_view text)
{
    text = trimmed(text);
    // Sizes may be typed as people say them: 4k, 12M, 1.5G.
    double unit = 1;
    if (!text.empty()) {
        const char last = lower(text.back());
        unit = last == 'k' ? 1e3 : last == 'm' ? 1e6 : last == 'g' ? 1e9 : 1;
        if (unit > 1) text.remove_suffix(1);
    }
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return value * unit;
}

} // namespace

Result<WeightFilter::Term> WeightFilter::parseTerm(std::string_view text)
{
    static constexpr std::array<std::pair<std::string_view, Field>, 14> kFields{
        {{"name", Field::Name},
         {"id", Field::Id},
         {"type", Field::Type},
         {"role", Field::Role},
         {"class", Field::Class},
         {"layer", Field::Layer},
         {"elements", Field::Elements},
         {"count", Field::Elements},
         {"bytes", Field::Bytes},
         {"size", Field::Bytes},
         {"bits", Field::Bits},
         {"snr", Field::Snr},
         {"sqnr", Field::Snr},
         {"mse", Field::Mse}}};
    static constexpr std::array<std::pair<std::string_view, Op>, 8> kOps{{{"<=", Op::LessEqual},
                                                                          {">=", Op::GreaterEqual},
                                                                          {"!=", Op::NotEqual},
                                                                          {"<", Op::Less},
                                                                          {">", Op::Greater},
                                                                          {"=", Op::Equal},
                                                                          {"~", Op::Contains},
                                                                          {" in ", Op::Range}}};
    Term term;
    std::size_t at = std::string_view::npos;
    std::size_t length = 0;
    for (const auto& [sign, op] : kOps) {
        const std::size_t found = text.find(sign);
        if (found >= at) continue;
        at = found;
        length = sign.size();
        term.op = op;
    }
    if (at == std::string_view::npos) {
        term.op = Op::Contains;
        term.text = lowered(text);
        return term;
    }
    const std::string key = lowered(trimmed(text.substr(0, at)));
    const std::string_view value = trimmed(text.substr(at + length));
    const auto field =
        std::find_if(kFields.begin(), kFields.end(), [&](const auto& f) { return f.first == key; });
    if (field == kFields.end())
        return Error(Errc::InvalidArgument, "filter: no field \"" + key +
                                                "\"; there are name, id, type, role, class, layer, elements, "
                                                "bytes, bits, snr, mse");
    if (value.empty())
        return Error(Errc::InvalidArgument, "filter: \"" + std::string(text) + "\" lacks a value");
    term.field = field->second;
    term.text = lowered(value);
    const bool numeric = term.field >= Field::Layer;
    if (term.op == Op::Range) {
        const std::size_t dots = value.find("..");
        const auto low = number(value.substr(0, dots));
        const auto high = dots == std::string_view::npos ? low : number(value.substr(dots + 2));
        if (!numeric || !low || !high)
            return Error(Errc::InvalidArgument,
                         "filter: \"" + std::string(text) + "\": a range reads like layer in 3..7");
        term.low = *low;
        term.high = *high;
    } else if (numeric) {
        const auto limit = number(value);
        if (!limit || term.op == Op::Contains)
            return Error(Errc::InvalidArgument, "filter: \"" + std::string(value) +
                                                    "\" is not a number to compare " + key + " with");
        term.low = *limit;
    } else if (term.op != Op::Equal && term.op != Op::NotEqual && term.op != Op::Contains) {
        return Error(Errc::InvalidArgument, "filter: " + key + " is text: use =, != or ~ (contains)");
    }
    return term;
}

Result<WeightFilter> WeightFilter::parse(std::string_view text)
{
    WeightFilter out;
    const std::string folded = lowered(text);
    std::size_t begin = 0;
    while (begin <= folded.size()) {
        const std::size_t end = std::min(folded.find(" and ", begin), folded.size());
        const std::string_view part = trimmed(std::string_view(folded).substr(begin, end - begin));
        if (!part.empty()) {
            HALFTONE_TRY(term, parseTerm(part));
            out.m_terms.push_back(std::move(term));
        }
        begin = end + 5;
    }
    return out;
}

bool WeightFilter::matches(const Term& term, const WeightFacts& facts)
{
    const auto text = [&](std::string_view value) {
        if (term.op == Op::Equal) return equals(value, term.text);
        if (term.op == Op::NotEqual) return !equals(value, term.text);
        return contains(value, term.text);
    };
    const auto compare = [&](double value) {
        // NaN fails every comparison but !=, which must not match the unknown either.
        switch (term.op) {
        case Op::Equal:
            return value == term.low;
        case Op::NotEqual:
            return value < term.low || value > term.low;
        case Op::Less:
            return value < term.low;
        case Op::LessEqual:
            return value <= term.low;
        case Op::Greater:
            return value > term.low;
        case Op::GreaterEqual:
            return value >= term.low;
        case Op::Range:
            return value >= term.low && value <= term.high;
        case Op::Contains:
            break;
        }
        return false;
    };
    switch (term.field) {
    case Field::Text:
        return contains(facts.name, term.text) || contains(facts.id, term.text);
    case Field::Name:
        return text(facts.name);
    case Field::Id:
        return text(facts.id);
    case Field::Type:
        return text(facts.type);
    case Field::Role:
        return text(facts.role);
    case Field::Class:
        return text(facts.roleClass);
    case Field::Layer:
        return facts.layer >= 0 && compare(facts.layer);
    case Field::Elements:
        return compare(facts.elements);
    case Field::Bytes:
        return compare(facts.bytes);
    case Field::Bits:
        return compare(facts.bits);
    case Field::Snr:
        return compare(facts.snr);
    case Field::Mse:
        return compare(facts.mse);
    }
    return false;
}

bool WeightFilter::matches(const WeightFacts& facts) const
{
    return std::all_of(m_terms.begin(), m_terms.end(), [&](const Term& t) { return matches(t, facts); });
}

} // namespace halftone
