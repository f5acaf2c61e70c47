// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/window/layouts.h"

#include "app/window/choice_edit.h"

#include <QDockWidget>
#include <QMainWindow>
#include <QPointer>
#include <QSettings>
#include <QUndoStack>

#include <chrono>

namespace halftone {

using namespace Qt::Literals::StringLiterals;

namespace {

constexpr int kLayoutVersion = 2; // of the docks there are

QString settingOf(const QString& id) { return u"layout/"_s + id; }

} // namespace

QStringList Layouts::ids() { return {u"compress"_s, u"analyse"_s, u"compare"_s}; }

QString Layouts::title(const QString& id)
{
    if (id == u"analyse"_s) return tr("Analyse");
    if (id == u"compare"_s) return tr("Compare");
    return tr("Compress");
}

Layouts::Layouts(QMainWindow& window, const Docks& docks, QUndoStack& undo)
    : QObject(&window), m_window(window), m_docks(docks), m_undo(undo), m_current(ids().front())
{
    m_timer.setSingleShot(true);
    m_timer.setInterval(std::chrono::milliseconds(120));
    connect(&m_timer, &QTimer::timeout, this, &Layouts::look);
    const auto moved = [this] { m_timer.start(); };
    for (QDockWidget* dock : all()) {
        connect(dock, &QDockWidget::dockLocationChanged, this, moved);
        connect(dock, &QDockWidget::topLevelChanged, this, moved);
        connect(dock->toggleViewAction(), &QAction::toggled, this, moved);
    }
}

std::vector<QDockWidget*> Layouts::all() const
{
    return {m_docks.model, m_docks.method, m_docks.jobs, m_docks.log, m_docks.selection, m_docks.notes};
}

void Layouts::arrange(const QString& id)
{
    for (QDockWidget* dock : all()) {
        dock->setFloating(false);
        dock->show();
    }
    m_window.addDockWidget(Qt::LeftDockWidgetArea, m_docks.model);
    m_window.addDockWidget(Qt::RightDockWidgetArea, m_docks.method);
    m_window.addDockWidget(Qt::BottomDockWidgetArea, m_docks.jobs);
    m_window.tabifyDockWidget(m_docks.jobs, m_docks.log);
    m_window.tabifyDockWidget(m_docks.log, m_docks.selection);
    m_window.tabifyDockWidget(m_docks.selection, m_docks.notes);
    m_window.resizeDocks({m_docks.model, m_docks.method}, {348, 344}, Qt::Horizontal);
    if (id == u"compress"_s) {
        m_docks.jobs->raise();
        m_window.resizeDocks({m_docks.jobs}, {128}, Qt::Vertical);
    } else {
        // Looking needs room: the form goes, and for a comparison the tree as well.
        m_docks.method->hide();
        m_docks.model->setVisible(id != u"compare"_s);
        m_docks.selection->raise();
        m_window.resizeDocks({m_docks.selection}, {176}, Qt::Vertical);
    }
}

QByteArray Layouts::state() const { return m_window.saveState(kLayoutVersion); }

void Layouts::apply(const Step& step)
{
    m_settling = true;
    m_current = step.id;
    if (step.state.isEmpty() || !m_window.restoreState(step.state, kLayoutVersion)) arrange(step.id);
    m_last = {m_current, state()};
    m_timer.start();
    Q_EMIT currentChanged(m_current);
}

void Layouts::look()
{
    Step now{m_current, state()};
    // Before the window is shown its docks have no sizes to go back to.
    const bool ours = m_settling || !m_window.isVisible();
    m_settling = m_settling && !m_window.isVisible();
    if (ours) {
        m_last = std::move(now);
        return;
    }
    if (now.state == m_last.state) return;
    const Step before = m_last;
    m_last = std::move(now);
    push(tr("change of the layout"), before);
}

void Layouts::push(const QString& text, const Step& before)
{
    const auto go = [self = QPointer<Layouts>(this)](const Step& step) {
        return [self, step] {
            if (!self.isNull()) self->apply(step);
        };
    };
    m_undo.push(new ChoiceEdit(text, {}, go(before), go(m_last)));
    Q_EMIT changed();
}

void Layouts::show(const QString& id) { apply({id, QSettings().value(settingOf(id)).toByteArray()}); }

void Layouts::switchTo(const QString& id)
{
    if (!ids().contains(id) || id == m_current) return;
    const Step before{m_current, state()};
    save();
    show(id);
    push(tr("workspace %1").arg(title(id)), before);
}

void Layouts::reset()
{
    const Step before{m_current, state()};
    apply({m_current, {}});
    push(tr("reset of the layout"), before);
}

bool Layouts::restore(const QString& id, const QByteArray& state)
{
    if (!ids().contains(id) || !m_window.restoreState(state, kLayoutVersion)) return false;
    apply({id, state});
    return true;
}

void Layouts::load()
{
    const QString id = QSettings().value(u"layout/current"_s).toString();
    show(ids().contains(id) ? id : ids().front());
}

void Layouts::save()
{
    QSettings settings;
    settings.setValue(u"layout/current"_s, m_current);
    settings.setValue(settingOf(m_current), state());
}

} // namespace halftone
