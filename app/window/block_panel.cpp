// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/window/block_panel.h"

#include "app/host/strings.h"
#include "app/ui/chart_view.h"
#include "app/ui/data_table.h"
#include "app/ui/raster_view.h"
#include "app/ui/theme.h"
#include "app/window/workspace.h"
#include "core/base/text.h"
#include "core/numeric/error_stats.h"

#include <QAction>
#include <QComboBox>
#include <QLabel>
#include <QVBoxLayout>

#include <algorithm>
#include <cmath>

namespace halftone {

using namespace Qt::Literals::StringLiterals;

namespace {

/// Original and decoded values of a block against the column: what rounding did to each.
std::shared_ptr<const Picture> blockPicture(const BlockContent& block)
{
    auto picture = std::make_shared<Picture>();
    picture->spec.id = "block";
    picture->spec.title = "Values of the block";
    picture->spec.kind = "scatter";
    picture->spec.x = {"Column", "", false};
    picture->spec.y = {"Value", "", false};
    Series before;
    before.label = "original";
    before.mark = Trace::Mark::Points;
    Series after;
    after.label = "as " + block.format;
    after.mark = Trace::Mark::Points;
    for (std::size_t i = 0; i < block.values.size(); ++i) {
        const auto column = static_cast<double>(block.firstColumn) + static_cast<double>(i);
        before.x.push_back(column);
        before.y.push_back(static_cast<double>(block.values[i]));
        after.x.push_back(column);
        after.y.push_back(static_cast<double>(block.decoded[i]));
    }
    picture->series = {std::move(before), std::move(after)};
    return picture;
}

std::shared_ptr<const TableData> blockTable(const BlockContent& block)
{
    auto table = std::make_shared<TableData>();
    table->columns = {{"column", "", "Column of the weight.", {}, {}},
                      {"value", "", "As it is stored in the model.", {}, {}},
                      {"code", "", "The integer that is stored.", {}, {}},
                      {"decoded", "", "What the code reads as under its scale.", {}, {}},
                      {"error", "", "value - decoded.", {}, {}}};
    for (std::size_t i = 0; i < block.values.size(); ++i) {
        table->columns[0].values.push_back(static_cast<double>(block.firstColumn) + static_cast<double>(i));
        table->columns[1].values.push_back(static_cast<double>(block.values[i]));
        table->columns[2].values.push_back(block.codes[i]);
        table->columns[3].values.push_back(static_cast<double>(block.decoded[i]));
        table->columns[4].values.push_back(static_cast<double>(block.values[i]) -
                                           static_cast<double>(block.decoded[i]));
    }
    return table;
}

QString scaleText(const BlockContent& block)
{
    const QString low = toQt(shortNumber(static_cast<double>(block.scale)));
    const QString high = toQt(shortNumber(static_cast<double>(block.largestScale)));
    return low == high ? low : BlockPanel::tr("%1 to %2").arg(low, high);
}

} // namespace

BlockPanel::BlockPanel(Workspace& workspace, QAction* measureAction, QWidget* parent)
    : View(tr("Block error"), parent), m_workspace(workspace), m_measureAction(measureAction),
      m_fitting(new QAction(this)), m_format(new QComboBox(this)), m_inspector(new QWidget(this)),
      m_blockTitle(new QLabel(m_inspector)), m_blockChart(new ChartView(m_inspector)),
      m_blockTable(new DataTable(m_inspector))
{
    for (const BlockFormat* format : listedFormats())
        m_format->addItem(toQt(format->name()));
    m_format->setCurrentText(u"q4_0"_s);
    m_format->setAccessibleName(tr("Number format"));
    m_format->setToolTip(tr("The number format whose error is shown"));
    addHeaderWidget(m_format);
    auto* inspector = new QVBoxLayout(m_inspector);
    inspector->setContentsMargins(0, Theme::kStep, 0, 0);
    m_blockTitle->setWordWrap(true);
    m_blockTitle->setTextInteractionFlags(Qt::TextSelectableByMouse);
    m_blockChart->setAccessibleName(tr("Values of the block"));
    m_blockTable->setAccessibleName(tr("Values and codes of the block"));
    auto* row = new QHBoxLayout;
    row->setSpacing(2 * Theme::kStep);
    row->addWidget(m_blockChart, 1);
    row->addWidget(m_blockTable, 1);
    inspector->addWidget(m_blockTitle);
    inspector->addLayout(row, 1);
    figureLayout()->addWidget(m_inspector, 1);
    m_inspector->hide();
    connect(m_format, &QComboBox::currentIndexChanged, this, [this] {
        if (m_weight >= 0) measure(m_weight);
    });
    connect(m_fitting, &QAction::triggered, this,
            [this] { m_format->setCurrentText(m_fitting->data().toString()); });
    connect(&workspace, &Workspace::modelChanged, this, [this] {
        m_weight = -1;
        m_unfit = false;
        m_shownFormat.clear();
        clearBlock();
        refresh();
    });
    connect(&workspace, &Workspace::resultsChanged, this, [this](Workspace::Kind kind) {
        if (kind == Workspace::Kind::BlockError) refresh();
    });
    connect(&workspace, &Workspace::pendingChanged, this, [this](Workspace::Kind kind) {
        if (kind == Workspace::Kind::BlockError) setStale(m_workspace.pending(kind));
    });
    refresh();
}

QString BlockPanel::format() const { return m_format->currentText(); }

void BlockPanel::measure(int weight)
{
    if (!m_workspace.model() || weight < 0) return;
    if (weight == m_weight && m_shownFormat == format()) return;
    const WeightInfo& info = m_workspace.model()->weights()->all()[static_cast<std::size_t>(weight)];
    m_weight = weight;
    m_shownFormat = format();
    m_unfit = true;
    m_ticket.next(); // a map that is being read is not of this weight
    clearBlock();
    if (!info.whyOpaque.empty()) {
        setTitle(toQt(info.name));
        showEmpty(tr("The values can't be read"), tr("%1.").arg(toQt(info.whyOpaque)));
        return;
    }
    if (info.shape.rank() < 2) {
        setTitle(toQt(info.name));
        showEmpty(tr("A vector has no blocks"),
                  tr("%1 holds %2 values in one row. Norms and biases are kept as they are: choose a matrix.")
                      .arg(toQt(info.name))
                      .arg(info.count()));
        return;
    }
    if (const auto found = formatNamed(toStd(m_shownFormat)); found)
        if (const auto layout = (*found)->layout(info.shape.rows(), info.shape.cols()); !layout) {
            showUnfit(info, **found, layout.error());
            return;
        }
    m_unfit = false;
    m_workspace.runBlockError(weight, m_shownFormat);
}

void BlockPanel::showUnfit(const WeightInfo& info, const BlockFormat& format, const Error& why)
{
    const std::int64_t block = format.desc().blockSize;
    const std::int64_t cols = info.shape.cols();
    QStringList fitting;
    for (const BlockFormat* other : listedFormats())
        if (other->layout(info.shape.rows(), cols)) fitting << toQt(other->name());
    // The same number of bits is the nearest.
    const auto same = std::find_if(fitting.begin(), fitting.end(), [&](const QString& name) {
        const auto other = formatNamed(toStd(name));
        return other && (*other)->desc().bits == format.desc().bits;
    });
    const QString nearest = same != fitting.end() ? *same : fitting.value(0);
    setTitle(toQt(info.name));
    const QString reason = block > 0 && cols % block != 0
                               ? tr("its rows of %1 values are not a multiple of the block of %2 (%3 left "
                                    "over)")
                                     .arg(cols)
                                     .arg(block)
                                     .arg(cols % block)
                               : toQt(why.what());
    m_fitting->setText(tr("Show it as %1").arg(nearest));
    m_fitting->setData(nearest);
    showEmpty(tr("%1 can't take %2").arg(toQt(info.shape.text()), toQt(format.name())),
              tr("%1: %2. Choose a format whose blocks divide the row or whose scale is for a whole row%3; "
                 "or keep this weight as it is, as the plan does.")
                  .arg(toQt(info.name), reason,
                       fitting.isEmpty() ? QString() : tr(" (%1)").arg(fitting.mid(0, 4).join(u", "_s))),
              nearest.isEmpty() ? nullptr : m_fitting);
}

void BlockPanel::refresh()
{
    // What is on its way belongs to what was asked before.
    const auto ticket = m_ticket.next();
    const auto results = m_workspace.results(Workspace::Kind::BlockError);
    m_format->setVisible(m_workspace.model() != nullptr);
    if (m_unfit) return;
    if (!results) {
        showEmpty(tr("Where in a weight does the error sit?"),
                  tr("A map of every block of the selected weight: bright blocks lose most, usually because "
                     "of one large "
                     "value. Click a block to see its values, codes and scale."),
                  m_measureAction);
        return;
    }
    struct Loaded {
        Picture picture;
        std::vector<double> worstRow, worstBlock;
    };
    inBackground(
        this,
        [results]() -> Result<Loaded> {
            Loaded out;
            bool found = false;
            for (const FigureSpec& spec : results->figures())
                if (spec.kind == "heatmap" && !found) {
                    HALFTONE_TRY(picture, pictureOf(spec, *results));
                    out.picture = std::move(picture);
                    found = true;
                }
            if (!found) return Error(Errc::NotFound, "the results hold no block map");
            HALFTONE_TRY(rows, results->column("block_error", "worst_row"));
            HALFTONE_TRY(blocks, results->column("block_error", "worst_block"));
            out.worstRow = std::move(rows);
            out.worstBlock = std::move(blocks);
            return out;
        },
        [this, ticket](Result<Loaded> loaded) {
            if (!m_ticket.current(ticket)) return;
            if (!loaded) {
                Q_EMIT failed(toQt(loaded.error().line()));
                return;
            }
            m_worstRow = std::move(loaded->worstRow);
            m_worstBlock = std::move(loaded->worstBlock);
            if (!loaded->picture.series.empty()) {
                // The finding: where the worst block is, and how far above the middle one.
                const Series& s = loaded->picture.series.front();
                std::vector<double> sorted = s.z;
                if (!sorted.empty()) {
                    const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
                    std::nth_element(sorted.begin(), middle, sorted.end());
                    const double median = *middle;
                    const auto at =
                        static_cast<std::size_t>(std::max_element(s.z.begin(), s.z.end()) - s.z.begin());
                    const std::size_t row = at < s.sourceRow.size() ? s.sourceRow[at] : at;
                    if (row < m_worstRow.size())
                        loaded->picture.spec.caption =
                            toStd(tr("The worst block is row %1, block %2: %3, %4 times the median. Click a "
                                     "block to open it.")
                                      .arg(m_worstRow[row], 0, 'f', 0)
                                      .arg(m_worstBlock[row], 0, 'f', 0)
                                      .arg(toQt(shortNumber(s.z[at])),
                                           median > 0 ? toQt(shortNumber(s.z[at] / median)) : u"many"_s));
                }
            }
            const QString name = toQt(loaded->picture.spec.title);
            setPicture(std::make_shared<const Picture>(std::move(loaded->picture)));
            setTitle(name);
            highlight(m_workspace.selection().place());
        });
}

void BlockPanel::plotReady(Plot& plot)
{
    // The map above the inspector.
    figureLayout()->setStretchFactor(&plot, 3);
    figureLayout()->setStretchFactor(m_inspector, 2);
}

void BlockPanel::pointPicked(PlotPoint point)
{
    const Series& s = picture()->series.front();
    const auto i = static_cast<std::size_t>(point.index);
    const std::size_t row = i < s.sourceRow.size() ? s.sourceRow[i] : i;
    if (row >= m_worstRow.size()) return;
    // A cell of several blocks stands for its worst one.
    const Place place{m_weight, static_cast<qint64>(m_worstRow[row]), static_cast<qint64>(m_worstBlock[row])};
    if (m_weight >= 0) Q_EMIT picked(place);
}

void BlockPanel::highlight(const Place& place)
{
    auto* map = qobject_cast<RasterView*>(plot());
    if (map == nullptr || !picture() || place.weight != m_weight) {
        if (plot() != nullptr) plot()->setHighlight(std::nullopt);
        clearBlock();
        return;
    }
    if (place.row < 0 || place.block < 0) {
        map->setHighlight(std::nullopt);
        clearBlock();
        return;
    }
    map->setHighlight(map->cellAt(static_cast<double>(place.block), static_cast<double>(place.row)));
    showBlock(place);
}

void BlockPanel::clearBlock()
{
    m_blockTicket.next();
    m_block.reset();
    m_inspector->hide();
}

void BlockPanel::showBlock(const Place& place)
{
    const auto& model = m_workspace.model();
    if (!model || place.weight < 0) return;
    const auto found = formatNamed(toStd(m_shownFormat));
    if (!found) return;
    const auto ticket = m_blockTicket.next();
    inBackground(
        this,
        [model, place, format = *found] {
            return inspectBlock(*model->weights(),
                                model->weights()->all()[static_cast<std::size_t>(place.weight)], place.row,
                                place.block, *format);
        },
        [this, ticket, place](Result<BlockContent> block) {
            if (!m_blockTicket.current(ticket)) return;
            if (!block) {
                Q_EMIT failed(toQt(block.error().line()));
                return;
            }
            m_block = std::move(*block);
            const ErrorStats stats = compare(m_block->values, m_block->decoded);
            m_blockTitle->setText(
                tr("<b>Row %1, block %2</b> &nbsp; columns %3 to %4 &nbsp;·&nbsp; scale %5, zero %6 "
                   "&nbsp;·&nbsp; SQNR "
                   "%7 dB &nbsp;·&nbsp; largest value %8 is %9 times the rms")
                    .arg(place.row)
                    .arg(place.block)
                    .arg(m_block->firstColumn)
                    .arg(m_block->firstColumn + static_cast<std::int64_t>(m_block->values.size()) - 1)
                    .arg(scaleText(*m_block))
                    .arg(m_block->zero)
                    .arg(toQt(shortNumber(stats.sqnr())), toQt(shortNumber(stats.maxValue)),
                         toQt(shortNumber(stats.crestFactor()))));
            m_blockChart->setPicture(blockPicture(*m_block));
            m_blockTable->setTable(blockTable(*m_block));
            m_inspector->show();
        });
}

} // namespace halftone
