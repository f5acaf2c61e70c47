// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/ui/chart_view.h"
#include "app/ui/data_table.h"
#include "app/ui/raster_view.h"
#include "app/ui/schema_form.h"
#include "app/ui/treemap_view.h"
#include "app/window/block_panel.h"
#include "app/window/command_palette.h"
#include "app/window/figures_panel.h"
#include "app/window/layers_panel.h"
#include "app/window/message_bar.h"
#include "app/window/method_panel.h"
#include "app/window/model_panel.h"
#include "app/window/overview_panel.h"
#include "app/window/pareto_panel.h"
#include "app/window/point_texts.h"
#include "app/window/tensor_panel.h"
#include "tests/app/window_fixture.h"

#include <QAbstractScrollArea>
#include <QAccessible>
#include <QDragEnterEvent>
#include <QDropEvent>
#include <QFileInfo>
#include <QMenuBar>
#include <QMimeData>
#include <QSettings>
#include <QSignalSpy>
#include <QTabWidget>
#include <QThreadPool>
#include <QToolButton>
#include <QTreeView>
#include <QUrl>

#include <cmath>

using namespace halftone;
using namespace Qt::Literals::StringLiterals;

class TestMainWindow : public test::WindowTest {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase();
    void init();
    void cleanup();
    void opensAndShowsTheModel();
    void dropOpensAFile();
    void brokenFileIsOneLine();
    void recentListKeepsOrder();
    void paletteListsEveryMenuAction();
    void paletteFindsWeights();
    void everyActionIsDocumented();
    void planFollowsTheForm();
    void undoBringsParametersBack();
    void commandLineAndJobSayTheSame();
    void sweepFillsParetoAndLayers();
    void budgetLineCallsTheSolver();
    void selectionMovesThePanels();
    void mapOpensTheBlockOfTheOutlier();
    void writesAndVerifiesAFile();
    void resultsFileBringsFiguresBack();
    void closingAsksWhileAJobRuns();
    void everyFocusableWidgetHasAName();
    void bothThemesPaint();
};

void TestMainWindow::initTestCase() { prepare(u"tst_main_window"_s); }

void TestMainWindow::init()
{
    QSettings().clear();
    showWindow();
}

void TestMainWindow::cleanup()
{
    QVERIFY(settle());
    m_window.reset();
}

void TestMainWindow::opensAndShowsTheModel()
{
    QVERIFY(m_window->overview().isEmpty());
    QVERIFY(m_window->pareto().isEmpty());
    openSmall();
    QVERIFY(m_window->windowTitle().contains(u"small.safetensors"_s));
    QCOMPARE(m_window->modelPanel().tree().shown().size(),
             m_window->workspace().model()->weights()->all().size());
    QVERIFY(!m_window->overview().isEmpty());
    QVERIFY(!m_window->overview().notes().isEmpty());
    QVERIFY(m_window->overview().picture()->series.size() >= 3);
    const auto& treemap = m_window->modelPanel().treemap();
    QVERIFY(treemap.picture() != nullptr);
    QCOMPARE(treemap.picture()->series.front().x.size(),
             m_window->workspace().model()->weights()->all().size());
    m_window->workspace().closeModel();
    QVERIFY(m_window->overview().isEmpty());
    QCOMPARE(m_window->modelPanel().tree().rowCount(), 0);
}

void TestMainWindow::dropOpensAFile()
{
    QMimeData mime;
    mime.setUrls({QUrl::fromLocalFile(m_path)});
    QDragEnterEvent enter(QPoint(400, 300), Qt::CopyAction, &mime, Qt::LeftButton, Qt::NoModifier);
    QCoreApplication::sendEvent(m_window.get(), &enter);
    QVERIFY(enter.isAccepted());
    QDropEvent drop(QPointF(400, 300), Qt::CopyAction, &mime, Qt::LeftButton, Qt::NoModifier);
    QCoreApplication::sendEvent(m_window.get(), &drop);
    QVERIFY(settle());
    QVERIFY(m_window->workspace().model() != nullptr);
    QCOMPARE(m_window->workspace().modelPath(), m_path);
}

