// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/window/method_panel.h"

#include "app/host/strings.h"
#include "app/ui/schema_form.h"
#include "app/window/choice_edit.h"
#include "app/window/output_choice.h"
#include "app/window/plan_box.h"
#include "app/window/point_texts.h"
#include "app/window/workspace.h"

#include <QComboBox>
#include <QDoubleSpinBox>
#include <QFileDialog>
#include <QLabel>
#include <QLineEdit>
#include <QPointer>
#include <QPushButton>
#include <QScopedValueRollback>
#include <QSignalBlocker>
#include <QUndoStack>

#include <algorithm>
#include <chrono>

namespace halftone {

using namespace Qt::Literals::StringLiterals;

namespace {

QString textOf(const ParamTexts& texts, std::string_view key)
{
    for (const auto& [name, text] : texts)
        if (name == key) return toQt(text);
    return {};
}

/// The one key whose text differs; empty when it is none or several.
std::string changedKey(const ParamTexts& before, const ParamTexts& after)
{
    std::string key;
    for (const auto& [name, text] : after) {
        if (textOf(before, name) == toQt(text)) continue;
        if (!key.empty()) return {};
        key = name;
    }
    return key;
}

} // namespace

MethodPanel::MethodPanel(Workspace& workspace, QUndoStack& undo, QWidget* parent)
    : QWidget(parent), m_workspace(workspace), m_undo(undo), m_methods(new QComboBox(this)),
      m_summary(new QLabel(this)), m_form(new SchemaForm(this)), m_outputRow(new QWidget(this)),
      m_output(new QLineEdit(m_outputRow)), m_planBox(new PlanBox(this)),
      m_run(new QPushButton(tr("Run"), this)), m_sweep(new QPushButton(tr("Measure all"), this)),
      m_budget(new QComboBox(this)), m_budgetSize(new QDoubleSpinBox(this))
{
    build();
    m_planTimer.setSingleShot(true);
    m_planTimer.setInterval(std::chrono::milliseconds(150));
    connect(&m_planTimer, &QTimer::timeout, this, &MethodPanel::makePlan);
    connect(m_methods, &QComboBox::currentIndexChanged, this, [this] {
        refreshMethod();
        changed();
    });
    connect(m_form, &SchemaForm::edited, this, [this] {
        suggestOutput();
        changed();
    });
    connect(m_output, &QLineEdit::textEdited, this, [this] {
        m_outputTyped = true;
        changed();
    });
    connect(m_run, &QPushButton::clicked, this, &MethodPanel::run);
    connect(m_sweep, &QPushButton::clicked, this, &MethodPanel::sweepAsked);
    connect(m_budget, &QComboBox::activated, this, &MethodPanel::chooseBudget);
    connect(m_budgetSize, &QDoubleSpinBox::valueChanged, this, [this](double megabytes) {
        m_budget->setCurrentIndex(megabytes > 0 ? m_budget->count() - 1 : 0);
        Q_EMIT budgetChosen(megabytes > 0 ? std::optional(megabytes * 1e6) : std::nullopt);
    });
    connect(&m_workspace, &Workspace::modelChanged, this, &MethodPanel::refreshModel);
    // A quantizer first: that is what most people come for.
    const auto& all = m_workspace.methods().all();
    const auto first = std::find_if(all.begin(), all.end(), [](const auto& method) {
        return method->info().family == MethodFamily::Quantize;
    });
    if (first != all.end()) {
        const QSignalBlocker quiet(m_methods);
        m_methods->setCurrentIndex(static_cast<int>(first - all.begin()));
    }
    refreshMethod();
    refreshModel();
}

std::shared_ptr<const Method> MethodPanel::method() const
{
    const int i = m_methods->currentIndex();
    if (i < 0) return nullptr;
    return m_workspace.methods().all()[static_cast<std::size_t>(i)];
}

std::shared_ptr<const QuantizeMethod> MethodPanel::quantizer() const
{
    return std::dynamic_pointer_cast<const QuantizeMethod>(method());
}

void MethodPanel::setMethod(const QString& id)
{
    const int i = m_methods->findData(id);
    if (i >= 0) m_methods->setCurrentIndex(i);
}

FormState MethodPanel::state() const
{
    return {m_methods->currentData().toString(), m_form->texts(),
            m_outputTyped ? m_output->text() : QString()};
}

void MethodPanel::setState(const FormState& state)
{
    {
        const QScopedValueRollback together(m_applying, true);
        setMethod(state.method);
        m_form->setTexts(state.texts);
        m_outputTyped = !state.output.isEmpty();
        if (m_outputTyped) m_output->setText(state.output);
        suggestOutput();
    }
    m_last = this->state();
    m_planBox->setStale(true);
    m_planTimer.start();
    Q_EMIT stateChanged();
}

void MethodPanel::refreshMethod()
{
    const auto chosen = method();
    if (!chosen) {
        m_summary->setText(tr("No method plugin was found. Look at Help > Plugins for the reasons."));
        m_run->setEnabled(false);
        return;
    }
    const QScopedValueRollback together(m_applying, true);
    m_summary->setText(toQt(chosen->info().summary));
    const bool quantizer = chosen->info().family == MethodFamily::Quantize;
    // The method's own fields first: which weights and what else happens to them is below.
    m_form->setSchema(quantizer ? chosen->schema().joined(quantizeSchema()) : chosen->schema());
    m_form->setTexts(startTexts(m_form->schema(), m_workspace.model().get()));
    m_startFormat = textOf(m_form->texts(), "format");
    m_outputRow->setVisible(quantizer);
    suggestOutput();
}

void MethodPanel::refreshModel()
{
    const bool open = m_workspace.model() != nullptr;
    m_run->setEnabled(open);
    m_sweep->setEnabled(open);
    m_budget->setEnabled(open);
    m_budgetSize->setEnabled(open);
    m_plan.reset();
    {
        // A format that nobody chose fits the new model; one that was chosen stays.
        const QScopedValueRollback together(m_applying, true);
        m_outputTyped = false;
        const ParamSpec* format = m_form->schema().find("format");
        if (format != nullptr && textOf(m_form->texts(), "format") == m_startFormat) {
            ParamTexts texts = startTexts(m_form->schema(), m_workspace.model().get());
            if (texts.empty()) texts = {{"format", toText(format->fallback)}};
            m_form->setTexts(texts);
            m_startFormat = textOf(m_form->texts(), "format");
        }
        suggestOutput();
    }
    setBudgetBytes(std::nullopt);
    m_last = state();
    m_planTimer.start();
}

void MethodPanel::suggestOutput()
{
    if (m_outputTyped) return;
    const auto chosen = quantizer();
    if (!chosen || !m_workspace.model())
        m_output->clear();
    else
        m_output->setText(
            suggestedOutput(m_workspace.modelPath(), *chosen, m_form->texts(), *m_workspace.model()));
}

void MethodPanel::changed()
{
    if (m_applying) return;
    FormState now = state();
    m_planBox->setStale(true);
    m_planTimer.start();
    if (now == m_last) return;
    QString text, key;
    if (now.method != m_last.method) {
        text = tr("change of the method");
    } else if (now.texts != m_last.texts) {
        const std::string field = changedKey(m_last.texts, now.texts);
        const ParamSpec* spec = m_form->schema().find(field);
        text = spec == nullptr ? tr("change of settings") : tr("change of %1").arg(toQt(spec->label));
        if (spec != nullptr) key = u"param:"_s + toQt(field);
    } else {
        text = tr("change of the file to write");
        key = u"output"_s;
    }
    const auto apply = [self = QPointer<MethodPanel>(this)](const FormState& state) {
        if (!self.isNull()) self->setState(state);
    };
    m_undo.push(new ChoiceEdit(
        text, key, [apply, before = m_last] { apply(before); }, [apply, now] { apply(now); }));
    m_last = std::move(now);
    Q_EMIT stateChanged();
}

QString MethodPanel::output() const { return m_output->text(); }

void MethodPanel::setOutput(const QString& path)
{
    m_output->setText(path);
    m_outputTyped = true;
    changed();
}

void MethodPanel::chooseOutput()
{
    const QString file =
        QFileDialog::getSaveFileName(this, tr("Write the quantized model to"), m_output->text(),
                                     tr("GGUF (*.gguf);;safetensors (*.safetensors);;All files (*)"), nullptr,
                                     QFileDialog::DontConfirmOverwrite);
    if (!file.isEmpty()) setOutput(file);
}

void MethodPanel::run()
{
    const auto chosen = method();
    if (!chosen || !m_workspace.model()) return;
    if (chosen->info().family != MethodFamily::Quantize) {
        auto params = m_form->values();
        if (!params) {
            setProblem(toQt(params.error().line()));
            return;
        }
        std::vector<std::uint32_t> weights;
        if (m_workspace.selection().place().weight >= 0)
            weights = {static_cast<std::uint32_t>(m_workspace.selection().place().weight)};
        m_workspace.runAnalysis(chosen, *params, std::move(weights));
        return;
    }
    if (m_output->text().isEmpty()) chooseOutput();
    if (m_output->text().isEmpty()) return;
    auto asked = request();
    if (!asked) {
        setProblem(toQt(asked.error().line()));
        return;
    }
    m_workspace.runQuantize(std::move(*asked));
}

void MethodPanel::usePoint()
{
    const auto& points = m_workspace.sweepPoints();
    const auto& mix = m_workspace.mix();
    QString id;
    ParamTexts texts;
    if (mix && !points.empty()) {
        const auto mixed = mixTexts(*mix, points, *m_workspace.model());
        if (!mixed) {
            m_workspace.say(Workspace::Tone::Error, toQt(mixed.error().line()));
            return;
        }
        id = toQt(mixed->first);
        texts = mixed->second;
    } else {
        const int point = m_workspace.point();
        if (point < 0 || static_cast<std::size_t>(point) >= points.size()) {
            m_workspace.say(Workspace::Tone::Info, tr("Choose a point of the Pareto figure first."));
            return;
        }
        const SweepPoint& chosen = points[static_cast<std::size_t>(point)];
        id = toQt(chosen.method->info().id);
        texts = textsOf(chosen.params);
    }
    {
        const QScopedValueRollback together(m_applying, true);
        setMethod(id);
        m_form->setTexts(texts);
    }
    suggestOutput();
    changed();
}

bool MethodPanel::keepAtEightBits(int weight)
{
    if (!m_workspace.model() || weight < 0) return false;
    const ParamSpec* format = m_form->schema().find("format");
    const ParamSpec* bits = m_form->schema().find("bits");
    if (m_form->schema().find("overrides") == nullptr || format == nullptr) return false;
    const ParamTexts now = m_form->texts();
    const bool grid = bits != nullptr && textOf(now, "format") == u"int"_s;
    const QString rule = toQt(m_workspace.model()->weights()->all()[static_cast<std::size_t>(weight)].name) +
                         (grid ? u":bits=8"_s : u":format=q8_0"_s);
    QStringList rules = textOf(now, "overrides").split(u"; "_s, Qt::SkipEmptyParts);
    if (rules.contains(rule)) return true;
    rules << rule; // the last that matches wins
    m_form->setTexts({{"overrides", toStd(rules.join(u"; "_s))}});
    return true;
}

void MethodPanel::setBudgetBytes(std::optional<double> bytes)
{
    const QSignalBlocker quiet(m_budgetSize);
    m_budgetSize->setValue(bytes.value_or(0) / 1e6);
    m_budget->setCurrentIndex(bytes ? m_budget->count() - 1 : 0);
}

void MethodPanel::chooseBudget(int index)
{
    const auto& model = m_workspace.model();
    if (!model || index == m_budget->count() - 1) return;
    double now = 0;
    for (const WeightInfo& w : model->weights()->all())
        now += static_cast<double>(w.bytes);
    const auto weights = static_cast<double>(model->weightCount());
    const ModelConfig& c = model->config();
    // Keys and values of 8192 tokens at 16 bits, and a gigabyte for activations and the driver.
    const double cache =
        2.0 * 2.0 * 8192.0 * static_cast<double>(c.layers * std::max<std::int64_t>(1, c.kvHeads) * c.headDim);
    const auto card = [&](double gigabytes) { return std::max(0.0, gigabytes * 1e9 - cache - 1e9); };
    const double bytes[] = {0,       now / 2,  now / 4, weights * 3 / 8, weights * 4 / 8,
                            card(8), card(16), card(24)};
    const double chosen = bytes[index];
    {
        const QSignalBlocker quiet(m_budgetSize);
        m_budgetSize->setValue(chosen / 1e6);
    }
    Q_EMIT budgetChosen(chosen > 0 ? std::optional(chosen) : std::nullopt);
}

} // namespace halftone
