// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/models/background.h"
#include "app/ui/view.h"

#include <memory>
#include <vector>

class QComboBox;

namespace halftone {

class Workspace;

/// Every figure there is, chosen from a list: of the open results file first, then of the runs of this
/// window.
class FiguresPanel : public View {
    Q_OBJECT
public:
    explicit FiguresPanel(Workspace& workspace, QWidget* parent = nullptr);
    QStringList figureTitles() const;
    void showFigure(int index);

protected:
    void pointPicked(PlotPoint point) override;

private:
    void refresh();
    Workspace& m_workspace;
    QComboBox* m_choice;
    struct Entry {
        std::shared_ptr<const ResultReader> results;
        FigureSpec spec;
    };
    std::vector<Entry> m_entries;
    LatestTicket m_ticket;
};

} // namespace halftone
