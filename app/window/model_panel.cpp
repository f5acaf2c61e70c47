// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/window/model_panel.h"

#include "app/host/strings.h"
#include "app/models/background.h"
#include "app/ui/theme.h"
#include "app/ui/treemap_view.h"
#include "app/ui/view.h"
#include "app/window/workspace.h"

#include <QFileInfo>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QSplitter>
#include <QTreeView>
#include <QVBoxLayout>

#include <chrono>

namespace halftone {

using namespace Qt::Literals::StringLiterals;

ModelPanel::ModelPanel(Workspace& workspace, QWidget* parent)
    : QWidget(parent), m_workspace(workspace), m_model(new TensorTreeModel(this)),
      m_summary(new QLabel(this)), m_filter(new QLineEdit(this)), m_filterProblem(new QLabel(this)),
      m_view(new QTreeView(this)), m_treemap(new TreemapView(this))
{
    setProperty("role", u"page"_s);
    setAttribute(Qt::WA_StyledBackground);
    m_summary->setWordWrap(true);
    m_summary->setProperty("tone", u"dim"_s);
    m_filter->setPlaceholderText(tr("Filter: text, layer in 3..7, snr < 20, type = BF16"));
    m_filter->setAccessibleName(tr("Filter of the weights"));
    m_filter->setClearButtonEnabled(true);
    m_filter->setToolTip(
        tr("Plain text, or comparisons joined by \"and\" over name, id, type, role, class, layer, "
           "elements, bytes, bits, snr, mse"));
    m_filterProblem->setProperty("tone", u"error"_s);
    m_filterProblem->setWordWrap(true);
    m_filterProblem->hide();
    m_view->setModel(m_model);
    m_view->setAccessibleName(tr("Weights of the model"));
    m_view->setUniformRowHeights(true);
    m_view->setAlternatingRowColors(false);
    m_view->setSelectionMode(QAbstractItemView::ExtendedSelection);
    m_view->setEditTriggers(QAbstractItemView::NoEditTriggers);
    m_view->setIconSize({9, 9});
    m_view->setIndentation(14);
    m_view->setSortingEnabled(true);
    m_view->header()->setSortIndicator(-1, Qt::AscendingOrder);
    m_view->header()->setSectionsMovable(true);
    m_view->header()->setStretchLastSection(false);
    m_view->header()->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
    m_treemap->setAccessibleName(tr("Bytes of the weights as areas"));
    m_treemap->setMinimumHeight(100);
    setMinimumWidth(240);

    auto* top = new QWidget(this);
    auto* column = new QVBoxLayout(top);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(Theme::kStep / 2);
    auto* head = new QVBoxLayout;
    head->setContentsMargins(12, Theme::kStep, 12, 4);
    head->setSpacing(Theme::kStep);
    head->addWidget(m_summary);
    head->addWidget(m_filter);
    head->addWidget(m_filterProblem);
    column->addLayout(head);
    column->addWidget(m_view, 1);
    auto* map = new QWidget(this);
    auto* mapLayout = new QVBoxLayout(map);
    mapLayout->setContentsMargins(12, Theme::kStep, 12, 4);
    mapLayout->addWidget(m_treemap);
    auto* splitter = new QSplitter(Qt::Vertical, this);
    splitter->setHandleWidth(1);
    splitter->setChildrenCollapsible(true);
    splitter->addWidget(top);
    splitter->addWidget(map);
    splitter->setStretchFactor(0, 5);
    splitter->setStretchFactor(1, 2);
    splitter->setSizes({500, 210});
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->addWidget(splitter);

    m_filterTimer.setSingleShot(true);
    m_filterTimer.setInterval(std::chrono::milliseconds(120));
    connect(m_filter, &QLineEdit::textChanged, this, [this] { m_filterTimer.start(); });
    connect(&m_filterTimer, &QTimer::timeout, this, &ModelPanel::applyFilter);
    connect(m_view->selectionModel(), &QItemSelectionModel::currentRowChanged, this,
            [this](const QModelIndex& index) {
                const int weight = m_model->weightAt(index);
                if (!m_following && weight >= 0 && weight != m_workspace.selection().place().weight)
                    m_workspace.selection().select({weight, -1, -1});
            });
    connect(m_treemap, &Plot::picked, this, [this](PlotPoint point) {
        const Series& s = m_treemap->picture()->series[static_cast<std::size_t>(point.series)];
        const auto i = static_cast<std::size_t>(point.index);
        const int weight = i < s.text.size() ? m_workspace.weightNamed(s.names[s.text[i]]) : -1;
        if (weight >= 0) m_workspace.selection().select({weight, -1, -1});
    });
    connect(&workspace, &Workspace::modelChanged, this, &ModelPanel::refresh);
    connect(&workspace, &Workspace::resultsChanged, this, [this](Workspace::Kind kind) {
        if (kind == Workspace::Kind::Overview) showTreemap();
    });
    connect(&workspace.selection(), &Selection::changed, this, &ModelPanel::showPlace);
    refresh();
}

void ModelPanel::showEvent(QShowEvent* event)
{
    QWidget::showEvent(event);
    refresh();
}

void ModelPanel::refresh()
{
    const auto& model = m_workspace.model();
    if (model != m_model->model() || !model) {
        m_model->setModel(model);
        m_workspace.selection().setOrder(m_model->shown());
        m_treemap->setPicture(nullptr);
    }
    m_summary->setText(model ? u"<b>"_s + QFileInfo(m_workspace.modelPath()).fileName().toHtmlEscaped() +
                                   u"</b><br>"_s + toQt(model->summary()).toHtmlEscaped()
                             : tr("Nothing is open."));
    m_filter->setVisible(model != nullptr);
    QHeaderView* header = m_view->header();
    const QFontMetrics metrics(m_view->font());
    const auto width = [&](TensorTreeModel::ColumnId column, const char* sample) {
        header->resizeSection(column, metrics.horizontalAdvance(QLatin1StringView(sample)) + 22);
    };
    width(TensorTreeModel::Name, "     ffn.gate_up.m");
    width(TensorTreeModel::ShapeText, "32000 x 4096");
    width(TensorTreeModel::Type, "BF16.i");
    width(TensorTreeModel::Elements, "Elements");
    width(TensorTreeModel::Bytes, "888.8 MB");
    width(TensorTreeModel::Bits, "16.00");
    width(TensorTreeModel::Sqnr, "SQNR dB");
    width(TensorTreeModel::Mse, "8.88e-08");
    // The narrow dock shows what sizes are about; the rest is one scroll away.
    header->moveSection(header->visualIndex(TensorTreeModel::Type), 1);
    header->moveSection(header->visualIndex(TensorTreeModel::Bytes), 2);
    header->moveSection(header->visualIndex(TensorTreeModel::Sqnr), 3);
    if (model && m_model->rowCount() > 0 && m_model->rowCount(m_model->index(0, 0)) < 1000) {
        m_view->expand(m_model->index(0, 0));
        if (m_model->rowCount() > 1) m_view->expand(m_model->index(1, 0));
    }
}

void ModelPanel::focusFilter()
{
    m_filter->setFocus();
    m_filter->selectAll();
}

void ModelPanel::setFilter(const QString& text)
{
    m_filter->setText(text);
    applyFilter();
}

QString ModelPanel::filterText() const { return m_filter->text(); }

void ModelPanel::applyFilter()
{
    m_filterTimer.stop();
    const Status done = m_model->setFilter(toStd(m_filter->text()));
    m_filterProblem->setVisible(!done);
    if (!done) {
        m_filterProblem->setText(toQt(done.error().what()));
        return;
    }
    const std::vector<std::uint32_t> shown = m_model->shown();
    m_workspace.selection().setOrder(shown);
    // What matches is visible at once, unless it is more than anybody reads.
    if (m_model->filtered() && shown.size() < 2000) m_view->expandAll();
    showPlace();
}

QString ModelPanel::selectedNames() const
{
    QStringList out;
    const auto& model = m_model->model();
    if (!model) return {};
    for (const QModelIndex& index : m_view->selectionModel()->selectedRows()) {
        const int weight = m_model->weightAt(index);
        if (weight >= 0) out << toQt(model->weights()->all()[static_cast<std::size_t>(weight)].name);
    }
    return out.join(u'\n');
}

void ModelPanel::showPlace()
{
    const int weight = m_workspace.selection().place().weight;
    m_following = true;
    const QModelIndex index = m_model->indexOf(weight);
    if (index.isValid() && m_view->currentIndex().siblingAtColumn(0) != index) {
        m_view->setCurrentIndex(index);
        m_view->scrollTo(index);
    }
    m_following = false;
    if (!m_treemap->picture() || weight < 0) {
        m_treemap->setHighlight(std::nullopt);
        return;
    }
    const Series& s = m_treemap->picture()->series.front();
    const std::string& name = m_workspace.model()->weights()->all()[static_cast<std::size_t>(weight)].name;
    for (std::size_t i = 0; i < s.text.size(); ++i)
        if (s.names[s.text[i]] == name) {
            m_treemap->setHighlight(PlotPoint{0, static_cast<int>(i)});
            return;
        }
}

void ModelPanel::showTreemap()
{
    const auto results = m_workspace.results(Workspace::Kind::Overview);
    if (!results) return;
    inBackground(
        this,
        [results]() -> Result<Picture> {
            for (const FigureSpec& spec : results->figures())
                if (spec.kind == "treemap") return pictureOf(spec, *results);
            return Error(Errc::NotFound, "the results hold no treemap");
        },
        [this, results](Result<Picture> picture) {
            if (!picture || results != m_workspace.results(Workspace::Kind::Overview)) return;
            m_treemap->setPicture(std::make_shared<const Picture>(std::move(*picture)));
            showPlace();
        });
}

} // namespace halftone
