// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/device/device.h"

#include "tests/support/main.h"

using namespace halftone;

// Modules are looked for once a program, so each outcome has a program of its own.
class TstBackendLoaded : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase();
    void listsAndOpens();
};

void TstBackendLoaded::initTestCase()
{
    // Folders that aren't there are passed over.
    qputenv("HALFTONE_BACKEND_PATH", ":/nowhere:" HALFTONE_FAKE_MODULE_FOLDER);
}

void TstBackendLoaded::listsAndOpens()
{
    const auto list = probeDevices();
    QCOMPARE(list.size(), std::size_t{3});
    QCOMPARE(list[1].id, std::string("cuda:0"));
    auto first = openDevice("cuda:0");
    HALFTONE_VERIFY(first);
    QCOMPARE(first->get(), &referenceDevice());
    const auto second = openDevice("cuda:1");
    QVERIFY(!second && second.error().code() == Errc::Device);
    QCOMPARE(second.error().line(), std::string("cuda:1: it is too old"));
    const auto third = openDevice("cuda:2");
    QVERIFY(!third && third.error().code() == Errc::NotFound);
    QCOMPARE(third.error().line(), std::string("no device 'cuda:2'; there is: cpu, cuda:0"));
}

QTEST_GUILESS_MAIN(TstBackendLoaded)
#include "tst_backend_loaded.moc"
