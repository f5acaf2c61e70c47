// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/models/background.h"
#include "app/ui/view.h"

#include <memory>
#include <vector>

class QComboBox;

namespace halftone {

class Workspace;

/// Every figure of a results file, or of the last analysis: chosen from a list, with its numbers.
class FiguresPanel : public View {
    Q_OBJECT
public:
    explicit FiguresPanel(Workspace& workspace, QWidget* parent = nullptr);
    QStringList figureTitles() const;
    void showFigure(int index);

protected:
    void pointPicked(PlotPoint point) override;

private:
    void setResults(std::shared_ptr<const ResultReader> results, const QString& from);
    Workspace& m_workspace;
    QComboBox* m_choice;
    std::shared_ptr<const ResultReader> m_results;
    std::vector<FigureSpec> m_specs;
    LatestTicket m_ticket;
};

} // namespace halftone