void TestMainWindow::brokenFileIsOneLine()
{
    const QString path = toQt((m_dir / "broken.safetensors").string());
    QFile file(path);
    QVERIFY(file.open(QIODevice::WriteOnly));
    file.write("this is no checkpoint at all");
    file.close();
    m_window->open(path);
    QVERIFY(settle());
    QVERIFY(m_window->workspace().model() == nullptr);
    QVERIFY2(m_window->messages().text().contains(u"broken.safetensors"_s),
             qPrintable(m_window->messages().text()));
    QVERIFY(!m_window->messages().text().contains(u'\n'));
    // An open model stays open when the next file is broken.
    openSmall();
    m_window->open(path);
    QVERIFY(settle());
    QVERIFY(m_window->workspace().model() != nullptr);
}

void TestMainWindow::recentListKeepsOrder()
{
    const QString second = toQt((m_dir / "second.safetensors").string());
    test::writeSmallCheckpoint(toStd(second));
    openSmall();
    m_window->open(second);
    QVERIFY(settle());
    m_window->open(m_path);
    QVERIFY(settle());
    QCOMPARE(m_window->recentFiles(), QStringList({m_path, second}));
    QCOMPARE(m_window->actions().find(u"file.recent.2"_s)->text(), u"second.safetensors"_s);
    m_window->actions().find(u"file.recent.2"_s)->trigger();
    QVERIFY(settle());
    QCOMPARE(m_window->workspace().modelPath(), second);
}

void TestMainWindow::paletteListsEveryMenuAction()
{
    m_window->actions().find(u"help.palette"_s)->trigger();
    QVERIFY(m_window->palette().isVisible());
    QStringList listed;
    const QStandardItemModel& entries = m_window->palette().entries();
    for (int r = 0; r < entries.rowCount(); ++r)
        listed << entries.item(r)->text();
    int seen = 0;
    const auto walk = [&](auto&& self, const QList<QAction*>& actions) -> void {
        for (QAction* action : actions) {
            if (action->isSeparator() || !action->isVisible()) continue;
            if (action->menu() != nullptr) {
                self(self, action->menu()->actions());
                continue;
            }
            const QString name = action->text().remove(u'&').remove(u"…"_s);
            QVERIFY2(listed.contains(name), qPrintable(name));
            QVERIFY2(!action->objectName().isEmpty(), qPrintable(name));
            ++seen;
        }
    };
    walk(walk, m_window->menuBar()->actions());
    QVERIFY(seen > 25);
    // No shortcut is given twice.
    QSet<QString> shortcuts;
    for (const QAction* action : m_window->actions().all()) {
        const QString keys = action->shortcut().toString();
        if (keys.isEmpty()) continue;
        QVERIFY2(!shortcuts.contains(keys), qPrintable(keys));
        shortcuts.insert(keys);
    }
    QTest::keyClick(m_window->palette().findChild<QWidget*>(), Qt::Key_Escape);
}

void TestMainWindow::paletteFindsWeights()
{
    openSmall();
    m_window->palette().popUp();
    m_window->palette().filter(u"layers.1.mlp.down"_s);
    QCOMPARE(m_window->palette().entries().rowCount(), 1);
    m_window->palette().filter(u"dark theme"_s);
    QCOMPARE(m_window->palette().entries().rowCount(), 1);
    m_window->palette().hide();
}

void TestMainWindow::everyActionIsDocumented()
{
    QFile page(qEnvironmentVariable("HALFTONE_SOURCE") + u"/resources/docs/window.md"_s);
    QVERIFY(page.open(QIODevice::ReadOnly));
    const QString text = QString::fromUtf8(page.readAll());
    for (const QAction* action : m_window->actions().all()) {
        const QString id = action->objectName();
        if (id.startsWith(u"file.recent."_s)) continue; // one line for all of them
        QVERIFY2(text.contains(id), qPrintable(id));
        const QString keys = action->shortcut().toString(QKeySequence::PortableText);
        if (!keys.isEmpty() && !keys.startsWith(u"Alt+"_s))
            QVERIFY2(text.contains(keys), qPrintable(id + u' ' + keys));
    }
}

