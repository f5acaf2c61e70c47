// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/host/plugin_loader.h"
#include "app/host/strings.h"
#include "app/ui/theme.h"
#include "app/window/main_window.h"
#include "app/window/view_exporter.h"
#include "core/base/version.h"

#include <QApplication>
#include <QCommandLineParser>
#include <QFileInfo>
#include <QIcon>
#include <QSettings>
#include <QStandardPaths>
#include <QThreadPool>

#include <cstring>
#include <iostream>

using namespace Qt::Literals::StringLiterals;

namespace {

/// Rendering without a display needs the offscreen platform, chosen before the application exists.
void choosePlatform(int argc, char** argv)
{
    bool exporting = false;
    for (int i = 1; i < argc; ++i)
        exporting = exporting || std::strncmp(argv[i], "--export-views", 14) == 0;
    const bool display = qEnvironmentVariableIsSet("DISPLAY") || qEnvironmentVariableIsSet("WAYLAND_DISPLAY");
    if (exporting && !display && !qEnvironmentVariableIsSet("QT_QPA_PLATFORM"))
        qputenv("QT_QPA_PLATFORM", "offscreen");
}

int usage(const QString& problem)
{
    std::cerr << halftone::toStd(problem) << '\n';
    return 2;
}

} // namespace

int main(int argc, char** argv)
{
    choosePlatform(argc, argv);
    QApplication application(argc, argv);
    QCoreApplication::setOrganizationName(u"Halftone"_s);
    QCoreApplication::setApplicationName(u"halftone"_s);
    QCoreApplication::setApplicationVersion(QLatin1StringView(halftone::kVersion));
    QApplication::setWindowIcon(QIcon(u":/halftone/halftone.svg"_s));

    QCommandLineParser parser;
    parser.setApplicationDescription(u"Interactive desktop quantization explorer."_s);
    parser.addHelpOption();
    parser.addVersionOption();
    parser.addPositionalArgument(
        u"FILE"_s,
        u"Checkpoints (.safetensors, .gguf, folder), results (.h5) or sessions (.halftone) to open."_s,
        u"[FILE...]"_s);
    const QCommandLineOption exportViews(
        u"export-views"_s, u"Opens FILE, runs what the panels need, writes each as PNG to DIR and leaves."_s,
        u"DIR"_s);
    const QCommandLineOption theme(u"theme"_s, u"light, dark or system."_s, u"NAME"_s);
    const QCommandLineOption size(u"size"_s, u"Size of the window, e.g. 1440x900."_s, u"WxH"_s);
    parser.addOptions({exportViews, theme, size});
    parser.process(application);

    halftone::ThemeMode mode =
        static_cast<halftone::ThemeMode>(QSettings().value(u"view/theme"_s, 0).toInt());
    if (parser.isSet(theme)) {
        const QString name = parser.value(theme);
        if (name == u"light"_s)
            mode = halftone::ThemeMode::Light;
        else if (name == u"dark"_s)
            mode = halftone::ThemeMode::Dark;
        else if (name == u"system"_s)
            mode = halftone::ThemeMode::System;
        else
            return usage(u"--theme: \"%1\" is not one of light, dark, system"_s.arg(name));
    }
    if (parser.isSet(exportViews)) {
        // Pictures must not hang on how the person at this machine left their window.
        QCoreApplication::setApplicationName(u"halftone-export-views"_s);
        QSettings().clear();
    }
    halftone::Theme::apply(application, mode);

    halftone::MethodRegistry methods;
    auto plugins = halftone::loadPlugins(methods, false);
    halftone::MainWindow window(methods, std::move(plugins));
    if (parser.isSet(size)) {
        const QStringList parts = parser.value(size).split(u'x');
        const int width = parts.size() == 2 ? parts[0].toInt() : 0;
        const int height = parts.size() == 2 ? parts[1].toInt() : 0;
        if (width < 640 || height < 480 || width > 16384 || height > 16384)
            return usage(u"--size: \"%1\" is not a size like 1440x900"_s.arg(parser.value(size)));
        window.resize(width, height);
    }
    window.show();

    const QStringList files = parser.positionalArguments();
    int code = 0;
    if (parser.isSet(exportViews)) {
        if (files.size() != 1) return usage(u"--export-views takes one FILE"_s);
        halftone::ViewExporter exporter(window, parser.value(exportViews));
        QObject::connect(&window.workspace(), &halftone::Workspace::said, &window,
                         [](halftone::Workspace::Tone tone, const QString& line) {
                             if (tone == halftone::Workspace::Tone::Error)
                                 std::cerr << halftone::toStd(line) << '\n';
                         });
        QObject::connect(&exporter, &halftone::ViewExporter::finished, &application,
                         [](int result) { QCoreApplication::exit(result); });
        exporter.start(QFileInfo(files.front()).absoluteFilePath());
        code = QApplication::exec();
    } else {
        window.keepSession(QStandardPaths::writableLocation(QStandardPaths::AppLocalDataLocation) +
                           u"/sessions"_s);
        for (const QString& file : files)
            window.open(QFileInfo(file).absoluteFilePath());
        code = QApplication::exec();
    }
    // Short reads hand their values to the window: none may outlive it.
    QThreadPool::globalInstance()->waitForDone();
    return code;
}
