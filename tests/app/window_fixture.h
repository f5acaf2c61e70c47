// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/host/strings.h"
#include "app/ui/theme.h"
#include "app/window/action_list.h"
#include "app/window/main_window.h"
#include "tests/app/qt_main.h"
#include "tests/app/small_checkpoint.h"
#include "tests/support/temp_dir.h"

#include <QApplication>
#include <QSettings>
#include <QStandardPaths>
#include <QThreadPool>

#include <memory>
#include <thread>

namespace halftone::test {

/// A job that ends only when it is cancelled; between two steps it may be paused.
class EndlessMethod : public Method {
public:
    EndlessMethod()
    {
        m_info.id = "endless";
        m_info.title = "Endless";
    }
    const MethodInfo& info() const override { return m_info; }
    const ParamSchema& schema() const override { return m_schema; }
    std::vector<TableSchema> tables() const override { return {}; }
    std::vector<FigureSpec> figures() const override { return {}; }
    Result<MethodPlan> plan(const MethodInput&, const ParamList&) const override { return MethodPlan{}; }
    Status run(const MethodInput&, const ParamList&, JobContext& ctx) const override
    {
        for (;;) {
            HALFTONE_CHECK(ctx.checkpoint());
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
    }

private:
    MethodInfo m_info;
    ParamSchema m_schema;
};

/// A window with its plugins, and a small checkpoint to open in it: the base of tests of real widgets.
class WindowTest : public QObject {
protected:
    void prepare(const QString& name)
    {
        QStandardPaths::setTestModeEnabled(true);
        QCoreApplication::setOrganizationName(QStringLiteral("HalftoneTest"));
        QCoreApplication::setApplicationName(name);
        QSettings::setPath(QSettings::NativeFormat, QSettings::UserScope, toQt(m_dir.path().string()));
        Theme::apply(*qApp, ThemeMode::Light);
        m_path = toQt((m_dir / "small.safetensors").string());
        writeSmallCheckpoint(toStd(m_path));
        m_plugins = loadPlugins(m_methods, false);
        HALFTONE_VERIFY(m_methods.find("rtn"));
        HALFTONE_VERIFY(m_methods.find("block_error"));
    }
    void showWindow()
    {
        failOnQtWarnings();
        m_window = std::make_unique<MainWindow>(m_methods, m_plugins);
        m_window->confirmClose = [] { return true; };
        m_window->show();
        QVERIFY(QTest::qWaitForWindowExposed(m_window.get()));
    }
    /// Waits until no job and no short read runs.
    bool settle(MainWindow* window = nullptr)
    {
        if (window == nullptr) window = m_window.get();
        int quiet = 0;
        return QTest::qWaitFor(
            [&] {
                const bool idle = !window->workspace().busy() && !window->workspace().opening() &&
                                  QThreadPool::globalInstance()->activeThreadCount() == 0;
                quiet = idle ? quiet + 1 : 0;
                return quiet > 12;
            },
            30000);
    }
    void openSmall()
    {
        m_window->open(m_path);
        QVERIFY(settle());
        QVERIFY(m_window->workspace().model() != nullptr);
    }
    void trigger(const char* id) { m_window->actions().find(QLatin1StringView(id))->trigger(); }
    int weightNamed(const char* name) const { return m_window->workspace().weightNamed(name); }

    TempDir m_dir;
    QString m_path;
    MethodRegistry m_methods;
    std::vector<PluginEntry> m_plugins;
    std::unique_ptr<MainWindow> m_window;
};

} // namespace halftone::test
