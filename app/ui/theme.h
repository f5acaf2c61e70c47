// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QColor>
#include <QString>

class QApplication;

namespace halftone {

enum class ThemeMode : std::uint8_t { System, Light, Dark };

/// All colours of the program's own surfaces; data colours come from core/result/picture.h.
struct ThemeColours {
    bool dark = false;
    QColor window;    ///< behind docks and bars
    QColor surface;   ///< behind data
    QColor raised;    ///< alternate rows, hover
    QColor text;      ///< at least 7:1 on surface
    QColor dim;       ///< at least 4.5:1 on surface
    QColor line;      ///< separators
    QColor grid;      ///< grid lines of charts
    QColor accent;    ///< the one accent
    QColor onAccent;  ///< text on it
    QColor selected;  ///< background of selected rows
    QColor highlight; ///< the selected place in a chart
    QColor warning, error;
    QColor warningBack, errorBack;
};

/// Light and dark looks of the whole program. Window's thread only.
class Theme {
public:
    /// Sets style, palette and style sheet of the application; widgets get a palette change event.
    static void apply(QApplication& application, ThemeMode mode);
    static ThemeMode mode();
    static const ThemeColours& colours();
    /// One step of the 8-pixel grid.
    static constexpr int kStep = 8;
};

} // namespace halftone
