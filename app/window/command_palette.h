// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QFrame>
#include <QStandardItemModel>

#include <functional>
#include <vector>

class QLineEdit;
class QListView;

namespace halftone {

class ActionList;

/// Search everything: every action with its shortcut, and the weights of the open model.
class CommandPalette : public QFrame {
    Q_OBJECT
public:
    struct Hit {
        QString text, detail;
        std::function<void()> run;
    };
    /// `search` gives further hits (weights) for a text of two characters or more.
    CommandPalette(ActionList& actions, std::function<std::vector<Hit>(const QString&)> search,
                   QWidget* parent);
    void popUp();
    /// What is listed now: text, detail. For tests and for the keyboard.
    const QStandardItemModel& entries() const { return m_entries; }
    void filter(const QString& text);

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void runCurrent();
    ActionList& m_actions;
    std::function<std::vector<Hit>(const QString&)> m_search;
    QLineEdit* m_edit;
    QListView* m_list;
    QStandardItemModel m_entries;
    std::vector<std::function<void()>> m_runs;
};

} // namespace halftone
