// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/host/strings.h"
#include "app/ui/schema_form.h"
#include "app/window/method_panel.h"
#include "app/window/workspace.h"
#include "core/session/job_file.h"

#include <QFileInfo>
#include <QLineEdit>

namespace halftone {

using namespace Qt::Literals::StringLiterals;

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
        line += u" --set "_s;
        line += quoted(toQt(key) + u'=' + toQt(text));
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
