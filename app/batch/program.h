// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/host/plugin_loader.h"
#include "core/base/result.h"
#include "core/job/job.h"
#include "core/method/method.h"
#include "core/model/model.h"
#include "core/param/schema.h"
#include "core/result/writer.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace halftone::batch {

/// What every command shares: the global flags, the plugins, and the ways out.
class Program {
public:
    bool json = false;
    int threads = 0; ///< 0: as many as the machine has
    std::string device = "cpu";
    std::uint64_t seed = 0;
    /// Set by the command that was chosen; run once all flags are read.
    std::function<Status()> action;

    /// Found on first use: commands that need no methods start without them.
    const MethodRegistry& methods();
    const std::vector<PluginEntry>& plugins();

    /// One JSON document, or text, on stdout.
    void print(const std::string& text) const;
    /// "halftone-batch: file: tensor: what" on stderr; {"error": ...} on stdout with --json.
    void printError(const Error& error) const;
    void warn(const std::string& text) const;

    /// Runs `body` as a job with progress on stderr; an interrupt (Ctrl+C, SIGTERM) cancels it.
    Status runJob(const std::string& title, std::shared_ptr<ResultWriter> results,
                  std::function<Status(JobContext&)> body);

private:
    void load();

    bool m_loaded = false;
    MethodRegistry m_methods;
    std::vector<PluginEntry> m_plugins;
};

/// A model named on the command line; one that is not there is a bad input, not a wrong flag.
Result<std::shared_ptr<const Model>> openInput(const std::filesystem::path& path, bool strict);
/// "key=value" texts of --set. InvalidArgument names one without "=".
Result<ParamTexts> splitSettings(const std::vector<std::string>& settings);
/// What a result says about where it comes from.
Provenance provenanceOf(const Program& program, const Model& model, std::string_view method, int version,
                        ParamList params);
/// CannotWrite when `path` exists and may not be replaced.
Status mayWrite(const std::filesystem::path& path, bool overwrite);
/// Text of a file name, in UTF-8 wherever it is.
std::string textOf(const std::filesystem::path& path);

} // namespace halftone::batch
