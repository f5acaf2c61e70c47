// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/batch/commands.h"
#include "app/batch/program.h"
#include "core/base/file.h"
#include "core/result/picture.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <set>

namespace halftone::batch {

namespace {

using Json = nlohmann::ordered_json;

struct ViewOptions {
    std::string results, figure, folder;
    PictureStyle style;
    double scale = 2;
    bool dark = false;
};

/// A name from a file, as the name of a file: nothing in it leads out of the folder.
std::string fileName(const std::string& id)
{
    std::string name;
    for (const char c : id) {
        const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                           c == '_' || c == '-';
        name += plain ? c : '_';
    }
    if (name.size() > 100) name.resize(100);
    return name.empty() ? "_" : name;
}

class Viewer {
public:
    Viewer(Program& program, const ViewOptions& options, const ResultReader& results)
        : m_program(program), m_options(options), m_results(results)
    {
    }

    Status run()
    {
        std::error_code failed;
        std::filesystem::create_directories(m_options.folder, failed);
        if (failed)
            return Error(Errc::CannotWrite, "can't make the folder: " + failed.message())
                .in(m_options.folder);
        std::string known;
        bool any = false;
        for (const auto& spec : m_results.figures()) {
            known += (known.empty() ? "" : ", ") + spec.id;
            if (!m_options.figure.empty() && spec.id != m_options.figure) continue;
            any = true;
            auto done = figure(spec);
            if (!done) return std::move(done).error().in("figure " + spec.id);
        }
        if (!any && !m_options.figure.empty())
            return Error(Errc::NotFound,
                         known.empty()
                             ? fmt::format("no figure \"{}\": the results hold none", m_options.figure)
                             : fmt::format("no figure \"{}\"; there is: {}", m_options.figure, known));
        if (m_options.figure.empty())
            for (const auto& table : m_results.tables()) {
                HALFTONE_TRY(csv, tableCsv(m_results, table.name));
                HALFTONE_CHECK(write(unique("table_" + fileName(table.name)) + ".csv", csv));
            }
        m_program.print(m_program.json ? m_json.dump(2, ' ', false, Json::error_handler_t::replace) : m_text);
        return Ok{};
    }

private:
    Status figure(const FigureSpec& spec)
    {
        HALFTONE_TRY(picture, pictureOf(spec, m_results));
        const std::string stem = unique(fileName(spec.id));
        HALFTONE_CHECK(write(stem + ".svg", renderSvg(picture, m_options.style)));
        HALFTONE_TRY(png, renderPng(picture, m_options.style, m_options.scale));
        HALFTONE_CHECK(write(stem + ".png", {reinterpret_cast<const char*>(png.data()), png.size()}));
        HALFTONE_CHECK(write(stem + ".csv", renderCsv(picture)));
        const std::string words = describe(picture);
        m_json["figures"].push_back({{"id", spec.id}, {"title", spec.title}, {"words", words}});
        m_text += words + "\n";
        return Ok{};
    }

    Status write(const std::string& name, std::string_view bytes)
    {
        const auto path = std::filesystem::path(m_options.folder) / name;
        HALFTONE_CHECK(writeTextFile(path, bytes));
        m_json["files"].push_back(textOf(path));
        m_text += "  " + textOf(path) + "\n";
        return Ok{};
    }

    std::string unique(const std::string& stem)
    {
        std::string name = stem;
        for (int n = 2; !m_names.insert(name).second; ++n)
            name = fmt::format("{}_{}", stem, n);
        return name;
    }

    Program& m_program;
    const ViewOptions& m_options;
    const ResultReader& m_results;
    Json m_json{{"figures", Json::array()}, {"files", Json::array()}};
    std::string m_text;
    std::set<std::string> m_names;
};

Status runView(Program& program, ViewOptions options)
{
    auto results = openHdf5(options.results);
    if (!results) {
        if (results.error().code() == Errc::NotFound) return Error(Errc::Io, results.error().line());
        return std::move(results).error();
    }
    options.style.theme = options.dark ? PictureTheme::Dark : PictureTheme::Light;
    return Viewer(program, options, **results).run();
}

} // namespace

void addView(CLI::App& app, Program& program)
{
    auto options = std::make_shared<ViewOptions>();
    auto* cmd =
        app.add_subcommand("view", "Every figure as SVG, PNG and CSV, every table as CSV, without a display")
            ->fallthrough();
    cmd->add_option("RESULTS", options->results, "An HDF5 file that run wrote")->required();
    cmd->add_option("--figure", options->figure, "Only the figure of this id");
    cmd->add_option("-o,--output", options->folder, "Folder to write to; made when it is not there")
        ->required();
    cmd->add_option("--width", options->style.width, "Width of a figure in pixels")
        ->check(CLI::Range(200, 8000))
        ->capture_default_str();
    cmd->add_option("--height", options->style.height, "Height of a figure in pixels")
        ->check(CLI::Range(150, 8000))
        ->capture_default_str();
    cmd->add_option("--scale", options->scale, "Pixels of the PNG for each of the figure")
        ->check(CLI::Range(0.5, 8.0))
        ->capture_default_str();
    cmd->add_flag("--dark", options->dark, "Dark theme");
    cmd->callback(
        [&program, options] { program.action = [&program, options] { return runView(program, *options); }; });
}

} // namespace halftone::batch
