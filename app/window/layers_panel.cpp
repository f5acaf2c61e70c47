// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/window/layers_panel.h"

#include "app/host/strings.h"
#include "app/ui/chart_view.h"
#include "app/window/workspace.h"
#include "core/base/text.h"

#include <QAction>
#include <QComboBox>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>

namespace halftone {

using namespace Qt::Literals::StringLiterals;

namespace {

enum Metric { Share, Sqnr, Bits, Size };

using Rows = std::vector<LayersPanel::Row>;

/// Rows of one point of a sweep, or of the point that a mix chose for each weight.
Result<Rows> sweepRows(const ResultReader& results, int point, const std::optional<BudgetPlan>& mix)
{
    HALFTONE_TRY(table, readTable(results, "sweep"));
    const auto* points = table.find("point");
    const auto* weights = table.find("weight");
    const auto* names = table.find("name");
    const auto* formats = table.find("format");
    if (points == nullptr || weights == nullptr || names == nullptr || formats == nullptr)
        return Error(Errc::BadFormat, "the table \"sweep\" lacks a column");
    std::map<std::uint32_t, std::uint32_t> chosen;
    if (mix)
        for (std::size_t i = 0; i < mix->weights.size(); ++i)
            chosen[mix->weights[i]] = mix->choice[i];
    const auto value = [&](const char* column, std::size_t row) {
        const auto* col = table.find(column);
        return col == nullptr ? 0.0 : col->values[row];
    };
    Rows out;
    for (std::size_t r = 0; r < table.rows(); ++r) {
        const auto weight = static_cast<std::uint32_t>(weights->values[r]);
        int wanted = point;
        if (mix) {
            const auto at = chosen.find(weight);
            if (at == chosen.end()) continue;
            wanted = static_cast<int>(at->second);
        }
        if (static_cast<int>(points->values[r]) != wanted) continue;
        out.push_back({.weight = weight,
                       .name = names->names[static_cast<std::size_t>(names->values[r])],
                       .format = formats->names[static_cast<std::size_t>(formats->values[r])],
                       .layer = -1,
                       .roleClass = {},
                       .nmse = value("nmse", r),
                       .noise = value("noise", r),
                       .elements = value("elements", r),
                       .bytes = value("bytes", r),
                       .sqnr = value("sqnr_db", r),
                       .kept = false});
    }
    return out;
}

/// Rows of the last written file.
Result<Rows> writtenRows(const ResultReader& results)
{
    HALFTONE_TRY(table, readTable(results, "weights"));
    const auto* names = table.find("name");
    const auto* formats = table.find("format");
    if (names == nullptr || formats == nullptr)
        return Error(Errc::BadFormat, "the table \"weights\" lacks a column");
    const auto value = [&](const char* column, std::size_t row) {
        const auto* col = table.find(column);
        return col == nullptr ? 0.0 : col->values[row];
    };
    Rows out;
    for (std::size_t r = 0; r < table.rows(); ++r)
        out.push_back({.weight = -1,
                       .name = names->names[static_cast<std::size_t>(names->values[r])],
                       .format = formats->names[static_cast<std::size_t>(formats->values[r])],
                       .layer = -1,
                       .roleClass = {},
                       .nmse = value("nmse", r),
                       .noise = value("mse", r) * value("elements", r),
                       .elements = value("elements", r),
                       .bytes = value("bytes_after", r),
                       .sqnr = value("sqnr_db", r),
                       .kept = false});
    return out;
}

} // namespace

LayersPanel::LayersPanel(Workspace& workspace, QAction* sweepAction, QWidget* parent)
    : View(tr("Loss by layer"), parent), m_workspace(workspace), m_sweepAction(sweepAction),
      m_metric(new QComboBox(this)), m_order(new QComboBox(this))
{
    m_metric->addItems({tr("Share of the loss"), tr("SQNR"), tr("Bits per weight"), tr("Size")});
    m_metric->setAccessibleName(tr("What the bars show"));
    m_order->addItems({tr("In network order"), tr("Worst first")});
    m_order->setAccessibleName(tr("Order of the bars"));
    addHeaderWidget(m_metric);
    addHeaderWidget(m_order);
    connect(m_metric, &QComboBox::currentIndexChanged, this, &LayersPanel::showRows);
    connect(m_order, &QComboBox::currentIndexChanged, this, &LayersPanel::showRows);
    connect(&workspace, &Workspace::modelChanged, this, &LayersPanel::refresh);
    connect(&workspace, &Workspace::pointChanged, this, &LayersPanel::refresh);
    connect(&workspace, &Workspace::resultsChanged, this, [this](Workspace::Kind kind) {
        if (kind == Workspace::Kind::Sweep || kind == Workspace::Kind::Quantize) refresh();
    });
    refresh();
}

void LayersPanel::refresh()
{
    // What is on its way belongs to what was asked before.
    const auto ticket = m_ticket.next();
    const auto sweep = m_workspace.results(Workspace::Kind::Sweep);
    const auto written = m_workspace.results(Workspace::Kind::Quantize);
    const bool any = sweep || written;
    m_metric->setVisible(any);
    m_order->setVisible(any);
    if (!any) {
        m_rows.clear();
        m_worst = -1;
        showEmpty(tr("Which layers lose most?"),
                  tr("Once settings are measured, each weight is a bar here: what it loses, in the colour of "
                     "its class. "
                     "Click one to look inside."),
                  m_sweepAction);
        return;
    }
    struct Loaded {
        Rows rows;
        QString what;
    };
    inBackground(
        this,
        [sweep, written, point = m_workspace.point(), mix = m_workspace.mix()]() -> Result<Loaded> {
            Loaded out;
            if (!sweep || (written && point < 0 && !mix)) {
                HALFTONE_TRY(rows, writtenRows(*written));
                out.rows = std::move(rows);
                out.what = tr("the written file");
                return out;
            }
            int shown = point;
            HALFTONE_TRY(pareto, readTable(*sweep, "pareto"));
            const auto* bits = pareto.find("bits_per_weight");
            const auto* labels = pareto.find("label");
            if (shown < 0 && !mix && bits != nullptr) {
                // Nothing chosen yet: the setting nearest to 4 bits is what most people would take.
                double nearest = 1e300;
                for (std::size_t r = 0; r < bits->values.size(); ++r)
                    if (std::abs(bits->values[r] - 4.5) < nearest) {
                        nearest = std::abs(bits->values[r] - 4.5);
                        shown = static_cast<int>(r);
                    }
            }
            HALFTONE_TRY(rows, sweepRows(*sweep, shown, mix));
            out.rows = std::move(rows);
            if (mix)
                out.what = tr("the best mix under the budget");
            else if (labels != nullptr && shown >= 0 &&
                     static_cast<std::size_t>(shown) < labels->values.size())
                out.what = toQt(pareto.cell(static_cast<std::size_t>(shown),
                                            static_cast<std::size_t>(labels - pareto.columns.data())));
            return out;
        },
        [this, ticket](Result<Loaded> loaded) {
            if (!m_ticket.current(ticket)) return;
            if (!loaded) {
                Q_EMIT failed(toQt(loaded.error().line()));
                return;
            }
            m_rows = std::move(loaded->rows);
            m_what = loaded->what;
            std::vector<WeightStatistics> statistics;
            const auto& model = m_workspace.model();
            if (model) statistics.resize(model->weights()->all().size());
            for (Row& row : m_rows) {
                // Results of another model may have the same numbers: names decide.
                const int known = m_workspace.weightNamed(row.name);
                row.weight = known;
                const WeightRole role =
                    known < 0 ? roleOfName(row.name) : model->roles()[static_cast<std::size_t>(known)];
                row.layer = role.layer;
                row.roleClass = nameOf(role.roleClass);
                // A kept weight bears the name of its plain type, not of a format.
                row.kept = !formatNamed(row.format);
                if (known >= 0)
                    statistics[static_cast<std::size_t>(known)] = {
                        row.sqnr, row.elements > 0 ? row.noise / row.elements : 0, row.kept};
            }
            Q_EMIT statisticsReady(statistics);
            showRows();
        });
}

void LayersPanel::showRows()
{
    if (m_rows.empty()) return;
    const int metric = m_metric->currentIndex();
    double loss = 0;
    for (const Row& row : m_rows)
        loss += std::isfinite(row.nmse) ? row.nmse * row.elements : 0;
    const auto value = [&](const Row& row) {
        switch (metric) {
        case Share:
            return loss > 0 ? 100 * row.nmse * row.elements / loss : 0.0;
        case Sqnr:
            return row.sqnr;
        case Bits:
            return row.elements > 0 ? 8 * row.bytes / row.elements : 0.0;
        default:
            return row.bytes;
        }
    };
    m_worst = -1;
    if (loss <= 0 && (metric == Share || metric == Sqnr)) {
        // Bars of nothing would look like a figure that failed.
        showEmpty(tr("Nothing is lost"),
                  tr("With %1 every weight comes back exactly as it is stored. Choose a smaller setting in "
                     "Pareto, or look at bits per weight or size above.")
                      .arg(m_what));
        return;
    }
    m_shown.resize(m_rows.size());
    std::iota(m_shown.begin(), m_shown.end(), std::size_t{0});
    if (m_order->currentIndex() == 0)
        std::stable_sort(m_shown.begin(), m_shown.end(), [&](std::size_t a, std::size_t b) {
            const auto key = [](int layer) { return layer < 0 ? 1 << 30 : layer; };
            return key(m_rows[a].layer) < key(m_rows[b].layer);
        });
    else
        std::stable_sort(m_shown.begin(), m_shown.end(), [&](std::size_t a, std::size_t b) {
            return metric == Sqnr ? value(m_rows[a]) < value(m_rows[b]) : value(m_rows[a]) > value(m_rows[b]);
        });
    static constexpr std::array<const char*, 4> kLabels{"Share of the loss", "SQNR", "Bits per weight",
                                                        "Size"};
    static constexpr std::array<const char*, 4> kUnits{"%", "dB", "bit", "B"};
    auto picture = std::make_shared<Picture>();
    picture->spec.id = "loss_by_weight";
    picture->spec.title = "Loss by layer";
    picture->spec.kind = "bars";
    picture->spec.x = {"", "", false};
    picture->spec.y = {kLabels[static_cast<std::size_t>(metric)], kUnits[static_cast<std::size_t>(metric)],
                       false};
    std::map<std::string, std::size_t> seriesOf;
    // Classes in their fixed order, so that the legend reads the same everywhere.
    for (const RoleClass c : {RoleClass::Attention, RoleClass::Ffn, RoleClass::Expert, RoleClass::Embedding,
                              RoleClass::Norm, RoleClass::Other}) {
        const std::string name(nameOf(c));
        if (std::none_of(m_rows.begin(), m_rows.end(), [&](const Row& row) { return row.roleClass == name; }))
            continue;
        seriesOf.emplace(name, picture->series.size());
        Series series;
        series.label = name;
        series.mark = Trace::Mark::Bars;
        picture->series.push_back(std::move(series));
    }
    m_labels.clear();
    int lastLayer = -2;
    for (std::size_t at = 0; at < m_shown.size(); ++at) {
        const Row& row = m_rows[m_shown[at]];
        Series& series = picture->series[seriesOf.at(row.roleClass)];
        series.x.push_back(static_cast<double>(at));
        series.y.push_back(value(row));
        series.text.push_back(static_cast<std::uint32_t>(series.names.size()));
        series.names.push_back(row.name + ", " + row.format + (row.kept ? ", kept" : ""));
        series.sourceRow.push_back(static_cast<std::uint32_t>(at));
        if (m_order->currentIndex() == 0 && row.layer != lastLayer) {
            m_labels.emplace_back(static_cast<double>(at),
                                  row.layer < 0 ? tr("other") : QString::number(row.layer));
            lastLayer = row.layer;
        }
    }
    picture->spec.x.label = m_order->currentIndex() == 0 ? "Layer" : "Weights, worst first";
    if (m_order->currentIndex() != 0) m_labels.clear();
    // The one line that tells the finding.
    const auto worst = std::max_element(m_rows.begin(), m_rows.end(), [](const Row& a, const Row& b) {
        return a.nmse * a.elements < b.nmse * b.elements;
    });
    std::map<int, double> byLayer;
    for (const Row& row : m_rows)
        byLayer[row.layer] += row.nmse * row.elements;
    const auto layer = std::max_element(byLayer.begin(), byLayer.end(),
                                        [](const auto& a, const auto& b) { return a.second < b.second; });
    m_worst = static_cast<int>(worst->weight);
    if (loss > 0)
        picture->spec.caption =
            toStd(tr("With %1: %2 carries %3 % of the loss (%4 dB)%5.")
                      .arg(m_what, toQt(worst->name))
                      .arg(100 * worst->nmse * worst->elements / loss, 0, 'f', 1)
                      .arg(toQt(shortNumber(worst->sqnr)),
                           layer->first >= 0 ? tr("; layer %1 loses most, %2 %")
                                                   .arg(layer->first)
                                                   .arg(100 * layer->second / loss, 0, 'f', 1)
                                             : QString()));
    else
        picture->spec.caption = toStd(tr("With %1 nothing is lost.").arg(m_what));
    setPicture(std::move(picture));
    highlight(m_workspace.selection().place());
}

void LayersPanel::plotReady(Plot& plot)
{
    if (auto* chart = qobject_cast<ChartView*>(&plot)) chart->setXLabels(m_labels);
}

void LayersPanel::pointPicked(PlotPoint point)
{
    const Series& series = picture()->series[static_cast<std::size_t>(point.series)];
    const std::size_t at = series.sourceRow[static_cast<std::size_t>(point.index)];
    const auto weight = static_cast<int>(m_rows[m_shown[at]].weight);
    if (weight >= 0) Q_EMIT picked({weight, -1, -1});
}

void LayersPanel::highlight(const Place& place)
{
    if (!picture() || plot() == nullptr) return;
    for (std::size_t s = 0; s < picture()->series.size(); ++s) {
        const Series& series = picture()->series[s];
        for (std::size_t i = 0; i < series.sourceRow.size(); ++i)
            if (place.weight >= 0 && m_rows[m_shown[series.sourceRow[i]]].weight == place.weight) {
                plot()->setHighlight(PlotPoint{static_cast<int>(s), static_cast<int>(i)});
                return;
            }
    }
    plot()->setHighlight(std::nullopt);
}

} // namespace halftone
