// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/models/background.h"
#include "core/session/quantize.h"

#include <QTimer>
#include <QWidget>

#include <optional>

class QComboBox;
class QDoubleSpinBox;
class QLabel;
class QLineEdit;
class QPushButton;
class QUndoStack;

namespace halftone {

class PlanBox;
class SchemaForm;
class Workspace;

/// What the form says: enough to fill it again.
struct FormState {
    QString method;
    ParamTexts texts;
    QString output; ///< empty: the suggestion, which follows the settings
    friend bool operator==(const FormState&, const FormState&) = default;
};

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
    FormState state() const;
    /// Fills the form; what it can't hold is shown as wrong. No step of undo.
    void setState(const FormState& state);
    /// The plan of what the form says now; nothing while it is being made or can't be.
    const std::optional<QuantizePlan>& plan() const { return m_plan; }
    QString planText() const;
    /// Fills the form with the selected point of the sweep, or with the mix under the budget.
    void usePoint();
    /// Adds an exception: the weight gets 8 bits whatever the others get. False when the method has none.
    bool keepAtEightBits(int weight);
    /// Shows the budget; nothing: none.
    void setBudgetBytes(std::optional<double> bytes);
    void run();
    /// halftone-batch with the same parameters.
    QString commandLine() const;
    QString jobFile() const;

Q_SIGNALS:
    /// The person chose a budget here; nothing: none any more.
    void budgetChosen(std::optional<double> bytes);
    void sweepAsked();
    void planned();
    /// Method, parameters or output are not what they were.
    void stateChanged();

private:
    void build();
    QWidget* makeForm();
    QWidget* makeFooter();
    void refreshMethod();
    void refreshModel();
    /// Remembers a step of undo when the form's content moved.
    void changed();
    void makePlan();
    void showPlan(const Result<QuantizePlan>& plan);
    void showSimplePlan(const Result<MethodPlan>& plan);
    void setProblem(const QString& text);
    void chooseOutput();
    void suggestOutput();
    void chooseBudget(int index);
    Result<QuantizeRequest> request() const;
    std::shared_ptr<const QuantizeMethod> quantizer() const;

    Workspace& m_workspace;
    QUndoStack& m_undo;
    QComboBox* m_methods;
    QLabel* m_summary;
    SchemaForm* m_form;
    QWidget* m_outputRow;
    QLineEdit* m_output;
    PlanBox* m_planBox;
    QPushButton* m_run;
    QPushButton* m_sweep;
    QComboBox* m_budget;
    QDoubleSpinBox* m_budgetSize;
    QTimer m_planTimer;
    LatestTicket m_ticket;
    std::optional<QuantizePlan> m_plan;
    FormState m_last;           ///< as the last step of undo left it
    QString m_startFormat;      ///< what the format was set to without being asked
    bool m_outputTyped = false; ///< the person chose the file: suggestions stop
    bool m_applying = false;    ///< several fields move as one step
};

} // namespace halftone
