// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/models/background.h"
#include "app/models/tensor_tree_model.h"
#include "app/ui/view.h"

class QComboBox;

namespace halftone {

class Workspace;

/// One bar a weight: where the chosen setting loses, in the order of the network or worst first.
class LayersPanel : public View {
    Q_OBJECT
public:
    LayersPanel(Workspace& workspace, QAction* sweepAction, QWidget* parent = nullptr);
    void highlight(const Place& place) override;
    /// The worst weight under the shown setting, or -1.
    int worst() const { return m_worst; }

Q_SIGNALS:
    /// Error of each weight under the shown setting, one entry a weight of the model.
    void statisticsReady(const std::vector<halftone::WeightStatistics>& statistics);

protected:
    void pointPicked(PlotPoint point) override;
    void plotReady(Plot& plot) override;

public:
    struct Row {
        std::int64_t weight = -1; ///< in the model, -1 when results came without it
        std::string name, format;
        int layer = -1;
        std::string roleClass;
        double nmse = 0, noise = 0, elements = 0, bytes = 0, sqnr = 0;
        bool kept = false;
    };

private:
    void refresh();
    void showRows();
    Workspace& m_workspace;
    QAction* m_sweepAction;
    QComboBox* m_metric;
    QComboBox* m_order;
    LatestTicket m_ticket;
    std::vector<Row> m_rows;
    std::vector<std::size_t> m_shown; ///< position along x -> row
    std::vector<std::pair<double, QString>> m_labels;
    QString m_what; ///< the setting in words
    int m_worst = -1;
};

} // namespace halftone
