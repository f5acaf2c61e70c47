// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/param/documents.h"

#include "core/base/text.h"

#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace halftone {

namespace {

using Json = nlohmann::ordered_json;
using Kind = ParamSpec::Kind;

bool bounded(double limit) { return std::isfinite(limit); }

Json jsonNumber(Kind kind, double value)
{
    if (kind == Kind::Int && std::fabs(value) < 0x1p62) return static_cast<std::int64_t>(value);
    return value;
}

Json jsonValue(const ParamValue& value)
{
    return std::visit([](const auto& v) { return Json(v); }, value);
}

const char* jsonType(Kind kind)
{
    switch (kind) {
    case Kind::Bool:
        return "boolean";
    case Kind::Int:
        return "integer";
    case Kind::Real:
        return "number";
    case Kind::Choice:
    case Kind::Text:
    case Kind::File:
        break;
    }
    return "string";
}

Json jsonSpec(const ParamSpec& spec)
{
    Json out;
    out["type"] = jsonType(spec.kind);
    out["title"] = spec.label;
    out["description"] = spec.help;
    if (spec.kind == Kind::Choice) out["enum"] = spec.choices;
    if (spec.kind == Kind::Int || spec.kind == Kind::Real) {
        if (bounded(spec.min)) out["minimum"] = jsonNumber(spec.kind, spec.min);
        if (bounded(spec.max)) out["maximum"] = jsonNumber(spec.kind, spec.max);
    }
    out["default"] = jsonValue(spec.fallback);
    // Readers of JSON Schema pass over keywords that they don't know.
    if (!spec.unit.empty()) out["x-unit"] = spec.unit;
    if (!spec.enabledBy.empty()) out["x-enabled-by"] = spec.enabledBy;
    if (spec.level == ParamSpec::Level::Advanced) out["x-level"] = "advanced";
    return out;
}

/// One cell of a Markdown table: a bar would end it, a line break would end the table.
std::string cell(std::string_view text)
{
    std::string out;
    for (char c : text) {
        if (c == '|')
            out += "\\|";
        else
            out += c == '\n' || c == '\r' ? ' ' : c;
    }
    return out;
}

std::string enabledText(const ParamSpec& spec)
{
    if (spec.enabledBy.empty()) return {};
    const std::size_t equal = spec.enabledBy.find('=');
    if (equal == std::string::npos) return fmt::format(" Used with `{}`.", spec.enabledBy);
    std::string choices = spec.enabledBy.substr(equal + 1);
    for (std::size_t bar; (bar = choices.find('|')) != std::string::npos;)
        choices.replace(bar, 1, " or ");
    return fmt::format(" Used when `{}` is {}.", spec.enabledBy.substr(0, equal), choices);
}

} // namespace

std::string paramJsonSchema(const ParamSchema& schema)
{
    Json out;
    out["$schema"] = "https://json-schema.org/draft/2020-12/schema";
    out["type"] = "object";
    out["properties"] = Json::object();
    for (const ParamSpec& spec : schema.specs())
        out["properties"][spec.key] = jsonSpec(spec);
    out["additionalProperties"] = false;
    return out.dump(2, ' ', false, Json::error_handler_t::replace);
}

std::string paramHelpTable(const ParamSchema& schema)
{
    std::string out = "| Key | Value | Default | Unit | Help |\n| --- | --- | --- | --- | --- |\n";
    for (const ParamSpec& spec : schema.specs()) {
        const std::string fallback = toText(spec.fallback);
        out += fmt::format("| `{}` | {} | {} | {} | {} |\n", cell(spec.key), cell(paramTypeText(spec)),
                           fallback.empty() ? "none" : cell(fallback), cell(spec.unit),
                           cell(spec.help + enabledText(spec)));
    }
    return out;
}

std::string paramTypeText(const ParamSpec& spec)
{
    const auto range = [&](const char* type) -> std::string {
        const auto limit = [&](double v) {
            return spec.kind == Kind::Int && std::fabs(v) < 0x1p53 ? fmt::format("{:.0f}", v)
                                                                   : exactNumber(v);
        };
        if (bounded(spec.min) && bounded(spec.max))
            return fmt::format("{} in {}..{}", type, limit(spec.min), limit(spec.max));
        if (bounded(spec.min)) return fmt::format("{}, {} or more", type, limit(spec.min));
        if (bounded(spec.max)) return fmt::format("{}, {} or less", type, limit(spec.max));
        return type;
    };
    switch (spec.kind) {
    case Kind::Bool:
        return "true or false";
    case Kind::Int:
        return range("INT");
    case Kind::Real:
        return range("REAL");
    case Kind::Choice:
        return fmt::format("one of: {}", fmt::join(spec.choices, ", "));
    case Kind::Text:
        return "TEXT";
    case Kind::File:
        break;
    }
    return "FILE";
}

} // namespace halftone
