// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/ui/schema_form.h"
#include "app/ui/view.h"
#include "app/window/layouts.h"
#include "app/window/message_bar.h"
#include "app/window/method_panel.h"
#include "app/window/model_panel.h"
#include "app/window/pareto_panel.h"
#include "app/window/session_file.h"
#include "app/window/session_keeper.h"
#include "app/window/tensor_panel.h"
#include "core/base/file.h"
#include "tests/app/window_fixture.h"

#include <QDoubleSpinBox>
#include <QElapsedTimer>
#include <QFileInfo>
#include <QPlainTextEdit>
#include <QSignalSpy>
#include <QTabWidget>
#include <QToolButton>

#include <algorithm>
#include <limits>
#include <tuple>

using namespace halftone;
using namespace Qt::Literals::StringLiterals;

/// Choices go into a file and come back, what is missing is said, and a crash costs nothing.
class TestSession : public test::WindowTest {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase() { prepare(u"tst_session"_s); }
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
    void textReadsBack();
    void pathsMoveWithTheFile();
    void hostileFilesAreOneLine_data();
    void hostileFilesAreOneLine();
    void choicesComeBack();
    void missingAndChangedInputsAreSaid();
    void crashedWindowIsOffered();
    void closedWindowIsNot();
    void gatheringIsQuick();

private:
    QString file(const char* name) const { return toQt((m_dir / name).string()); }
};

void TestSession::textReadsBack()
{
    Session s;
    s.model = SessionInput{u"/models/a b/model.gguf"_s, u"0123"_s};
    s.results = SessionInput{u"/models/run.h5"_s, u"ab"_s};
    s.form = {u"rtn"_s, {{"bits", "3"}, {"overrides", "a*:bits=8"}}, u"/out/x.gguf"_s};
    s.budget = 1.5e9;
    s.panel = u"layers"_s;
    s.pinned = {u"tensor"_s, u"block-error"_s};
    s.filter = u"layer in 3..7"_s;
    s.weight = u"blk.0.attn_q.weight"_s;
    s.row = 5;
    s.block = qint64{1} << 40;
    s.workspace = u"analyse"_s;
    s.layout = QByteArray("\0\xFFlayout", 8);
    s.notes = u"Ärger in Schicht 3\n\"quoted\""_s;
    std::sort(s.form.texts.begin(), s.form.texts.end());
    const auto back = readSession(sessionText(s, u"/elsewhere"_s), u"/elsewhere"_s);
    HALFTONE_VERIFY(back);
    QVERIFY(*back == s);
    const auto empty = readSession(sessionText({}, u"/"_s), u"/"_s);
    HALFTONE_VERIFY(empty);
    QVERIFY(*empty == Session{});
}

void TestSession::pathsMoveWithTheFile()
{
    Session s;
    s.model = SessionInput{u"/old/place/sub/model.gguf"_s, u"1"_s};
    const std::string text = sessionText(s, u"/old/place"_s);
    QVERIFY(text.find("/old") == std::string::npos);
    const auto moved = readSession(text, u"/new/place"_s);
    HALFTONE_VERIFY(moved);
    QCOMPARE(moved->model->path, u"/new/place/sub/model.gguf"_s);
}

void TestSession::hostileFilesAreOneLine_data()
{
    QTest::addColumn<QByteArray>("text");
    QTest::addColumn<QString>("says");
    const auto with = [](const char* members) {
        return QByteArray("{\"format\":\"halftone-session\",\"version\":1") + members + "}";
    };
    QTest::newRow("empty") << QByteArray() << u"byte 0"_s;
    QTest::newRow("no json") << QByteArray("GGUF\3\0\0\0") << u"at byte"_s;
    QTest::newRow("cut") << QByteArray("{\"format\":\"halftone-session\",\"ver") << u"at byte"_s;
    QTest::newRow("a list") << QByteArray("[]") << u"no object"_s;
    QTest::newRow("another format") << QByteArray("{\"format\":\"halftone-job\"}") << u"no session"_s;
    QTest::newRow("no version") << QByteArray("{\"format\":\"halftone-session\",\"version\":\"1\"}")
                                << u"\"version\""_s;
    QTest::newRow("from the future") << QByteArray("{\"format\":\"halftone-session\",\"version\":2}")
                                     << u"update Halftone"_s;
    QTest::newRow("model is a number") << with(",\"model\":3") << u"\"model\" is no object"_s;
    QTest::newRow("model has no path") << with(",\"model\":{}") << u"\"model.path\" is missing"_s;
    QTest::newRow("path with a zero") << with(",\"model\":{\"path\":\"a\\u0000b\"}") << u"\"model.path\""_s;
    QTest::newRow("params") << with(",\"choices\":{\"params\":{\"bits\":4}}") << u"\"choices.params.bits\""_s;
    QTest::newRow("budget") << with(",\"choices\":{\"budget_bytes\":-1}") << u"\"choices.budget_bytes\""_s;
    QTest::newRow("row") << with(",\"choices\":{\"selection\":{\"weight\":\"a\",\"row\":1e300}}")
                         << u"\"choices.selection.row\""_s;
    QTest::newRow("pinned") << with(",\"choices\":{\"pinned\":[1]}") << u"\"choices.pinned\""_s;
    QTest::newRow("deep") << QByteArray(100000, '[') << u"at byte"_s;
    QTest::newRow("too large") << QByteArray((8 << 20) + 1, ' ') << u"bytes"_s;
}

