// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/ui/data_table.h"
#include "app/ui/schema_form.h"
#include "app/ui/view.h"
#include "app/window/block_panel.h"
#include "app/window/choice_history.h"
#include "app/window/layers_panel.h"
#include "app/window/layouts.h"
#include "app/window/message_bar.h"
#include "app/window/method_panel.h"
#include "app/window/model_panel.h"
#include "app/window/pareto_panel.h"
#include "app/window/tensor_panel.h"
#include "tests/app/window_fixture.h"
#include "tests/support/fixtures.h"

#include <QComboBox>
#include <QDockWidget>
#include <QDoubleSpinBox>
#include <QLineEdit>
#include <QPushButton>
#include <QSpinBox>
#include <QTabWidget>
#include <QTreeView>
#include <QUndoStack>

#include <cmath>
#include <limits>

using namespace halftone;
using namespace Qt::Literals::StringLiterals;

/// What a person chooses: suggestions that fit, reasons for what doesn't, and the way back.
class TestChoices : public test::WindowTest {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase() { prepare(u"tst_choices"_s); }
    void init()
    {
        QSettings().clear();
        showWindow();
    }
    void cleanup()
    {
        QVERIFY(settle());
        m_window.reset();
    }
    void formatAndFileFitTheModel_data();
    void formatAndFileFitTheModel();
    void suggestionFollowsTheFormat();
    void unfitWeightSaysWhy();
    void nanIsPlacedInTheWholeWeight();
    void keptWeightHasNoNumber();
    void editsOfOneFieldAreOneStep();
    void methodAndFileAreSteps();
    void selectionIsAStep();
    void budgetIsAStep();
    void pinIsAStep();
    void closedDockComesBack();
    void eightBitsBecomeAnException();
    void workspacesKeepTheirDocks();

private:
    QString undoText() const { return m_window->actions().find(u"edit.undo"_s)->text().remove(u'&'); }
    QDockWidget* dock(const QString& name) const
    {
        return m_window->findChild<QDockWidget*>(u"dock."_s + name);
    }
    static std::string textOf(const ParamTexts& texts, std::string_view key)
    {
        for (const auto& [name, text] : texts)
            if (name == key) return text;
        return {};
    }
    bool planned()
    {
        return QTest::qWaitFor([&] { return m_window->methodPanel().plan().has_value(); }, 5000);
    }
};

void TestChoices::formatAndFileFitTheModel_data()
{
    QTest::addColumn<bool>("gguf");
    QTest::addColumn<QString>("format");
    QTest::addColumn<QString>("suffix");
    QTest::newRow("safetensors") << false << u"int"_s << u".safetensors"_s;
    QTest::newRow("gguf") << true << u"q4_0"_s << u".gguf"_s;
}

void TestChoices::formatAndFileFitTheModel()
{
    QFETCH(bool, gguf);
    QFETCH(QString, format);
    QFETCH(QString, suffix);
    const auto fixture = test::makeFixture(test::FixtureKind::Tiny);
    QString path = m_path;
    if (gguf) path = toQt(test::writeGguf(fixture, m_dir / "tiny.gguf").string());
    m_window->open(path);
    QVERIFY(settle());
    MethodPanel& panel = m_window->methodPanel();
    QCOMPARE(toQt(textOf(panel.form().texts(), "format")), format);
    QVERIFY2(panel.output().endsWith(suffix), qPrintable(panel.output()));
    QVERIFY2(planned(), qPrintable(panel.planText()));
    // Another model brings its own pair, as long as nobody chose the format.
    m_window->open(m_path);
    QVERIFY(settle());
    QCOMPARE(textOf(panel.form().texts(), "format"), std::string("int"));
    QVERIFY(panel.output().endsWith(u".safetensors"_s));
    QVERIFY(!m_window->undoStack().canUndo());
}

