// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/device/device.h"

#include "core/device/check.h"
#include "tests/support/main.h"
#include "tests/support/tensors.h"

#include <limits>
#include <set>
#include <thread>

using namespace halftone;
using test::floatTensor;
using test::runOn;

namespace {

/// Memory that stands for another device's: the host can't address it.
class FarStorage final : public Storage {
public:
    Device& device() const override { return cpuDevice(); }
    std::span<std::byte> host() override { return {}; }
    std::span<const std::byte> hostRead() const override { return {}; }
    void* deviceData() override { return nullptr; }
    std::size_t size() const override { return 1024; }
    bool readOnly() const override { return false; }
};

/// A mapped checkpoint in small.
class ReadOnlyStorage final : public Storage {
public:
    Device& device() const override { return cpuDevice(); }
    std::span<std::byte> host() override { return {}; }
    std::span<const std::byte> hostRead() const override { return m_bytes; }
    void* deviceData() override { return nullptr; }
    std::size_t size() const override { return m_bytes.size(); }
    bool readOnly() const override { return true; }

private:
    std::vector<std::byte> m_bytes = std::vector<std::byte>(256);
};

} // namespace

class TstDevice : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void info();
    void allocatesAligned();
    void refusesTheImpossible();
    void opensByName();
    void opNames();
    void makesPacked();
    void threadCounts();
    void refusesWrongOps();
    void readOnlyTensors();
    void farTensors();
};

void TstDevice::info()
{
    const auto list = probeDevices();
    QVERIFY(!list.empty());
    QCOMPARE(list[0].id, std::string("cpu"));
    QVERIFY(list[0].whyUnusable.empty());
    QVERIFY(list[0].totalBytes > 100'000'000);
    QVERIFY(!list[0].description.empty());
    std::set<std::string> ids;
    for (const DeviceInfo& info : list)
        QVERIFY(ids.insert(info.id).second);
    QCOMPARE(cpuDevice().info().id, referenceDevice().info().id);
    QVERIFY(&cpuDevice() != &referenceDevice());
}

void TstDevice::allocatesAligned()
{
    for (const std::size_t bytes : {0, 1, 63, 64, 65, 1000000}) {
        auto storage = cpuDevice().allocate(bytes);
        HALFTONE_VERIFY(storage);
        QCOMPARE((*storage)->size(), bytes);
        QCOMPARE(reinterpret_cast<std::uintptr_t>((*storage)->host().data()) % 64, std::uintptr_t{0});
    }
}

void TstDevice::refusesTheImpossible()
{
    for (const std::size_t bytes : {std::size_t{1} << 60, std::numeric_limits<std::size_t>::max()}) {
        const auto storage = cpuDevice().allocate(bytes);
        QVERIFY(!storage);
        QVERIFY(storage.error().code() == Errc::OutOfMemory);
        QVERIFY(storage.error().line().find("EB") != std::string::npos);
    }
    QVERIFY(!makeTensor(cpuDevice(), DType::F64, {std::int64_t{1} << 62}));
}

void TstDevice::opensByName()
{
    auto cpu = openDevice("cpu");
    HALFTONE_VERIFY(cpu);
    QCOMPARE(cpu->get(), &cpuDevice());
    const auto none = openDevice("tpu:0");
    QVERIFY(!none);
    QVERIFY(none.error().code() == Errc::NotFound);
    QVERIFY(none.error().line().find("cpu") != std::string::npos);
    // A device that is listed as unusable says the same again when it is asked for.
    for (const DeviceInfo& info : probeDevices()) {
        const auto device = openDevice(info.id);
        QCOMPARE(static_cast<bool>(device), info.whyUnusable.empty());
        if (device) continue;
        QVERIFY(device.error().code() == Errc::Device);
        QVERIFY(device.error().line().find(info.whyUnusable) != std::string::npos);
    }
    const auto gpu = openDevice("cuda:977");
    QVERIFY(!gpu);
}

void TstDevice::opNames()
{
    std::set<std::string_view> names;
    for (const OpId op : allOps())
        QVERIFY(names.insert(nameOf(op)).second);
    QVERIFY(nameOf(OpId::QuantizeBlocks) == "QuantizeBlocks");
    QCOMPARE(names.size(), allOps().size());
}

void TstDevice::makesPacked()
{
    for (const char* name : {"q4_0", "int4.g32.f16", "int3a.g32.f32", "int8a.t.bf16", "int8.c.f16"}) {
        const auto format = formatNamed(name);
        HALFTONE_VERIFY(format);
        auto packed = makePacked(cpuDevice(), **format, {3, 64});
        HALFTONE_VERIFY(packed);
        const auto layout = (*format)->layout(3, 64);
        const auto sizeOf = [](const Tensor& t) { return t.empty() ? 0 : t.byteSize(); };
        QCOMPARE(sizeOf(packed->codes), layout->codeBytes);
        QCOMPARE(sizeOf(packed->scales), layout->scaleBytes);
        QCOMPARE(sizeOf(packed->zeros), layout->zeroBytes);
        QCOMPARE(packed->codes.shape(), (Shape{3, static_cast<std::int64_t>(layout->codeRowBytes)}));
    }
    const auto q4 = formatNamed("q4_0");
    QVERIFY(!makePacked(cpuDevice(), **q4, {3, 65}));
    QVERIFY(!makePacked(cpuDevice(), **q4, {64}));
}