void TestSession::hostileFilesAreOneLine()
{
    QFETCH(QByteArray, text);
    QFETCH(QString, says);
    const QString path = file("hostile.halftone");
    HALFTONE_VERIFY(
        writeTextFile(toStd(path), std::string_view(text.data(), static_cast<std::size_t>(text.size()))));
    m_window->open(path);
    QVERIFY(QTest::qWaitFor([&] { return !m_window->messages().text().isEmpty(); }, 5000));
    const QString line = m_window->messages().text();
    QVERIFY2(line.contains(says), qPrintable(line));
    QVERIFY2(line.contains(u"hostile.halftone"_s), qPrintable(line));
    QVERIFY2(!line.contains(u'\n') && line.size() < 300, qPrintable(line));
    QVERIFY(m_window->workspace().model() == nullptr);
}

void TestSession::choicesComeBack()
{
    openSmall();
    trigger("run.sweep");
    QVERIFY(settle());
    const QString results = file("run.h5");
    HALFTONE_VERIFY(saveHdf5(*m_window->workspace().results(Workspace::Kind::Sweep), toStd(results)));
    m_window->open(results);
    QVERIFY(settle());
    m_window->methodPanel().form().setTexts({{"bits", "3"}});
    m_window->workspace().selection().select({weightNamed("model.layers.1.mlp.down_proj.weight"), 5, 2});
    m_window->tensor().setPinned(true);
    m_window->modelPanel().setFilter(u"layer = 1"_s);
    m_window->notes().setPlainText(u"row 5 hurts"_s);
    m_window->layouts().switchTo(u"analyse"_s);
    m_window->methodPanel().findChild<QDoubleSpinBox*>(u"budget"_s)->setValue(0.12);
    m_window->tabs().setCurrentWidget(&m_window->tensor());
    QVERIFY(settle());
    const Session saved = m_window->session();
    QVERIFY(!saved.results->hash.isEmpty());
    const QString path = file("study.halftone");
    m_window->saveSessionAs(path);
    QVERIFY(QTest::qWaitFor([&] { return m_window->messages().text().contains(u"saved"_s); }, 5000));

    MainWindow other(m_methods, m_plugins);
    other.show();
    QVERIFY(QTest::qWaitForWindowExposed(&other));
    other.open(path);
    QVERIFY(QTest::qWaitFor([&] { return other.messages().text() == u"The session is open."_s; }, 10000));
    QVERIFY(settle(&other));
    const Session back = other.session();
    QVERIFY(back.model == saved.model);
    QVERIFY(back.results == saved.results);
    QVERIFY(back.form == saved.form);
    QVERIFY(back.budget == saved.budget);
    QCOMPARE(back.weight, saved.weight);
    QCOMPARE(back.row, qint64{5});
    QCOMPARE(back.pinned, saved.pinned);
    QCOMPARE(back.filter, saved.filter);
    QCOMPARE(back.panel, u"tensor"_s);
    QCOMPARE(back.workspace, u"analyse"_s);
    QCOMPARE(back.notes, saved.notes);
    QVERIFY(!other.pareto().isEmpty()); // the results file brings its figures
    QVERIFY(!other.undoStack().canUndo());
}

void TestSession::missingAndChangedInputsAreSaid()
{
    const QString model = file("changing.safetensors");
    test::writeSmallCheckpoint(toStd(model));
    m_window->open(model);
    QVERIFY(settle());
    m_window->notes().setPlainText(u"kept"_s);
    const QString path = file("changing.halftone");
    m_window->saveSessionAs(path);
    QVERIFY(QTest::qWaitFor([&] { return QFileInfo::exists(path); }, 5000));
    test::writeSmallCheckpoint(toStd(model), 41.0F);
    m_window->open(path);
    QVERIFY(
        QTest::qWaitFor([&] { return m_window->messages().text().contains(u"is not what it was"_s); }, 5000));
    QVERIFY(m_window->messages().text().contains(u"changing.safetensors"_s));
    QVERIFY(QFile::remove(model));
    m_window->notes().clear();
    m_window->open(path);
    QVERIFY(
        QTest::qWaitFor([&] { return m_window->messages().text().contains(u"model is missing"_s); }, 5000));
    QVERIFY(m_window->messages().text().contains(u"changing.safetensors"_s));
    QCOMPARE(m_window->notes().toPlainText(), u"kept"_s); // the rest comes back
}

