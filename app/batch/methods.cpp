// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/batch/commands.h"
#include "app/batch/program.h"
#include "core/param/documents.h"
#include "core/session/quantize.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <memory>
#include <nlohmann/json.hpp>

namespace halftone::batch {

namespace {

using Json = nlohmann::ordered_json;
using State = PluginEntry::State;

std::string_view nameOf(State state)
{
    switch (state) {
    case State::Found:
        return "found";
    case State::Read:
        return "read";
    case State::Refused:
        return "refused";
    case State::Loaded:
        return "loaded";
    case State::Ready:
        return "ready";
    case State::Failed:
        return "failed";
    }
    return "unknown";
}

bool quantizes(const Method& method) { return dynamic_cast<const QuantizeMethod*>(&method) != nullptr; }

Json jsonOf(const Method& method, bool whole)
{
    const auto& info = method.info();
    Json out{{"id", info.id},
             {"version", info.version},
             {"title", info.title},
             {"summary", info.summary},
             {"reference", info.reference},
             {"family", nameOf(info.family)},
             {"needs_calibration", info.needsCalibration}};
    if (!whole) return out;
    out["parameters"] = Json::parse(paramJsonSchema(method.schema()));
    if (quantizes(method)) out["quantize_parameters"] = Json::parse(paramJsonSchema(quantizeSchema()));
    out["tables"] = Json::array();
    for (const auto& table : method.tables()) {
        Json columns = Json::array();
        for (const auto& column : table.columns)
            columns.push_back({{"name", column.name}, {"unit", column.unit}, {"help", column.help}});
        out["tables"].push_back({{"name", table.name}, {"help", table.help}, {"columns", columns}});
    }
    out["figures"] = Json::array();
    for (const auto& figure : method.figures())
        out["figures"].push_back({{"id", figure.id}, {"kind", figure.kind}, {"title", figure.title}});
    return out;
}

Status listAll(Program& program)
{
    if (program.json) {
        Json out{{"methods", Json::array()}, {"plugins", Json::array()}};
        for (const auto& method : program.methods().all())
            out["methods"].push_back(jsonOf(*method, false));
        for (const auto& p : program.plugins())
            out["plugins"].push_back({{"file", p.file.toStdString()},
                                      {"id", p.id.toStdString()},
                                      {"version", p.version.toStdString()},
                                      {"api", p.api},
                                      {"state", nameOf(p.state)},
                                      {"why", p.why.toStdString()}});
        program.print(out.dump(2, ' ', false, Json::error_handler_t::replace));
        return Ok{};
    }
    std::string out;
    for (const auto& method : program.methods().all())
        out += fmt::format("{:<14} {:<10} {}\n", method->info().id, nameOf(method->info().family),
                           method->info().summary);
    if (out.empty())
        out = "No method plugin was found: set HALFTONE_PLUGIN_PATH to the folder of the plugins.\n";
    for (const auto& p : program.plugins())
        if (p.state != State::Ready)
            out += fmt::format("{} {}: {}\n", nameOf(p.state), p.file.toStdString(), p.why.toStdString());
    program.print(out);
    return Ok{};
}

Status showOne(Program& program, const std::string& id)
{
    HALFTONE_TRY(method, program.methods().find(id));
    if (program.json) {
        program.print(jsonOf(*method, true).dump(2, ' ', false, Json::error_handler_t::replace));
        return Ok{};
    }
    const auto& info = method->info();
    std::string out =
        fmt::format("{} ({}, version {}, {})\n{}\nReference: {}\n\nParameters, given as --set key=value\n{}",
                    info.title, info.id, info.version, nameOf(info.family), info.summary, info.reference,
                    paramHelpTable(method->schema()));
    if (quantizes(*method))
        out += fmt::format("\nParameters of every quantize run\n{}", paramHelpTable(quantizeSchema()));
    out += "\nWrites the tables";
    for (const auto& table : method->tables())
        out += " " + table.name;
    out += " and the figures";
    for (const auto& figure : method->figures())
        out += " " + figure.id;
    program.print(out + "\n");
    return Ok{};
}

} // namespace

void addMethods(CLI::App& app, Program& program)
{
    auto id = std::make_shared<std::string>();
    auto* cmd =
        app.add_subcommand("methods", "All method plugins, or one with its parameters")->fallthrough();
    cmd->add_option("ID", *id, "Id of a method, for example rtn");
    cmd->callback([&program, id] {
        program.action = [&program, id] { return id->empty() ? listAll(program) : showOne(program, *id); };
    });
}

} // namespace halftone::batch
