// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/window/pareto_panel.h"

#include "app/host/strings.h"
#include "app/ui/chart_view.h"
#include "app/window/workspace.h"
#include "core/base/text.h"

#include <QAction>
#include <QComboBox>
#include <QPushButton>

#include <algorithm>
#include <chrono>
#include <cmath>

namespace halftone {

using namespace Qt::Literals::StringLiterals;

ParetoPanel::ParetoPanel(Workspace& workspace, QAction* sweepAction, QWidget* parent)
    : View(tr("Size against error"), parent), m_workspace(workspace), m_sweepAction(sweepAction),
      m_figure(new QComboBox(this)), m_use(new QPushButton(tr("Use this setting"), this))
{
    m_figure->setAccessibleName(tr("What the axes show"));
    m_figure->addItem(tr("Size in bytes"), u"pareto_bytes"_s);
    m_figure->addItem(tr("Bits per weight"), u"pareto"_s);
    m_figure->addItem(tr("Bits, every weight equal"), u"pareto_weighted"_s);
    m_use->setToolTip(tr("Puts the selected point, or the mix under the budget, into the form on the right"));
    m_use->setAccessibleName(m_use->text());
    addHeaderWidget(m_use);
    addHeaderWidget(m_figure);
    connect(m_figure, &QComboBox::currentIndexChanged, this, &ParetoPanel::showFigure);
    connect(m_use, &QPushButton::clicked, this, &ParetoPanel::useRequested);
    m_solveTimer.setSingleShot(true);
    m_solveTimer.setInterval(std::chrono::milliseconds(30));
    connect(&m_solveTimer, &QTimer::timeout, this, &ParetoPanel::solve);
    connect(&workspace, &Workspace::modelChanged, this, &ParetoPanel::refresh);
    connect(&workspace, &Workspace::resultsChanged, this, [this](Workspace::Kind kind) {
        if (kind == Workspace::Kind::Sweep) refresh();
    });
    connect(&workspace, &Workspace::pendingChanged, this, [this](Workspace::Kind kind) {
        if (kind != Workspace::Kind::Sweep) return;
        setStale(m_workspace.pending(kind));
        if (!picture()) refresh();
    });
    connect(&workspace, &Workspace::pointChanged, this, &ParetoPanel::readPoint);
    refresh();
}

void ParetoPanel::refresh()
{
    m_ticket.next(); // what is on its way belongs to older results
    const auto results = m_workspace.results(Workspace::Kind::Sweep);
    m_use->setVisible(results != nullptr);
    m_figure->setVisible(results != nullptr);
    if (!results) {
        if (m_workspace.pending(Workspace::Kind::Sweep))
            showEmpty(tr("Measuring…"),
                      tr("Each setting is tried on each weight; the curve appears when all are done. "
                         "Progress is at the bottom."));
        else
            showEmpty(tr("What does a bit buy?"),
                      tr("Here each setting of the quantizers becomes a point: its size against its error, "
                         "with the "
                         "hull of the best ones. Drag the budget line to find the best mix that fits."),
                      m_sweepAction);
        return;
    }
    showFigure();
}

ChartView* ParetoPanel::chart() const { return qobject_cast<ChartView*>(plot()); }

bool ParetoPanel::inBytes() const { return m_figure->currentData().toString() == u"pareto_bytes"_s; }

double ParetoPanel::toX(double bytes) const
{
    return inBytes() || m_bytesPerBit <= 0 ? bytes : bytes / m_bytesPerBit;
}

double ParetoPanel::toBytes(double x) const
{
    return inBytes() || m_bytesPerBit <= 0 ? x : x * m_bytesPerBit;
}

void ParetoPanel::showFigure()
{
    const auto results = m_workspace.results(Workspace::Kind::Sweep);
    if (!results) return;
    struct Loaded {
        Picture picture;
        std::vector<double> bytes, bits, sqnr;
        std::vector<std::string> labels;
    };
    const auto ticket = m_ticket.next();
    inBackground(
        this,
        [results, id = toStd(m_figure->currentData().toString())]() -> Result<Loaded> {
            Loaded out;
            for (const FigureSpec& spec : results->figures())
                if (spec.id == id) {
                    HALFTONE_TRY(picture, pictureOf(spec, *results));
                    out.picture = std::move(picture);
                }
            if (out.picture.spec.id.empty())
                return Error(Errc::NotFound, "the results hold no figure \"" + id + "\"");
            HALFTONE_TRY(table, readTable(*results, "pareto"));
            if (const auto* col = table.find("bytes")) out.bytes = col->values;
            if (const auto* col = table.find("bits_per_weight")) out.bits = col->values;
            if (const auto* col = table.find("sqnr_db")) out.sqnr = col->values;
            const TableData::Col* labels = table.find("label");
            for (std::size_t i = 0; labels != nullptr && i < table.rows(); ++i)
                out.labels.push_back(labels->names[static_cast<std::size_t>(labels->values[i])]);
            return out;
        },
        [this, ticket](Result<Loaded> loaded) {
            if (!m_ticket.current(ticket)) return;
            if (!loaded) {
                Q_EMIT failed(toQt(loaded.error().line()));
                return;
            }
            m_bytes = std::move(loaded->bytes);
            m_sqnr = std::move(loaded->sqnr);
            m_labels = std::move(loaded->labels);
            m_bytesPerBit = 0;
            if (!m_bytes.empty() && !loaded->bits.empty() && loaded->bits.front() > 0)
                m_bytesPerBit = m_bytes.front() / loaded->bits.front();
            setPicture(std::make_shared<const Picture>(std::move(loaded->picture)));
        });
}

void ParetoPanel::dragged(double x)
{
    m_budget = toBytes(x);
    chart()->setThreshold(x, toQt(humanBytes(static_cast<std::uint64_t>(std::max(0.0, *m_budget)))));
    Q_EMIT budgetMoved(*m_budget);
    if (!m_solveTimer.isActive()) m_solveTimer.start();
}

void ParetoPanel::plotReady(Plot&)
{
    if (chart() != nullptr)
        connect(chart(), &ChartView::thresholdDragged, this, &ParetoPanel::dragged, Qt::UniqueConnection);
    readPoint();
    setBudget(m_budget);
}

void ParetoPanel::pointPicked(PlotPoint point)
{
    const Series& series = picture()->series[static_cast<std::size_t>(point.series)];
    const auto i = static_cast<std::size_t>(point.index);
    m_workspace.setPoint(i < series.sourceRow.size() ? static_cast<int>(series.sourceRow[i]) : point.index);
}

void ParetoPanel::readPoint()
{
    if (!picture() || chart() == nullptr) return;
    if (m_workspace.mix()) return; // showMix said it already
    const int row = m_workspace.point();
    const auto at = static_cast<std::size_t>(row);
    if (row < 0 || at >= m_labels.size()) {
        setReading(toQt(picture()->spec.caption));
        return;
    }
    for (std::size_t s = 0; s < picture()->series.size(); ++s) {
        const Series& series = picture()->series[s];
        for (std::size_t i = 0; i < series.x.size(); ++i) {
            const std::size_t source = i < series.sourceRow.size() ? series.sourceRow[i] : i;
            if (source == at) chart()->setHighlight(PlotPoint{static_cast<int>(s), static_cast<int>(i)});
        }
    }
    // Who else is at most as large, and better?
    std::size_t best = at;
    for (std::size_t i = 0; i < m_bytes.size(); ++i)
        if (m_bytes[i] <= m_bytes[at] && m_sqnr[i] > m_sqnr[best]) best = i;
    QString text = tr("%1: %2, %3 dB.")
                       .arg(toQt(m_labels[at]), toQt(humanBytes(static_cast<std::uint64_t>(m_bytes[at]))),
                            toQt(shortNumber(m_sqnr[at])));
    if (best != at)
        text += tr(" %1 is no larger and %2 dB better.")
                    .arg(toQt(m_labels[best]), toQt(shortNumber(m_sqnr[best] - m_sqnr[at])));
    else
        text += tr(" No other setting of this size or less is better.");
    setReading(text);
}

void ParetoPanel::setBudget(std::optional<double> bytes)
{
    m_budget = bytes;
    if (!bytes) {
        // A plan that is on its way belongs to a budget that is gone.
        m_solveTimer.stop();
        m_solveTicket.next();
        if (chart() != nullptr) chart()->setMarker(std::nullopt, {});
        m_workspace.setMix(std::nullopt);
    }
    if (chart() == nullptr || !picture()) return;
    if (!bytes && !m_bytes.empty()) {
        // A line to take hold of: in the middle of what was measured, without a plan until it moves.
        const auto [low, high] = std::minmax_element(m_bytes.begin(), m_bytes.end());
        chart()->setThreshold(toX((*low + *high) / 2), tr("budget, drag"));
        return;
    }
    if (!bytes) return;
    chart()->setThreshold(toX(*bytes), toQt(humanBytes(static_cast<std::uint64_t>(*bytes))));
    if (!m_solveTimer.isActive()) m_solveTimer.start();
}

void ParetoPanel::solve()
{
    const auto results = m_workspace.results(Workspace::Kind::Sweep);
    if (!results || !m_budget) return;
    const auto ticket = m_solveTicket.next();
    inBackground(
        this, [results, bytes = *m_budget] { return solveBudget(*results, bytes); },
        [this, ticket](const Result<BudgetPlan>& plan) {
            if (m_solveTicket.current(ticket)) showMix(plan);
        });
}

void ParetoPanel::showMix(const Result<BudgetPlan>& plan)
{
    if (chart() == nullptr) return;
    if (!plan) {
        chart()->setMarker(std::nullopt, {});
        m_workspace.setMix(std::nullopt);
        setReading(toQt(plan.error().line()));
        Q_EMIT solved(toQt(plan.error().line()));
        return;
    }
    std::vector<std::uint32_t> used = plan->choice;
    std::sort(used.begin(), used.end());
    used.erase(std::unique(used.begin(), used.end()), used.end());
    const QString label =
        tr("best mix: %1 bits, %2 dB").arg(plan->bitsPerWeight, 0, 'f', 2).arg(toQt(shortNumber(plan->sqnr)));
    const bool comparable = m_figure->currentData().toString() != u"pareto_weighted"_s;
    chart()->setMarker(comparable
                           ? std::optional(QPointF(inBytes() ? plan->bytes : plan->bitsPerWeight, plan->sqnr))
                           : std::nullopt,
                       label);
    // Against the best single setting that also fits.
    int single = -1;
    for (std::size_t i = 0; i < m_bytes.size(); ++i)
        if (m_bytes[i] <= *m_budget && (single < 0 || m_sqnr[i] > m_sqnr[static_cast<std::size_t>(single)]))
            single = static_cast<int>(i);
    // No error at all: the source holds these codes already.
    const auto decibels = [](double sqnr) {
        return std::isinf(sqnr) && sqnr > 0 ? tr("no further error")
                                            : tr("%1 dB").arg(toQt(shortNumber(sqnr)));
    };
    const QString what = used.size() == 1 ? tr("one setting for all weights")
                                          : tr("the best mix of %1 settings").arg(used.size());
    QString text = tr("Under %1 %2 takes %3, %4 bits per weight, and reaches %5")
                       .arg(toQt(humanBytes(static_cast<std::uint64_t>(*m_budget))), what)
                       .arg(toQt(humanBytes(static_cast<std::uint64_t>(plan->bytes))))
                       .arg(plan->bitsPerWeight, 0, 'f', 2)
                       .arg(decibels(plan->sqnr));
    if (single >= 0) {
        const double best = m_sqnr[static_cast<std::size_t>(single)];
        text += tr("; the best single setting is %1 with %2")
                    .arg(toQt(m_labels[static_cast<std::size_t>(single)]), decibels(best));
        const double gain = plan->sqnr - best;
        if (std::isfinite(gain))
            text += tr(" (%1%2 dB)").arg(gain >= 0 ? u"mix +"_s : u"mix "_s, toQt(shortNumber(gain)));
        text += u'.';
    } else {
        text += tr("; no single setting fits.");
    }
    setReading(text);
    m_workspace.setMix(*plan);
    Q_EMIT solved(text);
}

} // namespace halftone