void TestChoices::suggestionFollowsTheFormat()
{
    openSmall();
    MethodPanel& panel = m_window->methodPanel();
    auto* format = qobject_cast<QComboBox*>(panel.form().field(u"format"_s));
    QVERIFY(format != nullptr);
    format->setCurrentText(u"q8_0"_s);
    QVERIFY2(panel.output().endsWith(u"small-rtn-q8_0.gguf"_s), qPrintable(panel.output()));
    QVERIFY2(planned(), qPrintable(panel.planText()));
    format->setCurrentText(u"int"_s);
    QVERIFY2(panel.output().endsWith(u"small-rtn4.safetensors"_s), qPrintable(panel.output()));
    // A name that was typed stays, and the plan says what does not fit.
    QLineEdit* output = nullptr;
    for (QLineEdit* edit : panel.findChildren<QLineEdit*>())
        if (edit->accessibleName() == u"File to write"_s) output = edit;
    QVERIFY(output != nullptr);
    output->selectAll();
    QTest::keyClicks(output, toQt((m_dir / "mine.safetensors").string()));
    format->setCurrentText(u"q4_0"_s);
    QVERIFY(panel.output().endsWith(u"mine.safetensors"_s));
    QVERIFY(QTest::qWaitFor([&] { return panel.planText().contains(u".gguf"_s); }, 5000));
    QVERIFY(!panel.plan().has_value());
}

void TestChoices::unfitWeightSaysWhy()
{
    const auto file = test::writeModel(test::makeFixture(test::FixtureKind::Tiny), m_dir / "tiny");
    m_window->open(toQt(file.string()));
    QVERIFY(settle());
    BlockPanel& panel = m_window->blocks();
    // Rows of 172 values: five blocks of 32, and 12 left over.
    m_window->workspace().selection().select({weightNamed("model.layers.0.mlp.down_proj.weight"), -1, -1});
    trigger("run.block-error");
    QVERIFY(settle());
    QVERIFY(panel.isEmpty());
    const QString words = panel.accessibleDescription();
    QVERIFY2(words.contains(u"64 x 172 can't take q4_0"_s), qPrintable(words));
    QVERIFY2(words.contains(u"not a multiple of the block of 32 (12 left over)"_s), qPrintable(words));
    QVERIFY2(words.contains(u"Choose a format"_s), qPrintable(words));
    QCOMPARE(m_window->messages().text(), QString());
    // The button shows it in a format that fits.
    QPushButton* fitting = nullptr;
    for (QPushButton* button : panel.findChildren<QPushButton*>())
        if (button->isVisible() && button->text().startsWith(u"Show it as"_s)) fitting = button;
    QVERIFY(fitting != nullptr);
    QTest::mouseClick(fitting, Qt::LeftButton);
    QVERIFY(settle());
    QVERIFY(!panel.isEmpty());
    QVERIFY(panel.format() != u"q4_0"_s);
    // A vector has no map at all.
    m_window->workspace().selection().select({weightNamed("model.norm.weight"), -1, -1});
    QVERIFY(settle());
    QVERIFY(panel.isEmpty());
    QVERIFY(panel.accessibleDescription().contains(u"vector"_s));
}

void TestChoices::nanIsPlacedInTheWholeWeight()
{
    const auto file = m_dir / "nan.safetensors";
    test::writeSmallCheckpoint(file, std::numeric_limits<float>::quiet_NaN());
    m_window->open(toQt(file.string()));
    QVERIFY(settle());
    m_window->workspace().selection().select({weightNamed("model.layers.1.mlp.down_proj.weight"), -1, -1});
    trigger("run.block-error");
    QVERIFY(settle());
    // Both panels and the message say the same, though each reads the weight in its own pieces.
    const QString place =
        toQt(file.string()) +
        u": tensor model.layers.1.mlp.down_proj.weight: NaN at row 5, column 70: no grid can hold it"_s;
    TensorPanel& tensor = m_window->tensor();
    for (QTabWidget* tabs : m_window->findChildren<QTabWidget*>())
        if (tabs->indexOf(&tensor) >= 0) tabs->setCurrentWidget(&tensor);
    QVERIFY(settle());
    QVERIFY(tensor.isEmpty());
    QVERIFY2(tensor.accessibleDescription().contains(place), qPrintable(tensor.accessibleDescription()));
    QVERIFY2(m_window->messages().text().contains(place), qPrintable(m_window->messages().text()));
}

