// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QObject>
#include <QString>
#include <QTimer>

#include <functional>
#include <vector>

namespace halftone {

class MainWindow;

/// Opens a file, runs what the panels need and writes each panel and the whole window as PNG: for
/// documentation and tests. Works without a display.
class ViewExporter : public QObject {
    Q_OBJECT
public:
    ViewExporter(MainWindow& window, QString folder, QObject* parent = nullptr);
    void start(const QString& file);

Q_SIGNALS:
    /// 0: all is written; else the exit code of what went wrong.
    void finished(int code);

private:
    void tick();
    void addGrabs();
    void save(QWidget& widget, const QString& name);
    MainWindow& m_window;
    QString m_folder;
    QTimer m_timer;
    int m_quiet = 0; ///< ticks in a row in which nothing ran
    std::vector<std::function<void()>> m_steps;
    std::size_t m_next = 0;
    int m_code = 0;
};

} // namespace halftone
