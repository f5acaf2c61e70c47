// SPDX-License-Identifier: GPL-3.0-or-later
// The shape of the tree: top level, licence lines, file sizes.
#include "tests/layout/source_tree.h"
#include "tests/support/main.h"

using namespace halftone::test;

namespace {

QStringList allSources()
{
    QStringList all;
    for (const char* top : {"core", "gpu", "plugins", "app", "tests"})
        all << sourcesBelow(QLatin1String(top));
    return all;
}

} // namespace

class TestTree : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void topLevelHoldsWhatWasAgreed();
    void everySourceNamesItsLicence();
    void everyHeaderIsIncludedOnce();
    void noSourceIsTooLong();
    void noLibraryPrintsOrLeaves();
};

void TestTree::topLevelHoldsWhatWasAgreed()
{
    const QStringList allowed{QStringLiteral("app"),
                              QStringLiteral("core"),
                              QStringLiteral("gpu"),
                              QStringLiteral("plugins"),
                              QStringLiteral("resources"),
                              QStringLiteral("tests"),
                              QStringLiteral("CMakeLists.txt"),
                              QStringLiteral("README.md"),
                              QStringLiteral("LICENSE"),
                              QStringLiteral("CMakePresets.json"),
                              QStringLiteral("CMakeUserPresets.json"),
                              QStringLiteral("build"),
                              QStringLiteral("out")};
    for (const auto& entry : QDir(sourceFolder()).entryList(QDir::AllEntries | QDir::NoDotAndDotDot))
        QVERIFY2(allowed.contains(entry),
                 qPrintable(entry + QStringLiteral(" does not belong at the top level")));
}

void TestTree::everySourceNamesItsLicence()
{
    const auto all = allSources();
    QVERIFY(all.size() > 50);
    for (const auto& file : all)
        QVERIFY2(linesOf(file).value(0) == QLatin1String("// SPDX-License-Identifier: GPL-3.0-or-later"),
                 qPrintable(file));
}

void TestTree::everyHeaderIsIncludedOnce()
{
    for (const auto& file : allSources())
        // Parts of vector code (-inl.h) are read once a target.
        if (!file.endsWith(QLatin1String("-inl.h")) &&
            (file.endsWith(QLatin1String(".h")) || file.endsWith(QLatin1String(".cuh"))))
            QVERIFY2(linesOf(file).contains(QStringLiteral("#pragma once")), qPrintable(file));
}

void TestTree::noSourceIsTooLong()
{
    for (const auto& file : allSources()) {
        const auto lines = linesOf(file).size();
        QVERIFY2(lines <= 600,
                 qPrintable(QStringLiteral("%1 has %2 lines; split it by subject").arg(file).arg(lines)));
    }
}

void TestTree::noLibraryPrintsOrLeaves()
{
    // A library returns an Error; printing and leaving is the programs' business.
    const QStringList words{QStringLiteral("std::cout"),   QStringLiteral("std::cerr"),
                            QStringLiteral("printf("),     QStringLiteral("std::exit("),
                            QStringLiteral("std::abort("), QStringLiteral("fmt::print(")};
    for (const char* top : {"core", "gpu", "plugins"})
        for (const auto& file : sourcesBelow(QLatin1String(top))) {
            if (file.startsWith(QLatin1String("gpu/bench/"))) continue;
            const auto lines = linesOf(file);
            for (qsizetype i = 0; i < lines.size(); ++i)
                for (const auto& word : words)
                    QVERIFY2(!lines[i].contains(word) || lines[i].contains(QLatin1String("snprintf(")),
                             qPrintable(QStringLiteral("%1:%2 uses %3").arg(file).arg(i + 1).arg(word)));
        }
}

QTEST_GUILESS_MAIN(TestTree)
#include "tst_tree.moc"
