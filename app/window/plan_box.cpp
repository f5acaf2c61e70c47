// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/window/plan_box.h"

#include "app/host/strings.h"
#include "app/ui/theme.h"
#include "core/base/text.h"

#include <QFormLayout>
#include <QLabel>
#include <QVBoxLayout>

#include <algorithm>
#include <chrono>

namespace halftone {

using namespace Qt::Literals::StringLiterals;

namespace {

constexpr int kMostNotes = 7;
constexpr int kMostSubstitutions = 3;

} // namespace

PlanBox::PlanBox(QWidget* parent)
    : QWidget(parent), m_table(new QWidget(this)), m_rows(new QFormLayout(m_table)),
      m_notes(new QLabel(this)), m_problem(new QLabel(this))
{
    m_rows->setContentsMargins(0, 0, 0, 0);
    m_rows->setVerticalSpacing(4);
    m_rows->setHorizontalSpacing(2 * Theme::kStep);
    m_rows->setLabelAlignment(Qt::AlignLeft);
    const auto words = [](QLabel* label, const QString& tone) {
        label->setWordWrap(true);
        label->setProperty("tone", tone);
        label->setTextInteractionFlags(Qt::TextSelectableByMouse);
        label->hide();
    };
    words(m_notes, u"warning"_s);
    words(m_problem, u"error"_s);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(Theme::kStep);
    column->addWidget(m_table);
    column->addWidget(m_notes);
    column->addWidget(m_problem);
}

void PlanBox::setStale(bool stale)
{
    m_table->setEnabled(!stale);
    m_notes->setEnabled(!stale);
}

void PlanBox::setProblem(const QString& text)
{
    m_problem->setText(text);
    m_problem->setVisible(!text.isEmpty());
}

QString PlanBox::problem() const { return m_problem->isHidden() ? QString() : m_problem->text(); }

void PlanBox::setNotes(const QStringList& notes)
{
    m_notes->setText(notes.join(u'\n'));
    m_notes->setVisible(!notes.isEmpty());
}

void PlanBox::clear()
{
    while (m_rows->rowCount() > 0)
        m_rows->removeRow(0);
    setNotes({});
    setStale(false);
}

void PlanBox::addRow(const QString& label, const QString& value, const QString& tip)
{
    auto* name = new QLabel(label, m_table);
    name->setProperty("tone", u"dim"_s);
    auto* number = new QLabel(value, m_table);
    number->setWordWrap(true);
    number->setToolTip(tip);
    number->setTextInteractionFlags(Qt::TextSelectableByMouse);
    m_rows->addRow(name, number);
}

void PlanBox::showWords(const QString& what, const QString& text)
{
    clear();
    setProblem({});
    addRow(what, text);
}

void PlanBox::showPlan(const QuantizePlan& p)
{
    clear();
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
        const auto count = static_cast<int>(p.substitutions.size());
        notes << (count == 1 ? tr("One weight can't take the format:")
                             : tr("%1 weights can't take the format:").arg(count));
        for (const Substitution& s : p.substitutions) {
            if (notes.size() > kMostSubstitutions) break;
            notes << toQt(s.text);
        }
        if (count > kMostSubstitutions) notes << tr("… and %1 more").arg(count - kMostSubstitutions);
    }
    for (const std::string& warning : p.warnings)
        if (notes.size() < kMostNotes) notes << toQt(warning);
    setNotes(notes);
    setProblem({});
}

void PlanBox::showPlan(const MethodPlan& plan)
{
    clear();
    addRow(tr("Weights"), QString::number(plan.weights));
    addRow(tr("Reads"), toQt(humanBytes(plan.bytesRead)));
    addRow(tr("Memory"), toQt(humanBytes(plan.peakBytes)));
    QStringList notes;
    for (const std::string& warning : plan.warnings)
        if (notes.size() < kMostNotes) notes << toQt(warning);
    setNotes(notes);
    setProblem({});
}

QString PlanBox::text() const
{
    QStringList out;
    for (int r = 0; r < m_rows->rowCount(); ++r) {
        const auto text = [&](QFormLayout::ItemRole role) {
            QLayoutItem* item = m_rows->itemAt(r, role);
            auto* label = item == nullptr ? nullptr : qobject_cast<QLabel*>(item->widget());
            return label == nullptr ? QString() : label->text();
        };
        out << text(QFormLayout::LabelRole) + u": "_s + text(QFormLayout::FieldRole);
    }
    if (!m_notes->isHidden()) out << m_notes->text();
    if (!m_problem->isHidden()) out << m_problem->text();
    return out.join(u'\n');
}

} // namespace halftone
