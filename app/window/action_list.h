// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QAction>
#include <QHash>
#include <QObject>
#include <QString>

#include <functional>

class QMenu;

namespace halftone {

/// Every command of the window under a stable id ("file.open"): menus, shortcuts and the palette all
/// come from here.
class ActionList : public QObject {
    Q_OBJECT
public:
    using QObject::QObject;
    /// Makes the action, adds it to the menu (when there is one) and calls `run` when it is triggered.
    QAction* add(const QString& id, const QString& text, const QKeySequence& shortcut, QMenu* menu,
                 std::function<void()> run);
    QAction* find(const QString& id) const { return m_byId.value(id); }
    /// In the order they were made.
    const QList<QAction*>& all() const { return m_all; }

private:
    QList<QAction*> m_all;
    QHash<QString, QAction*> m_byId;
};

} // namespace halftone
