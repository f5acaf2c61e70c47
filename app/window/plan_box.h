// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/session/quantize.h"

#include <QWidget>

class QFormLayout;
class QLabel;

namespace halftone {

/// What the form's settings will make and cost, or the one line why they can't.
class PlanBox : public QWidget {
    Q_OBJECT
public:
    explicit PlanBox(QWidget* parent = nullptr);
    void showPlan(const QuantizePlan& plan);
    void showPlan(const MethodPlan& plan);
    /// Instead of a plan: what is missing.
    void showWords(const QString& what, const QString& text);
    /// Under the plan, in the colour of errors; empty hides it.
    void setProblem(const QString& text);
    QString problem() const;
    /// Greyed while a newer plan is being made.
    void setStale(bool stale);
    void clear();
    /// All of it, one row a line.
    QString text() const;

private:
    void addRow(const QString& label, const QString& value, const QString& tip = {});
    void setNotes(const QStringList& notes);
    QWidget* m_table;
    QFormLayout* m_rows;
    QLabel* m_notes;
    QLabel* m_problem;
};

} // namespace halftone
