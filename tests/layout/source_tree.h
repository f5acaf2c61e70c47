// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QDirIterator>
#include <QFile>
#include <QString>
#include <QStringList>

namespace halftone::test {

/// The folder with the sources, as ctest passes it.
inline QString sourceFolder() { return qEnvironmentVariable("HALFTONE_SOURCE"); }

/// Paths, relative to the sources, of all C++ and CUDA files below `folder`, sorted.
inline QStringList sourcesBelow(const QString& folder)
{
    const QDir root(sourceFolder());
    const QStringList endings{QStringLiteral("*.h"), QStringLiteral("*.cpp"), QStringLiteral("*.cu"),
                              QStringLiteral("*.cuh")};
    QStringList found;
    QDirIterator it(root.filePath(folder), endings, QDir::Files, QDirIterator::Subdirectories);
    while (it.hasNext())
        found << root.relativeFilePath(it.next());
    found.sort();
    return found;
}

inline QStringList linesOf(const QString& relativePath)
{
    QFile file(QDir(sourceFolder()).filePath(relativePath));
    if (!file.open(QIODevice::ReadOnly)) return {};
    return QString::fromUtf8(file.readAll()).split(QLatin1Char('\n'));
}

} // namespace halftone::test
