// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QFrame>

#include <functional>

class QLabel;
class QToolButton;

namespace halftone {

/// One line about what went wrong or is worth knowing, above the panels: it never stops the work.
class MessageBar : public QFrame {
    Q_OBJECT
public:
    explicit MessageBar(QWidget* parent = nullptr);
    void showError(const QString& line);
    void showWarning(const QString& line, const QString& details = {});
    void showInfo(const QString& line);
    /// A question that can wait: one button does it, closing the bar does not.
    void offer(const QString& line, const QString& button, std::function<void()> run);
    /// The message is out of date; an offer stays until it is answered.
    void dismiss();
    QString text() const;

private:
    void showLine(const QString& line, const QString& details, const char* role);
    QLabel* m_label;
    QToolButton* m_copy;
    QToolButton* m_offer;
    std::function<void()> m_run;
    QString m_details;
};

} // namespace halftone
