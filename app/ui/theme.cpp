// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/ui/theme.h"

#include <QApplication>
#include <QPalette>
#include <QStyleFactory>

#include <utility>

namespace halftone {

using namespace Qt::Literals::StringLiterals;

namespace {

ThemeMode g_mode = ThemeMode::System;

ThemeColours lightColours()
{
    ThemeColours c;
    c.window = QColor(0xF5, 0xF6, 0xF8);
    c.surface = QColor(0xFF, 0xFF, 0xFF);
    c.raised = QColor(0xF0, 0xF2, 0xF5);
    c.text = QColor(0x1B, 0x1F, 0x24);
    c.dim = QColor(0x57, 0x60, 0x6A);
    c.line = QColor(0xD8, 0xDC, 0xE2);
    c.grid = QColor(0xEA, 0xED, 0xF1);
    c.accent = QColor(0x3B, 0x5B, 0xDB);
    c.onAccent = QColor(0xFF, 0xFF, 0xFF);
    c.selected = QColor(0xDF, 0xE5, 0xFA);
    c.highlight = QColor(0xE6, 0x9F, 0x00);
    c.warning = QColor(0x8A, 0x5A, 0x00);
    c.error = QColor(0xB4, 0x23, 0x18);
    c.warningBack = QColor(0xFD, 0xF3, 0xDC);
    c.errorBack = QColor(0xFC, 0xE8, 0xE6);
    return c;
}

ThemeColours darkColours()
{
    ThemeColours c;
    c.dark = true;
    c.window = QColor(0x16, 0x19, 0x1D);
    c.surface = QColor(0x1D, 0x21, 0x26);
    c.raised = QColor(0x26, 0x2B, 0x31);
    c.text = QColor(0xE6, 0xE9, 0xED);
    c.dim = QColor(0xA2, 0xAB, 0xB6);
    c.line = QColor(0x35, 0x3B, 0x43);
    c.grid = QColor(0x2A, 0x2F, 0x36);
    c.accent = QColor(0x8C, 0xA6, 0xFF);
    c.onAccent = QColor(0x12, 0x16, 0x1C);
    c.selected = QColor(0x2C, 0x38, 0x5E);
    c.highlight = QColor(0xE6, 0x9F, 0x00);
    c.warning = QColor(0xF2, 0xC1, 0x66);
    c.error = QColor(0xFF, 0x9A, 0x90);
    c.warningBack = QColor(0x3A, 0x30, 0x1A);
    c.errorBack = QColor(0x41, 0x22, 0x20);
    return c;
}

ThemeColours& current()
{
    static ThemeColours colours = lightColours();
    return colours;
}

QPalette paletteOf(const ThemeColours& c)
{
    QPalette p;
    p.setColor(QPalette::Window, c.window);
    p.setColor(QPalette::WindowText, c.text);
    p.setColor(QPalette::Base, c.surface);
    p.setColor(QPalette::AlternateBase, c.raised);
    p.setColor(QPalette::Text, c.text);
    p.setColor(QPalette::PlaceholderText, c.dim);
    p.setColor(QPalette::Button, c.surface);
    p.setColor(QPalette::ButtonText, c.text);
    p.setColor(QPalette::ToolTipBase, c.surface);
    p.setColor(QPalette::ToolTipText, c.text);
    p.setColor(QPalette::Highlight, c.selected);
    p.setColor(QPalette::HighlightedText, c.text);
    p.setColor(QPalette::Link, c.accent);
    p.setColor(QPalette::Mid, c.line);
    p.setColor(QPalette::Dark, c.line);
    for (const auto role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText})
        p.setColor(QPalette::Disabled, role, c.dark ? QColor(0x6B, 0x74, 0x80) : QColor(0x94, 0x9C, 0xA7));
    return p;
}

/// @names are replaced by colours. One sheet for the whole program: nothing else sets colours.
QString styleSheet(const ThemeColours& c)
{
    QString sheet = uR"(
QToolTip { background: @surface; color: @text; border: 1px solid @line; padding: 4px 8px; }
QMainWindow::separator { background: @line; width: 1px; height: 1px; }
QMainWindow::separator:hover { background: @accent; }
QMenuBar { background: @window; border-bottom: 1px solid @line; padding: 2px 4px; }
QMenuBar::item { padding: 4px 8px; border-radius: 4px; background: transparent; }
QMenuBar::item:selected { background: @selected; }
QMenu { background: @surface; border: 1px solid @line; padding: 4px 0; }
QMenu::item { padding: 5px 32px 5px 24px; }
QMenu::item:selected { background: @selected; color: @text; }
QMenu::item:disabled { color: @dim; }
QMenu::separator { height: 1px; background: @line; margin: 4px 0; }
QStatusBar { background: @window; border-top: 1px solid @line; color: @dim; }
QStatusBar::item { border: none; }
QStatusBar QLabel { padding: 0 12px; color: @dim; }
QDockWidget { color: @dim; font-weight: 600; titlebar-close-icon: none; }
QDockWidget::title { background: @window; padding: 8px 8px 4px 12px; text-align: left; }
QTabBar { qproperty-drawBase: 0; }
QTabBar::tab { background: transparent; color: @dim; padding: 8px 7px 6px 7px; border: none;
    border-bottom: 2px solid transparent; }
QTabBar::tab:selected { color: @text; border-bottom: 2px solid @accent; }
QTabBar::tab:hover:!selected { color: @text; border-bottom: 2px solid @line; }
QTabBar::tab:focus { color: @accent; }
QTabWidget::pane { border: none; border-top: 1px solid @line; background: @surface; }
QTabWidget { background: @window; }
QHeaderView { background: @surface; }
QHeaderView::section { background: @surface; color: @dim; border: none; border-bottom: 1px solid @line;
    padding: 5px 8px; }
QTreeView, QTableView, QListView, QPlainTextEdit, QTextBrowser { background: @surface; border: none;
    alternate-background-color: @raised; selection-background-color: @selected; selection-color: @text; }
QTreeView::item { padding: 2px 0; }
QTableView { gridline-color: @grid; }
QTreeView::branch:has-children:closed { image: url(:/halftone/chevron-right-@kind.svg); }
QTreeView::branch:has-children:open { image: url(:/halftone/chevron-down-@kind.svg); }
QPushButton, QToolButton { background: @surface; color: @text; border: 1px solid @line; border-radius: 4px;
    padding: 5px 12px; }
QToolButton { border-color: transparent; background: transparent; padding: 4px 8px; color: @dim; }
QToolButton:hover, QPushButton:hover { background: @raised; color: @text; }
QPushButton:pressed, QToolButton:pressed, QToolButton:checked { background: @selected; color: @text; }
QPushButton:focus, QToolButton:focus { border: 1px solid @accent; }
QPushButton:disabled, QToolButton:disabled { color: @off; }
QPushButton[primary="true"] { background: @accent; color: @onAccent; border: 1px solid @accent;
    font-weight: 600; }
QPushButton[primary="true"]:hover { background: @accentHover; }
QPushButton[primary="true"]:focus { border: 1px solid @text; }
QPushButton[primary="true"]:disabled { background: @raised; color: @off; border: 1px solid @line; }
QToolButton::menu-indicator { image: none; }
QLineEdit, QSpinBox, QDoubleSpinBox, QComboBox { background: @surface; color: @text; border: 1px solid @line;
    border-radius: 4px; padding: 4px 8px; selection-background-color: @accent; selection-color: @onAccent; }
QLineEdit:focus, QSpinBox:focus, QDoubleSpinBox:focus, QComboBox:focus, QTreeView:focus, QTableView:focus
    { border: 1px solid @accent; }
QTreeView, QTableView { border: 1px solid transparent; }
QLineEdit:disabled, QSpinBox:disabled, QDoubleSpinBox:disabled, QComboBox:disabled { color: @off;
    background: @window; }
QLineEdit[wrong="true"], QSpinBox[wrong="true"], QDoubleSpinBox[wrong="true"], QComboBox[wrong="true"]
    { border: 1px solid @error; }
QComboBox::drop-down { border: none; width: 22px; }
QComboBox::down-arrow { image: url(:/halftone/chevron-down-@kind.svg); width: 12px; height: 12px; }
QComboBox QAbstractItemView { background: @surface; border: 1px solid @line; padding: 4px; outline: none; }
QSpinBox::up-button, QDoubleSpinBox::up-button { border: none; width: 20px; subcontrol-position: top right; }
QSpinBox::down-button, QDoubleSpinBox::down-button { border: none; width: 20px;
    subcontrol-position: bottom right; }
QSpinBox::up-arrow, QDoubleSpinBox::up-arrow { image: url(:/halftone/chevron-up-@kind.svg); width: 10px;
    height: 10px; }
QSpinBox::down-arrow, QDoubleSpinBox::down-arrow { image: url(:/halftone/chevron-down-@kind.svg);
    width: 10px; height: 10px; }
QScrollArea { border: none; background: @surface; }
QAbstractScrollArea::corner { background: transparent; border: none; }
QScrollBar { background: transparent; border: none; }
QScrollBar:vertical { width: 10px; }
QScrollBar:horizontal { height: 10px; }
QScrollBar::handle { background: @line; border-radius: 3px; margin: 2px; }
QScrollBar::handle:vertical { min-height: 24px; }
QScrollBar::handle:horizontal { min-width: 24px; }
QScrollBar::handle:hover { background: @dim; }
QScrollBar::add-line, QScrollBar::sub-line { width: 0; height: 0; }
QScrollBar::add-page, QScrollBar::sub-page { background: transparent; }
QSlider::groove:horizontal { height: 2px; background: @line; }
QSlider::sub-page:horizontal { height: 2px; background: @accent; }
QSlider::handle:horizontal { background: @accent; width: 12px; height: 12px; margin: -5px 0;
    border-radius: 6px; }
QSlider::handle:horizontal:disabled { background: @line; }
QSlider::sub-page:horizontal:disabled { background: @line; }
QProgressBar { background: @raised; border: none; border-radius: 3px; height: 6px; text-align: center; }
QProgressBar::chunk { background: @accent; border-radius: 3px; }
QLabel[tone="dim"] { color: @dim; }
QLabel[tone="error"] { color: @error; }
QLabel[tone="warning"] { color: @warning; }
QLabel[tone="title"] { font-weight: 600; }
QLabel[tone="section"] { color: @dim; font-weight: 600; }
QLabel[tone="figure"] { font-weight: 600; }
QLabel[tone="stale"] { color: @off; }
QWidget[role="page"] { background: @surface; }
QFrame[role="rule"] { background: @line; border: none; max-height: 1px; min-height: 1px; }
QFrame[role="message-warning"] { background: @warningBack; border-bottom: 1px solid @line; }
QFrame[role="message-error"] { background: @errorBack; border-bottom: 1px solid @line; }
QFrame[role="palette"] { background: @surface; border: 1px solid @line; border-radius: 6px; }
)"_s;
    const auto put = [&sheet](const QString& name, const QColor& colour) {
        sheet.replace(name, colour.name());
    };
    // Longer names first: "@line" would eat nothing of another, but "@warning" is a prefix of "@warningBack".
    put(u"@warningBack"_s, c.warningBack);
    put(u"@errorBack"_s, c.errorBack);
    put(u"@accentHover"_s, c.dark ? c.accent.lighter(112) : c.accent.darker(115));
    put(u"@onAccent"_s, c.onAccent);
    put(u"@window"_s, c.window);
    put(u"@surface"_s, c.surface);
    put(u"@raised"_s, c.raised);
    put(u"@text"_s, c.text);
    put(u"@dim"_s, c.dim);
    put(u"@line"_s, c.line);
    put(u"@grid"_s, c.grid);
    put(u"@accent"_s, c.accent);
    put(u"@selected"_s, c.selected);
    put(u"@warning"_s, c.warning);
    put(u"@error"_s, c.error);
    put(u"@off"_s, c.dark ? QColor(0x6B, 0x74, 0x80) : QColor(0x94, 0x9C, 0xA7));
    sheet.replace(u"@kind"_s, c.dark ? u"dark"_s : u"light"_s);
    return sheet;
}

/// What the desktop asks for, read before the first palette of ours.
bool systemIsDark(const QApplication& application)
{
    static const bool dark = application.palette().color(QPalette::Window).lightness() < 128;
    return dark;
}

} // namespace

void Theme::apply(QApplication& application, ThemeMode mode)
{
    const bool system = systemIsDark(application);
    g_mode = mode;
    const bool dark = mode == ThemeMode::Dark || (mode == ThemeMode::System && system);
    current() = dark ? darkColours() : lightColours();
    // Once only: a new style under a style sheet that widgets still hold on to crashes in Qt 6.4.
    static bool styled = false;
    if (!std::exchange(styled, true)) application.setStyle(QStyleFactory::create(u"Fusion"_s));
    application.setPalette(paletteOf(current()));
    application.setStyleSheet(styleSheet(current()));
}

ThemeMode Theme::mode() { return g_mode; }

const ThemeColours& Theme::colours() { return current(); }

} // namespace halftone
