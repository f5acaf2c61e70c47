// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/tensor/tensor.h"

#include "core/device/device.h"
#include "tests/support/main.h"

using namespace halftone;

class TstTensor : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void handlesShareStorage();
    void rowsAreViews();
    void offsetsAndSubBytes();
    void emptyTensors();
    void storageOutlivesItsTensors();
};

void TstTensor::handlesShareStorage()
{
    auto made = makeTensor(cpuDevice(), DType::F32, {2, 3});
    HALFTONE_VERIFY(made);
    Tensor a = *made;
    Tensor b = a;
    a.values<float>()[5] = 7;
    QVERIFY(std::as_const(b).values<const float>()[5] == 7);
    QCOMPARE(a.byteSize(), std::uint64_t{24});
    QCOMPARE(a.bytes().data(), b.bytes().data());
    QCOMPARE(&a.device(), &cpuDevice());
    QVERIFY(Tensor().empty() && !a.empty());
}

void TstTensor::rowsAreViews()
{
    auto made = makeTensor(cpuDevice(), DType::F32, {2, 2, 3});
    HALFTONE_VERIFY(made);
    const auto all = made->values<float>();
    for (std::size_t i = 0; i < all.size(); ++i)
        all[i] = static_cast<float>(i);
    Tensor middle = made->rows(1, 3);
    QCOMPARE(middle.shape(), (Shape{2, 3}));
    QVERIFY(middle.values<float>()[0] == 3);
    middle.values<float>()[0] = -1;
    QVERIFY(all[3] == -1);
    QVERIFY(middle.rows(1, 2).values<float>()[2] == 8);
    QCOMPARE(made->rows(4, 4).byteSize(), std::uint64_t{0});
}

void TstTensor::offsetsAndSubBytes()
{
    auto storage = cpuDevice().allocate(16);
    HALFTONE_VERIFY(storage);
    Tensor t(*storage, DType::F4, {2, 4}, 3);
    QCOMPARE(t.byteSize(), std::uint64_t{4});
    QCOMPARE(t.rows(1, 2).byteOffset(), std::size_t{5});
    QCOMPARE(static_cast<const void*>(t.bytes().data()),
             static_cast<const void*>((*storage)->hostRead().data() + 3));
}

void TstTensor::emptyTensors()
{
    auto made = makeTensor(cpuDevice(), DType::F32, {0, 5});
    HALFTONE_VERIFY(made);
    QVERIFY(made->bytes().empty() && made->mutableBytes().empty() && made->values<float>().empty());
    auto scalar = makeTensor(cpuDevice(), DType::F64, {});
    HALFTONE_VERIFY(scalar);
    QCOMPARE(scalar->values<double>().size(), std::size_t{1});
    QVERIFY(!makeTensor(cpuDevice(), DType::F4, {3}));
}

void TstTensor::storageOutlivesItsTensors()
{
    std::weak_ptr<Storage> watch;
    {
        Tensor part;
        {
            auto made = makeTensor(cpuDevice(), DType::U8, {64});
            HALFTONE_VERIFY(made);
            watch = made->storage();
            part = made->rows(0, 1);
        }
        QVERIFY(!watch.expired());
        part.mutableBytes()[63] = std::byte{1};
    }
    QVERIFY(watch.expired());
}

QTEST_GUILESS_MAIN(TstTensor)
#include "tst_tensor.moc"
