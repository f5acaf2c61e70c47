// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/window/tensor_panel.h"

#include "app/host/strings.h"
#include "app/ui/chart_view.h"
#include "app/ui/theme.h"
#include "app/window/workspace.h"
#include "core/base/text.h"

#include <QComboBox>
#include <QVBoxLayout>

#include <algorithm>
#include <cmath>

namespace halftone {

using namespace Qt::Literals::StringLiterals;

namespace {

/// Four million values are read and sorted in well under a second, and show every feature.
constexpr std::int64_t kMostValues = std::int64_t{1} << 22;

std::shared_ptr<const Picture> histogram(const TensorLook& look, const BlockFormat* format,
                                         const std::string& name)
{
    auto picture = std::make_shared<Picture>();
    picture->spec.id = "histogram";
    picture->spec.title = "Values of " + name;
    picture->spec.kind = "histogram";
    picture->spec.x = format != nullptr ? Axis{"Place on the code grid of " + format->name(), "code", false}
                                        : Axis{"Value", "", false};
    picture->spec.y = {"Values", "", true};
    Series bars;
    bars.label = "values";
    bars.mark = Trace::Mark::Bars;
    for (std::size_t i = 0; i < look.counts.size(); ++i) {
        if (look.counts[i] <= 0) continue; // an empty bin has no bar on a log axis
        bars.x.push_back(look.binCentres[i]);
        bars.y.push_back(look.counts[i]);
    }
    picture->series.push_back(std::move(bars));
    return picture;
}

std::shared_ptr<const Picture> rowPicture(const TensorLook& look)
{
    auto picture = std::make_shared<Picture>();
    picture->spec.id = "row_profile";
    picture->spec.title = "Rows";
    picture->spec.kind = "curve";
    picture->spec.x = {"Row", "", false};
    picture->spec.y = {"Magnitude", "", true};
    Series most;
    most.label = "largest |value|";
    most.x = look.rowIndex;
    most.y = look.rowMax;
    Series rms;
    rms.label = "rms";
    rms.x = look.rowIndex;
    rms.y = look.rowRms;
    picture->series = {std::move(most), std::move(rms)};
    return picture;
}

} // namespace

TensorPanel::TensorPanel(Workspace& workspace, QWidget* parent)
    : View(tr("Values"), parent), m_workspace(workspace), m_format(new QComboBox(this)),
      m_rows(new ChartView(this))
{
    m_format->addItem(tr("plain values"), QString());
    for (const BlockFormat* format : listedFormats())
        m_format->addItem(toQt(format->name()), toQt(format->name()));
    m_format->setCurrentIndex(std::max(0, m_format->findData(u"q4_0"_s)));
    m_format->setAccessibleName(tr("Code grid"));
    m_format->setToolTip(tr("The format whose code grid the values are held against"));
    addHeaderWidget(m_format);
    m_rows->setAccessibleName(tr("Magnitude by row"));
    figureLayout()->addWidget(m_rows, 2);
    connect(m_rows, &Plot::hovered, this, &View::hovered);
    connect(m_rows, &Plot::picked, this, [this](PlotPoint point) {
        const Series& s = m_rows->picture()->series[static_cast<std::size_t>(point.series)];
        Q_EMIT picked({m_weight, static_cast<qint64>(s.x[static_cast<std::size_t>(point.index)]), -1});
    });
    connect(m_format, &QComboBox::currentIndexChanged, this, &TensorPanel::load);
    connect(&workspace, &Workspace::modelChanged, this, [this] {
        m_weight = -1;
        load();
    });
    load();
}

QString TensorPanel::format() const { return m_format->currentData().toString(); }

void TensorPanel::highlight(const Place& place)
{
    if (place.weight != m_weight) {
        m_weight = place.weight;
        load();
    }
    if (m_rows->picture() && place.row >= 0) {
        const auto& rows = m_rows->picture()->series.front().x;
        const auto at = std::lower_bound(rows.begin(), rows.end(), static_cast<double>(place.row));
        if (at != rows.end()) m_rows->setHighlight(PlotPoint{0, static_cast<int>(at - rows.begin())});
    } else {
        m_rows->setHighlight(std::nullopt);
    }
}

void TensorPanel::load()
{
    // What is on its way belongs to what was asked before.
    const auto ticket = m_ticket.next();
    const auto& model = m_workspace.model();
    m_format->setVisible(model && m_weight >= 0);
    if (!model || m_weight < 0) {
        m_rows->setPicture(nullptr);
        showEmpty(tr("No weight is selected"), tr("Choose one in the tree or in any figure. Its values "
                                                  "appear here against the codes of a number "
                                                  "format, with a profile of its rows."));
        return;
    }
    const BlockFormat* format = nullptr;
    if (const auto found = formatNamed(toStd(this->format())); found && !this->format().isEmpty())
        format = *found;
    setStale(true);
    m_rows->setStale(true);
    inBackground(
        this,
        [model, weight = static_cast<std::size_t>(m_weight), format]() -> Result<TensorLook> {
            const WeightInfo& info = model->weights()->all()[weight];
            if (!info.whyOpaque.empty())
                return Error(Errc::Unsupported, info.whyOpaque).in("tensor " + info.name);
            return lookAt(*model->weights(), info, format, kMostValues);
        },
        [this, ticket, format](Result<TensorLook> look) {
            if (!m_ticket.current(ticket)) return;
            if (!look) {
                m_rows->setPicture(nullptr);
                showEmpty(
                    tr("The values can't be shown"),
                    tr("%1. Choose plain values or another format above.").arg(toQt(look.error().line())));
                return;
            }
            show(*look, format);
        });
}

void TensorPanel::show(const TensorLook& look, const BlockFormat* format)
{
    const auto weight = static_cast<std::size_t>(m_weight);
    const std::string& name = m_workspace.model()->weights()->all()[weight].name;
    m_ruler = look.codes.size() <= 64 ? look.codes : std::vector<double>{};
    setTitle(tr("Values of %1").arg(toQt(name)));
    m_rows->setPicture(rowPicture(look));
    setPicture(histogram(look, format, name));
    QString text =
        tr("%1 values from %2 to %3, rms %4; the largest is %5 times the rms.")
            .arg(toQt(humanCount(static_cast<std::uint64_t>(look.values))), toQt(shortNumber(look.low)),
                 toQt(shortNumber(look.high)), toQt(shortNumber(look.rms)), toQt(shortNumber(look.crest)));
    if (look.sampled < look.values) text += tr(" From %1 rows spread evenly.").arg(look.rowIndex.size());
    if (format != nullptr)
        text += tr(" The codes of %1 carry %2 of %3 bits; %4 % of the values round to 0.")
                    .arg(toQt(format->name()))
                    .arg(look.entropy, 0, 'f', 2)
                    .arg(look.codeBits, 0, 'f', 0)
                    .arg(100 * look.zeroShare, 0, 'f', 1);
    setReading(text);
    setAccessibleDescription(text);
}

void TensorPanel::plotReady(Plot& plot)
{
    figureLayout()->setStretchFactor(&plot, 3);
    if (auto* chart = qobject_cast<ChartView*>(&plot)) chart->setRuler(m_ruler);
}

} // namespace halftone