void TestChoices::keptWeightHasNoNumber()
{
    const auto file = test::writeModel(test::makeFixture(test::FixtureKind::Tiny), m_dir / "tiny-kept");
    m_window->open(toQt(file.string()));
    QVERIFY(settle());
    std::vector<SweepPoint> points;
    for (const SweepPoint& point : m_window->workspace().defaultSweep())
        if (point.label.find("q4_0") != std::string::npos || points.empty()) points.push_back(point);
    m_window->workspace().runSweep(points);
    QVERIFY(settle());
    m_window->workspace().setPoint(static_cast<int>(points.size()) - 1);
    QVERIFY(settle());
    TensorTreeModel& tree = m_window->modelPanel().tree();
    const auto cell = [&](const char* name) {
        return tree.indexOf(weightNamed(name)).siblingAtColumn(TensorTreeModel::Sqnr).data().toString();
    };
    QCOMPARE(cell("model.layers.0.mlp.down_proj.weight"), u"kept"_s);
    QVERIFY(cell("model.layers.0.self_attn.q_proj.weight").toDouble() > 10);
    // Nothing lost sorts as more than any loss.
    tree.sort(TensorTreeModel::Sqnr, Qt::DescendingOrder);
    const QModelIndex kept = tree.indexOf(weightNamed("model.layers.0.mlp.down_proj.weight"));
    QVERIFY(kept.row() < tree.indexOf(weightNamed("model.layers.0.self_attn.q_proj.weight")).row());
}

void TestChoices::editsOfOneFieldAreOneStep()
{
    openSmall();
    MethodPanel& panel = m_window->methodPanel();
    const ParamTexts before = panel.form().texts();
    auto* bits = qobject_cast<QSpinBox*>(panel.form().field(u"bits"_s));
    QVERIFY(bits != nullptr);
    QVERIFY(!m_window->undoStack().canUndo());
    bits->setValue(3);
    bits->setValue(2);
    bits->setValue(5);
    QCOMPARE(m_window->undoStack().count(), 1);
    QCOMPARE(undoText(), u"Undo change of Bits"_s);
    qobject_cast<QComboBox*>(panel.form().field(u"symmetry"_s))->setCurrentText(u"asymmetric"_s);
    QCOMPARE(m_window->undoStack().count(), 2);
    trigger("edit.undo");
    QCOMPARE(textOf(panel.form().texts(), "bits"), std::string("5"));
    QVERIFY(panel.output().contains(u"rtn5"_s));
    trigger("edit.undo");
    QCOMPARE(panel.form().texts(), before);
    QCOMPARE(undoText(), u"Undo"_s);
    trigger("edit.redo");
    QCOMPARE(textOf(panel.form().texts(), "bits"), std::string("5"));
    QCOMPARE(m_window->undoStack().count(), 2);
}

void TestChoices::methodAndFileAreSteps()
{
    openSmall();
    MethodPanel& panel = m_window->methodPanel();
    const FormState before = panel.state();
    panel.form().setTexts({{"bits", "3"}});
    panel.setMethod(u"block_error"_s);
    QCOMPARE(undoText(), u"Undo change of the method"_s);
    trigger("edit.undo");
    QCOMPARE(toQt(panel.method()->info().id), before.method);
    QCOMPARE(textOf(panel.form().texts(), "bits"), std::string("3"));
    panel.setOutput(toQt((m_dir / "a.safetensors").string()));
    QCOMPARE(undoText(), u"Undo change of the file to write"_s);
    trigger("edit.undo");
    trigger("edit.undo");
    QVERIFY(panel.state() == before);
    QVERIFY(panel.output().endsWith(u"small-rtn4.safetensors"_s));
}

void TestChoices::selectionIsAStep()
{
    openSmall();
    Selection& selection = m_window->workspace().selection();
    const int first = weightNamed("model.layers.0.mlp.up_proj.weight");
    const int second = weightNamed("model.layers.1.mlp.up_proj.weight");
    selection.select({first, -1, -1});
    selection.select({second, 3, 1});
    QVERIFY2(undoText().contains(u"selection of"_s), qPrintable(undoText()));
    trigger("edit.undo");
    QCOMPARE(selection.place().weight, first);
    trigger("edit.undo");
    QCOMPARE(selection.place().weight, -1);
    trigger("edit.redo");
    trigger("edit.redo");
    QCOMPARE(selection.place().weight, second);
    QCOMPARE(selection.place().row, qint64{3});
    // Another model: there is nothing to go back to.
    m_window->open(m_path);
    QVERIFY(settle());
    QVERIFY(!m_window->undoStack().canUndo());
}

