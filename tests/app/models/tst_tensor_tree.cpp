// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/host/strings.h"
#include "app/models/tensor_tree_model.h"
#include "tests/app/fake_model.h"
#include "tests/support/main.h"

#include <QAbstractItemModelTester>
#include <QIdentityProxyModel>

using namespace halftone;
using namespace Qt::Literals::StringLiterals;

namespace {

/// Counts how often a cell is asked for.
class CountingProxy : public QIdentityProxyModel {
public:
    QVariant data(const QModelIndex& index, int role) const override
    {
        ++asked;
        return QIdentityProxyModel::data(index, role);
    }
    mutable int asked = 0;
};

std::shared_ptr<const Model> smallModel()
{
    std::vector<WeightInfo> infos{test::weight("model.embed_tokens.weight", 100, 64)};
    for (int layer = 0; layer < 9; ++layer) {
        const std::string prefix = "model.layers." + std::to_string(layer) + ".";
        infos.push_back(test::weight(prefix + "self_attn.q_proj.weight", 64, 64));
        infos.push_back(test::weight(prefix + "mlp.down_proj.weight", 64, 256 + layer, DType::F32));
    }
    infos.push_back(test::weight("model.norm.weight", 1, 64));
    return std::make_shared<test::FakeModel>(std::move(infos));
}

} // namespace

class TestTensorTree : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void passesTheModelTester();
    void groupsByLayer();
    void filters_data();
    void filters();
    void badFilterKeepsTheOldOne();
    void sortsWithinGroups();
    void statisticsFillTheirColumns();
    void hundredThousandRowsCostNothingUntilSeen();
};

void TestTensorTree::passesTheModelTester()
{
    TensorTreeModel tree;
    const QAbstractItemModelTester tester(&tree, QAbstractItemModelTester::FailureReportingMode::QtTest);
    tree.setModel(smallModel());
    HALFTONE_VERIFY(tree.setFilter("layer in 2..4"));
    tree.sort(TensorTreeModel::Bytes, Qt::DescendingOrder);
    tree.setStatistics(std::vector<WeightStatistics>(20, {12.0, 1e-5}));
    HALFTONE_VERIFY(tree.setFilter(""));
    tree.setModel(nullptr);
    QCOMPARE(tree.rowCount(), 0);
}

void TestTensorTree::groupsByLayer()
{
    TensorTreeModel tree;
    tree.setModel(smallModel());
    // Embedding, nine layers, final norm.
    QCOMPARE(tree.rowCount(), 11);
    const QModelIndex layer = tree.index(3, 0);
    QCOMPARE(layer.data().toString(), u"layer 2  (2)"_s);
    QCOMPARE(tree.index(0, TensorTreeModel::Name, layer).data().toString(), u"attn.q"_s);
    QCOMPARE(tree.index(0, TensorTreeModel::Type, layer).data().toString(), u"BF16"_s);
    const int weight = tree.weightAt(tree.index(1, 0, layer));
    QCOMPARE(weight, 6);
    QCOMPARE(tree.indexOf(weight), tree.index(1, 0, layer));
    QCOMPARE(tree.weightAt(layer), -1);
}

void TestTensorTree::filters_data()
{
    QTest::addColumn<QString>("text");
    QTest::addColumn<int>("shown");
    QTest::newRow("nothing typed") << u""_s << 20;
    QTest::newRow("plain text") << u"down_proj"_s << 9;
    QTest::newRow("plain text, case") << u"DOWN"_s << 9;
    QTest::newRow("range") << u"layer in 3..7"_s << 10;
    QTest::newRow("joined") << u"layer in 3..7 and type = bf16"_s << 5;
    QTest::newRow("snr") << u"snr < 20"_s << 10;
    QTest::newRow("snr and layer") << u"snr < 20 and layer >= 4"_s << 1;
    QTest::newRow("not equal") << u"mse != 7"_s << 20;
    QTest::newRow("bits") << u"bits = 32"_s << 9;
    QTest::newRow("size with a unit") << u"bytes > 66k"_s << 7;
    QTest::newRow("role class") << u"class = attention"_s << 9;
    QTest::newRow("none") << u"layer = 99"_s << 0;
}

void TestTensorTree::filters()
{
    QFETCH(QString, text);
    QFETCH(int, shown);
    TensorTreeModel tree;
    tree.setModel(smallModel());
    std::vector<WeightStatistics> statistics;
    for (int i = 0; i < 20; ++i)
        statistics.push_back({10.0 + i, 1e-4});
    tree.setStatistics(statistics);
    HALFTONE_VERIFY(tree.setFilter(toStd(text)));
    QCOMPARE(static_cast<int>(tree.shown().size()), shown);
}

void TestTensorTree::badFilterKeepsTheOldOne()
{
    TensorTreeModel tree;
    tree.setModel(smallModel());
    HALFTONE_VERIFY(tree.setFilter("layer = 2"));
    for (const char* text : {"colour = red", "layer in 3..x", "layer <", "type < 3", "snr = loud"}) {
        const Status done = tree.setFilter(text);
        QVERIFY2(!done, text);
        QCOMPARE(done.error().code(), Errc::InvalidArgument);
        QCOMPARE(tree.shown().size(), std::size_t{2});
    }
}

void TestTensorTree::sortsWithinGroups()
{
    TensorTreeModel tree;
    tree.setModel(smallModel());
    const QModelIndex layer = tree.index(1, 0);
    const QPersistentModelIndex followed(tree.index(0, 0, layer));
    QCOMPARE(tree.weightAt(followed), 1);
    tree.sort(TensorTreeModel::Bytes, Qt::DescendingOrder);
    QCOMPARE(tree.weightAt(tree.index(0, 0, layer)), 2);
    QCOMPARE(followed.row(), 1);
    QCOMPARE(tree.weightAt(followed), 1);
}

void TestTensorTree::statisticsFillTheirColumns()
{
    TensorTreeModel tree;
    tree.setModel(smallModel());
    const QModelIndex row = tree.index(0, 0, tree.index(1, 0));
    QVERIFY(row.siblingAtColumn(TensorTreeModel::Sqnr).data().toString().isEmpty());
    std::vector<WeightStatistics> statistics(20);
    statistics[1] = {21.37, 2.5e-5};
    tree.setStatistics(statistics);
    QCOMPARE(row.siblingAtColumn(TensorTreeModel::Sqnr).data().toString(), u"21.4"_s);
    QCOMPARE(row.siblingAtColumn(TensorTreeModel::Mse).data().toString(), u"2.50e-05"_s);
}

void TestTensorTree::hundredThousandRowsCostNothingUntilSeen()
{
    std::vector<WeightInfo> infos;
    for (int i = 0; i < 100000; ++i)
        infos.push_back(test::weight("some.tensor." + std::to_string(i), 8, 8));
    TensorTreeModel tree;
    CountingProxy counter;
    counter.setSourceModel(&tree);
    tree.setModel(std::make_shared<test::FakeModel>(std::move(infos)));
    QCOMPARE(counter.asked, 0);
    int rows = 0;
    for (int g = 0; g < counter.rowCount(); ++g)
        rows += counter.rowCount(counter.index(g, 0));
    QCOMPARE(rows, 100000);
    // Sizes come from counts, never from cells.
    QCOMPARE(counter.asked, 0);
    HALFTONE_VERIFY(tree.setFilter("99999"));
    QCOMPARE(tree.shown().size(), std::size_t{1});
    QCOMPARE(counter.asked, 0);
}

QTEST_GUILESS_MAIN(TestTensorTree)
#include "tst_tensor_tree.moc"
