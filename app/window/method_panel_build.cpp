// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/host/strings.h"
#include "app/ui/fitting_area.h"
#include "app/ui/schema_form.h"
#include "app/ui/theme.h"
#include "app/window/method_panel.h"
#include "app/window/plan_box.h"
#include "app/window/workspace.h"

#include <QComboBox>
#include <QDoubleSpinBox>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QScrollArea>
#include <QVBoxLayout>

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

void MethodPanel::build()
{
    setProperty("role", u"page"_s);
    setAttribute(Qt::WA_StyledBackground);
    auto* scroll = new QScrollArea(this);
    scroll->setWidget(makeForm());
    scroll->setWidgetResizable(true);
    scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    scroll->setFocusPolicy(Qt::NoFocus);
    scroll->setMinimumHeight(96);
    // The plan, the button and the budget stay in sight however long the form is; in a low window they
    // scroll as well.
    auto* below = new FittingArea(makeFooter(), 120, this);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    layout->addWidget(scroll, 1);
    layout->addWidget(rule(this));
    layout->addWidget(below);
    setMinimumWidth(264);
}

QWidget* MethodPanel::makeForm()
{
    for (const auto& method : m_workspace.methods().all())
        m_methods->addItem(toQt(method->info().title), toQt(method->info().id));
    m_methods->setAccessibleName(tr("Method"));
    m_summary->setWordWrap(true);
    m_summary->setProperty("tone", u"dim"_s);
    m_output->setAccessibleName(tr("File to write"));
    m_output->setPlaceholderText(tr("file to write (.gguf, .safetensors) or folder"));
    auto* browse = new QPushButton(u"…"_s, m_outputRow);
    browse->setAccessibleName(tr("Choose the file to write"));
    browse->setFixedWidth(36);
    connect(browse, &QPushButton::clicked, this, &MethodPanel::chooseOutput);
    auto* outputLayout = new QHBoxLayout(m_outputRow);
    outputLayout->setContentsMargins(0, 0, 0, 0);
    outputLayout->addWidget(m_output, 1);
    outputLayout->addWidget(browse);
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
    return content;
}

QWidget* MethodPanel::makeFooter()
{
    m_run->setProperty("primary", true);
    m_run->setAccessibleName(tr("Run the method"));
    m_sweep->setToolTip(tr("Runs every setting of the quantizers for the Pareto figure"));
    m_sweep->setAccessibleName(tr("Measure all settings"));
    m_budget->addItems({tr("No budget"), tr("Half the size"), tr("A quarter of the size"),
                        tr("3 bits per weight"), tr("4 bits per weight"), tr("8 GB card, 8k context"),
                        tr("16 GB card, 8k context"), tr("24 GB card, 8k context"), tr("Own size")});
    m_budget->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    m_budget->setMinimumContentsLength(8);
    m_budget->setAccessibleName(tr("Budget"));
    m_budgetSize->setRange(0, 1e9);
    m_budgetSize->setDecimals(2);
    m_budgetSize->setSuffix(tr(" MB"));
    m_budgetSize->setSpecialValueText(tr("none"));
    m_budgetSize->setObjectName(u"budget"_s);
    m_budgetSize->setAccessibleName(tr("Budget in megabytes"));
    // Its range is for large models; its width is for the numbers that people see.
    m_budgetSize->setMinimumWidth(fontMetrics().horizontalAdvance(u"88888.88 MB"_s) + 44);
    m_budgetSize->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Fixed);
    auto* below = new QWidget(this);
    below->setProperty("role", u"page"_s);
    auto* bottom = new QVBoxLayout(below);
    bottom->setContentsMargins(12, Theme::kStep, 12, Theme::kStep);
    bottom->setSpacing(Theme::kStep);
    bottom->addWidget(section(tr("PLAN"), below));
    bottom->addWidget(m_planBox);
    auto* buttons = new QHBoxLayout;
    buttons->setSpacing(Theme::kStep);
    buttons->addWidget(m_run, 1);
    buttons->addWidget(m_sweep, 1);
    bottom->addLayout(buttons);
    bottom->addWidget(rule(below));
    auto* budget = new QHBoxLayout;
    budget->setSpacing(Theme::kStep);
    budget->addWidget(m_budget, 1);
    budget->addWidget(m_budgetSize, 1);
    bottom->addWidget(section(tr("BUDGET"), below));
    bottom->addLayout(budget);
    return below;
}

} // namespace halftone
