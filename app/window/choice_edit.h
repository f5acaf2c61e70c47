// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QUndoCommand>

#include <functional>
#include <utility>

namespace halftone {

/// One choice of a person that can be taken back: a field of the form, the budget, the selection, a pin,
/// the layout. It was made before it is pushed. Choices in a row that share a key become one step; an
/// empty key never joins another.
class ChoiceEdit : public QUndoCommand {
public:
    ChoiceEdit(const QString& text, QString key, std::function<void()> undo, std::function<void()> redo)
        : QUndoCommand(text), m_key(std::move(key)), m_undo(std::move(undo)), m_redo(std::move(redo))
    {
    }
    void undo() override { m_undo(); }
    void redo() override
    {
        // The first redo is the choice itself, which everybody shows already.
        if (std::exchange(m_first, false)) return;
        m_redo();
    }
    int id() const override { return m_key.isEmpty() ? -1 : 1; }
    bool mergeWith(const QUndoCommand* other) override
    {
        const auto* next = static_cast<const ChoiceEdit*>(other); // the same id() means the same class
        if (m_key != next->m_key) return false;
        m_redo = next->m_redo;
        return true;
    }

private:
    QString m_key;
    std::function<void()> m_undo, m_redo;
    bool m_first = true;
};

} // namespace halftone
