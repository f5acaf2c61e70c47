// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/window/help_page.h"

#include <QCoreApplication>
#include <QFile>

namespace halftone {

using namespace Qt::Literals::StringLiterals;

QString helpPage(const QString& topic)
{
    QFile page(u":/halftone/docs/panels.md"_s);
    if (page.open(QIODevice::ReadOnly)) {
        const QString all = QString::fromUtf8(page.readAll());
        const QString heading = u"\n## "_s + topic + u'\n';
        if (const qsizetype from = all.indexOf(heading); from >= 0) {
            const qsizetype end = all.indexOf(u"\n## "_s, from + 1);
            return all.mid(from + 1, end < 0 ? -1 : end - from - 1);
        }
    }
    return QCoreApplication::translate("helpPage", "There is no help for %1 yet.").arg(topic);
}

} // namespace halftone
