// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/batch/commands.h"
#include "app/batch/program.h"
#include "core/base/version.h"
#include "core/device/device.h"

#include <CLI/CLI.hpp>
#include <QCoreApplication>
#include <algorithm>
#include <csignal>
#include <cstring>
#include <exception>
#include <string>

namespace {

using halftone::Errc;
using halftone::Error;
using halftone::Status;
using halftone::batch::Program;

constexpr const char* kAbout =
    "Explores how neural network weights can be stored in fewer bits, without a display.\n\n"
    "  halftone-batch info model.safetensors\n"
    "  halftone-batch plan model.safetensors --method rtn --set format=q4_0\n"
    "  halftone-batch quantize model.safetensors --method rtn --set format=q4_0 -o model.gguf\n"
    "  halftone-batch run job.json -o results.h5\n";

constexpr const char* kExitCodes =
    "Exit codes: 0 done, 1 internal error, 2 usage, 3 bad input file, 4 cannot write (space,\n"
    "permission), 5 numeric failure, 6 a check failed (verify, no-fallback), 130 cancelled.\n"
    "Plugins are looked for beside the program and in HALFTONE_PLUGIN_PATH.";

void addGlobals(CLI::App& app, Program& program)
{
    app.add_flag("--json", program.json, "Write JSON on stdout; progress and messages stay on stderr")
        ->group("For all commands");
    app.add_option("--threads", program.threads, "Threads to use; results never depend on it (default: all)")
        ->check(CLI::Range(1, 4096))
        ->group("For all commands");
    app.add_option("--device", program.device, "Where to compute: cpu or cuda:N (default: cpu)")
        ->group("For all commands");
    app.add_option("--seed", program.seed, "Seed of everything random (default: 0)")
        ->group("For all commands");
}

/// CLI11 only says that a command is missing: a mistyped one is named. Empty when that is not it.
std::string unknownCommand(const CLI::App& app, int argc, char** argv)
{
    const auto* first = std::find_if(argv + 1, argv + argc, [](const char* a) { return a[0] != '-'; });
    if (first == argv + argc) return {};
    for (const auto* command : app.get_subcommands([](const CLI::App*) { return true; }))
        if (command->get_name() == *first) return {};
    return "there is no command \"" + std::string(*first) + "\"";
}

/// Runs what was asked for; the exit code.
int runProgram(CLI::App& app, Program& program, int argc, char** argv)
{
    try {
        app.parse(argc, argv);
    } catch (const CLI::Success& e) { // --help, --version
        return app.exit(e);
    } catch (const CLI::ParseError& e) {
        // The flags were not all read: ask for this one by hand.
        program.json =
            std::any_of(argv, argv + argc, [](const char* a) { return std::strcmp(a, "--json") == 0; });
        std::string what = unknownCommand(app, argc, argv);
        if (what.empty()) what = e.what();
        std::replace(what.begin(), what.end(), '\n', ' ');
        program.printError(Error(Errc::InvalidArgument, what + "; see halftone-batch --help"));
        return halftone::exitCode(Errc::InvalidArgument);
    }
    if (program.threads > 0) halftone::setThreadCount(program.threads);
    const Status done = program.action();
    if (done) return 0;
    program.printError(done.error());
    return halftone::exitCode(done.error().code());
}

} // namespace

int main(int argc, char** argv)
{
    // A reader that closes its end (head, less) is no reason to die in the middle of writing a file.
    std::signal(SIGPIPE, SIG_IGN);
    QCoreApplication qt(argc, argv);
    QCoreApplication::setApplicationName(QStringLiteral("halftone-batch"));
    Program program;
    CLI::App app(kAbout, "halftone-batch");
    app.footer(kExitCodes);
    app.set_version_flag("--version", halftone::kVersion);
    app.require_subcommand(1);
    app.fallthrough();
    addGlobals(app, program);
    halftone::batch::addInfo(app, program);
    halftone::batch::addMethods(app, program);
    halftone::batch::addPlan(app, program);
    halftone::batch::addQuantize(app, program);
    halftone::batch::addConvert(app, program);
    halftone::batch::addRun(app, program);
    halftone::batch::addEval(app, program);
    halftone::batch::addVerify(app, program);
    halftone::batch::addView(app, program);
    halftone::batch::addSchema(app, program);
    for (auto* command : app.get_subcommands({}))
        command->footer("For all commands: --json, --threads N, --device cpu|cuda:N, --seed N.");
    try {
        return runProgram(app, program, argc, argv);
    } catch (const std::bad_alloc&) {
        program.printError(Error(Errc::OutOfMemory, "not enough memory"));
    } catch (const std::exception& e) {
        program.printError(Error(Errc::Internal, e.what()));
    }
    return 1;
}
