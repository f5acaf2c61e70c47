// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/bench/report.h"

#include <cstdlib>
#include <fmt/core.h>
#include <string_view>
#include <vector>

using namespace halftone;
using namespace halftone::bench;

namespace {

struct Part {
    std::string_view name;
    std::string_view what;
    Status (*run)(const Options&);
};

const Part kParts[] = {
    {"rtn", "round to nearest in each listed format", benchRtn},
    {"encoders", "searches for scales against the reference encoders, and ggml's if it is there",
     benchEncoders},
    {"dequantize", "the way back to F32", benchDequantize},
    {"errors", "errors of packed weights against the plain reference", benchErrors},
    {"determinism", "the same bytes for any number of threads", benchDeterminism},
    {"matmul", "products against the plain reference", benchMatmul},
#ifdef HALFTONE_BENCH_IO
    {"open", "opening 100,000 tensors: seconds and memory", benchOpen},
#endif
#ifdef HALFTONE_BENCH_SESSION
    {"quantize-memory", "peak memory while quantizing a 2 GB checkpoint", benchQuantizeMemory},
#endif
};

int usage()
{
    say("halftone-bench PART... [--only TEXT] [--repeats N] [--threads N] [--folder DIR]");
    for (const Part& part : kParts)
        say(fmt::format("  {:<16} {}", part.name, part.what));
    say("  all              each of them");
    say("  smoke            each of them, tiny: shows that it runs, judges no speed");
    return 2;
}

bool runPart(const Part& part, const Options& options)
{
    const Status status = part.run(options);
    if (!status) say(fmt::format("{}: {}", part.name, status.error().line()));
    return static_cast<bool>(status);
}

} // namespace

int main(int argc, char** argv)
{
    Options options;
    options.folder = std::filesystem::temp_directory_path();
    std::vector<std::string_view> names;
    for (int i = 1; i < argc; ++i) {
        const std::string_view arg = argv[i];
        if (!arg.starts_with("--")) {
            names.push_back(arg);
            continue;
        }
        if (i + 1 == argc) return usage();
        const char* value = argv[++i];
        if (arg == "--only")
            options.only = value;
        else if (arg == "--repeats")
            options.repeats = std::max(1, std::atoi(value));
        else if (arg == "--threads")
            options.threads = {std::max(1, std::atoi(value))};
        else if (arg == "--folder")
            options.folder = value;
        else
            return usage();
    }
    const bool smoke = names.size() == 1 && names[0] == "smoke";
    if (smoke) {
        options.elements = 1 << 14;
        options.repeats = 1;
        options.tensors = 500;
        options.checkpointBytes = 4'000'000;
        options.bars = false;
    }
    bool good = true, known = false;
    for (const Part& part : kParts) {
        bool wanted = smoke || (names.size() == 1 && names[0] == "all");
        for (const std::string_view name : names)
            wanted = wanted || name == part.name;
        if (!wanted) continue;
        known = true;
        good = runPart(part, options) && good;
    }
    if (!known) return usage();
    if (!good) return 1;
    return anyBelow() ? 6 : 0;
}
