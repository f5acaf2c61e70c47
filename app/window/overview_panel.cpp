// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/window/overview_panel.h"

#include "app/host/strings.h"
#include "app/ui/chart_view.h"
#include "app/ui/fitting_area.h"
#include "app/ui/theme.h"
#include "app/window/workspace.h"
#include "core/base/text.h"

#include <QAction>
#include <QFileInfo>
#include <QGridLayout>
#include <QLabel>
#include <QPushButton>
#include <QVBoxLayout>

#include <algorithm>
#include <array>
#include <map>

namespace halftone {

using namespace Qt::Literals::StringLiterals;

namespace {

constexpr int kMostFactColumns = 5;
constexpr int kNarrow = 520; ///< pixels

constexpr std::array kClasses{RoleClass::Attention, RoleClass::Ffn,  RoleClass::Expert,
                              RoleClass::Embedding, RoleClass::Norm, RoleClass::Other};

/// Bytes by layer, one series a class; what stands before the layers is at -1, what comes after at n.
Picture sizePicture(const Model& model)
{
    const auto all = model.weights()->all();
    int last = -1;
    for (const WeightRole& role : model.roles())
        last = std::max(last, role.layer);
    std::map<std::pair<int, int>, double> sums; // class, position
    for (const WeightRole& role : model.roles()) {
        int at = role.layer;
        if (at < 0) at = role.role == Role::Head || role.roleClass == RoleClass::Norm ? last + 1 : -1;
        sums[{static_cast<int>(role.roleClass), at}] += static_cast<double>(all[role.weight].bytes);
    }
    Picture picture;
    picture.spec.id = "size_by_layer";
    picture.spec.title = "Size by layer";
    picture.spec.kind = "stacked";
    picture.spec.x = {"Layer", "", false};
    picture.spec.y = {"Size", "B", false};
    for (const RoleClass c : kClasses) {
        Series series;
        series.label = nameOf(c);
        series.mark = Trace::Mark::Bars;
        for (const auto& [key, bytes] : sums) {
            if (key.first != static_cast<int>(c)) continue;
            series.x.push_back(key.second);
            series.y.push_back(bytes);
            const std::string where = key.second < 0      ? "before the layers"
                                      : key.second > last ? "after the layers"
                                                          : "layer " + std::to_string(key.second);
            series.text.push_back(static_cast<std::uint32_t>(series.names.size()));
            series.names.push_back(series.label + ", " + where);
        }
        if (!series.x.empty()) picture.series.push_back(std::move(series));
    }
    return picture;
}

} // namespace

OverviewPanel::OverviewPanel(Workspace& workspace, QAction* openAction, const QList<QAction*>& next,
                             QWidget* parent)
    : View(tr("Overview"), parent), m_workspace(workspace), m_openAction(openAction),
      m_facts(new QWidget(this)), m_factGrid(new QGridLayout(m_facts)), m_below(new QWidget(this))
{
    m_factGrid->setContentsMargins(0, Theme::kStep, 0, Theme::kStep);
    m_factGrid->setHorizontalSpacing(4 * Theme::kStep);
    m_factGrid->setVerticalSpacing(2);
    m_facts->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred); // never makes the window wider
    figureLayout()->insertWidget(0, m_facts);
    auto* below = new QVBoxLayout(m_below);
    below->setContentsMargins(0, Theme::kStep, 0, 0);
    auto* heading = new QLabel(tr("Worth knowing"), m_below);
    heading->setProperty("tone", u"section"_s);
    below->addWidget(heading);
    auto* notes = new QWidget(m_below);
    notes->setProperty("role", u"page"_s);
    m_noteList = new QVBoxLayout(notes);
    m_noteList->setContentsMargins(0, 0, 0, 0);
    m_noteList->setSpacing(4);
    below->addWidget(new FittingArea(notes, 2 * fontMetrics().height() + 4, m_below));
    auto* buttons = new QHBoxLayout;
    buttons->setContentsMargins(0, Theme::kStep, 0, 0);
    bool first = true;
    for (QAction* action : next) {
        auto* button = new QPushButton(action->text().remove(u'&').remove(u"…"_s), m_below);
        button->setProperty("primary", first);
        button->setAccessibleName(button->text());
        first = false;
        connect(button, &QPushButton::clicked, action, &QAction::trigger);
        buttons->addWidget(button);
    }
    buttons->addStretch(1);
    below->addLayout(buttons);
    figureLayout()->addWidget(m_below);
    connect(&workspace, &Workspace::modelChanged, this, &OverviewPanel::refresh);
    refresh();
}

