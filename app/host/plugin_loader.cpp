// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/host/plugin_loader.h"

#include "app/host/plugin_interface.h"
#include "app/host/strings.h"
#include "core/base/log.h"

#include <QCoreApplication>
#include <QDir>
#include <QFileInfo>
#include <QJsonArray>
#include <QJsonObject>
#include <QLibrary>
#include <QPluginLoader>
#include <QSet>
#include <QStandardPaths>
#include <exception>

namespace halftone {

namespace {

using State = PluginEntry::State;

QString text(const char* ascii) { return QString::fromLatin1(ascii); }

/// Reads the embedded JSON. False when the plugin is none of ours or was made for another interface;
/// `why` then says which.
bool readMetaData(const QJsonObject& whole, PluginEntry& entry)
{
    const QString iid = whole.value(text("IID")).toString();
    if (iid != text(HALFTONE_METHODS_IID)) {
        entry.state = State::Refused;
        entry.why = text("is a plugin for \"%1\"; wanted: \"%2\"").arg(iid, text(HALFTONE_METHODS_IID));
        return false;
    }
    const QJsonObject own = whole.value(text("MetaData")).toObject();
    entry.id = own.value(text("Id")).toString();
    entry.title = own.value(text("Title")).toString();
    entry.version = own.value(text("Version")).toString();
    entry.api = own.value(text("Api")).toInt();
    for (const auto& need : own.value(text("Requires")).toArray())
        entry.needs.append(need.toString());
    entry.state = State::Read;
    if (entry.api != kMethodApi) {
        entry.state = State::Refused;
        entry.why =
            text("is made for method interface %1, this program has %2: build it again against this version")
                .arg(entry.api)
                .arg(kMethodApi);
        return false;
    }
    if (entry.id.isEmpty()) {
        entry.state = State::Refused;
        entry.why = text("has no \"Id\" in its plugin.json");
        return false;
    }
    return true;
}

/// Registers what a loaded plugin offers. Its code is not ours: whatever it throws ends here.
void registerMethods(QObject* instance, PluginEntry& entry, MethodRegistry& registry)
{
    entry.state = State::Failed;
    try {
        const auto* provider = qobject_cast<MethodProvider*>(instance);
        if (provider == nullptr) {
            entry.why = text("its object does not implement the method interface");
            return;
        }
        entry.state = State::Loaded;
        if (auto added = registry.add(*provider); !added) {
            entry.state = State::Failed;
            entry.why = toQt(added.error().line());
            return;
        }
        entry.state = State::Ready;
    } catch (const std::exception& e) {
        entry.state = State::Failed;
        entry.why =
            text("threw while it was asked for its methods: %1").arg(QString::fromLocal8Bit(e.what()));
    } catch (...) {
        entry.state = State::Failed;
        entry.why = text("threw something while it was asked for its methods");
    }
}

PluginEntry loadFile(const QString& file, MethodRegistry& registry)
{
    PluginEntry entry;
    entry.file = file;
    QPluginLoader loader(file);
    const QJsonObject meta = loader.metaData();
    if (meta.isEmpty()) {
        entry.state = State::Refused;
        entry.why = loader.errorString();
        return entry;
    }
    if (!readMetaData(meta, entry)) return entry;
    // A plugin built with another list of symbols fails now and not in the middle of a job.
    loader.setLoadHints(QLibrary::ResolveAllSymbolsHint | QLibrary::PreventUnloadHint);
    QObject* instance = nullptr;
    try {
        instance = loader.instance();
    } catch (const std::exception& e) {
        entry.state = State::Failed;
        entry.why = text("threw while it was made: %1").arg(QString::fromLocal8Bit(e.what()));
        return entry;
    } catch (...) {
        entry.state = State::Failed;
        entry.why = text("threw something while it was made");
        return entry;
    }
    if (instance == nullptr) {
        entry.state = State::Failed;
        entry.why = loader.errorString();
        return entry;
    }
    registerMethods(instance, entry, registry);
    return entry;
}

/// Folders in the order in which they are looked at.
QStringList pluginFolders(bool userFolder)
{
    const QDir program(QCoreApplication::applicationDirPath());
    QStringList folders{program.filePath(text(HALFTONE_PLUGIN_FOLDER)),
                        program.filePath(text("../lib/halftone/plugins"))};
    const QString listed = qEnvironmentVariable("HALFTONE_PLUGIN_PATH");
    folders += listed.split(QDir::listSeparator(), Qt::SkipEmptyParts);
    if (userFolder) {
        const QString data = QStandardPaths::writableLocation(QStandardPaths::GenericDataLocation);
        if (!data.isEmpty()) folders.append(QDir(data).filePath(text("halftone/plugins")));
    }
    return folders;
}

} // namespace

std::vector<PluginEntry> loadPlugins(MethodRegistry& registry, bool userFolder)
{
    std::vector<PluginEntry> entries;
    for (const auto& plugin : QPluginLoader::staticPlugins()) {
        const QJsonObject meta = plugin.metaData();
        if (meta.value(text("IID")).toString() != text(HALFTONE_METHODS_IID)) continue;
        PluginEntry entry;
        entry.file = text("(linked into the program)");
        if (readMetaData(meta, entry)) registerMethods(plugin.instance(), entry, registry);
        entries.push_back(std::move(entry));
    }
    QSet<QString> seen;
    for (const auto& folder : pluginFolders(userFolder)) {
        const QDir dir(folder);
        // By name: which of two plugins with one id wins must not depend on the file system.
        for (const auto& name : dir.entryList(QDir::Files, QDir::Name)) {
            if (!QLibrary::isLibrary(name)) continue;
            const QString file = QFileInfo(dir.absoluteFilePath(name)).canonicalFilePath();
            if (file.isEmpty() || seen.contains(file)) continue;
            seen.insert(file);
            entries.push_back(loadFile(file, registry));
        }
    }
    for (const auto& entry : entries)
        if (entry.state != State::Ready)
            log(LogLevel::Info, "app.host", "plugin " + toStd(entry.file) + ": " + toStd(entry.why));
    return entries;
}

} // namespace halftone
