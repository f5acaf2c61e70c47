// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/models/selection.h"

#include <QObject>

#include <functional>
#include <optional>

class QUndoStack;

namespace halftone {

class View;
class Workspace;

/// Writes down the choices that several panels share, so that they can be taken back: the selection, the
/// budget, pins. The form and the layout write down their own.
class ChoiceHistory : public QObject {
    Q_OBJECT
public:
    ChoiceHistory(QUndoStack& undo, Workspace& workspace, QObject* parent);
    void watchPin(View& view, const QString& name);
    /// How a budget that is taken back is shown.
    void onBudget(std::function<void(std::optional<double>)> show) { m_showBudget = std::move(show); }
    /// The person chose a budget in bytes, or none.
    void setBudget(std::optional<double> bytes);
    std::optional<double> budget() const { return m_budget; }
    /// Another model is open: places in the old one mean nothing any more. The budget is now `budget`.
    void forget(std::optional<double> budget = std::nullopt);

private:
    void push(const QString& text, const QString& key, std::function<void()> undo,
              std::function<void()> redo);
    void moved(const Place& place);
    void showBudget(std::optional<double> bytes);

    QUndoStack& m_undo;
    Workspace& m_workspace;
    std::function<void(std::optional<double>)> m_showBudget;
    std::optional<double> m_budget;
    Place m_place;
    bool m_applying = false; ///< a step is being taken back or done again
};

} // namespace halftone
