// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/window/method_panel.h"

#include "app/host/strings.h"
#include "app/ui/schema_form.h"
#include "app/ui/theme.h"
#include "app/window/form_edit.h"
#include "app/window/point_texts.h"
#include "app/window/workspace.h"
#include "core/base/text.h"
#include "core/session/job_file.h"

#include <QComboBox>
#include <QDoubleSpinBox>
#include <QFileDialog>
#include <QFileInfo>
#include <QFormLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPointer>
#include <QPushButton>
#include <QScrollArea>
#include <QSignalBlocker>
#include <QUndoStack>
#include <QVBoxLayout>

#include <algorithm>
#include <chrono>
#include <functional>

namespace halftone {

using namespace Qt::Literals::StringLiterals;

namespace {

QLabel* section(const QString& text, QWidget* parent)
{
    auto* label = new QLabel(text, parent);
    label->setProperty("tone", u"section"_s);
    return label;
}

QFrame* rule(QWidget* parent)
{
    auto* line = new QFrame(parent);
    line->setProperty("role", u"rule"_s);
    return line;
}

} // namespace

MethodPanel::MethodPanel(Workspace& workspace, QUndoStack& undo, QWidget* parent)
    : QWidget(parent), m_workspace(workspace), m_undo(undo), m_methods(new QComboBox(this)),
      m_summary(new QLabel(this)), m_form(new SchemaForm(this)), m_outputRow(new QWidget(this)),
      m_output(new QLineEdit(m_outputRow)), m_problem(new QLabel(this)), m_planBox(new QWidget(this)),
      m_planRows(new QFormLayout(m_planBox)), m_substitutions(new QLabel(this)),
      m_run(new QPushButton(tr("Run"), this)), m_sweep(new QPushButton(tr("Measure all settings"), this)),
      m_budget(new QComboBox(this)), m_budgetSize(new QDoubleSpinBox(this))
{
    setProperty("role", u"page"_s);
    setAttribute(Qt::WA_StyledBackground);
    for (const auto& method : workspace.methods().all())
        m_methods->addItem(toQt(method->info().title), toQt(method->info().id));
    m_methods->setAccessibleName(tr("Method"));
    m_summary->setWordWrap(true);
    m_summary->setProperty("tone", u"dim"_s);
    m_problem->setWordWrap(true);
    m_problem->setProperty("tone", u"error"_s);
    m_problem->setTextInteractionFlags(Qt::TextSelectableByMouse);
    m_substitutions->setWordWrap(true);
    m_substitutions->setProperty("tone", u"warning"_s);
    m_substitutions->setTextInteractionFlags(Qt::TextSelectableByMouse);
    m_run->setProperty("primary", true);
    m_run->setAccessibleName(tr("Run the method"));
    m_sweep->setToolTip(tr("Runs every setting of the quantizers for the Pareto figure"));
    m_sweep->setAccessibleName(m_sweep->text());
    m_output->setAccessibleName(tr("File to write"));
    m_output->setPlaceholderText(tr("file to write (.gguf, .safetensors) or folder"));
    auto* browse = new QPushButton(u"…"_s, m_outputRow);
    browse->setAccessibleName(tr("Choose the file to write"));
    browse->setFixedWidth(36);
    auto* outputLayout = new QHBoxLayout(m_outputRow);
    outputLayout->setContentsMargins(0, 0, 0, 0);
    outputLayout->addWidget(m_output, 1);
    outputLayout->addWidget(browse);
    m_planRows->setContentsMargins(0, 0, 0, 0);
    m_planRows->setVerticalSpacing(4);
    m_planRows->setHorizontalSpacing(2 * Theme::kStep);
    m_planRows->setLabelAlignment(Qt::AlignLeft);

    m_budget->addItems({tr("No budget"), tr("Half the size"), tr("A quarter of the size"),
                        tr("3 bits per weight"), tr("4 bits per weight"), tr("8 GB card, 8k context"),
                        tr("16 GB card, 8k context"), tr("24 GB card, 8k context"), tr("Own size")});
    m_budget->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    m_budget->setMinimumContentsLength(10);
    m_budget->setAccessibleName(tr("Budget"));
    m_budgetSize->setRange(0, 1e9);
    m_budgetSize->setDecimals(2);
    m_budgetSize->setSuffix(tr(" MB"));
    m_budgetSize->setAccessibleName(tr("Budget in megabytes"));

    auto* content = new QWidget(this);
    content->setProperty("role", u"page"_s);
    auto* column = new QVBoxLayout(content);
    column->setContentsMargins(12, Theme::kStep, 12, Theme::kStep);
    column->setSpacing(Theme::kStep);
    column->addWidget(m_methods);
    column->addWidget(m_summary);
    column->addWidget(m_form);
    column->addWidget(m_outputRow);
    column->addStretch(1);
    // The plan, the button and the budget stay in sight however long the form is.
    auto* below = new QWidget(this);
    auto* bottom = new QVBoxLayout(below);
    bottom->setContentsMargins(12, Theme::kStep, 12, Theme::kStep);
    bottom->setSpacing(Theme::kStep);
    bottom->addWidget(section(tr("PLAN"), below));
    bottom->addWidget(m_planBox);
    bottom->addWidget(m_substitutions);
    bottom->addWidget(m_problem);
    auto* buttons = new QHBoxLayout;
    buttons->setSpacing(Theme::kStep);
    buttons->addWidget(m_run, 1);
    buttons->addWidget(m_sweep, 1);
    bottom->addLayout(buttons);
    bottom->addWidget(rule(below));
    auto* budget = new QHBoxLayout;
    budget->setSpacing(Theme::kStep);
    budget->addWidget(m_budget, 3);
    budget->addWidget(m_budgetSize, 2);
    bottom->addWidget(section(tr("BUDGET"), below));
    bottom->addLayout(budget);
    auto* scroll = new QScrollArea(this);
    scroll->setWidget(content);
    scroll->setWidgetResizable(true);
    scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    scroll->setFocusPolicy(Qt::NoFocus);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    layout->addWidget(scroll, 1);
    layout->addWidget(rule(this));
    layout->addWidget(below);
    setMinimumWidth(296);

    m_planTimer.setSingleShot(true);
    m_planTimer.setInterval(std::chrono::milliseconds(150));
    connect(&m_planTimer, &QTimer::timeout, this, &MethodPanel::makePlan);
    connect(m_methods, &QComboBox::currentIndexChanged, this, &MethodPanel::refreshMethod);
    connect(m_form, &SchemaForm::edited, this, &MethodPanel::edited);
    connect(m_output, &QLineEdit::textEdited, this, [this] {
        m_outputTyped = true;
        m_planTimer.start();
    });
    connect(browse, &QPushButton::clicked, this, &MethodPanel::chooseOutput);
    connect(m_run, &QPushButton::clicked, this, &MethodPanel::run);
    connect(m_sweep, &QPushButton::clicked, this, &MethodPanel::sweepAsked);
    connect(m_budget, &QComboBox::activated, this, &MethodPanel::chooseBudget);
    connect(m_budgetSize, &QDoubleSpinBox::valueChanged, this, [this](double megabytes) {
        m_budget->setCurrentIndex(m_budget->count() - 1);
        if (megabytes > 0) Q_EMIT budgetChosen(megabytes * 1e6);
    });
    connect(&workspace, &Workspace::modelChanged, this, &MethodPanel::refreshModel);
    // A quantizer first: that is what most people come for.
    for (int i = 0; i < m_methods->count(); ++i)
        if (workspace.methods().all()[static_cast<std::size_t>(i)]->info().family == MethodFamily::Quantize) {
            m_methods->setCurrentIndex(i);
            break;
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

void MethodPanel::setMethod(const QString& id)
{
    const int i = m_methods->findData(id);
    if (i >= 0) m_methods->setCurrentIndex(i);
}

void MethodPanel::refreshMethod()
{
    const auto chosen = method();
    if (!chosen) {
        m_summary->setText(tr("No method plugin was found. Look at Help > Plugins for the reasons."));
        m_run->setEnabled(false);
        return;
    }
    m_summary->setText(toQt(chosen->info().summary));
    const bool quantizer = chosen->info().family == MethodFamily::Quantize;
    // The method's own fields first: which weights and what else happens to them is below.
    m_form->setSchema(quantizer ? chosen->schema().joined(quantizeSchema()) : chosen->schema());
    m_lastTexts = m_form->texts();
    m_outputRow->setVisible(quantizer);
    m_undo.clear();
    suggestOutput();
    setPlanStale(true);
    m_planTimer.start();
}

void MethodPanel::refreshModel()
{
    const bool open = m_workspace.model() != nullptr;
    m_run->setEnabled(open);
    m_sweep->setEnabled(open);
    m_budget->setEnabled(open);
    m_budgetSize->setEnabled(open);
    m_outputTyped = false;
    m_plan.reset();
    suggestOutput();
    m_planTimer.start();
}

void MethodPanel::suggestOutput()
{
    if (m_outputTyped || !method()) return;
    const QString path = m_workspace.modelPath();
    if (path.isEmpty()) {
        m_output->clear();
        return;
    }
    const QFileInfo from(path);
    QString name = from.isDir() ? from.fileName() : from.completeBaseName();
    name += u'-' + toQt(method()->info().id);
    for (const auto& [key, text] : m_form->texts()) {
        if (key == "format" && text != "int") {
            name += u'-' + toQt(text);
            break;
        }
        if (key == "bits") name += toQt(text);
    }
    const bool gguf =
        m_workspace.model() && m_workspace.model()->weights()->checkpoint()->container() == Container::Gguf;
    m_output->setText(from.absolutePath() + u'/' + name + (gguf ? u".gguf"_s : u".safetensors"_s));
}

void MethodPanel::edited()
{
    const ParamTexts now = m_form->texts();
    if (!m_undoing && now != m_lastTexts)
        m_undo.push(
            new FormEdit(m_lastTexts, now, [form = QPointer<SchemaForm>(m_form), this](const ParamTexts& t) {
                if (form.isNull()) return;
                m_undoing = true;
                form->setTexts(t);
                m_undoing = false;
            }));
    m_lastTexts = now;
    suggestOutput();
    setPlanStale(true);
    m_planTimer.start();
}

QString MethodPanel::output() const { return m_output->text(); }

void MethodPanel::setOutput(const QString& path)
{
    m_output->setText(path);
    m_outputTyped = true;
    m_planTimer.start();
}

void MethodPanel::chooseOutput()
{
    const QString file =
        QFileDialog::getSaveFileName(this, tr("Write the quantized model to"), m_output->text(),
                                     tr("GGUF (*.gguf);;safetensors (*.safetensors);;All files (*)"), nullptr,
                                     QFileDialog::DontConfirmOverwrite);
    if (!file.isEmpty()) setOutput(file);
}

Result<QuantizeRequest> MethodPanel::request() const
{
    const auto quantizer = std::dynamic_pointer_cast<const QuantizeMethod>(method());
    if (!quantizer) return Error(Errc::InvalidArgument, "choose a quantizer");
    if (!m_workspace.model()) return Error(Errc::InvalidArgument, "open a model first");
    QuantizeRequest out;
    out.model = m_workspace.model();
    out.method = quantizer;
    HALFTONE_TRY(params, quantizeSchema().joined(quantizer->schema()).complete(m_form->texts()));
    out.params = std::move(params);
    out.output = std::filesystem::path(toStd(m_output->text()));
    out.overwrite = false;
    return out;
}

void MethodPanel::makePlan()
{
    m_planTimer.stop();
    const auto chosen = method();
    if (!chosen || !m_workspace.model()) {
        m_plan.reset();
        clearRows();
        setProblem({});
        m_substitutions->hide();
        addRow(tr("Open a model"), tr("and its plan appears here"));
        return;
    }
    const auto ticket = m_ticket.next();
    if (chosen->info().family != MethodFamily::Quantize) {
        auto params = m_form->values();
        if (!params) {
            setProblem(toQt(params.error().line()));
            return;
        }
        MethodInput input{m_workspace.model(), {}};
        if (m_workspace.selection().place().weight >= 0)
            input.weights = {static_cast<std::uint32_t>(m_workspace.selection().place().weight)};
        inBackground(
            this, [chosen, input, params = *params] { return chosen->plan(input, params); },
            [this, ticket](Result<MethodPlan> plan) {
                if (m_ticket.current(ticket)) showSimplePlan(plan);
            });
        return;
    }
    auto asked = request();
    if (!asked) {
        m_plan.reset();
        setProblem(toQt(asked.error().line()));
        return;
    }
    asked->overwrite = true; // whether the file exists is asked when it is written
    inBackground(
        this, [request = *asked] { return planQuantize(request); },
        [this, ticket](Result<QuantizePlan> plan) {
            if (m_ticket.current(ticket)) showPlan(plan);
        });
}

void MethodPanel::setPlanStale(bool stale)
{
    m_planBox->setEnabled(!stale);
    m_substitutions->setEnabled(!stale);
}

void MethodPanel::setProblem(const QString& text)
{
    m_problem->setText(text);
    m_problem->setVisible(!text.isEmpty());
    m_run->setToolTip(text);
}

void MethodPanel::clearRows()
{
    while (m_planRows->rowCount() > 0)
        m_planRows->removeRow(0);
}

void MethodPanel::addRow(const QString& label, const QString& value, const QString& tip)
{
    auto* name = new QLabel(label, m_planBox);
    name->setProperty("tone", u"dim"_s);
    auto* number = new QLabel(value, m_planBox);
    number->setWordWrap(true);
    number->setToolTip(tip);
    number->setTextInteractionFlags(Qt::TextSelectableByMouse);
    m_planRows->addRow(name, number);
}

void MethodPanel::showPlan(const Result<QuantizePlan>& plan)
{
    setPlanStale(false);
    clearRows();
    m_substitutions->hide();
    if (!plan) {
        m_plan.reset();
        setProblem(toQt(plan.error().line()));
        m_run->setEnabled(false);
        Q_EMIT planned();
        return;
    }
    m_plan = *plan;
    m_run->setEnabled(true);
    const QuantizePlan& p = *m_plan;
    addRow(tr("File"), toQt(humanBytes(p.outputBytes)), tr("%1 bytes, exactly").arg(p.outputBytes));
    addRow(tr("Bits per weight"), tr("%1 with scales").arg(p.bitsPerWeight, 0, 'f', 2),
           tr("%1 for the codes of quantized weights alone; %2 if nothing were substituted")
               .arg(p.payloadBitsPerWeight, 0, 'f', 2)
               .arg(p.nominalBitsPerWeight, 0, 'f', 2));
    addRow(tr("Codes alone"), QString::number(p.payloadBitsPerWeight, 'f', 2));
    const auto quantized = std::count_if(p.weights.begin(), p.weights.end(), [](const PlannedWeight& w) {
        return w.action == PlannedWeight::Action::Quantize;
    });
    addRow(tr("Quantized"), tr("%1 of %2 tensors").arg(quantized).arg(p.weights.size()),
           tr("%1 of %2 values")
               .arg(toQt(humanCount(static_cast<std::uint64_t>(p.quantizedCount))),
                    toQt(humanCount(static_cast<std::uint64_t>(p.weightCount)))));
    addRow(tr("Memory"), toQt(humanBytes(p.peakBytes)));
    addRow(tr("Disk"), toQt(humanBytes(p.diskBytes)));
    addRow(tr("Time"), p.estimate < std::chrono::seconds(1)
                           ? tr("under a second")
                           : tr("about %1").arg(toQt(humanDuration(p.estimate))));
    QStringList notes;
    if (!p.substitutions.empty()) {
        notes << tr("%n weight(s) can't take the format:", nullptr, static_cast<int>(p.substitutions.size()));
        for (const Substitution& s : p.substitutions) {
            if (notes.size() == 4) break;
            notes << toQt(s.text);
        }
        if (p.substitutions.size() > 3) notes << tr("… and %1 more").arg(p.substitutions.size() - 3);
    }
    for (const std::string& warning : p.warnings) {
        if (notes.size() >= 7) break;
        notes << toQt(warning);
    }
    m_substitutions->setText(notes.join(u'\n'));
    m_substitutions->setVisible(!notes.isEmpty());
    setProblem({});
    Q_EMIT planned();
}

void MethodPanel::showSimplePlan(const Result<MethodPlan>& plan)
{
    setPlanStale(false);
    clearRows();
    m_plan.reset();
    m_substitutions->hide();
    m_run->setEnabled(static_cast<bool>(plan));
    if (!plan) {
        setProblem(toQt(plan.error().line()));
        return;
    }
    setProblem({});
    addRow(tr("Weights"), QString::number(plan->weights));
    addRow(tr("Reads"), toQt(humanBytes(plan->bytesRead)));
    addRow(tr("Memory"), toQt(humanBytes(plan->peakBytes)));
    QStringList notes;
    for (const std::string& warning : plan->warnings)
        if (notes.size() < 4) notes << toQt(warning);
    m_substitutions->setText(notes.join(u'\n'));
    m_substitutions->setVisible(!notes.isEmpty());
    Q_EMIT planned();
}

QString MethodPanel::planText() const
{
    QStringList out;
    for (int r = 0; r < m_planRows->rowCount(); ++r) {
        const auto text = [&](QFormLayout::ItemRole role) {
            QLayoutItem* item = m_planRows->itemAt(r, role);
            auto* label = item == nullptr ? nullptr : qobject_cast<QLabel*>(item->widget());
            return label == nullptr ? QString() : label->text();
        };
        out << text(QFormLayout::LabelRole) + u": "_s + text(QFormLayout::FieldRole);
    }
    if (!m_problem->isHidden()) out << m_problem->text();
    return out.join(u'\n');
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
    if (mix && !points.empty()) {
        const auto texts = mixTexts(*mix, points, *m_workspace.model());
        if (!texts) {
            m_workspace.say(Workspace::Tone::Error, toQt(texts.error().line()));
            return;
        }
        setMethod(toQt(texts->first));
        m_form->setTexts(texts->second);
        return;
    }
    const int point = m_workspace.point();
    if (point < 0 || static_cast<std::size_t>(point) >= points.size()) {
        m_workspace.say(Workspace::Tone::Info, tr("Choose a point of the Pareto figure first."));
        return;
    }
    const SweepPoint& chosen = points[static_cast<std::size_t>(point)];
    setMethod(toQt(chosen.method->info().id));
    m_form->setTexts(textsOf(chosen.params));
}

void MethodPanel::setBudgetBytes(double bytes)
{
    const QSignalBlocker quiet(m_budgetSize);
    m_budgetSize->setValue(bytes / 1e6);
    m_budget->setCurrentIndex(m_budget->count() - 1);
}

void MethodPanel::chooseBudget(int index)
{
    const auto& model = m_workspace.model();
    if (!model || index == 0 || index == m_budget->count() - 1) return;
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
    if (chosen > 0) Q_EMIT budgetChosen(chosen);
}

QString MethodPanel::commandLine() const
{
    const auto chosen = method();
    if (!chosen) return {};
    const auto quoted = [](const QString& text) {
        QString out = text;
        out.replace(u'\'', u"'\\''"_s);
        return u'\'' + out + u'\'';
    };
    const bool quantizer = chosen->info().family == MethodFamily::Quantize;
    if (!quantizer) return tr("# An analysis runs headless from a job file: Edit > Copy as job");
    QString line = u"halftone-batch quantize "_s + quoted(m_workspace.modelPath()) + u" --method "_s +
                   toQt(chosen->info().id);
    for (const auto& [key, text] : m_form->texts()) {
        const ParamSpec* spec = m_form->schema().find(key);
        if (spec != nullptr && toText(spec->fallback) == text) continue;
        line += u" --set "_s + quoted(toQt(key + "=" + text));
    }
    return line + u" -o "_s + quoted(m_output->text());
}

QString MethodPanel::jobFile() const
{
    const auto chosen = method();
    if (!chosen) return {};
    JobStep step;
    const bool quantizer = chosen->info().family == MethodFamily::Quantize;
    step.what = quantizer ? JobStep::Do::Quantize : JobStep::Do::Analyse;
    step.method = chosen;
    const ParamSchema schema = quantizer ? quantizeSchema().joined(chosen->schema()) : chosen->schema();
    const auto params = schema.complete(m_form->texts());
    if (!params) return {};
    step.params = *params;
    if (quantizer) step.output = toStd(QFileInfo(m_output->text()).fileName());
    return toQt(jobText(toStd(m_workspace.modelPath()), step));
}

} // namespace halftone
