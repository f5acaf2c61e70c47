// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/device/backend_modules.h"

#include "core/base/log.h"

#include <cstdlib>
#include <dlfcn.h>
#include <fmt/core.h>

namespace halftone {

namespace {

constexpr const char* kModuleFile = "libhalftone-cuda.so";

std::filesystem::path coreFolder()
{
    Dl_info info{};
    if (::dladdr(reinterpret_cast<const void*>(&backendModules), &info) == 0 || info.dli_fname == nullptr)
        return {};
    std::error_code ignored;
    const auto real = std::filesystem::canonical(info.dli_fname, ignored);
    return real.empty() ? std::filesystem::path(info.dli_fname).parent_path() : real.parent_path();
}

std::vector<std::filesystem::path> moduleFolders()
{
    std::vector<std::filesystem::path> folders;
    if (const char* list = std::getenv("HALFTONE_BACKEND_PATH")) { // NOLINT(concurrency-mt-unsafe)
        std::string_view rest(list);
        while (!rest.empty()) {
            const auto colon = rest.find(':');
            if (colon != 0) folders.emplace_back(rest.substr(0, colon));
            rest = colon == std::string_view::npos ? std::string_view{} : rest.substr(colon + 1);
        }
    }
    if (const auto core = coreFolder(); !core.empty()) {
        folders.push_back(core);
        folders.push_back(core / "halftone");
    }
    return folders;
}

} // namespace

BackendModule loadBackendModule(const std::vector<std::filesystem::path>& folders)
{
    BackendModule module;
    module.placeholder.id = "cuda";
    module.placeholder.description = "NVIDIA GPUs through CUDA";
    std::string& why = module.placeholder.whyUnusable;
    for (const auto& folder : folders) {
        const auto file = folder / kModuleFile;
        std::error_code ignored;
        if (!std::filesystem::is_regular_file(file, ignored)) continue;
        // A path with a slash: the loader must not search its own folders for the name.
        const auto absolute = std::filesystem::absolute(file, ignored);
        void* library = ::dlopen(absolute.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (library == nullptr) {
            const char* text = ::dlerror(); // NOLINT(concurrency-mt-unsafe)
            why =
                fmt::format("the CUDA module can't be loaded: {}", text == nullptr ? "unknown reason" : text);
            log(LogLevel::Info, "core.device", why);
            return module;
        }
        void* symbol = ::dlsym(library, kBackendEntryName);
        if (symbol != nullptr) module.backend = reinterpret_cast<BackendEntry>(symbol)();
        if (module.backend == nullptr)
            why = fmt::format("{} is not a module of this version (no {})", absolute.string(),
                              kBackendEntryName);
        return module;
    }
    why = fmt::format("the CUDA module ({}) is not installed", kModuleFile);
    return module;
}

const std::vector<BackendModule>& backendModules()
{
    static const auto* const modules = new std::vector<BackendModule>{loadBackendModule(moduleFolders())};
    return *modules;
}

} // namespace halftone
