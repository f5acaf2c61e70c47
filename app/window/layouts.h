// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QByteArray>
#include <QObject>
#include <QStringList>
#include <QTimer>

#include <vector>

class QDockWidget;
class QMainWindow;
class QUndoStack;

namespace halftone {

/// Where the docks stand, in each of three workspaces: Compress, Analyse, Compare. What the person moves,
/// floats or closes belongs to the current one, is kept between starts, and can be taken back.
class Layouts : public QObject {
    Q_OBJECT
public:
    struct Docks {
        QDockWidget *model, *method, *jobs, *log, *selection, *notes;
    };
    Layouts(QMainWindow& window, const Docks& docks, QUndoStack& undo);
    /// "compress", "analyse", "compare".
    static QStringList ids();
    static QString title(const QString& id);
    const QString& current() const { return m_current; }
    /// To another workspace; the docks of the old one are remembered.
    void switchTo(const QString& id);
    /// The docks of the current workspace go where they were at first.
    void reset();
    /// For a session file.
    QByteArray state() const;
    /// From a session file; false when it can't be read, and nothing moves. No step of undo.
    bool restore(const QString& id, const QByteArray& state);
    /// As the last start left it.
    void load();
    void save();

Q_SIGNALS:
    void currentChanged(const QString& id);
    /// A dock was moved, shown or closed.
    void changed();

private:
    struct Step {
        QString id;
        QByteArray state;
    };
    std::vector<QDockWidget*> all() const;
    void arrange(const QString& id);
    void apply(const Step& step);
    void show(const QString& id);
    void look();
    void push(const QString& text, const Step& before);

    QMainWindow& m_window;
    Docks m_docks;
    QUndoStack& m_undo;
    QString m_current;
    Step m_last;            ///< as the last step of undo left it
    QTimer m_timer;         ///< a drag of a dock sends several signals
    bool m_settling = true; ///< what moves now is our own doing
};

} // namespace halftone