void TestMainWindow::planFollowsTheForm()
{
    openSmall();
    MethodPanel& panel = m_window->methodPanel();
    QVERIFY2(QTest::qWaitFor([&] { return panel.plan().has_value(); }, 5000), qPrintable(panel.planText()));
    const std::uint64_t four = panel.plan()->outputBytes;
    QSignalSpy planned(&panel, &MethodPanel::planned);
    panel.form().setTexts({{"bits", "2"}});
    QVERIFY(planned.wait(5000));
    QVERIFY(panel.plan().has_value());
    QVERIFY(panel.plan()->outputBytes < four);
    QVERIFY(panel.planText().contains(u"Bits per weight"_s));
    // A value that is not allowed leaves no plan to run.
    panel.form().setTexts({{"bits", "77"}});
    QVERIFY(QTest::qWaitFor([&] { return !panel.plan().has_value(); }, 5000));
    QVERIFY(panel.planText().contains(u"bits"_s));
}

void TestMainWindow::undoBringsParametersBack()
{
    MethodPanel& panel = m_window->methodPanel();
    const ParamTexts before = panel.form().texts();
    panel.form().setTexts({{"bits", "3"}});
    QVERIFY(panel.form().texts() != before);
    QVERIFY(m_window->actions().find(u"edit.undo"_s)->isEnabled());
    m_window->actions().find(u"edit.undo"_s)->trigger();
    QCOMPARE(panel.form().texts(), before);
    m_window->actions().find(u"edit.redo"_s)->trigger();
    QVERIFY(panel.form().texts() != before);
}

void TestMainWindow::commandLineAndJobSayTheSame()
{
    openSmall();
    MethodPanel& panel = m_window->methodPanel();
    panel.form().setTexts({{"bits", "3"}, {"group-size", "64"}});
    const QString line = panel.commandLine();
    QVERIFY(line.startsWith(u"halftone-batch quantize '"_s + m_path));
    QVERIFY(line.contains(u"--method rtn"_s));
    QVERIFY(line.contains(u"--set 'bits=3'"_s));
    QVERIFY(line.contains(u"--set 'group-size=64'"_s));
    QVERIFY(!line.contains(u"symmetry"_s)); // defaults are not repeated
    QVERIFY(line.contains(u" -o '"_s));
    const QString job = panel.jobFile();
    QVERIFY(job.contains(u"halftone-job"_s));
    QVERIFY(job.contains(u"\"rtn\""_s));
    QVERIFY(job.contains(u"group-size"_s));
}

void TestMainWindow::sweepFillsParetoAndLayers()
{
    openSmall();
    const auto points = m_window->workspace().defaultSweep();
    QVERIFY(points.size() >= 10);
    QSet<QString> labels;
    for (const SweepPoint& point : points)
        labels.insert(toQt(point.label));
    QCOMPARE(static_cast<std::size_t>(labels.size()), points.size());
    m_window->actions().find(u"run.sweep"_s)->trigger();
    QCOMPARE(m_window->tabs().currentWidget(), static_cast<QWidget*>(&m_window->pareto()));
    QVERIFY(settle());
    QVERIFY(!m_window->pareto().isEmpty());
    // The rows of this model are too short for blocks of 256: such a point changes nothing, and has no error
    // to be drawn at.
    const auto drawn = std::count_if(points.begin(), points.end(), [](const SweepPoint& point) {
        const auto format = point.method->target({}, point.params);
        return format && (*format)->layout(64, 64);
    });
    QVERIFY(drawn >= 10);
    QCOMPARE(static_cast<qint64>(m_window->pareto().picture()->series.front().x.size()), qint64{drawn});
    QVERIFY(m_window->pareto().picture()->series.front().hull.size() >= 2);
    // The reading names the weight that loses most.
    QVERIFY(m_window->layers().worst() >= 0);
    const std::string& name = m_window->workspace()
                                  .model()
                                  ->weights()
                                  ->all()[static_cast<std::size_t>(m_window->layers().worst())]
                                  .name;
    QVERIFY2(m_window->layers().reading().contains(toQt(name)), qPrintable(m_window->layers().reading()));
    // The tree got its columns.
    const auto& tree = m_window->modelPanel().tree();
    const auto worst = static_cast<std::size_t>(m_window->layers().worst());
    QVERIFY(std::isfinite(tree.statistics().at(worst).sqnr));
    // Choosing a point moves the layers to it, and fills the form when asked.
    m_window->workspace().setPoint(0);
    QVERIFY(settle());
    QVERIFY(m_window->layers().reading().contains(toQt(points[0].label)));
    m_window->methodPanel().usePoint();
    QCOMPARE(m_window->methodPanel().form().texts().size(), textsOf(points[0].params).size());
    for (const auto& [key, text] : textsOf(points[0].params)) {
        const auto& texts = m_window->methodPanel().form().texts();
        QVERIFY2(std::find(texts.begin(), texts.end(), std::pair(key, text)) != texts.end(), key.c_str());
    }
}