void OverviewPanel::refresh()
{
    if (!m_workspace.model()) {
        showEmpty(tr("Drop a checkpoint here"),
                  tr("A .safetensors or .gguf file, a model folder, or results (.h5) of an earlier run. Only "
                     "headers "
                     "are read; nothing leaves this machine."),
                  m_openAction);
        return;
    }
    showFacts();
    findNotes();
    showSizes();
}

void OverviewPanel::showFacts()
{
    while (QLayoutItem* item = m_factGrid->takeAt(0)) {
        delete item->widget();
        delete item;
    }
    const Model& model = *m_workspace.model();
    const ModelConfig& c = model.config();
    double bytes = 0;
    for (const WeightInfo& w : model.weights()->all())
        bytes += static_cast<double>(w.bytes);
    const auto weights = static_cast<double>(model.weightCount());
    QList<std::pair<QString, QString>> facts{
        {toQt(humanCount(static_cast<std::uint64_t>(weights))), tr("weights")},
        {toQt(humanBytes(static_cast<std::uint64_t>(bytes))), tr("in the file")},
        {weights > 0 ? QString::number(8 * bytes / weights, 'f', 2) : u"–"_s, tr("bits per weight")}};
    const auto add = [&](std::int64_t value, const QString& what) {
        if (value > 0) facts.push_back({QString::number(value), what});
    };
    add(c.layers, tr("layers"));
    add(c.hidden, tr("hidden"));
    if (c.heads > 0)
        facts.push_back({c.kvHeads > 0 && c.kvHeads != c.heads ? tr("%1 / %2").arg(c.heads).arg(c.kvHeads)
                                                               : QString::number(c.heads),
                         c.kvHeads > 0 && c.kvHeads != c.heads ? tr("heads / key-value") : tr("heads")});
    add(c.ffn, tr("feed-forward"));
    add(c.vocab, tr("vocabulary"));
    add(c.context, tr("context"));
    add(c.experts, tr("experts"));
    m_factLabels.clear();
    m_factColumns = 0;
    for (const auto& [value, what] : facts) {
        auto* number = new QLabel(value, m_facts);
        scaleFont(*number, 1.5, true);
        auto* label = new QLabel(what, m_facts);
        label->setProperty("tone", u"dim"_s);
        number->setAccessibleName(what + u' ' + value);
        m_factLabels.emplace_back(number, label);
    }
    placeFacts();
    const QString architecture = toQt(c.architecture);
    setTitle(architecture.isEmpty()
                 ? QFileInfo(m_workspace.modelPath()).fileName()
                 : tr("%1, %2").arg(QFileInfo(m_workspace.modelPath()).fileName(), architecture));
}

void OverviewPanel::placeFacts()
{
    // Short lines rather than one that a narrow window cuts.
    int widest = 1;
    for (const auto& [number, label] : m_factLabels)
        widest = std::max({widest, number->sizeHint().width(), label->sizeHint().width()});
    const int gap = width() < kNarrow ? 2 * Theme::kStep : 4 * Theme::kStep;
    const int columns = std::clamp((width() - 4 * Theme::kStep + gap) / (widest + gap), 2, kMostFactColumns);
    if (columns == m_factColumns) return;
    m_factColumns = columns;
    m_factGrid->setHorizontalSpacing(gap);
    for (int column = 0; column <= kMostFactColumns; ++column)
        m_factGrid->setColumnStretch(column, column == columns ? 1 : 0);
    int place = 0;
    for (const auto& [number, label] : m_factLabels) {
        const int line = 2 * (place / columns), column = place % columns;
        m_factGrid->addWidget(number, line, column);
        m_factGrid->addWidget(label, line + 1, column);
        ++place;
    }
}

void OverviewPanel::resizeEvent(QResizeEvent* event)
{
    View::resizeEvent(event);
    placeFacts();
}

