// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/models/background.h"
#include "app/ui/view.h"
#include "core/session/sweep.h"

#include <QTimer>

#include <optional>

class QComboBox;
class QLabel;
class QPushButton;

namespace halftone {

class ChartView;
class Workspace;

/// What each setting costs and what it loses, with the hull, and a budget line that finds the best plan
/// under it, mixing settings from weight to weight.
class ParetoPanel : public View {
    Q_OBJECT
public:
    ParetoPanel(Workspace& workspace, QAction* sweepAction, QWidget* parent = nullptr);
    /// Bytes of the budget line; nothing: no line.
    void setBudget(std::optional<double> bytes);
    std::optional<double> budget() const { return m_budget; }

Q_SIGNALS:
    /// The person moved the line.
    void budgetMoved(double bytes);
    /// "Use this setting": the point (or the mix) is to become the form's content.
    void useRequested();
    /// The plan under the budget came, or there is none, and why.
    void solved(const QString& text);

protected:
    void pointPicked(PlotPoint point) override;
    void plotReady(Plot& plot) override;

private:
    void refresh();
    void showFigure();
    void solve();
    void showMix(const Result<BudgetPlan>& plan);
    ChartView* chart() const;
    double toX(double bytes) const;
    double toBytes(double x) const;
    bool inBytes() const;
    void readPoint();
    void dragged(double x);

    Workspace& m_workspace;
    QAction* m_sweepAction;
    QComboBox* m_figure;
    QPushButton* m_use;
    QTimer m_solveTimer;
    LatestTicket m_ticket, m_solveTicket;
    std::optional<double> m_budget;
    double m_bytesPerBit = 0; ///< bytes of one bit per weight over the whole model
    std::vector<double> m_bytes, m_sqnr;
    std::vector<std::string> m_labels;
};

} // namespace halftone