void TstDevice::threadCounts()
{
    const int usual = threadCount();
    QVERIFY(usual >= 1);
    setThreadCount(3);
    QCOMPARE(threadCount(), 3);
    int seen = 0;
    // OpenMP keeps its own number a thread; ours holds in all of them.
    std::jthread([&seen] { seen = threadCount(); }).join();
    QCOMPARE(seen, 3);
    setThreadCount(0);
    QCOMPARE(threadCount(), usual);
}

void TstDevice::refusesWrongOps()
{
    Device& cpu = cpuDevice();
    Tensor a = floatTensor({2, 3}, std::vector<float>(6)), b = floatTensor({4}, std::vector<float>(4));
    Tensor whole = test::tensorOf(DType::I32, {2, 3}, std::vector<std::int32_t>(6));
    Tensor none;
    const auto refused = [](const Status& status) {
        return !status && status.error().code() == Errc::InvalidArgument;
    };
    QVERIFY(refused(runOn(cpu, CopyOp{a, b})));
    QVERIFY(refused(runOn(cpu, CopyOp{a, whole})));
    QVERIFY(refused(runOn(cpu, CopyOp{none, a})));
    QVERIFY(refused(runOn(cpu, CastOp{a, b})));
    QVERIFY(refused(runOn(cpu, FillOp{none, 0})));
    QVERIFY(refused(runOn(cpu, FillOp{whole, 0.5})));
    QVERIFY(refused(runOn(cpu, FillOp{whole, 3e9})));
    QVERIFY(refused(runOn(cpu, MatmulOp{a, a, a, false})));
    Tensor square = floatTensor({2, 2}, std::vector<float>(4));
    HALFTONE_VERIFY(runOn(cpu, MatmulOp{a, a, square, true}));
    const auto toInt = runOn(cpu, CastOp{a, whole});
    QVERIFY(!toInt && toInt.error().code() == Errc::Unsupported);
    const auto format = formatNamed("int4.g32.f16");
    auto packed = makePacked(cpu, **format, {2, 3});
    HALFTONE_VERIFY(packed);
    QVERIFY(refused(runOn(cpu, QuantizeBlocksOp{b, *packed})));
    Tensor wrong = floatTensor({3, 2}, std::vector<float>(6));
    QVERIFY(refused(runOn(cpu, QuantizeBlocksOp{wrong, *packed})));
    PackedTensor cut = *packed;
    cut.scales = cut.scales.rows(0, 1);
    QVERIFY(refused(runOn(cpu, DequantizeBlocksOp{cut, a})));
    std::vector<ErrorStats> stats;
    QVERIFY(refused(runOn(cpu, BlockErrorsOp{a, *packed, -1, stats})));
    PackedTensor blank;
    QVERIFY(refused(runOn(cpu, DequantizeBlocksOp{blank, a})));
}

void TstDevice::readOnlyTensors()
{
    Tensor mapped(std::make_shared<ReadOnlyStorage>(), DType::F32, {2, 3}, 4);
    Tensor plain = floatTensor({2, 3}, std::vector<float>(6, 1.0f));
    HALFTONE_VERIFY(runOn(cpuDevice(), CopyOp{mapped, plain}));
    QVERIFY(plain.values<float>()[5] == 0);
    const auto back = runOn(cpuDevice(), CopyOp{plain, mapped});
    QVERIFY(!back && back.error().line().find("read-only") != std::string::npos);
    QVERIFY(!runOn(cpuDevice(), FillOp{mapped, 1}));
    // Packed planes that lie in a mapped file can be read.
    const auto q8 = formatNamed("q8_0");
    PackedTensor packed;
    packed.format = *q8;
    packed.logical = {1, 32};
    packed.codes = Tensor(std::make_shared<ReadOnlyStorage>(), DType::U8, {1, 34}, 1);
    Tensor out = floatTensor({1, 32}, std::vector<float>(32, 9.0f));
    HALFTONE_VERIFY(runOn(cpuDevice(), DequantizeBlocksOp{packed, out}));
    QVERIFY(out.values<float>()[31] == 0);
    QVERIFY(!runOn(cpuDevice(), QuantizeBlocksOp{out, packed}));
}

void TstDevice::farTensors()
{
    Tensor far(std::make_shared<FarStorage>(), DType::F32, {2, 3});
    Tensor plain = floatTensor({2, 3}, std::vector<float>(6));
    const auto status = runOn(cpuDevice(), CopyOp{far, plain});
    QVERIFY(!status && status.error().line().find("copy it to the CPU first") != std::string::npos);
    HALFTONE_VERIFY(checkHost(plain));
}

QTEST_GUILESS_MAIN(TstDevice)
#include "tst_device.moc"
