// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/window/figures_panel.h"

#include "app/host/strings.h"
#include "app/window/workspace.h"

#include <QComboBox>

namespace halftone {

FiguresPanel::FiguresPanel(Workspace& workspace, QWidget* parent)
    : View(tr("Results"), parent), m_workspace(workspace), m_choice(new QComboBox(this))
{
    m_choice->setAccessibleName(tr("Figure"));
    m_choice->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    m_choice->setMinimumContentsLength(24);
    addHeaderWidget(m_choice);
    connect(m_choice, &QComboBox::activated, this, &FiguresPanel::showFigure);
    connect(&workspace, &Workspace::modelChanged, this, &FiguresPanel::refresh);
    connect(&workspace, &Workspace::resultsChanged, this, &FiguresPanel::refresh);
    refresh();
}

void FiguresPanel::refresh()
{
    m_ticket.next(); // what is on its way belongs to older results
    using Kind = Workspace::Kind;
    // A figure that is looked at stays: it is found again by its id.
    const std::string shown = picture() ? picture()->spec.id : std::string();
    m_entries.clear();
    m_choice->clear();
    int current = 0;
    for (const Kind kind : {Kind::File, Kind::Analysis, Kind::Overview, Kind::Sweep, Kind::BlockError,
                            Kind::Quantize, Kind::Verify}) {
        const auto results = m_workspace.results(kind);
        if (!results || (kind != Kind::File && results == m_workspace.results(Kind::File))) continue;
        for (FigureSpec& spec : results->figures()) {
            if (spec.id == shown) current = static_cast<int>(m_entries.size());
            m_choice->addItem(toQt(spec.title));
            m_entries.push_back({results, std::move(spec)});
        }
    }
    m_choice->setVisible(!m_entries.empty());
    if (m_entries.empty()) {
        setTitle(tr("Results"));
        showEmpty(
            tr("Figures of a run"),
            tr("Open a results file (.h5): every figure comes back here with its numbers, no model needed. "
               "Figures of the runs in this window show here, too."));
        return;
    }
    showFigure(current);
}

QStringList FiguresPanel::figureTitles() const
{
    QStringList out;
    for (const Entry& entry : m_entries)
        out << toQt(entry.spec.title);
    return out;
}

void FiguresPanel::showFigure(int index)
{
    if (index < 0 || static_cast<std::size_t>(index) >= m_entries.size()) return;
    m_choice->setCurrentIndex(index);
    const auto ticket = m_ticket.next();
    setStale(true);
    inBackground(
        this,
        [entry = m_entries[static_cast<std::size_t>(index)]] {
            return pictureOf(entry.spec, *entry.results);
        },
        [this, ticket](Result<Picture> picture) {
            if (!m_ticket.current(ticket)) return;
            if (!picture) {
                Q_EMIT failed(toQt(picture.error().line()));
                return;
            }
            setTitle(toQt(picture->spec.title));
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
