// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/window/choice_history.h"

#include "app/host/strings.h"
#include "app/ui/view.h"
#include "app/window/choice_edit.h"
#include "app/window/workspace.h"

#include <QPointer>
#include <QScopedValueRollback>
#include <QUndoStack>

#include <utility>

namespace halftone {

using namespace Qt::Literals::StringLiterals;

ChoiceHistory::ChoiceHistory(QUndoStack& undo, Workspace& workspace, QObject* parent)
    : QObject(parent), m_undo(undo), m_workspace(workspace)
{
    connect(&workspace.selection(), &Selection::changed, this, &ChoiceHistory::moved);
}

void ChoiceHistory::push(const QString& text, const QString& key, std::function<void()> undo,
                         std::function<void()> redo)
{
    if (m_applying) return;
    const auto guarded = [self = QPointer<ChoiceHistory>(this)](std::function<void()> step) {
        return [self, step = std::move(step)] {
            if (self.isNull()) return;
            const QScopedValueRollback applying(self->m_applying, true);
            step();
        };
    };
    m_undo.push(new ChoiceEdit(text, key, guarded(std::move(undo)), guarded(std::move(redo))));
}

void ChoiceHistory::moved(const Place& place)
{
    const Place before = std::exchange(m_place, place);
    const auto& model = m_workspace.model();
    if (!model || before == place) return;
    const auto go = [this](const Place& to) { return [this, to] { m_workspace.selection().select(to); }; };
    const QString what =
        place.weight < 0 ? tr("no weight") : toQt(model->roles()[static_cast<std::size_t>(place.weight)].id);
    push(tr("selection of %1").arg(what), {}, go(before), go(place));
}

void ChoiceHistory::watchPin(View& view, const QString& name)
{
    connect(&view, &View::pinChanged, this, [this, &view, name](bool pinned) {
        const auto set = [panel = QPointer<View>(&view)](bool to) {
            return [panel, to] {
                if (!panel.isNull()) panel->setPinned(to);
            };
        };
        push(pinned ? tr("pin of %1").arg(name) : tr("release of %1").arg(name), {}, set(!pinned),
             set(pinned));
    });
}

void ChoiceHistory::showBudget(std::optional<double> bytes)
{
    m_budget = bytes;
    if (m_showBudget) m_showBudget(bytes);
}

void ChoiceHistory::setBudget(std::optional<double> bytes)
{
    const std::optional<double> before = std::exchange(m_budget, bytes);
    if (before == bytes) return;
    // A drag of the line is one choice, however many places it passes.
    push(
        tr("change of the budget"), u"budget"_s, [this, before] { showBudget(before); },
        [this, bytes] { showBudget(bytes); });
}

void ChoiceHistory::forget(std::optional<double> budget)
{
    m_place = m_workspace.selection().place();
    m_budget = budget;
}

} // namespace halftone
