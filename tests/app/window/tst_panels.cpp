// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/models/jobs_model.h"
#include "app/ui/data_table.h"
#include "app/ui/view.h"
#include "app/window/block_panel.h"
#include "app/window/figures_panel.h"
#include "app/window/help_page.h"
#include "app/window/jobs_panel.h"
#include "app/window/layers_panel.h"
#include "app/window/message_bar.h"
#include "app/window/method_panel.h"
#include "app/window/overview_panel.h"
#include "app/window/pareto_panel.h"
#include "app/window/tensor_panel.h"
#include "tests/app/window_fixture.h"

#include <QDialog>
#include <QPushButton>
#include <QRegularExpression>
#include <QTabWidget>
#include <QTextBrowser>
#include <QToolButton>

#include <algorithm>

using namespace halftone;
using namespace Qt::Literals::StringLiterals;

/// What every panel has: help, a table, room in a small window, both themes, and jobs that can wait.
class TestPanels : public test::WindowTest {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase() { prepare(u"tst_panels"_s); }
    void init()
    {
        QSettings().clear();
        showWindow();
        m_window->activateWindow();
        QVERIFY(QTest::qWaitForWindowActive(m_window.get()));
    }
    void cleanup()
    {
        m_window->workspace().cancelAll();
        QVERIFY(settle());
        m_window.reset();
    }
    void everyPanelHasHelp();
    void everyPanelHasATable();
    void everyPanelHasAReading();
    void fitsASmallWindow();
    void pauseHoldsTheJob();
    void themesSwitchWhileAJobRuns();

private:
    void fill()
    {
        openSmall();
        trigger("run.sweep");
        QVERIFY(settle());
        m_window->workspace().selection().select(
            {weightNamed("model.layers.1.mlp.down_proj.weight"), -1, -1});
        trigger("run.block-error");
        QVERIFY(settle());
    }
    void startEndless()
    {
        m_window->workspace().runAnalysis(std::make_shared<test::EndlessMethod>(), {}, {});
        QVERIFY(QTest::qWaitFor([&] { return job().state == JobState::Running; }, 5000));
    }
    JobSnapshot job() const
    {
        const JobSnapshot* newest = m_window->workspace().jobs().at(0);
        return newest == nullptr ? JobSnapshot{} : *newest;
    }
    QPushButton* jobButton(const QString& text) const
    {
        for (QPushButton* button : m_window->jobsPanel().findChildren<QPushButton*>())
            if (button->text() == text) return button;
        return nullptr;
    }
};

void TestPanels::everyPanelHasHelp()
{
    for (const MainWindow::Panel& panel : m_window->panels()) {
        const QString page = helpPage(panel.title);
        for (const QString& part : {u"**Shows**"_s, u"**Read it.**"_s, u"**Units.**"_s})
            QVERIFY2(page.contains(part), qPrintable(panel.title + u' ' + part));
        QVERIFY(!page.contains(u"\n## "_s)); // its own section only
        m_window->tabs().setCurrentWidget(panel.view);
        trigger("help.panel");
        auto* browser = m_window->findChild<QTextBrowser*>();
        QVERIFY(browser != nullptr);
        QVERIFY(browser->toPlainText().startsWith(panel.title));
        delete browser->window();
        // The button in the panel's own header does the same.
        QToolButton* help = nullptr;
        for (QToolButton* button : panel.view->findChildren<QToolButton*>())
            if (button->text() == u"?"_s) help = button;
        QVERIFY(help != nullptr && help->isVisible());
        help->click();
        browser = m_window->findChild<QTextBrowser*>();
        QVERIFY(browser != nullptr);
        delete browser->window();
    }
    QVERIFY(helpPage(u"Nonsense"_s).contains(u"no help"_s));
}

