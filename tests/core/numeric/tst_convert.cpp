// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/numeric/convert.h"

#include "core/numeric/small_float.h"
#include "tests/support/main.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

using namespace halftone;

namespace {

std::vector<float> read(DType dtype, std::vector<unsigned char> bytes, std::uint64_t first, std::size_t count)
{
    std::vector<float> out(count);
    toFloats(dtype, std::as_bytes(std::span(bytes)), first, out);
    return out;
}

} // namespace

class TstConvert : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void readsSubByteTypes();
    void readsBytes();
    void readsUnaligned();
    void wideIntegers();
    void roundsDoublesOnce();
    void fitsFloat_();
};

void TstConvert::readsSubByteTypes()
{
    // [0.5, -6]: the even element in the low nibble.
    QCOMPARE(read(DType::F4, {0xF1, 0x72}, 0, 4), (std::vector<float>{0.5f, -6, 1, 6}));
    QCOMPARE(read(DType::F4, {0xF1, 0x72}, 1, 2), (std::vector<float>{-6, 1}));
    // Four codes in three bytes, element i at bit 6 i: 0x1F, 0x20, 0x08, 0x3F.
    QCOMPARE(read(DType::F6E2M3, {0x1F, 0x88, 0xFC}, 0, 4), (std::vector<float>{7.5f, -0.0f, 1, -7.5f}));
    QCOMPARE(read(DType::F6E3M2, {0x1F, 0x88, 0xFC}, 3, 1), (std::vector<float>{-28}));
}

void TstConvert::readsBytes()
{
    QCOMPARE(read(DType::F8E4M3, {0x7E, 0xB8, 0x01}, 0, 3),
             (std::vector<float>{448, -1, std::ldexp(1.0f, -9)}));
    QCOMPARE(read(DType::F8E5M2, {0x7B, 0xBC}, 0, 2), (std::vector<float>{57344, -1}));
    QVERIFY(std::isnan(read(DType::F8E4M3, {0x7F}, 0, 1)[0]));
    QVERIFY(std::isinf(read(DType::F8E5M2, {0x7C}, 0, 1)[0]));
    QCOMPARE(read(DType::F8E8M0, {127, 130}, 0, 2), (std::vector<float>{1, 8}));
    QVERIFY(std::isnan(read(DType::F8E4M3Fnuz, {0x80}, 0, 1)[0]));
    QCOMPARE(read(DType::F8E4M3Fnuz, {0x40, 0xC0, 0x7F}, 0, 3), (std::vector<float>{1, -1, 240}));
    QCOMPARE(read(DType::I8, {0x80, 0x7F}, 0, 2), (std::vector<float>{-128, 127}));
    QCOMPARE(read(DType::U16, {0xFF, 0xFF}, 0, 1), (std::vector<float>{65535}));
    QCOMPARE(read(DType::BF16, {0x9A, 0x3E}, 0, 1), (std::vector<float>{0.30078125f}));
}

void TstConvert::readsUnaligned()
{
    std::vector<unsigned char> bytes(9, 0xAA);
    const float values[]{1.5f, -2.25f};
    std::memcpy(bytes.data() + 1, values, sizeof values);
    std::vector<float> out(2);
    toFloats(DType::F32, std::as_bytes(std::span(bytes)).subspan(1), 0, out);
    QCOMPARE(out, (std::vector<float>{1.5f, -2.25f}));
    toFloats(DType::F32, std::as_bytes(std::span(bytes)).subspan(1), 1, std::span(out).first(1));
    QVERIFY(out[0] == -2.25f);
}

void TstConvert::wideIntegers()
{
    // 2^60 + 2^36 + 1 lies just above the middle of two floats; a plain step through double loses the 1.
    const std::int64_t big = (std::int64_t{1} << 60) + (std::int64_t{1} << 36) + 1;
    for (const std::int64_t value : {big, -big}) {
        double d = 0;
        toDoubles(DType::I64, std::as_bytes(std::span(&value, 1)), 0, std::span(&d, 1));
        QVERIFY(doubleToFloat(d) == static_cast<float>(value));
        QVERIFY(doubleToFloat(d) !=
                doubleToFloat(std::copysign(std::ldexp(1.0, 60) + std::ldexp(1.0, 36), d)));
    }
    const std::uint64_t top = std::numeric_limits<std::uint64_t>::max();
    double d = 0;
    toDoubles(DType::U64, std::as_bytes(std::span(&top, 1)), 0, std::span(&d, 1));
    QVERIFY(doubleToFloat(d) == 18446744073709551616.0f);
    const std::int64_t low = std::numeric_limits<std::int64_t>::min();
    toDoubles(DType::I64, std::as_bytes(std::span(&low, 1)), 0, std::span(&d, 1));
    QVERIFY(d == -9223372036854775808.0);
}

void TstConvert::roundsDoublesOnce()
{
    // 1 + 2^-11 is the middle of two halves, and 2^-40 above it does not fit a float: through float it
    // would be taken for the tie and rounded down.
    QCOMPARE(doubleToHalf(1.0 + std::ldexp(1.0, -11) + std::ldexp(1.0, -40)), std::uint16_t{0x3C01});
    QCOMPARE(doubleToHalf(1.0 + std::ldexp(1.0, -11)), std::uint16_t{0x3C00});
    QCOMPARE(doubleToHalf(-1.0 - std::ldexp(1.0, -11) - std::ldexp(1.0, -40)), std::uint16_t{0xBC01});
    QCOMPARE(doubleToBfloat(1.0 + std::ldexp(1.0, -8) + std::ldexp(1.0, -40)), std::uint16_t{0x3F81});
    QCOMPARE(doubleToBfloat(1.0 + std::ldexp(1.0, -8) - std::ldexp(1.0, -40)), std::uint16_t{0x3F80});
    QCOMPARE(doubleToHalf(1e300), std::uint16_t{0x7C00});
    QCOMPARE(doubleToBfloat(-1e300), std::uint16_t{0xFF80});
    QCOMPARE(doubleToHalf(1e-300), std::uint16_t{0});
    QVERIFY(std::isnan(halfToFloat(doubleToHalf(std::nan("")))));
    // Doubles that are floats go the same way as floats, all the way round.
    for (std::uint32_t code = 0; code < 0x7C00; ++code) {
        const auto bits = static_cast<std::uint16_t>(code);
        QCOMPARE(doubleToHalf(static_cast<double>(halfToFloat(bits))), bits);
    }
}

void TstConvert::fitsFloat_()
{
    for (const DType dtype :
         {DType::F4, DType::F8E4M3, DType::F16, DType::BF16, DType::F32, DType::I16, DType::U8})
        QVERIFY(fitsFloat(dtype));
    for (const DType dtype :
         {DType::I32, DType::U32, DType::I64, DType::U64, DType::F64, DType::Bool, DType::C64})
        QVERIFY(!fitsFloat(dtype));
}

QTEST_GUILESS_MAIN(TstConvert)
#include "tst_convert.moc"
