// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/device/device.h"

#include <filesystem>
#include <vector>

namespace halftone {

/// A back end that lives in a shared library of its own.
struct BackendModule {
    Backend* backend = nullptr; ///< null when it could not be loaded
    DeviceInfo placeholder;     ///< stands in for its devices then, with the reason
};

/// The modules of this machine; looked for on the first call, in $HALFTONE_BACKEND_PATH (folders with
/// colons between), beside the core library and in its folder halftone/. They are never unloaded.
const std::vector<BackendModule>& backendModules();

/// Looks for one module file in the folders and loads it. Never fails: the reason is in the placeholder.
BackendModule loadBackendModule(const std::vector<std::filesystem::path>& folders);

} // namespace halftone