void TestChoices::budgetIsAStep()
{
    openSmall();
    trigger("run.sweep");
    QVERIFY(settle());
    QVERIFY(!m_window->undoStack().canUndo()); // results are no choice
    auto* size = m_window->methodPanel().findChild<QDoubleSpinBox*>(u"budget"_s);
    QVERIFY(size != nullptr);
    size->setValue(0.1);
    size->setValue(0.12);
    QCOMPARE(m_window->undoStack().count(), 1);
    QVERIFY(settle());
    QVERIFY(m_window->workspace().mix().has_value());
    trigger("edit.undo");
    QVERIFY(settle());
    QVERIFY(!m_window->pareto().budget().has_value());
    QVERIFY(!m_window->workspace().mix().has_value());
    QCOMPARE(size->value(), 0.0);
    trigger("edit.redo");
    QVERIFY(settle());
    QCOMPARE(*m_window->pareto().budget(), 0.12e6);
    QVERIFY(m_window->workspace().mix().has_value());
    QVERIFY(m_window->workspace().results(Workspace::Kind::Sweep) != nullptr);
}

void TestChoices::pinIsAStep()
{
    openSmall();
    View& tensor = m_window->tensor();
    tensor.setPinned(true);
    QCOMPARE(undoText(), u"Undo pin of Tensor"_s);
    trigger("edit.undo");
    QVERIFY(!tensor.isPinned());
    trigger("edit.redo");
    QVERIFY(tensor.isPinned());
    QCOMPARE(m_window->undoStack().count(), 1);
}

void TestChoices::closedDockComesBack()
{
    QTest::qWait(200); // the layout has settled
    QVERIFY(!m_window->undoStack().canUndo());
    dock(u"model"_s)->close();
    QVERIFY(QTest::qWaitFor([&] { return m_window->undoStack().canUndo(); }, 2000));
    QCOMPARE(undoText(), u"Undo change of the layout"_s);
    trigger("edit.undo");
    QVERIFY(dock(u"model"_s)->isVisible());
    trigger("edit.redo");
    QVERIFY(!dock(u"model"_s)->isVisible());
    QTest::qWait(200);
    QCOMPARE(m_window->undoStack().count(), 1); // taking back is no new choice
}

void TestChoices::eightBitsBecomeAnException()
{
    openSmall();
    MethodPanel& panel = m_window->methodPanel();
    QVERIFY(planned());
    const std::uint64_t before = panel.plan()->outputBytes;
    m_window->workspace().selection().select({weightNamed("model.layers.1.mlp.down_proj.weight"), -1, -1});
    trigger("model.keep-8-bits");
    QCOMPARE(textOf(panel.form().texts(), "overrides"),
             std::string("model.layers.1.mlp.down_proj.weight:bits=8"));
    QVERIFY(QTest::qWaitFor([&] { return panel.plan() && panel.plan()->outputBytes > before; }, 5000));
    trigger("model.keep-8-bits"); // twice says it once
    QCOMPARE(m_window->undoStack().count(), 2);
    trigger("edit.undo");
    QCOMPARE(textOf(panel.form().texts(), "overrides"), std::string());
}

void TestChoices::workspacesKeepTheirDocks()
{
    QTest::qWait(200);
    Layouts& layouts = m_window->layouts();
    QCOMPARE(layouts.current(), u"compress"_s);
    QVERIFY(dock(u"method"_s)->isVisible());
    trigger("window.workspace-analyse");
    QVERIFY(!dock(u"method"_s)->isVisible());
    QVERIFY(dock(u"model"_s)->isVisible());
    QVERIFY(m_window->actions().find(u"window.workspace-analyse"_s)->isChecked());
    dock(u"model"_s)->close();
    trigger("window.workspace-compare");
    QVERIFY(!dock(u"model"_s)->isVisible());
    trigger("window.workspace-compress");
    QVERIFY(dock(u"model"_s)->isVisible() && dock(u"method"_s)->isVisible());
    trigger("window.workspace-analyse");
    QVERIFY(!dock(u"model"_s)->isVisible()); // as it was left
    // Back to the workspace before, and forth.
    trigger("edit.undo");
    QCOMPARE(layouts.current(), u"compress"_s);
    trigger("edit.redo");
    QCOMPARE(layouts.current(), u"analyse"_s);
    trigger("window.reset-layout");
    QVERIFY(dock(u"model"_s)->isVisible());
    // The next start begins here.
    m_window->close();
    MainWindow next(m_methods, m_plugins);
    next.show();
    QVERIFY(QTest::qWaitForWindowExposed(&next));
    QCOMPARE(next.layouts().current(), u"analyse"_s);
    QVERIFY(!next.findChild<QDockWidget*>(u"dock.method"_s)->isVisible());
    QVERIFY(settle(&next));
}

QTEST_MAIN(TestChoices)
#include "tst_choices.moc"
