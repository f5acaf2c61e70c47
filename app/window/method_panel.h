// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/models/background.h"
#include "core/session/quantize.h"

#include <QTimer>
#include <QWidget>

#include <optional>

class QComboBox;
class QDoubleSpinBox;
class QFormLayout;
class QLabel;
class QLineEdit;
class QPushButton;
class QUndoStack;

namespace halftone {

class SchemaForm;
class Workspace;

/// What to do: the method with its form, the plan that follows each edit, where to write, and the budget.
class MethodPanel : public QWidget {
    Q_OBJECT
public:
    MethodPanel(Workspace& workspace, QUndoStack& undo, QWidget* parent = nullptr);
    SchemaForm& form() { return *m_form; }
    std::shared_ptr<const Method> method() const;
    void setMethod(const QString& id);
    QString output() const;
    void setOutput(const QString& path);
    /// The plan of what the form says now; nothing while it is being made or can't be.
    const std::optional<QuantizePlan>& plan() const { return m_plan; }
    QString planText() const;
    /// Fills the form with the selected point of the sweep, or with the mix under the budget.
    void usePoint();
    void setBudgetBytes(double bytes);
    void run();
    /// halftone-batch with the same parameters.
    QString commandLine() const;
    QString jobFile() const;

Q_SIGNALS:
    void budgetChosen(double bytes);
    void sweepAsked();
    void planned();

private:
    void refreshMethod();
    void refreshModel();
    void edited();
    void makePlan();
    void showPlan(const Result<QuantizePlan>& plan);
    void showSimplePlan(const Result<MethodPlan>& plan);
    void setPlanStale(bool stale);
    void setProblem(const QString& text);
    void addRow(const QString& label, const QString& value, const QString& tip = {});
    void clearRows();
    void chooseOutput();
    void suggestOutput();
    void chooseBudget(int index);
    Result<QuantizeRequest> request() const;

    Workspace& m_workspace;
    QUndoStack& m_undo;
    QComboBox* m_methods;
    QLabel* m_summary;
    SchemaForm* m_form;
    QWidget* m_outputRow;
    QLineEdit* m_output;
    QLabel* m_problem;
    QWidget* m_planBox;
    QFormLayout* m_planRows;
    QLabel* m_substitutions;
    QPushButton* m_run;
    QPushButton* m_sweep;
    QComboBox* m_budget;
    QDoubleSpinBox* m_budgetSize;
    QTimer m_planTimer;
    LatestTicket m_ticket;
    std::optional<QuantizePlan> m_plan;
    ParamTexts m_lastTexts;
    bool m_outputTyped = false; ///< the person chose the file: suggestions stop
    bool m_undoing = false;
    QString m_suggested;
};

} // namespace halftone