void TestMainWindow::budgetLineCallsTheSolver()
{
    openSmall();
    m_window->actions().find(u"run.sweep"_s)->trigger();
    QVERIFY(settle());
    ParetoPanel& pareto = m_window->pareto();
    auto* chart = qobject_cast<ChartView*>(pareto.plot());
    QVERIFY(chart != nullptr && chart->threshold().has_value());
    QVERIFY(!m_window->workspace().mix().has_value());
    QSignalSpy solved(&pareto, &ParetoPanel::solved);
    QWidget* target = chart->findChild<QAbstractScrollArea*>()->viewport();
    const QPoint from(static_cast<int>(chart->pixelOf(*chart->threshold(), 0).x()),
                      static_cast<int>(chart->plotArea().top()) + 6);
    const QPoint to = from - QPoint(40, 0);
    QTest::mousePress(target, Qt::LeftButton, {}, from);
    QMouseEvent move(QEvent::MouseMove, to, target->mapToGlobal(to), Qt::NoButton, Qt::LeftButton,
                     Qt::NoModifier);
    QCoreApplication::sendEvent(target, &move);
    QTest::mouseRelease(target, Qt::LeftButton, {}, to);
    QVERIFY(solved.count() > 0 || solved.wait(5000));
    QVERIFY(settle());
    QVERIFY(m_window->workspace().mix().has_value());
    QVERIFY(m_window->workspace().mix()->bytes <= *pareto.budget());
    QVERIFY(chart->marker().has_value());
    QVERIFY(pareto.reading().contains(u"best mix"_s));
    QVERIFY(m_window->layers().reading().contains(u"mix"_s));
    // The mix becomes the form: one base setting and exceptions by name.
    pareto.useRequested();
    HALFTONE_VERIFY(m_window->methodPanel().form().values());
    // A budget that nothing fits says what would.
    solved.clear();
    pareto.setBudget(100.0);
    QVERIFY(solved.wait(5000));
    QVERIFY2(pareto.reading().contains(u"needs"_s), qPrintable(pareto.reading()));
}

