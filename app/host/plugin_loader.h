// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/base/result.h"
#include "core/method/method.h"

#include <QString>
#include <QStringList>
#include <vector>

namespace halftone {

/// One plugin file and how far it came (design 2.1). `why` is shown to the person as it stands.
struct PluginEntry {
    enum class State : std::uint8_t { Found, Read, Refused, Loaded, Ready, Failed };
    QString file;
    QString id, title, version; ///< from the embedded JSON, read without running any code
    int api = 0;
    QStringList needs; ///< "cuda"
    State state = State::Found;
    QString why;
};

/// Looks for method plugins beside the program, then in HALFTONE_PLUGIN_PATH, then (only when `userFolder`
/// is true: code from there runs with the user's rights) in the user's data folder. A plugin that is
/// refused or fails is listed with its reason and does not stop the others. Libraries stay loaded.
std::vector<PluginEntry> loadPlugins(MethodRegistry& registry, bool userFolder);

} // namespace halftone
