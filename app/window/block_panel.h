// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/models/background.h"
#include "app/ui/view.h"
#include "core/io/weights.h"
#include "core/numeric/block_format.h"

#include <optional>
#include <vector>

class QComboBox;
class QLabel;
class QSplitter;

namespace halftone {

class ChartView;
class DataTable;
class Workspace;

/// One block under a format: values, codes, scale, and what comes back.
struct BlockContent {
    std::vector<float> values, decoded;
    std::vector<std::int32_t> codes;
    float scale = 0, largestScale = 0; ///< they differ where parts of the block have scales of their own
    std::int32_t zero = 0;
    std::int64_t firstColumn = 0;
    std::string format;
};
/// Reads one row, encodes it in the format and returns block number `block`. Reads the file: not on the
/// window's thread. A format with one scale a tensor is given the range of the row's own values.
Result<BlockContent> inspectBlock(const WeightSet& weights, const WeightInfo& info, std::int64_t row,
                                  std::int64_t block, const BlockFormat& format);

/// The error of each block of one weight as a map; a click opens the block down to its codes.
class BlockPanel : public View {
    Q_OBJECT
public:
    BlockPanel(Workspace& workspace, QAction* measureAction, QWidget* parent = nullptr);
    void highlight(const Place& place) override;
    /// Measures the weight unless it is shown already.
    void measure(int weight);
    QString format() const;
    const std::optional<BlockContent>& block() const { return m_block; }

protected:
    void pointPicked(PlotPoint point) override;
    void plotReady(Plot& plot) override;

private:
    void refresh();
    void showBlock(const Place& place);
    void clearBlock();
    /// Says why this weight has no map, and offers the nearest format that has one.
    void showUnfit(const WeightInfo& info, const BlockFormat& format, const Error& why);
    Workspace& m_workspace;
    QAction* m_measureAction;
    QAction* m_fitting; ///< switches to a format that takes the weight
    QComboBox* m_format;
    QWidget* m_inspector;
    QLabel* m_blockTitle;
    ChartView* m_blockChart;
    DataTable* m_blockTable;
    LatestTicket m_ticket, m_blockTicket;
    int m_weight = -1; ///< whose map is shown or on its way
    QString m_shownFormat;
    bool m_unfit = false;                         ///< the weight has no map: an older one must not come back
    std::vector<double> m_worstRow, m_worstBlock; ///< of each cell, in the table's order
    std::optional<BlockContent> m_block;
};

} // namespace halftone
