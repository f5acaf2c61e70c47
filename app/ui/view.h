// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/models/selection.h"
#include "app/models/table_data.h"
#include "app/ui/plot.h"

#include <QPointer>
#include <QWidget>

#include <memory>

class QAction;
class QBoxLayout;
class QHBoxLayout;
class QLabel;
class QPushButton;
class QStackedWidget;
class QToolButton;
class QVBoxLayout;

namespace halftone {

class DataTable;

/// A panel of the window: a title, the figure (or its numbers, key T), one line read from the numbers,
/// and export at the top right. While there is nothing to show, it says what would be here and offers
/// the one button that makes it so.
class View : public QWidget {
    Q_OBJECT
public:
    explicit View(const QString& title, QWidget* parent = nullptr);
    QString title() const;
    void setTitle(const QString& title);
    /// Whether a reader sees at least a good part of it.
    bool titleShown() const;
    /// One line made from the numbers, under the figure.
    void setReading(const QString& text);
    QString reading() const;
    /// What the panel shows, in words: for screen readers and as the export's caption.
    virtual QString describe() const;
    /// The same numbers as a table; null: none yet.
    std::shared_ptr<const TableData> dataTable() const { return m_table; }
    /// Shows this place of the model, as far as the panel has it.
    virtual void highlight(const Place& place) { static_cast<void>(place); }
    /// The selection moved: highlight(), unless the panel is pinned.
    void follow(const Place& place);
    void setPinnable();
    bool isPinned() const;
    void setPinned(bool pinned);
    /// Offers help at the top right: a page's name, handed out by helpAsked().
    void setHelpTopic(const QString& topic);
    const QString& helpTopic() const { return m_helpTopic; }
    /// Shows the picture in the plot that fits its kind.
    virtual void setPicture(std::shared_ptr<const Picture> picture);
    std::shared_ptr<const Picture> picture() const { return m_picture; }
    Plot* plot() const { return m_plot; }
    void setStale(bool stale);
    /// Shows words and, when there is one, a button instead of the figure.
    void showEmpty(const QString& headline, const QString& text, QAction* action = nullptr);
    bool isEmpty() const;
    void toggleTable();
    bool tableShown() const;
    void addHeaderWidget(QWidget* widget);
    /// Writes the picture, by suffix: .png, .svg or .csv. Also when no window is shown.
    Status exportTo(const QString& file, double scale = 2) const;

Q_SIGNALS:
    void picked(const halftone::Place& place);
    void hovered(const QString& text);
    void failed(const QString& line);
    void pinChanged(bool pinned);
    void helpAsked(const QString& topic);

protected:
    /// A point of the plot was picked; the base class does nothing.
    virtual void pointPicked(PlotPoint point) { static_cast<void>(point); }
    /// Called for each new plot widget: the place to set rulers and labels.
    virtual void plotReady(Plot& plot) { static_cast<void>(plot); }
    /// A widget under or beside the plot.
    QVBoxLayout* figureLayout() const { return m_figureLayout; }
    void setTable(std::shared_ptr<const TableData> table);
    void keyPressEvent(QKeyEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    bool event(QEvent* event) override;

private:
    /// Title and controls in one line when both have room, else in two.
    void fitHeader();
    void choosePlot(const Picture& picture);
    void askExport(const QString& suffix);

    QLabel* m_title;
    QBoxLayout* m_header;
    QHBoxLayout* m_titleRow;
    QWidget* m_controls; ///< lists and buttons of the panel itself
    QToolButton* m_pinButton;
    QToolButton* m_tableButton;
    QToolButton* m_exportButton;
    QToolButton* m_helpButton;
    QString m_helpTopic;
    QStackedWidget* m_stack;
    QWidget* m_figurePage;
    QVBoxLayout* m_figureLayout;
    DataTable* m_tableView;
    QWidget* m_emptyPage;
    QLabel* m_emptyHeadline;
    QLabel* m_emptyText;
    QPushButton* m_emptyButton;
    QPointer<QAction> m_emptyAction;
    QLabel* m_reading;
    Plot* m_plot = nullptr;
    std::shared_ptr<const Picture> m_picture;
    std::shared_ptr<const TableData> m_table;
    bool m_tableFresh = false;
};

/// The widget's font, larger or smaller by a factor, and bold if asked.
void scaleFont(QWidget& widget, double factor, bool bold);

} // namespace halftone
