// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/host/strings.h"
#include "app/ui/schema_form.h"
#include "app/window/method_panel.h"
#include "app/window/plan_box.h"
#include "app/window/workspace.h"

#include <QLineEdit>
#include <QPushButton>

namespace halftone {

Result<QuantizeRequest> MethodPanel::request() const
{
    const auto chosen = quantizer();
    if (!chosen) return Error(Errc::InvalidArgument, "choose a quantizer");
    if (!m_workspace.model()) return Error(Errc::InvalidArgument, "open a model first");
    QuantizeRequest out;
    out.model = m_workspace.model();
    out.method = chosen;
    HALFTONE_TRY(params, quantizeSchema().joined(chosen->schema()).complete(m_form->texts()));
    out.params = std::move(params);
    out.output = std::filesystem::path(toStd(m_output->text()));
    out.overwrite = false;
    return out;
}

void MethodPanel::makePlan()
{
    m_planTimer.stop();
    const auto ticket = m_ticket.next();
    const auto chosen = method();
    if (!chosen || !m_workspace.model()) {
        m_plan.reset();
        setProblem({});
        m_planBox->showWords(tr("Open a model"), tr("and its plan appears here"));
        return;
    }
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
            [this, ticket](const Result<MethodPlan>& plan) {
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
        [this, ticket](const Result<QuantizePlan>& plan) {
            if (m_ticket.current(ticket)) showPlan(plan);
        });
}

void MethodPanel::setProblem(const QString& text)
{
    m_planBox->setProblem(text);
    m_run->setToolTip(text);
}

void MethodPanel::showPlan(const Result<QuantizePlan>& plan)
{
    m_run->setEnabled(static_cast<bool>(plan));
    if (plan) {
        m_plan = *plan;
        setProblem({});
        m_planBox->showPlan(*m_plan);
    } else {
        m_plan.reset();
        m_planBox->clear();
        setProblem(toQt(plan.error().line()));
    }
    Q_EMIT planned();
}

void MethodPanel::showSimplePlan(const Result<MethodPlan>& plan)
{
    m_plan.reset();
    m_run->setEnabled(static_cast<bool>(plan));
    if (plan) {
        setProblem({});
        m_planBox->showPlan(*plan);
    } else {
        m_planBox->clear();
        setProblem(toQt(plan.error().line()));
    }
    Q_EMIT planned();
}

QString MethodPanel::planText() const { return m_planBox->text(); }

} // namespace halftone
