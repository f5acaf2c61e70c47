// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QJsonDocument>
#include <QJsonObject>
#include <QProcess>
#include <QString>
#include <QStringList>
#include <filesystem>

namespace halftone::test {

inline QString text(const std::filesystem::path& path) { return QString::fromStdString(path.string()); }

/// What one call of halftone-batch gave.
struct Called {
    int code = -1;
    bool crashed = false;
    QByteArray out, err;
    QJsonObject json() const { return QJsonDocument::fromJson(out).object(); }
    /// Lines on stderr without warnings and progress: an error is exactly one.
    QStringList errorLines() const
    {
        QStringList lines;
        for (const auto& line : QString::fromUtf8(err).split(QLatin1Char('\n'), Qt::SkipEmptyParts))
            if (line.startsWith(QStringLiteral("halftone-batch: ")) &&
                !line.contains(QStringLiteral(": warning: ")))
                lines << line;
        return lines;
    }
};

inline QString batchProgram()
{
    return qEnvironmentVariable("HALFTONE_BIN") + QStringLiteral("/halftone-batch");
}

inline Called callBatch(const QStringList& arguments, const QString& workingFolder = {})
{
    QProcess process;
    if (!workingFolder.isEmpty()) process.setWorkingDirectory(workingFolder);
    process.start(batchProgram(), arguments);
    process.waitForFinished(60000);
    Called called;
    called.crashed = process.exitStatus() != QProcess::NormalExit;
    called.code = process.exitCode();
    called.out = process.readAllStandardOutput();
    called.err = process.readAllStandardError();
    return called;
}

} // namespace halftone::test