void TestMainWindow::selectionMovesThePanels()
{
    openSmall();
    m_window->actions().find(u"run.sweep"_s)->trigger();
    QVERIFY(settle());
    const int weight = weightNamed("model.layers.0.mlp.up_proj.weight");
    m_window->workspace().selection().select({weight, -1, -1});
    QVERIFY(settle());
    QCOMPARE(m_window->modelPanel().tree().weightAt(m_window->modelPanel().view().currentIndex()), weight);
    QVERIFY(m_window->tensor().title().contains(u"layers.0.mlp.up_proj"_s));
    QVERIFY(m_window->tensor().reading().contains(u"codes of q4_0"_s));
    QVERIFY(m_window->layers().plot()->highlighted().has_value());
    QVERIFY(m_window->modelPanel().treemap().highlighted().has_value());
    // A panel that is pinned stays.
    QToolButton* pin = nullptr;
    for (QToolButton* button : m_window->tensor().findChildren<QToolButton*>())
        if (button->text() == u"Pin"_s) pin = button;
    QVERIFY(pin != nullptr);
    pin->setChecked(true);
    const QString title = m_window->tensor().title();
    m_window->actions().find(u"model.next"_s)->trigger();
    QVERIFY(settle());
    QCOMPARE(m_window->tensor().title(), title);
    pin->setChecked(false);
    m_window->actions().find(u"model.back"_s)->trigger();
    m_window->actions().find(u"model.next"_s)->trigger();
    QVERIFY(m_window->workspace().selection().place().weight != weight);
    m_window->actions().find(u"model.back"_s)->trigger();
    QCOMPARE(m_window->workspace().selection().place().weight, weight);
    // The tree sets it as well.
    const QModelIndex other =
        m_window->modelPanel().tree().indexOf(weightNamed("model.layers.0.self_attn.k_proj.weight"));
    m_window->modelPanel().view().setCurrentIndex(other);
    QCOMPARE(m_window->workspace().selection().place().weight,
             weightNamed("model.layers.0.self_attn.k_proj.weight"));
}

void TestMainWindow::mapOpensTheBlockOfTheOutlier()
{
    openSmall();
    m_window->workspace().selection().select({weightNamed("model.layers.1.mlp.down_proj.weight"), -1, -1});
    m_window->actions().find(u"run.block-error"_s)->trigger();
    QVERIFY(settle());
    BlockPanel& panel = m_window->blocks();
    auto* map = qobject_cast<RasterView*>(panel.plot());
    QVERIFY(map != nullptr);
    QVERIFY2(panel.reading().contains(u"row 5, block 2"_s), qPrintable(panel.reading()));
    // One click on the brightest cell: row 5, block 70 / 32 = 2.
    QTest::mouseClick(map, Qt::LeftButton, {}, map->pixelOf(2.5, 5.5).toPoint());
    QVERIFY(settle());
    QVERIFY(panel.block().has_value());
    QCOMPARE(m_window->workspace().selection().place().row, qint64{5});
    QCOMPARE(m_window->workspace().selection().place().block, qint64{2});
    QCOMPARE(panel.block()->firstColumn, std::int64_t{64});
    QCOMPARE(panel.block()->values.at(6), 40.0F);
    // Q4_0 scales by the largest value / -8: the outlier gets code 0 and comes back as it was; the others
    // round to nothing.
    QCOMPARE(panel.block()->decoded.at(6), 40.0F);
    QCOMPARE(panel.block()->decoded.at(7), 0.0F);
}

void TestMainWindow::writesAndVerifiesAFile()
{
    openSmall();
    const QString out = toQt((m_dir / "small-4.safetensors").string());
    m_window->methodPanel().setOutput(out);
    QVERIFY(QTest::qWaitFor([&] { return m_window->methodPanel().plan().has_value(); }, 5000));
    QSignalSpy wrote(&m_window->workspace(), &Workspace::wrote);
    m_window->actions().find(u"run.method"_s)->trigger();
    QVERIFY(settle());
    QVERIFY2(wrote.count() == 1, qPrintable(m_window->messages().text()));
    QVERIFY(QTest::qWaitFor([&] { return m_window->workspace().verifyReport().has_value(); }, 5000));
    QVERIFY(m_window->workspace().verifyReport()->passed());
    QVERIFY(m_window->messages().text().contains(u"verified"_s));
    // The plan was exact.
    QVERIFY(QTest::qWaitFor([&] { return m_window->methodPanel().plan().has_value(); }, 5000));
    QCOMPARE(static_cast<std::uint64_t>(QFileInfo(out).size()), m_window->methodPanel().plan()->outputBytes);
}

