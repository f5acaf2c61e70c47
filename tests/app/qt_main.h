// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "tests/support/main.h"

#include <QRegularExpression>
#include <QTest>

namespace halftone::test {

/// Any warning of Qt fails the running test, but the one that each shown window writes offscreen.
inline void failOnQtWarnings()
{
    QTest::failOnWarning(
        QRegularExpression(QStringLiteral("^(?!This plugin does not support (propagateSizeHints|raise)).*")));
}

/// Pixels of an image that have about this colour (antialiasing changes the edges only).
inline int pixelsOf(const QImage& image, const QColor& colour, int tolerance = 3)
{
    int count = 0;
    for (int y = 0; y < image.height(); ++y)
        for (int x = 0; x < image.width(); ++x) {
            const QColor c = image.pixelColor(x, y);
            if (std::abs(c.red() - colour.red()) <= tolerance &&
                std::abs(c.green() - colour.green()) <= tolerance &&
                std::abs(c.blue() - colour.blue()) <= tolerance)
                ++count;
        }
    return count;
}

} // namespace halftone::test
