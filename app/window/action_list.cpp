// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/window/action_list.h"

#include <QMenu>
#include <QWidget>

namespace halftone {

QAction* ActionList::add(const QString& id, const QString& text, const QKeySequence& shortcut, QMenu* menu,
                         std::function<void()> run)
{
    Q_ASSERT(!m_byId.contains(id));
    auto* action = new QAction(text, this);
    action->setObjectName(id);
    if (!shortcut.isEmpty()) action->setShortcut(shortcut);
    connect(action, &QAction::triggered, this, [run = std::move(run)] { run(); });
    if (menu != nullptr) menu->addAction(action);
    // Shortcuts also work while the menu bar is hidden or a dock floats.
    if (auto* window = qobject_cast<QWidget*>(parent())) window->addAction(action);
    m_all.push_back(action);
    m_byId.insert(id, action);
    return action;
}

} // namespace halftone
