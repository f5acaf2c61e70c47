// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/numeric/error_stats.h"

#include "tests/support/main.h"

#include <cmath>
#include <vector>

using namespace halftone;

class TstErrorStats : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void byHand();
    void zeros();
    void noise();
    void mergeIsTheWhole();
};

void TstErrorStats::byHand()
{
    const std::vector<float> x{3, -4, 0, 0.5f}, y{3, -3, 0, 0};
    const ErrorStats s = compare(x, y);
    QCOMPARE(s.count, std::int64_t{4});
    QVERIFY(s.signal == 25.25);
    QVERIFY(s.noise == 1.25);
    QVERIFY(s.maxError == 1);
    QVERIFY(s.maxValue == 4);
    QCOMPARE(s.underflowed, std::int64_t{1});
    QCOMPARE(s.clipped, std::int64_t{0});
    QVERIFY(s.mse() == 0.3125);
    QVERIFY(s.normalisedMse() == 1.25 / 25.25);
    QVERIFY(std::fabs(s.sqnr() - 13.0535136947) < 1e-9);
    QVERIFY(std::fabs(s.crestFactor() - 4 / std::sqrt(25.25 / 4)) < 1e-12);
}

void TstErrorStats::zeros()
{
    const std::vector<float> zeros(8, 0.0f);
    const ErrorStats s = compare(zeros, zeros);
    QVERIFY(s.normalisedMse() == 0 && s.mse() == 0 && s.crestFactor() == 0);
    QVERIFY(std::isnan(s.sqnr()));
    QVERIFY(ErrorStats{}.mse() == 0 && std::isnan(ErrorStats{}.sqnr()));
}

void TstErrorStats::noise()
{
    const std::vector<float> zero{0}, one{1};
    QVERIFY(std::isinf(compare(zero, one).normalisedMse()));
    QVERIFY(std::isinf(compare(one, one).sqnr()) && compare(one, one).sqnr() > 0);
    QVERIFY(compare(one, zero).sqnr() == 0);
}

void TstErrorStats::mergeIsTheWhole()
{
    const std::vector<float> x{1, 2, 3, -8, 5, 6}, y{1, 2.5f, 3, -7, 0, 6};
    ErrorStats a = compare(std::span(x).first(2), std::span(y).first(2));
    a.clipped = 1;
    ErrorStats b = compare(std::span(x).subspan(2), std::span(y).subspan(2));
    b.clipped = 2;
    a.merge(b);
    const ErrorStats whole = compare(x, y);
    QVERIFY(a.count == whole.count && a.signal == whole.signal && a.noise == whole.noise &&
            a.maxError == whole.maxError && a.maxValue == whole.maxValue &&
            a.underflowed == whole.underflowed && a.clipped == 3);
}

QTEST_GUILESS_MAIN(TstErrorStats)
#include "tst_error_stats.moc"
