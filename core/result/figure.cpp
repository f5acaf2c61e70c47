// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/result/figure.h"

#include <array>
#include <exception>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <optional>

namespace halftone {

namespace {

using Json = nlohmann::ordered_json;
using Mark = Trace::Mark;

constexpr std::array<std::pair<Mark, const char*>, 6> kMarks{{{Mark::Line, "line"},
                                                              {Mark::Points, "points"},
                                                              {Mark::Bars, "bars"},
                                                              {Mark::Cells, "cells"},
                                                              {Mark::Rectangles, "rectangles"},
                                                              {Mark::Boxes, "boxes"}}};

const char* markName(Mark mark)
{
    for (const auto& [value, name] : kMarks)
        if (value == mark) return name;
    return "line";
}

std::optional<Mark> markOf(const std::string& name)
{
    for (const auto& [value, known] : kMarks)
        if (name == known) return value;
    return std::nullopt;
}

Json axisJson(const Axis& axis) { return {{"label", axis.label}, {"unit", axis.unit}, {"log", axis.log}}; }

Json traceJson(const Trace& t)
{
    Json object{
        {"label", t.label}, {"table", t.table},         {"x", t.x},         {"y", t.y},   {"z", t.z},
        {"text", t.text},   {"mark", markName(t.mark)}, {"where", t.where}, {"is", t.is}, {"hull", t.hull}};
    if (t.mark == Mark::Boxes) object["spread"] = t.spread;
    return object;
}

// Members that are missing keep their defaults: a later format may add some, an earlier one lacks them.
std::string text(const Json& object, const char* key) { return object.value(key, std::string()); }

Axis axisOf(const Json& root, const char* key)
{
    Axis axis;
    if (!root.contains(key)) return axis;
    const Json& object = root.at(key);
    axis.label = text(object, "label");
    axis.unit = text(object, "unit");
    axis.log = object.value("log", false);
    return axis;
}

Result<Trace> traceOf(const Json& object)
{
    Trace t;
    t.label = text(object, "label");
    t.table = text(object, "table");
    t.x = text(object, "x");
    t.y = text(object, "y");
    t.z = text(object, "z");
    t.text = text(object, "text");
    const std::string mark = object.value("mark", std::string("line"));
    const auto known = markOf(mark);
    if (!known)
        return Error(Errc::BadFormat, fmt::format("a figure's trace has the unknown mark '{}'", mark));
    t.mark = *known;
    t.where = text(object, "where");
    t.is = text(object, "is");
    t.hull = object.value("hull", false);
    if (object.contains("spread")) t.spread = object.at("spread").get<std::array<std::string, 4>>();
    return t;
}

} // namespace

std::string toJson(const FigureSpec& spec)
{
    Json root{{"id", spec.id},           {"title", spec.title},    {"kind", spec.kind},
              {"x", axisJson(spec.x)},   {"y", axisJson(spec.y)},  {"z", axisJson(spec.z)},
              {"traces", Json::array()}, {"caption", spec.caption}};
    for (const Trace& t : spec.traces)
        root["traces"].push_back(traceJson(t));
    return root.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<FigureSpec> figureFromJson(std::string_view json)
{
    try {
        const Json root = Json::parse(json);
        FigureSpec spec;
        spec.id = root.at("id").get<std::string>();
        spec.title = text(root, "title");
        spec.kind = text(root, "kind");
        spec.x = axisOf(root, "x");
        spec.y = axisOf(root, "y");
        spec.z = axisOf(root, "z");
        spec.caption = text(root, "caption");
        if (root.contains("traces"))
            for (const Json& object : root.at("traces")) {
                HALFTONE_TRY(trace, traceOf(object));
                spec.traces.push_back(std::move(trace));
            }
        return spec;
    } catch (const std::exception& e) {
        return Error(Errc::BadFormat, fmt::format("not a figure: {}", e.what()));
    }
}

} // namespace halftone