void TestPanels::everyPanelHasATable()
{
    fill();
    for (const MainWindow::Panel& panel : m_window->panels()) {
        m_window->tabs().setCurrentWidget(panel.view);
        QVERIFY(settle());
        QVERIFY2(!panel.view->isEmpty(), qPrintable(panel.id));
        panel.view->plot()->setFocus();
        QTest::keyClick(panel.view->plot(), Qt::Key_T);
        QVERIFY2(panel.view->tableShown(), qPrintable(panel.id));
        QVERIFY(panel.view->dataTable() != nullptr && panel.view->dataTable()->rows() > 0);
        auto* table = qobject_cast<DataTable*>(QApplication::focusWidget());
        QVERIFY2(table != nullptr, qPrintable(panel.id));
        QVERIFY(table->model()->rowCount() > 0);
        QTest::keyClick(table, Qt::Key_T);
        QVERIFY2(!panel.view->tableShown(), qPrintable(panel.id));
    }
}

void TestPanels::everyPanelHasAReading()
{
    fill();
    for (const MainWindow::Panel& panel : m_window->panels()) {
        m_window->tabs().setCurrentWidget(panel.view);
        QVERIFY(settle());
        QVERIFY2(panel.view->reading().size() > 20, qPrintable(panel.id + u": "_s + panel.view->reading()));
        QVERIFY2(panel.view->reading().contains(QRegularExpression(u"[0-9.]"_s)), qPrintable(panel.id));
    }
}

void TestPanels::fitsASmallWindow()
{
    fill();
    for (const MainWindow::Panel& panel : m_window->panels()) {
        m_window->tabs().setCurrentWidget(panel.view);
        QVERIFY(settle());
        m_window->resize(960, 640);
        QCoreApplication::processEvents();
        QVERIFY2(m_window->width() <= 960 && m_window->height() <= 640,
                 qPrintable(u"%1: %2 x %3"_s.arg(panel.id).arg(m_window->width()).arg(m_window->height())));
        // The title is there, and buttons show their whole text.
        QVERIFY2(panel.view->titleShown(), qPrintable(panel.id));
        for (QPushButton* button : m_window->findChildren<QPushButton*>())
            if (button->isVisible() && button->text() != u"…"_s) // which has a fixed width
                QVERIFY2(button->width() >= button->minimumSizeHint().width(),
                         qPrintable(panel.id + u": "_s + button->text()));
    }
}

void TestPanels::pauseHoldsTheJob()
{
    openSmall();
    startEndless();
    QPushButton* pause = jobButton(u"Pause"_s);
    QVERIFY(pause != nullptr && pause->isEnabled());
    QTest::mouseClick(pause, Qt::LeftButton);
    QVERIFY(QTest::qWaitFor([&] { return job().paused; }, 2000));
    const JobsModel& jobs = m_window->workspace().jobs();
    QCOMPARE(jobs.index(0, JobsModel::State).data().toString(), u"paused"_s);
    QCOMPARE(pause->text(), u"Resume"_s);
    trigger("run.pause");
    QVERIFY(QTest::qWaitFor([&] { return !job().paused; }, 2000));
    QCOMPARE(jobs.index(0, JobsModel::State).data().toString(), u"running"_s);
    trigger("run.pause");
    QVERIFY(QTest::qWaitFor([&] { return job().paused; }, 2000));
    QTest::mouseClick(jobButton(u"Cancel"_s), Qt::LeftButton);
    QVERIFY(QTest::qWaitFor([&] { return job().state == JobState::Cancelled; }, 2000));
    QVERIFY(!pause->isEnabled());
    QCOMPARE(pause->text(), u"Pause"_s);
}

void TestPanels::themesSwitchWhileAJobRuns()
{
    fill();
    startEndless();
    // A soak run may ask for more.
    const int switches = std::max(6, qEnvironmentVariableIntValue("HALFTONE_THEME_SWITCHES"));
    for (int i = 0; i < switches; ++i) {
        m_window->tabs().setCurrentIndex(i % m_window->tabs().count());
        trigger(i % 2 == 0 ? "view.theme-dark" : "view.theme-light");
        // A panel that was rebuilt, an open help page and the palette hold styles of their own.
        if (i == 1) trigger("help.panel");
        if (i == 2) trigger("help.palette");
        if (i == 3) m_window->methodPanel().setMethod(u"block_error"_s);
        QCoreApplication::processEvents();
        QCOMPARE(Theme::colours().dark, i % 2 == 0);
    }
    QVERIFY(m_window->workspace().busy());
    QVERIFY(!m_window->grab().isNull());
}

QTEST_MAIN(TestPanels)
#include "tst_panels.moc"
