// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/window/figures_panel.h"

#include "app/host/strings.h"
#include "app/window/workspace.h"

#include <QComboBox>
#include <QFileInfo>

namespace halftone {

FiguresPanel::FiguresPanel(Workspace& workspace, QWidget* parent)
    : View(tr("Results"), parent), m_workspace(workspace), m_choice(new QComboBox(this))
{
    m_choice->setAccessibleName(tr("Figure"));
    m_choice->setSizeAdjustPolicy(QComboBox::AdjustToContents);
    addHeaderWidget(m_choice);
    connect(m_choice, &QComboBox::activated, this, &FiguresPanel::showFigure);
    connect(&workspace, &Workspace::resultsChanged, this, [this](Workspace::Kind kind) {
        if (kind == Workspace::Kind::File)
            setResults(m_workspace.results(kind), QFileInfo(m_workspace.resultsPath()).fileName());
        if (kind == Workspace::Kind::Analysis) setResults(m_workspace.results(kind), tr("Analysis"));
    });
    setResults(nullptr, tr("Results"));
}

void FiguresPanel::setResults(std::shared_ptr<const ResultReader> results, const QString& from)
{
    m_results = std::move(results);
    m_choice->clear();
    m_specs.clear();
    if (m_results) m_specs = m_results->figures();
    for (const FigureSpec& spec : m_specs)
        m_choice->addItem(toQt(spec.title));
    m_choice->setVisible(!m_specs.empty());
    setTitle(from);
    if (m_specs.empty()) {
        showEmpty(
            tr("Figures of a run"),
            tr("Open a results file (.h5): every figure comes back here with its numbers, no model needed. "
               "Analyses that are run in this window show here, too."));
        return;
    }
    showFigure(0);
}

QStringList FiguresPanel::figureTitles() const
{
    QStringList out;
    for (const FigureSpec& spec : m_specs)
        out << toQt(spec.title);
    return out;
}

void FiguresPanel::showFigure(int index)
{
    if (index < 0 || static_cast<std::size_t>(index) >= m_specs.size()) return;
    m_choice->setCurrentIndex(index);
    const auto ticket = m_ticket.next();
    setStale(true);
    inBackground(
        this,
        [results = m_results, spec = m_specs[static_cast<std::size_t>(index)]] {
            return pictureOf(spec, *results);
        },
        [this, ticket](Result<Picture> picture) {
            if (!m_ticket.current(ticket)) return;
            if (!picture) {
                Q_EMIT failed(toQt(picture.error().line()));
                return;
            }
            setPicture(std::make_shared<const Picture>(std::move(*picture)));
        });
}

void FiguresPanel::pointPicked(PlotPoint point)
{
    // A point that bears the name of a weight of the open model selects it.
    const Series& s = picture()->series[static_cast<std::size_t>(point.series)];
    const auto i = static_cast<std::size_t>(point.index);
    if (i >= s.text.size()) return;
    const int weight = m_workspace.weightNamed(s.names[s.text[i]]);
    if (weight >= 0) Q_EMIT picked({weight, -1, -1});
}

} // namespace halftone
