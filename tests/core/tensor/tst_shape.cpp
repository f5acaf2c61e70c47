// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/tensor/shape.h"

#include "tests/support/main.h"

#include <limits>
#include <vector>

using namespace halftone;

class TstShape : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void counts();
    void matrixView();
    void checksExtents();
    void text();
    void equality();
};

void TstShape::counts()
{
    QCOMPARE(Shape().count(), std::int64_t{1});
    QCOMPARE((Shape{4, 3, 2}).count(), std::int64_t{24});
    QCOMPARE((Shape{4, 0, 2}).count(), std::int64_t{0});
    QCOMPARE((Shape{262144, 8960}).count(), std::int64_t{2348810240});
}

void TstShape::matrixView()
{
    const Shape s{4, 3, 2};
    QCOMPARE(s.cols(), std::int64_t{2});
    QCOMPARE(s.rows(), std::int64_t{12});
    QCOMPARE(Shape().cols(), std::int64_t{1});
    QCOMPARE(Shape().rows(), std::int64_t{1});
    QCOMPARE((Shape{7}).rows(), std::int64_t{1});
    QCOMPARE((Shape{5, 0}).rows(), std::int64_t{0});
    QCOMPARE((Shape{0, 5}).rows(), std::int64_t{0});
    QCOMPARE(s.dims().size(), std::size_t{3});
}

void TstShape::checksExtents()
{
    const auto made = [](std::vector<std::int64_t> dims) { return Shape::checked(dims); };
    QVERIFY(made({2, 3}) == Shape({2, 3}));
    QVERIFY(made({}) == Shape());
    QVERIFY(!made({2, -1}));
    QVERIFY(!made({1, 1, 1, 1, 1, 1, 1, 1, 1}));
    constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
    QVERIFY(made({kMax}));
    QVERIFY(!made({kMax, 2}));
    // An empty tensor whose other extents can't be multiplied is still nonsense.
    QVERIFY(!made({kMax, 2, 0}));
    QVERIFY(made({kMax, 0}));
}

void TstShape::text()
{
    QCOMPARE((Shape{4096, 1024}).text(), std::string("4096 x 1024"));
    QCOMPARE(Shape().text(), std::string("scalar"));
    QCOMPARE((Shape{7}).text(), std::string("7"));
}

void TstShape::equality()
{
    QVERIFY((Shape{2, 3}) == (Shape{2, 3}));
    QVERIFY((Shape{2, 3}) != (Shape{3, 2}));
    QVERIFY((Shape{2}) != (Shape{2, 1}));
}

QTEST_GUILESS_MAIN(TstShape)
#include "tst_shape.moc"
