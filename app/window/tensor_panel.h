// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/models/background.h"
#include "app/ui/view.h"
#include "core/io/weights.h"
#include "core/numeric/block_format.h"

#include <vector>

class QComboBox;

namespace halftone {

class ChartView;
class Workspace;

/// What a look into one weight found: its histogram (of values, or of their places on the code grid) and
/// a profile of its rows.
struct TensorLook {
    std::vector<double> binCentres, counts;
    double binWidth = 0;
    std::vector<double> codes; ///< places of the codes along x; empty without a format
    std::vector<double> rowMax, rowRms;
    std::vector<double> rowIndex;
    std::int64_t values = 0, sampled = 0; ///< of the weight, and of those that were read
    double low = 0, high = 0, rms = 0, crest = 0;
    double entropy = 0, zeroShare = 0, codeBits = 0; ///< of the codes
};
/// Reads at most `mostValues` values in rows spread evenly; `format` null: plain values. Not on the
/// window's thread.
Result<TensorLook> lookAt(const WeightSet& weights, const WeightInfo& info, const BlockFormat* format,
                          std::int64_t mostValues);

/// The selected weight: how its values lie on the grid of the chosen format, and which rows stick out.
class TensorPanel : public View {
    Q_OBJECT
public:
    explicit TensorPanel(Workspace& workspace, QWidget* parent = nullptr);
    void highlight(const Place& place) override;
    QString format() const;

protected:
    void plotReady(Plot& plot) override;

private:
    void load();
    void show(const TensorLook& look, const BlockFormat* format);
    Workspace& m_workspace;
    QComboBox* m_format;
    ChartView* m_rows;
    LatestTicket m_ticket;
    std::vector<double> m_ruler;
    int m_weight = -1;
};

} // namespace halftone