void TestSession::crashedWindowIsOffered()
{
    const QString folder = file("crash");
    QString left;
    {
        // A window that dies: its file stays, and nobody holds the lock.
        MainWindow dying(m_methods, m_plugins);
        dying.keepSession(folder);
        dying.keeper()->setDelay(10);
        QSignalSpy saved(dying.keeper(), &SessionKeeper::saved);
        dying.open(m_path);
        QVERIFY(settle(&dying));
        dying.methodPanel().form().setTexts({{"bits", "2"}});
        QVERIFY(saved.count() > 1 || saved.wait(5000));
        QVERIFY(settle(&dying));
        left = toQt((m_dir / "copy.halftone").string());
        QFile::remove(left);
        QVERIFY(QFile::copy(dying.keeper()->file(), left));
    }
    QVERIFY(QFile::copy(left, folder + u"/window-1-1.halftone"_s));
    m_window->keepSession(folder);
    QVERIFY2(m_window->messages().text().contains(u"small.safetensors"_s),
             qPrintable(m_window->messages().text()));
    auto* restore = m_window->messages().findChild<QToolButton*>(u"offer"_s);
    QVERIFY(restore != nullptr && restore->isVisible());
    QTest::mouseClick(restore, Qt::LeftButton);
    QVERIFY(settle());
    QCOMPARE(m_window->workspace().modelPath(), m_path);
    const ParamTexts texts = m_window->methodPanel().form().texts();
    QVERIFY(std::find(texts.begin(), texts.end(), std::pair<std::string, std::string>("bits", "2")) !=
            texts.end());
    QVERIFY(!QFileInfo::exists(folder + u"/window-1-1.halftone"_s));
    // What a crash left broken is one line, once.
    HALFTONE_VERIFY(writeTextFile(toStd(folder + u"/window-1-2.halftone"_s), "{"));
    MainWindow next(m_methods, m_plugins);
    next.show();
    next.keepSession(folder);
    QVERIFY2(next.messages().text().contains(u"can't be read"_s), qPrintable(next.messages().text()));
    QVERIFY(!QFileInfo::exists(folder + u"/window-1-2.halftone"_s));
    QVERIFY(settle(&next));
    // An offer that nobody takes is not made again, and its file is kept aside.
    QVERIFY(QFile::copy(left, folder + u"/window-1-3.halftone"_s));
    {
        MainWindow deaf(m_methods, m_plugins);
        deaf.keepSession(folder);
        QVERIFY(deaf.messages().text().contains(u"small.safetensors"_s));
        QVERIFY(settle(&deaf));
    }
    QVERIFY(!QFileInfo::exists(folder + u"/window-1-3.halftone"_s));
    QVERIFY(QFileInfo::exists(folder + u"/unrestored.halftone"_s));
}

void TestSession::closedWindowIsNot()
{
    const QString folder = file("clean");
    QString kept;
    {
        MainWindow closing(m_methods, m_plugins);
        closing.keepSession(folder);
        closing.keeper()->setDelay(10);
        QSignalSpy saved(closing.keeper(), &SessionKeeper::saved);
        closing.open(m_path);
        QVERIFY(saved.wait(5000));
        kept = closing.keeper()->file();
        QVERIFY(QFileInfo::exists(kept));
        // A second window at the same time leaves the first one's file alone.
        m_window->keepSession(folder);
        QCOMPARE(m_window->messages().text(), QString());
        QVERIFY(settle(&closing));
    }
    QVERIFY(!QFileInfo::exists(kept));
}

void TestSession::gatheringIsQuick()
{
    openSmall();
    std::ignore = m_window->session();
    // The window's thread gathers; another writes. The best of some tries: the machine may be busy.
    qint64 best = std::numeric_limits<qint64>::max();
    for (int i = 0; i < 20; ++i) {
        QElapsedTimer timer;
        timer.start();
        std::ignore = sessionText(m_window->session(), u"/"_s);
        best = std::min(best, timer.nsecsElapsed());
    }
    QVERIFY2(best < 5'000'000, qPrintable(QString::number(best)));
}

QTEST_MAIN(TestSession)
#include "tst_session.moc"
