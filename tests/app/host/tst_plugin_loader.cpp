// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/host/plugin_loader.h"

#include "tests/support/main.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tiny_model.h"

#include <QDir>
#include <algorithm>

using namespace halftone;
using State = PluginEntry::State;

class TestPluginLoader : public QObject {
    Q_OBJECT

    MethodRegistry m_methods;
    std::vector<PluginEntry> m_plugins;
    test::TempDir m_folder;

    const PluginEntry* entry(const QString& file) const
    {
        const auto found = std::find_if(m_plugins.begin(), m_plugins.end(), [&](const auto& p) {
            return p.file.endsWith(QLatin1Char('/') + file);
        });
        return found == m_plugins.end() ? nullptr : &*found;
    }

private Q_SLOTS:
    void initTestCase()
    {
        // Beside the good plugins: broken ones, a text file under a library's name, and a page of text.
        test::writeText(m_folder / "text.so", "this is not a library\n");
        test::writeText(m_folder / "README.md", "neither is this\n");
        QStringList path{QStringLiteral(HALFTONE_BROKEN_PLUGINS),
                         QString::fromStdString(m_folder.path().string()), QStringLiteral("/no/such/folder")};
        // Not set where the good ones are linked into the program. Else first, and once more at the end.
        const QString good = qEnvironmentVariable("HALFTONE_PLUGIN_PATH");
        if (!good.isEmpty()) path = QStringList{good} + path + QStringList{good};
        qputenv("HALFTONE_PLUGIN_PATH", path.join(QDir::listSeparator()).toLocal8Bit());
        m_plugins = loadPlugins(m_methods, false);
    }

    void goodOnesAreReady()
    {
        int ready = 0;
        for (const auto& p : m_plugins)
            if (p.state == State::Ready) {
                ++ready;
                QVERIFY(!p.id.isEmpty());
                QVERIFY(!p.title.isEmpty());
                QVERIFY(p.why.isEmpty());
                QCOMPARE(p.api, kMethodApi);
            }
        QVERIFY(ready >= 2);
        HALFTONE_VERIFY(m_methods.find("rtn"));
        HALFTONE_VERIFY(m_methods.find("block_error"));
    }

    void brokenOnesSayWhy_data()
    {
        QTest::addColumn<QString>("file");
        QTest::addColumn<int>("state");
        QTest::addColumn<QString>("why");
        QTest::newRow("text") << "text.so" << int(State::Refused) << "text.so";
        QTest::newRow("library") << "no_plugin.so" << int(State::Refused) << "not a Qt plugin";
        QTest::newRow("interface") << "wrong_api.so" << int(State::Refused)
                                   << "interface 99, this program has 1";
        QTest::newRow("throws") << "throwing.so" << int(State::Failed) << "no methods today";
        QTest::newRow("id") << "taken.so" << int(State::Failed) << "\"rtn\" is taken";
    }
    void brokenOnesSayWhy()
    {
        QFETCH(QString, file);
        QFETCH(int, state);
        QFETCH(QString, why);
        const auto* p = entry(file);
        QVERIFY(p != nullptr);
        QCOMPARE(int(p->state), state);
        QVERIFY2(p->why.contains(why), qPrintable(p->why));
    }

    void onlyLibrariesAndEachOnce()
    {
        QVERIFY(entry(QStringLiteral("README.md")) == nullptr);
        for (const auto& p : m_plugins) {
            if (p.file.startsWith(QLatin1Char('('))) continue; // linked into the program, all under one text
            QCOMPARE(std::count_if(m_plugins.begin(), m_plugins.end(),
                                   [&](const auto& o) { return o.file == p.file; }),
                     1);
        }
    }
};

QTEST_GUILESS_MAIN(TestPluginLoader)
#include "tst_plugin_loader.moc"
