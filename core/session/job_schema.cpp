// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/job_file.h"

#include "core/param/documents.h"

#include <new>
#include <nlohmann/json.hpp>

namespace halftone {

namespace {

using OrderedJson = nlohmann::ordered_json;

OrderedJson constant(const char* value) { return {{"const", value}}; }

OrderedJson objectOf(OrderedJson properties, std::vector<std::string> required)
{
    return {{"type", "object"},
            {"properties", std::move(properties)},
            {"required", std::move(required)},
            {"additionalProperties", false}};
}

OrderedJson schemaOf(const ParamSchema& schema) { return OrderedJson::parse(paramJsonSchema(schema)); }

/// The same parameters, each of which may also be a list of values or, for a number, a range.
OrderedJson sweepSchemaOf(const ParamSchema& schema)
{
    OrderedJson object = schemaOf(schema);
    for (const auto& spec : schema.specs()) {
        auto& member = object["properties"][spec.key];
        OrderedJson forms =
            OrderedJson::array({member, {{"type", "array"}, {"items", member}, {"minItems", 1}}});
        if (spec.kind == ParamSpec::Kind::Int || spec.kind == ParamSpec::Kind::Real)
            forms.push_back(objectOf({{"from", {{"type", "number"}}},
                                      {"to", {{"type", "number"}}},
                                      {"step", {{"type", "number"}, {"exclusiveMinimum", 0}}}},
                                     {"from", "to"}));
        OrderedJson either = {{"anyOf", std::move(forms)}};
        if (member.contains("description")) either["description"] = member["description"];
        member = std::move(either);
    }
    // A sweep gives what it varies; the rest keeps its default.
    object.erase("required");
    return object;
}

const OrderedJson& textSchema()
{
    static const OrderedJson schema = {{"type", "string"}, {"minLength", 1}};
    return schema;
}

const OrderedJson& tensorsSchema()
{
    static const OrderedJson schema = {{"type", "array"},
                                       {"items", textSchema()},
                                       {"minItems", 1},
                                       {"description", "Names or ids of weights; * and ? match any text."}};
    return schema;
}

OrderedJson quantizeStep(const Method& method, const ParamSchema& schema)
{
    return objectOf({{"do", constant("quantize")},
                     {"method", constant(method.info().id.c_str())},
                     {"set", schemaOf(schema)},
                     {"output", textSchema()}},
                    {"do", "method", "output"});
}

OrderedJson jobSchema(const MethodRegistry& methods)
{
    OrderedJson steps = OrderedJson::array({objectOf({{"do", constant("overview")}}, {"do"})});
    OrderedJson points = OrderedJson::array();
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
    OrderedJson job =
        objectOf({{"$schema", {{"type", "string"}}},
                  {"halftone-job", {{"const", 1}}},
                  {"model", textSchema()},
                  {"seed", {{"type", "integer"}, {"minimum", 0}, {"default", 0}}},
                  {"steps", {{"type", "array"}, {"items", {{"anyOf", steps}}}, {"minItems", 1}}}},
                 {"halftone-job", "model", "steps"});
    OrderedJson whole = {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                         {"title", "Halftone job file"}};
    whole.update(job);
    return whole;
}

OrderedJson valueOf(const ParamValue& value)
{
    return std::visit([](const auto& v) { return OrderedJson(v); }, value);
}

OrderedJson setOf(const ParamList& params)
{
    OrderedJson set = OrderedJson::object();
    for (const auto& [key, value] : params)
        set[key] = valueOf(value);
    return set;
}

OrderedJson stepOf(const JobStep& step)
{
    using Do = JobStep::Do;
    OrderedJson out = OrderedJson::object();
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
        out["points"] = OrderedJson::array();
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
std::string dump(const OrderedJson& json)
{
    return json.dump(2, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

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
    OrderedJson job = {
        {"halftone-job", 1}, {"model", modelPath}, {"steps", OrderedJson::array({stepOf(step)})}};
    return dump(job);
}

} // namespace halftone
