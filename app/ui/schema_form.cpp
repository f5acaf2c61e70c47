// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/ui/schema_form.h"

#include "app/host/strings.h"
#include "app/ui/theme.h"
#include "core/base/text.h"

#include <QCheckBox>
#include <QComboBox>
#include <QDoubleSpinBox>
#include <QEvent>
#include <QFileDialog>
#include <QFormLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QSignalBlocker>
#include <QSlider>
#include <QSpinBox>
#include <QStyle>
#include <QToolButton>
#include <QVBoxLayout>

#include <algorithm>
#include <cmath>
#include <limits>

namespace halftone {

using namespace Qt::Literals::StringLiterals;

namespace {

constexpr int kSliderSteps = 200;

/// A spin box that shows and reads numbers exactly as files hold them, whatever the locale.
class ExactSpin : public QDoubleSpinBox {
public:
    explicit ExactSpin(bool logScale, QWidget* parent) : QDoubleSpinBox(parent), m_log(logScale)
    {
        setDecimals(300); // no rounding of small values on setValue()
    }
    QString textFromValue(double value) const override { return toQt(exactNumber(value)); }
    double valueFromText(const QString& text) const override { return bare(text).toDouble(); }
    QValidator::State validate(QString& text, int&) const override
    {
        bool number = false;
        const double value = bare(text).toDouble(&number);
        return number && value >= minimum() && value <= maximum() ? QValidator::Acceptable
                                                                  : QValidator::Intermediate;
    }
    void stepBy(int steps) override
    {
        if (m_log && value() > 0)
            setValue(value() * std::pow(2.0, steps));
        else
            QDoubleSpinBox::stepBy(steps);
    }

private:
    QString bare(QString text) const
    {
        if (!suffix().isEmpty() && text.endsWith(suffix())) text.chop(suffix().size());
        return text.trimmed();
    }
    bool m_log;
};

/// As the validator writes them: what texts() sends through the schema.
QString textOfFallback(const ParamSpec& spec) { return toQt(toText(spec.fallback)); }

/// A wheel that scrolls the form must not change the numbers it passes over.
class WheelGuard : public QObject {
public:
    using QObject::QObject;
    bool eventFilter(QObject* watched, QEvent* event) override
    {
        auto* widget = qobject_cast<QWidget*>(watched);
        if (event->type() != QEvent::Wheel || widget == nullptr || widget->hasFocus()) return false;
        event->ignore();
        return true;
    }
};

void guardWheel(QWidget* widget)
{
    widget->setFocusPolicy(Qt::StrongFocus);
    widget->installEventFilter(new WheelGuard(widget));
}

} // namespace

SchemaForm::SchemaForm(QWidget* parent) : QWidget(parent), m_layout(new QVBoxLayout(this))
{
    m_layout->setContentsMargins(0, 0, 0, 0);
}

void SchemaForm::setSchema(const ParamSchema& schema)
{
    m_schema = schema;
    m_fields.clear();
    delete m_body;
    m_body = new QWidget(this);
    auto* column = new QVBoxLayout(m_body);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(Theme::kStep);
    const auto form = [](QWidget* parent) {
        auto* layout = new QFormLayout(parent);
        layout->setContentsMargins(0, 0, 0, 0);
        layout->setHorizontalSpacing(Theme::kStep);
        layout->setVerticalSpacing(Theme::kStep);
        layout->setLabelAlignment(Qt::AlignLeft | Qt::AlignVCenter);
        layout->setFieldGrowthPolicy(QFormLayout::AllNonFixedFieldsGrow);
        layout->setRowWrapPolicy(QFormLayout::WrapLongRows);
        return layout;
    };
    auto* basic = new QWidget(m_body);
    QFormLayout* basicForm = form(basic);
    m_advanced = new QWidget(m_body);
    QFormLayout* advancedForm = form(m_advanced);
    bool anyAdvanced = false;
    m_fields.reserve(m_schema.specs().size());
    for (const ParamSpec& spec : m_schema.specs()) {
        m_fields.push_back(makeField(spec));
        const bool advanced = spec.level == ParamSpec::Level::Advanced;
        anyAdvanced = anyAdvanced || advanced;
        place(m_fields.back(), spec, advanced ? advancedForm : basicForm);
    }
    m_advancedButton = new QToolButton(m_body);
    m_advancedButton->setText(tr("Advanced"));
    m_advancedButton->setAccessibleName(tr("Advanced settings"));
    m_advancedButton->setCheckable(true);
    m_advancedButton->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    m_advancedButton->setArrowType(Qt::RightArrow);
    m_advancedButton->setVisible(anyAdvanced);
    connect(m_advancedButton, &QToolButton::toggled, this, &SchemaForm::showAdvanced);
    m_advanced->setVisible(false);
    column->addWidget(basic);
    column->addWidget(m_advancedButton, 0, Qt::AlignLeft);
    column->addWidget(m_advanced);
    m_layout->addWidget(m_body);
    check();
}

void SchemaForm::showAdvanced(bool shown)
{
    if (m_advanced == nullptr) return;
    m_advanced->setVisible(shown);
    m_advancedButton->setChecked(shown);
    m_advancedButton->setArrowType(shown ? Qt::DownArrow : Qt::RightArrow);
}

SchemaForm::Field SchemaForm::makeField(const ParamSpec& spec)
{
    Field field;
    field.key = spec.key;
    field.line = new QWidget(m_body);
    auto* column = new QVBoxLayout(field.line);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(2);
    auto* row = new QWidget(field.line);
    auto* rowLayout = new QHBoxLayout(row);
    rowLayout->setContentsMargins(0, 0, 0, 0);
    rowLayout->setSpacing(Theme::kStep);
    makeEditor(spec, field, row);
    field.problem = new QLabel(field.line);
    field.problem->setProperty("tone", u"error"_s);
    field.problem->setWordWrap(true);
    field.problem->hide();
    column->addWidget(row);
    column->addWidget(field.problem);
    const QString label = toQt(spec.label);
    field.editor->setAccessibleName(spec.unit.empty() ? label : label + u", "_s + toQt(spec.unit));
    field.editor->setAccessibleDescription(toQt(spec.help));
    field.editor->setToolTip(toQt(spec.help));
    field.editor->setObjectName(u"param-"_s + toQt(spec.key));
    return field;
}

void SchemaForm::makeEditor(const ParamSpec& spec, Field& field, QWidget* parent)
{
    auto* row = qobject_cast<QHBoxLayout*>(parent->layout());
    const std::string key = spec.key;
    const QString fallback = textOfFallback(spec);
    const QString suffix = spec.unit.empty() ? QString() : u' ' + toQt(spec.unit);
    constexpr double kIntLimit = std::numeric_limits<int>::max();
    const bool finite = std::isfinite(spec.min) && std::isfinite(spec.max);

    const auto slider = [&](auto* spin) {
        // A logarithmic slider beside the number: one handle width is one factor.
        if (!spec.logScale || !finite || spec.max <= 0) return;
        auto* bar = new QSlider(Qt::Horizontal, parent);
        bar->setRange(0, kSliderSteps);
        bar->setAccessibleName(toQt(spec.label) + u' ' + tr("slider"));
        bar->setToolTip(toQt(spec.help));
        bar->setMinimumWidth(48);
        guardWheel(bar);
        const double low =
            std::log(std::max(spec.min, spec.kind == ParamSpec::Kind::Int ? 1.0 : spec.max * 1e-9));
        const double high = std::log(spec.max);
        const auto show = [bar, low, high](double value) {
            const QSignalBlocker quiet(bar);
            const double t = value > 0 && high > low ? (std::log(value) - low) / (high - low) : 0;
            bar->setValue(static_cast<int>(std::lround(std::clamp(t, 0.0, 1.0) * kSliderSteps)));
        };
        show(spin->value());
        connect(spin, &std::remove_pointer_t<decltype(spin)>::valueChanged, bar,
                [show](auto value) { show(static_cast<double>(value)); });
        const bool whole = spec.kind == ParamSpec::Kind::Int;
        connect(bar, &QSlider::valueChanged, spin, [spin, low, high, whole](int at) {
            double value = std::exp(low + (high - low) * at / kSliderSteps);
            // Sizes that hardware likes: the slider stops at powers of two.
            if (whole) value = std::exp2(std::round(std::log2(value)));
            spin->setValue(static_cast<decltype(spin->value())>(value));
        });
        row->addWidget(bar, 1);
    };

    switch (spec.kind) {
    case ParamSpec::Kind::Bool: {
        auto* box = new QCheckBox(parent);
        box->setChecked(fallback == u"true"_s);
        field.text = [box] { return box->isChecked() ? u"true"_s : u"false"_s; };
        field.setText = [box](const QString& text) { box->setChecked(text == u"true"_s); };
        connect(box, &QCheckBox::toggled, this, [this, key] { touched(key); });
        field.editor = box;
        row->addWidget(box, 1);
        return;
    }
    case ParamSpec::Kind::Choice: {
        auto* box = new QComboBox(parent);
        for (const std::string& choice : spec.choices)
            box->addItem(toQt(choice));
        box->setCurrentText(fallback);
        box->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
        box->setMinimumContentsLength(8);
        guardWheel(box);
        field.text = [box] { return box->currentText(); };
        field.setText = [box](const QString& text) { box->setCurrentIndex(box->findText(text)); };
        connect(box, &QComboBox::currentIndexChanged, this, [this, key] { touched(key); });
        field.editor = box;
        row->addWidget(box, 1);
        return;
    }
    case ParamSpec::Kind::Int:
        if (finite && std::abs(spec.min) < kIntLimit && std::abs(spec.max) < kIntLimit) {
            auto* spin = new QSpinBox(parent);
            spin->setRange(static_cast<int>(spec.min), static_cast<int>(spec.max));
            spin->setSuffix(suffix);
            spin->setValue(fallback.toInt());
            spin->setGroupSeparatorShown(false);
            spin->setLocale(QLocale::c());
            guardWheel(spin);
            field.text = [spin] { return QString::number(spin->value()); };
            field.setText = [spin](const QString& text) { spin->setValue(text.toInt()); };
            connect(spin, &QSpinBox::valueChanged, this, [this, key] { touched(key); });
            field.editor = spin;
            row->addWidget(spin, 1);
            slider(spin);
            return;
        }
        break;
    case ParamSpec::Kind::Real: {
        auto* spin = new ExactSpin(spec.logScale, parent);
        spin->setRange(std::isfinite(spec.min) ? spec.min : std::numeric_limits<double>::lowest(),
                       std::isfinite(spec.max) ? spec.max : std::numeric_limits<double>::max());
        spin->setSuffix(suffix);
        spin->setSingleStep(finite ? (spec.max - spec.min) / 100 : 0.1);
        spin->setValue(fallback.toDouble());
        guardWheel(spin);
        field.text = [spin] { return toQt(exactNumber(spin->value())); };
        field.setText = [spin](const QString& text) { spin->setValue(text.toDouble()); };
        connect(spin, &QDoubleSpinBox::valueChanged, this, [this, key] { touched(key); });
        field.editor = spin;
        row->addWidget(spin, 1);
        slider(static_cast<QDoubleSpinBox*>(spin));
        return;
    }
    case ParamSpec::Kind::Text:
    case ParamSpec::Kind::File:
        break;
    }
    auto* edit = new QLineEdit(fallback, parent);
    if (spec.unit.empty() && fallback.isEmpty()) edit->setPlaceholderText(tr("none"));
    field.text = [edit] { return edit->text(); };
    field.setText = [edit](const QString& text) { edit->setText(text); };
    connect(edit, &QLineEdit::textChanged, this, [this, key] { touched(key); });
    field.editor = edit;
    row->addWidget(edit, 1);
    if (spec.kind == ParamSpec::Kind::File) {
        auto* browse = new QPushButton(u"…"_s, parent);
        browse->setAccessibleName(tr("Choose a file for %1").arg(toQt(spec.label)));
        connect(browse, &QPushButton::clicked, this, [this, edit] {
            const QString file = QFileDialog::getOpenFileName(this);
            if (!file.isEmpty()) edit->setText(file);
        });
        row->addWidget(browse);
    }
}

void SchemaForm::place(Field& field, const ParamSpec& spec, QFormLayout* layout)
{
    field.label = new QLabel(toQt(spec.label), m_body);
    field.label->setBuddy(field.editor);
    field.label->setToolTip(toQt(spec.help));
    layout->addRow(field.label, field.line);
}

const SchemaForm::Field* SchemaForm::find(const QString& key) const
{
    const std::string wanted = toStd(key);
    const auto at =
        std::find_if(m_fields.begin(), m_fields.end(), [&](const Field& f) { return f.key == wanted; });
    return at == m_fields.end() ? nullptr : &*at;
}

QWidget* SchemaForm::field(const QString& key) const
{
    const Field* field = find(key);
    return field == nullptr ? nullptr : field->editor;
}

QString SchemaForm::problem(const QString& key) const
{
    const Field* field = find(key);
    return field == nullptr || field->problem->isHidden() ? QString() : field->problem->text();
}

ParamTexts SchemaForm::texts() const
{
    ParamTexts out;
    for (const Field& field : m_fields)
        out.emplace_back(field.key, toStd(field.override ? *field.override : field.text()));
    return out;
}

void SchemaForm::setTexts(const ParamTexts& texts)
{
    m_filling = true;
    for (const auto& [key, text] : texts)
        for (Field& field : m_fields) {
            if (field.key != key) continue;
            const QString wanted = toQt(text);
            field.override.reset();
            // A value the editor would silently clamp stays visible as what it is: wrong.
            if (m_schema.parse(key, text))
                field.setText(wanted);
            else
                field.override = wanted;
        }
    m_filling = false;
    check();
    Q_EMIT edited();
}

void SchemaForm::touched(const std::string& key)
{
    for (Field& field : m_fields)
        if (field.key == key) field.override.reset();
    if (m_filling) return;
    check();
    Q_EMIT edited();
}

void SchemaForm::check()
{
    // What is valid decides what is enabled; a field in error counts at its default.
    ParamList values;
    for (const ParamSpec& spec : m_schema.specs())
        values.emplace_back(spec.key, spec.fallback);
    std::size_t at = 0;
    for (Field& field : m_fields) {
        const QString text = field.override ? *field.override : field.text();
        const Result<ParamValue> value = m_schema.parse(field.key, toStd(text));
        const bool wrong = !value;
        if (wrong)
            field.problem->setText(toQt(value.error().what()));
        else
            values[at].second = *value;
        field.problem->setVisible(wrong);
        if (field.editor->property("wrong").toBool() != wrong) {
            field.editor->setProperty("wrong", wrong);
            field.editor->style()->unpolish(field.editor);
            field.editor->style()->polish(field.editor);
        }
        ++at;
    }
    at = 0;
    for (const ParamSpec& spec : m_schema.specs()) {
        const bool on = m_schema.enabled(spec, values);
        m_fields[at].line->setEnabled(on);
        m_fields[at].label->setEnabled(on);
        ++at;
    }
}

} // namespace halftone