void TestMainWindow::resultsFileBringsFiguresBack()
{
    openSmall();
    m_window->actions().find(u"run.sweep"_s)->trigger();
    QVERIFY(settle());
    const std::string file = (m_dir / "results.h5").string();
    HALFTONE_VERIFY(saveHdf5(*m_window->workspace().results(Workspace::Kind::Sweep), file));
    const std::size_t points = m_window->pareto().picture()->series.front().x.size();
    MainWindow other(m_methods, m_plugins);
    other.show();
    QVERIFY(QTest::qWaitForWindowExposed(&other));
    other.open(toQt(file));
    QVERIFY(QTest::qWaitFor([&] { return !other.figures().isEmpty() && !other.pareto().isEmpty(); }, 10000));
    QVERIFY(other.workspace().model() == nullptr);
    QVERIFY(other.figures().figureTitles().size() >= 2);
    QCOMPARE(other.pareto().picture()->series.front().x.size(), points);
    QVERIFY(QTest::qWaitFor([&] { return !other.layers().isEmpty(); }, 10000));
    QThreadPool::globalInstance()->waitForDone();
}

void TestMainWindow::closingAsksWhileAJobRuns()
{
    openSmall();
    int asked = 0;
    bool answer = false;
    m_window->confirmClose = [&] {
        ++asked;
        return answer;
    };
    m_window->workspace().runAnalysis(std::make_shared<test::EndlessMethod>(), {}, {});
    QVERIFY(QTest::qWaitFor([&] { return m_window->workspace().busy(); }, 5000));
    QVERIFY(!m_window->close());
    QCOMPARE(asked, 1);
    QVERIFY(m_window->isVisible());
    answer = true;
    QVERIFY(m_window->close());
    QCOMPARE(asked, 2);
    QVERIFY(QTest::qWaitFor([&] { return !m_window->workspace().busy(); }, 5000));
    QVERIFY(m_window->close());
    QCOMPARE(asked, 2); // nothing runs: nothing is asked
}

void TestMainWindow::everyFocusableWidgetHasAName()
{
    openSmall();
    m_window->actions().find(u"run.sweep"_s)->trigger();
    QVERIFY(settle());
    m_window->workspace().selection().select({weightNamed("model.layers.1.mlp.down_proj.weight"), -1, -1});
    QVERIFY(settle());
    m_window->methodPanel().form().showAdvanced(true);
    QStringList unnamed;
    for (int tab = 0; tab < m_window->tabs().count(); ++tab) {
        m_window->tabs().setCurrentIndex(tab);
        QVERIFY(settle());
        for (QWidget* widget : m_window->findChildren<QWidget*>()) {
            if (!widget->isVisible() || widget->focusPolicy() == Qt::NoFocus) continue;
            // Parts of a spin box, combo box or scroll area speak through their owner.
            if (widget->objectName().startsWith(u"qt_"_s) || qobject_cast<QMenuBar*>(widget) != nullptr)
                continue;
            QAccessibleInterface* face = QAccessible::queryAccessibleInterface(widget);
            QVERIFY(face != nullptr);
            const QString where = QString::fromLatin1(widget->metaObject()->className()) + u" \""_s +
                                  widget->objectName() + u"\" in "_s +
                                  QString::fromLatin1(widget->parentWidget()->metaObject()->className());
            if (face->text(QAccessible::Name).isEmpty() && !unnamed.contains(where)) unnamed << where;
        }
    }
    QVERIFY2(unnamed.isEmpty(), qPrintable(unnamed.join(u"; "_s)));
}

void TestMainWindow::bothThemesPaint()
{
    openSmall();
    m_window->actions().find(u"view.theme-dark"_s)->trigger();
    const ThemeColours dark = Theme::colours();
    QVERIFY(dark.dark);
    QImage image = m_window->grab().toImage();
    QVERIFY(test::pixelsOf(image, dark.surface, 0) > image.width() * image.height() / 4);
    m_window->actions().find(u"view.theme-light"_s)->trigger();
    QVERIFY(!Theme::colours().dark);
    image = m_window->grab().toImage();
    // Antialiased text may hit the colour by chance.
    QVERIFY(test::pixelsOf(image, dark.surface, 0) < 1000);
    QVERIFY(test::pixelsOf(image, Theme::colours().surface, 0) > image.width() * image.height() / 4);
}

QTEST_MAIN(TestMainWindow)
#include "tst_main_window.moc"
