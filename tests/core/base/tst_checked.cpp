// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/main.h"

// Qt 6.4's moc cannot read <concepts>.
#ifndef Q_MOC_RUN
#include "core/base/checked.h"
#endif

#include <limits>

using namespace halftone;

class TstChecked : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void multipliesAndAdds();
    void roundsUp();
    void fitsInside();
    void dividesUp();
};

namespace {
constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();
constexpr std::int64_t kTop = std::numeric_limits<std::int64_t>::max();
} // namespace

void TstChecked::multipliesAndAdds()
{
    QVERIFY(checkedMul<std::uint64_t>(1u << 31, 1u << 31) == std::uint64_t{1} << 62);
    QVERIFY(!checkedMul<std::uint64_t>(std::uint64_t{1} << 32, std::uint64_t{1} << 32));
    QVERIFY(checkedMul<std::uint64_t>(kMax, 0) == 0u);
    QVERIFY(!checkedMul<std::int64_t>(kTop, -2));
    QVERIFY(!checkedMul<std::int64_t>(std::numeric_limits<std::int64_t>::min(), -1));
    QVERIFY(checkedAdd<std::uint64_t>(kMax - 1, 1) == kMax);
    QVERIFY(!checkedAdd<std::uint64_t>(kMax, 1));
    QVERIFY(!checkedAdd<std::int64_t>(kTop, 1));
    static_assert(checkedMul(6, 7) == 42);
}

void TstChecked::roundsUp()
{
    QVERIFY(checkedRoundUp<std::uint64_t>(0, 32) == 0u);
    QVERIFY(checkedRoundUp<std::uint64_t>(1, 32) == 32u);
    QVERIFY(checkedRoundUp<std::uint64_t>(32, 32) == 32u);
    QVERIFY(checkedRoundUp<std::uint64_t>(33, 7) == 35u);
    QVERIFY(!checkedRoundUp<std::uint64_t>(kMax - 2, 32));
    QVERIFY(checkedRoundUp<std::uint64_t>(kMax, 1) == kMax);
}

void TstChecked::fitsInside()
{
    QVERIFY(fits(0, 0, 0));
    QVERIFY(fits(10, 0, 10));
    QVERIFY(!fits(11, 0, 10));
    QVERIFY(fits(4, 6, 10));
    QVERIFY(!fits(5, 6, 10));
    // The sum wraps around; the answer must not.
    QVERIFY(!fits(kMax, 2, 10));
    QVERIFY(!fits(5, kMax, 10));
    QVERIFY(fits(0, kMax, kMax));
}

void TstChecked::dividesUp()
{
    QCOMPARE(ceilDiv(0, 32), 0);
    QCOMPARE(ceilDiv(1, 32), 1);
    QCOMPARE(ceilDiv(64, 32), 2);
    QCOMPARE(ceilDiv(65, 32), 3);
    QCOMPARE(ceilDiv(kMax, std::uint64_t{2}), std::uint64_t{1} << 63);
}

QTEST_GUILESS_MAIN(TstChecked)
#include "tst_checked.moc"
