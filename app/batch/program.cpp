// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/batch/program.h"

#include "app/batch/terminal.h"
#include "core/base/version.h"
#include "core/device/device.h"
#include "core/session/job_file.h"

#include <QDateTime>
#include <chrono>
#include <cstdio>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <thread>

namespace halftone::batch {

namespace {

std::string_view nameOf(Errc code)
{
    switch (code) {
    case Errc::Cancelled:
        return "cancelled";
    case Errc::InvalidArgument:
        return "invalid-argument";
    case Errc::NotFound:
        return "not-found";
    case Errc::Io:
        return "io";
    case Errc::CannotWrite:
        return "cannot-write";
    case Errc::BadFormat:
        return "bad-format";
    case Errc::Unsupported:
        return "unsupported";
    case Errc::OutOfMemory:
        return "out-of-memory";
    case Errc::Device:
        return "device";
    case Errc::Numeric:
        return "numeric";
    case Errc::CheckFailed:
        return "check-failed";
    case Errc::Internal:
        return "internal";
    }
    return "internal";
}

} // namespace

void Program::load()
{
    if (m_loaded) return;
    m_loaded = true;
    m_plugins = loadPlugins(m_methods, false);
}

const MethodRegistry& Program::methods()
{
    load();
    return m_methods;
}

const std::vector<PluginEntry>& Program::plugins()
{
    load();
    return m_plugins;
}

void Program::print(const std::string& text) const
{
    std::fwrite(text.data(), 1, text.size(), stdout);
    if (!text.empty() && text.back() != '\n') std::fputc('\n', stdout);
    std::fflush(stdout);
}

void Program::printError(const Error& error) const
{
    if (json) {
        nlohmann::ordered_json out;
        out["error"] = {
            {"code", nameOf(error.code())}, {"exit", exitCode(error.code())}, {"what", error.what()}};
        // Outermost first, as the line for people has it.
        out["error"]["where"] = std::vector<std::string>(error.trail().rbegin(), error.trail().rend());
        out["error"]["line"] = error.line();
        print(out.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
    }
    fmt::print(stderr, "halftone-batch: {}\n", error.line());
}

void Program::warn(const std::string& text) const
{
    fmt::print(stderr, "halftone-batch: warning: {}\n", text);
}

Status Program::runJob(const std::string& title, std::shared_ptr<ResultWriter> results,
                       std::function<Status(JobContext&)> body)
{
    const InterruptWatch interrupts;
    TerminalProgress terminal;
    auto runner = JobRunner::make();
    JobRequest request;
    request.title = title;
    request.deviceId = device;
    request.seed = seed;
    request.results = std::move(results);
    request.body = std::move(body);
    const JobId id = runner->submit(std::move(request));
    for (bool asked = false;;) {
        const auto now = runner->snapshot(id);
        if (!now || (now->state != JobState::Queued && now->state != JobState::Running)) break;
        terminal.show(*now);
        if (!asked && InterruptWatch::requested()) {
            runner->cancel(id);
            asked = true;
        }
        // A terminal is no hot loop: 20 ms keep short jobs short.
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    terminal.clear();
    return runner->wait(id);
}

Result<std::shared_ptr<const Model>> openInput(const std::filesystem::path& path, bool strict)
{
    auto model = openModel(path, {.strict = strict});
    if (model || model.error().code() != Errc::NotFound) return model;
    return Error(Errc::Io, model.error().line());
}

Result<ParamTexts> splitSettings(const std::vector<std::string>& settings)
{
    ParamTexts texts;
    for (const auto& setting : settings) {
        const auto equals = setting.find('=');
        if (equals == std::string::npos || equals == 0)
            return Error(Errc::InvalidArgument, fmt::format("--set {}: is not key=value", setting));
        texts.emplace_back(setting.substr(0, equals), setting.substr(equals + 1));
    }
    return texts;
}

Provenance provenanceOf(const Program& program, const Model& model, std::string_view method, int version,
                        ParamList params)
{
    const auto& checkpoint = *model.weights()->checkpoint();
    Provenance p;
    p.methodId = method;
    p.methodVersion = version;
    p.checkpointPath = textOf(checkpoint.path());
    p.checkpointHash = checkpoint.contentHash();
    p.device = program.device;
    p.programVersion = kVersion;
    p.created = QDateTime::currentDateTimeUtc().toString(Qt::ISODate).toStdString();
    p.seed = program.seed;
    p.threads = threadCount();
    p.params = std::move(params);
    return p;
}

Status mayWrite(const std::filesystem::path& path, bool overwrite)
{
    std::error_code ignored;
    if (overwrite || !std::filesystem::exists(path, ignored)) return Ok{};
    return Error(Errc::CannotWrite, "exists: delete it or give --overwrite").in(textOf(path));
}

std::string textOf(const std::filesystem::path& path) { return path.string(); }

} // namespace halftone::batch
