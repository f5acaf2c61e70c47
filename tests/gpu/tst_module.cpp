// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/device/device.h"
#include "tests/support/main.h"

#include <algorithm>
#include <vector>

using namespace halftone;

namespace {

std::vector<DeviceInfo> cudaDevices()
{
    std::vector<DeviceInfo> list = probeDevices();
    std::erase_if(list, [](const DeviceInfo& info) { return !info.id.starts_with("cuda"); });
    return list;
}

} // namespace

// The CUDA module as core meets it: loaded from its folder, asked, and opened where there is a GPU.
class TestModule : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void loadsAndSaysWhatThereIs()
    {
        const auto list = cudaDevices();
        QVERIFY(!list.empty());
        for (const DeviceInfo& info : list) {
            // Text about the loader would mean that the module itself is broken.
            QVERIFY2(info.whyUnusable.find("can't be loaded") == std::string::npos, info.whyUnusable.c_str());
            QVERIFY2(info.whyUnusable.find("not installed") == std::string::npos, info.whyUnusable.c_str());
            QVERIFY(!info.description.empty());
            QVERIFY(info.whyUnusable.find('\n') == std::string::npos);
            if (info.whyUnusable.empty()) QVERIFY(info.totalBytes > 0);
        }
    }

    void anUnusableDeviceSaysWhy()
    {
        for (const DeviceInfo& info : cudaDevices()) {
            if (info.whyUnusable.empty()) continue;
            const auto opened = openDevice(info.id);
            QVERIFY(!opened);
            QVERIFY(opened.error().code() == Errc::Device);
            QVERIFY(opened.error().line().find(info.whyUnusable) != std::string::npos);
            return;
        }
        QSKIP("all GPUs here are usable");
    }

    void aUsableDeviceComputes()
    {
        const auto list = cudaDevices();
        if (!list[0].whyUnusable.empty()) QSKIP(list[0].whyUnusable.c_str());
        const auto device = openDevice(list[0].id);
        HALFTONE_VERIFY(device);
        const auto again = openDevice(list[0].id);
        HALFTONE_VERIFY(again);
        QVERIFY(again->get() == device->get());
        auto stream = (*device)->makeStream();
        HALFTONE_VERIFY(stream);
        auto on = makeTensor(**device, DType::F32, Shape{3, 5});
        HALFTONE_VERIFY(on);
        HALFTONE_VERIFY((*device)->run(FillOp{*on, 0.75}, **stream));
        auto back = makeTensor(cpuDevice(), DType::F32, Shape{3, 5});
        HALFTONE_VERIFY(back);
        HALFTONE_VERIFY((*device)->run(CopyOp{*on, *back}, **stream));
        for (const float x : std::as_const(*back).values<float>())
            QCOMPARE(x, 0.75f);
    }

    void anUnknownNumberIsRefused()
    {
        const auto opened = openDevice("cuda:9999");
        QVERIFY(!opened);
    }
};

QTEST_GUILESS_MAIN(TestModule)
#include "tst_module.moc"