void OverviewPanel::findNotes()
{
    m_notes.clear();
    const Model& model = *m_workspace.model();
    const auto all = model.weights()->all();
    const auto roles = model.roles();
    // Types, by bytes.
    std::map<std::string, std::pair<std::int64_t, double>> types;
    double total = 0;
    std::size_t largest = 0;
    std::int64_t opaque = 0;
    std::int64_t unfit = 0;
    std::int64_t linear = 0;
    double linearBytes = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
        types[all[i].type].first += 1;
        types[all[i].type].second += static_cast<double>(all[i].bytes);
        total += static_cast<double>(all[i].bytes);
        if (all[i].bytes > all[largest].bytes) largest = i;
        if (!all[i].whyOpaque.empty()) ++opaque;
        if (roles[i].linear && !roles[i].bias) {
            ++linear;
            linearBytes += static_cast<double>(all[i].bytes);
            if (all[i].shape.cols() % 32 != 0) ++unfit;
        }
    }
    QStringList typeTexts;
    for (const auto& [name, sum] : types)
        typeTexts << tr("%1 in %2 (%3)")
                         .arg(sum.first)
                         .arg(toQt(name), toQt(humanBytes(static_cast<std::uint64_t>(sum.second))));
    m_notes << tr("Stored as: %1.").arg(typeTexts.mid(0, 6).join(u", "_s));
    if (linear > 0 && total > 0)
        m_notes << tr("%1 linear weights hold %2 % of the bytes: they are what quantizing makes smaller.")
                       .arg(linear)
                       .arg(100 * linearBytes / total, 0, 'f', 0);
    if (!all.empty() && total > 0)
        m_notes << tr("Largest: %1, %2, %3 % of the file.")
                       .arg(toQt(roles[largest].id), toQt(humanBytes(all[largest].bytes)))
                       .arg(100 * static_cast<double>(all[largest].bytes) / total, 0, 'f', 1);
    if (model.config().tiedHead)
        m_notes << tr("The output head is the embedding (tied): quantizing one changes both.");
    if (unfit > 0)
        m_notes
            << (unfit == 1
                    ? tr("One linear weight has rows that are no multiple of 32: block types can't take it.")
                    : tr("%1 linear weights have rows that are no multiple of 32: block types can't take "
                         "them.")
                          .arg(unfit));
    if (opaque > 0)
        m_notes << (opaque == 1 ? tr("One weight is in a type that can't be decoded here.")
                                : tr("%1 weights are in a type that can't be decoded here.").arg(opaque));
    for (const std::string& note : model.notes())
        m_notes << toQt(note);
    for (const CheckpointIssue& issue : model.weights()->checkpoint()->issues())
        m_notes << toQt(issue.text);
    while (QLayoutItem* item = m_noteList->takeAt(0)) {
        delete item->widget();
        delete item;
    }
    for (const QString& note : m_notes.mid(0, 8)) {
        auto* label = new QLabel(note, m_below);
        label->setWordWrap(true);
        label->setTextInteractionFlags(Qt::TextSelectableByMouse);
        m_noteList->addWidget(label);
    }
}

void OverviewPanel::showSizes()
{
    const Model& model = *m_workspace.model();
    auto picture = sizePicture(model);
    double total = 0;
    std::map<double, double> byPlace;
    for (const Series& s : picture.series)
        for (std::size_t i = 0; i < s.x.size(); ++i) {
            byPlace[s.x[i]] += s.y[i];
            total += s.y[i];
        }
    int last = -1;
    for (const WeightRole& role : model.roles())
        last = std::max(last, role.layer);
    double outside = 0;
    for (const auto& [at, bytes] : byPlace)
        if (at < 0 || at > last) outside += bytes;
    picture.spec.caption = model.summary() + ".";
    if (last >= 0 && total > 0)
        picture.spec.caption += toStd(tr(" The layers hold %1 % of the bytes, the rest %2 %.")
                                          .arg(100 * (total - outside) / total, 0, 'f', 0)
                                          .arg(100 * outside / total, 0, 'f', 0));
    setPicture(std::make_shared<const Picture>(std::move(picture)));
    // The facts stand above the figure, the notes below it.
    figureLayout()->removeWidget(m_facts);
    figureLayout()->insertWidget(0, m_facts);
    if (auto* chart = qobject_cast<ChartView*>(plot())) {
        std::vector<std::pair<double, QString>> labels;
        const int step = std::max(1, (last + 8) / 16);
        if (byPlace.contains(-1)) labels.emplace_back(-1, tr("input"));
        for (int layer = 0; layer <= last; layer += step)
            labels.emplace_back(layer, QString::number(layer));
        if (byPlace.contains(last + 1)) labels.emplace_back(last + 1, tr("output"));
        chart->setXLabels(std::move(labels));
    }
}

} // namespace halftone
