// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/job_file.h"

#include "core/param/documents.h"

#include <new>
#include <nlohmann/json.hpp>

namespace halftone {

namespace {

using Json = nlohmann::ordered_json;

Json constant(const char* value) { return {{"const", value}}; }

Json objectOf(Json properties, std::vector<std::string> required)
{
    return {{"type", "object"},
            {"properties", std::move(properties)},
            {"required", std::move(required)},
            {"additionalProperties", false}};
}

Json schemaOf(const ParamSchema& schema) { return Json::parse(paramJsonSchema(schema)); }

/// The same parameters, each of which may also be a list of values or, for a number, a range.
Json sweepSchemaOf(const ParamSchema& schema)
{
    Json object = schemaOf(schema);
    for (const auto& spec : schema.specs()) {
        auto& member = object["properties"][spec.key];
        Json forms = Json::array({member, {{"type", "array"}, {"items", member}, {"minItems", 1}}});
        if (spec.kind == ParamSpec::Kind::Int || spec.kind == ParamSpec::Kind::Real)
            forms.push_back(objectOf({{"from", {{"type", "number"}}},
                                      {"to", {{"type", "number"}}},
                                      {"step", {{"type", "number"}, {"exclusiveMinimum", 0}}}},
                                     {"from", "to"}));
        Json either = {{"anyOf", std::move(forms)}};
        if (member.contains("description")) either["description"] = member["description"];
        member = std::move(either);
    }
    // A sweep gives what it varies; the rest keeps its default.
    object.erase("required");
    return object;
}

const Json& textSchema()
{
    static const Json schema = {{"type", "string"}, {"minLength", 1}};
    return schema;
}

const Json& tensorsSchema()
{
    static const Json schema = {{"type", "array"},
                                {"items", textSchema()},
                                {"minItems", 1},
                                {"description", "Names or ids of weights; * and ? match any text."}};
    return schema;
}

Json quantizeStep(const Method& method, const ParamSchema& schema)
{
    return objectOf({{"do", constant("quantize")},
                     {"method", constant(method.info().id.c_str())},
                     {"set", schemaOf(schema)},
                     {"output", textSchema()}},
                    {"do", "method", "output"});
}

Json jobSchema(const MethodRegistry& methods)
{
    Json steps = Json::array({objectOf({{"do", constant("overview")}}, {"do"})});
    Json points = Json::array();
    for (const auto& method : methods.all()) {
        steps.push_back(objectOf({{"do", constant("analyse")},
                                  {"method", constant(method->info().id.c_str())},
                                  {"set", schemaOf(method->schema())},
                                  {"tensors", tensorsSchema()}},
                                 {"do", "method"}));
        if (dynamic_cast<const QuantizeMethod*>(method.get()) == nullptr) continue;
        const ParamSchema schema = quantizeSchema().joined(method->schema());
        steps.push_back(quantizeStep(*method, schema));
        points.push_back(objectOf(
            {{"method", constant(method->info().id.c_str())}, {"set", sweepSchemaOf(schema)}}, {"method"}));
    }
    if (!points.empty())
        steps.push_back(
            objectOf({{"do", constant("sweep")},
                      {"points", {{"type", "array"}, {"items", {{"anyOf", points}}}, {"minItems", 1}}},
                      {"tensors", tensorsSchema()}},
                     {"do", "points"}));
    steps.push_back(objectOf(
        {{"do", constant("verify")}, {"output", textSchema()}, {"against", textSchema()}}, {"do", "output"}));
    Json job = objectOf({{"$schema", {{"type", "string"}}},
                         {"halftone-job", {{"const", 1}}},
                         {"model", textSchema()},
                         {"seed", {{"type", "integer"}, {"minimum", 0}, {"default", 0}}},
                         {"steps", {{"type", "array"}, {"items", {{"anyOf", steps}}}, {"minItems", 1}}}},
                        {"halftone-job", "model", "steps"});
    Json whole = {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                  {"title", "Halftone job file"}};
    whole.update(job);
    return whole;
}

Json valueOf(const ParamValue& value)
{
    return std::visit([](const auto& v) { return Json(v); }, value);
}

Json setOf(const ParamList& params)
{
    Json set = Json::object();
    for (const auto& [key, value] : params)
        set[key] = valueOf(value);
    return set;
}

Json stepOf(const JobStep& step)
{
    using Do = JobStep::Do;
    Json out = Json::object();
    switch (step.what) {
    case Do::Overview:
        out["do"] = "overview";
        break;
    case Do::Analyse:
    case Do::Quantize:
        out["do"] = step.what == Do::Analyse ? "analyse" : "quantize";
        if (step.method) out["method"] = step.method->info().id;
        out["set"] = setOf(step.params);
        break;
    case Do::Sweep:
        out["do"] = "sweep";
        out["points"] = Json::array();
        for (const auto& point : step.points)
            out["points"].push_back({{"method", point.method->info().id}, {"set", setOf(point.params)}});
        break;
    case Do::Verify:
        out["do"] = "verify";
        break;
    }
    if (!step.tensors.empty()) out["tensors"] = step.tensors;
    if (!step.output.empty()) out["output"] = step.output;
    if (!step.against.empty()) out["against"] = step.against;
    return out;
}

/// Names from files may hold bytes that are no UTF-8: replaced, never thrown over.
std::string dump(const Json& json) { return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"; }

} // namespace

std::string jobSchemaJson(const MethodRegistry& methods)
{
    try {
        return dump(jobSchema(methods));
    } catch (const nlohmann::json::exception&) {
        // paramJsonSchema() writes JSON: reached only if that is broken.
        return "{}\n";
    }
}

std::string jobText(const std::string& modelPath, const JobStep& step)
{
    Json job = {{"halftone-job", 1}, {"model", modelPath}, {"steps", Json::array({stepOf(step)})}};
    return dump(job);
}

} // namespace halftone
