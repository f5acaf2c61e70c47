// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/param/schema.h"

#include <QUndoCommand>

#include <functional>
#include <string>
#include <utility>

namespace halftone {

/// One change of the form's content; edits of one field in a row become one step.
class FormEdit : public QUndoCommand {
public:
    FormEdit(ParamTexts before, ParamTexts after, std::function<void(const ParamTexts&)> apply)
        : m_before(std::move(before)), m_after(std::move(after)), m_apply(std::move(apply))
    {
        setText(QObject::tr("change of parameters"));
    }
    void undo() override { m_apply(m_before); }
    void redo() override
    {
        // The first redo is the edit itself, which the form shows already.
        if (std::exchange(m_first, false)) return;
        m_apply(m_after);
    }
    int id() const override { return 1; }
    bool mergeWith(const QUndoCommand* other) override
    {
        const auto* next = static_cast<const FormEdit*>(other);
        if (changedKey() != next->changedKey()) return false;
        m_after = next->m_after;
        return true;
    }

private:
    std::string changedKey() const
    {
        for (std::size_t i = 0; i < m_before.size() && i < m_after.size(); ++i)
            if (m_before[i] != m_after[i]) return m_before[i].first;
        return {};
    }
    ParamTexts m_before, m_after;
    std::function<void(const ParamTexts&)> m_apply;
    bool m_first = true;
};

} // namespace halftone
