// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/numeric/dtype.h"

#include "tests/support/main.h"

#include <limits>
#include <string>

using namespace halftone;

class TstDType : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void namesReadBack();
    void bits();
    void kinds();
    void bytes();
};

void TstDType::namesReadBack()
{
    for (int i = 0; i < kDTypeCount; ++i) {
        const auto dtype = static_cast<DType>(i);
        QVERIFY(dtypeNamed(nameOf(dtype)) == dtype);
    }
    QVERIFY(dtypeNamed("BF16") == DType::BF16);
    QVERIFY(dtypeNamed("F8_E5M2FNUZ") == DType::F8E5M2Fnuz);
    QVERIFY(dtypeNamed("U64") == DType::U64);
    QVERIFY(!dtypeNamed("bf16") && !dtypeNamed(""));
}

void TstDType::bits()
{
    const std::pair<DType, int> expected[]{
        {DType::Bool, 8},       {DType::F4, 4},   {DType::F6E2M3, 6}, {DType::F6E3M2, 6}, {DType::U8, 8},
        {DType::F8E8M0, 8},     {DType::F16, 16}, {DType::BF16, 16},  {DType::I32, 32},   {DType::F32, 32},
        {DType::F8E4M3Fnuz, 8}, {DType::C64, 64}, {DType::F64, 64},   {DType::I64, 64}};
    for (const auto& [dtype, count] : expected)
        QCOMPARE(bitsOf(dtype), count);
}

void TstDType::kinds()
{
    QVERIFY(!isReal(DType::Bool) && !isReal(DType::C64));
    QVERIFY(isReal(DType::U8) && isReal(DType::F4) && isReal(DType::F8E8M0));
    QVERIFY(isFloat(DType::F4) && isFloat(DType::BF16) && isFloat(DType::F8E8M0) && isFloat(DType::F64));
    QVERIFY(!isFloat(DType::I8) && !isFloat(DType::Bool) && !isFloat(DType::C64));
}

void TstDType::bytes()
{
    QVERIFY(bytesOf(DType::F32, 3) == 12u);
    QVERIFY(bytesOf(DType::F4, 6) == 3u);
    QVERIFY(!bytesOf(DType::F4, 5));
    QVERIFY(bytesOf(DType::F6E2M3, 4) == 3u);
    QVERIFY(!bytesOf(DType::F6E2M3, 3));
    QVERIFY(bytesOf(DType::BF16, 0) == 0u);
    constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();
    QVERIFY(!bytesOf(DType::F64, kMax / 8 + 1));
    QVERIFY(bytesOf(DType::F64, kMax / 8) == kMax / 8 * 8);
    QVERIFY(bytesOf(DType::U8, kMax) == kMax);
    QVERIFY(!bytesOf(DType::F4, kMax - 1));
}

QTEST_GUILESS_MAIN(TstDType)
#include "tst_dtype.moc"
