// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/file.h"
#include "core/device/device.h"
#include "tests/support/main.h"
#include "tests/support/temp_dir.h"

using namespace halftone;

class TstBackendBroken : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void saysWhy();
};

void TstBackendBroken::saysWhy()
{
    const test::TempDir folder;
    HALFTONE_VERIFY(writeTextFile(folder / "libhalftone-cuda.so", "not a library"));
    qputenv("HALFTONE_BACKEND_PATH", QByteArray::fromStdString(folder.path().string()));
    const auto list = probeDevices();
    QCOMPARE(list.size(), std::size_t{2});
    QCOMPARE(list[1].id, std::string("cuda"));
    QVERIFY(list[1].whyUnusable.find("can't be loaded") != std::string::npos);
    for (const char* id : {"cuda", "cuda:0", "cuda:7"}) {
        const auto device = openDevice(id);
        QVERIFY(!device && device.error().code() == Errc::Device);
        QVERIFY(device.error().line().find(list[1].whyUnusable) != std::string::npos);
    }
    HALFTONE_VERIFY(openDevice("cpu"));
}

QTEST_GUILESS_MAIN(TstBackendBroken)
#include "tst_backend_broken.moc"
