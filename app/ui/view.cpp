// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/ui/view.h"

#include "app/host/strings.h"
#include "app/models/background.h"
#include "app/ui/chart_view.h"
#include "app/ui/data_table.h"
#include "app/ui/raster_view.h"
#include "app/ui/theme.h"
#include "app/ui/treemap_view.h"
#include "core/base/file.h"

#include <QAction>
#include <QClipboard>
#include <QComboBox>
#include <QFileDialog>
#include <QGuiApplication>
#include <QKeyEvent>
#include <QLabel>
#include <QMenu>
#include <QPainter>
#include <QPushButton>
#include <QStackedWidget>
#include <QStyle>
#include <QToolButton>
#include <QVBoxLayout>

#include <algorithm>

namespace halftone {

using namespace Qt::Literals::StringLiterals;

namespace {

/// Works away from the window's thread too: it touches the picture only.
Status writePicture(const Picture& picture, const QString& file, PictureTheme theme, double scale)
{
    const PictureStyle style{.width = 960, .height = 600, .theme = theme};
    const std::filesystem::path path(toStd(file));
    if (file.endsWith(u".csv"_s, Qt::CaseInsensitive)) return writeTextFile(path, renderCsv(picture));
    if (file.endsWith(u".svg"_s, Qt::CaseInsensitive)) return writeTextFile(path, renderSvg(picture, style));
    if (!file.endsWith(u".png"_s, Qt::CaseInsensitive))
        return Error(Errc::InvalidArgument, "a figure is written as .png, .svg or .csv")
            .in("file " + toStd(file));
    HALFTONE_TRY(png, renderPng(picture, style, scale));
    return writeTextFile(path, std::string_view(reinterpret_cast<const char*>(png.data()), png.size()));
}

constexpr int kLeastTitle = 200;    ///< pixels of a title beside the controls
constexpr int kReadableTitle = 150; ///< a title that is cut to less tells nothing
constexpr int kLeastList = 84;

/// One line that is cut in its middle, where names are alike, when there is no room; whole in its tool tip.
class TitleLabel : public QLabel {
public:
    using QLabel::QLabel;
    QSize minimumSizeHint() const override { return {0, QLabel::minimumSizeHint().height()}; }

protected:
    void paintEvent(QPaintEvent*) override
    {
        QPainter painter(this);
        const QString shown = fontMetrics().elidedText(text(), Qt::ElideMiddle, width());
        style()->drawItemText(&painter, rect(), Qt::AlignLeft | Qt::AlignVCenter, palette(), isEnabled(),
                              shown, foregroundRole());
    }
};

PictureTheme pictureTheme() { return Theme::colours().dark ? PictureTheme::Dark : PictureTheme::Light; }

} // namespace

void scaleFont(QWidget& widget, double factor, bool bold)
{
    QFont font = widget.font();
    font.setPointSizeF(font.pointSizeF() * factor);
    font.setWeight(bold ? QFont::DemiBold : QFont::Normal);
    widget.setFont(font);
}

View::View(const QString& title, QWidget* parent)
    : QWidget(parent), m_title(new TitleLabel(title, this)), m_header(new QVBoxLayout),
      m_titleRow(new QHBoxLayout), m_controls(new QWidget(this)), m_pinButton(new QToolButton(this)),
      m_tableButton(new QToolButton(this)), m_exportButton(new QToolButton(this)),
      m_helpButton(new QToolButton(this)), m_stack(new QStackedWidget(this)), m_figurePage(new QWidget(this)),
      m_figureLayout(new QVBoxLayout(m_figurePage)), m_tableView(new DataTable(this)),
      m_emptyPage(new QWidget(this)), m_emptyHeadline(new QLabel(m_emptyPage)),
      m_emptyText(new QLabel(m_emptyPage)), m_emptyButton(new QPushButton(m_emptyPage)),
      m_reading(new QLabel(this))
{
    setProperty("role", u"page"_s);
    setAttribute(Qt::WA_StyledBackground);
    setAccessibleName(title);
    scaleFont(*m_title, 1.15, true);
    m_tableButton->setText(tr("Table"));
    m_tableButton->setToolTip(tr("Shows the numbers behind the figure (T)"));
    m_tableButton->setCheckable(true);
    m_tableButton->setAccessibleName(tr("Numbers of %1 as a table").arg(title));
    connect(m_tableButton, &QToolButton::clicked, this, [this] { toggleTable(); });
    m_exportButton->setText(tr("Export"));
    m_exportButton->setToolTip(tr("Saves or copies the figure and its numbers"));
    m_exportButton->setAccessibleName(tr("Export %1").arg(title));
    m_exportButton->setPopupMode(QToolButton::InstantPopup);
    auto* menu = new QMenu(m_exportButton);
    menu->addAction(tr("PNG image…"), this, [this] { askExport(u"png"_s); });
    menu->addAction(tr("SVG vector image…"), this, [this] { askExport(u"svg"_s); });
    menu->addAction(tr("CSV numbers…"), this, [this] { askExport(u"csv"_s); });
    menu->addSeparator();
    menu->addAction(tr("Copy image"), this, [this] {
        if (m_plot != nullptr) QGuiApplication::clipboard()->setPixmap(m_plot->grab());
    });
    menu->addAction(tr("Copy numbers as TSV"), this, [this] {
        if (m_table) QGuiApplication::clipboard()->setText(toQt(m_table->text('\t')));
    });
    menu->addAction(tr("Copy description"), this,
                    [this] { QGuiApplication::clipboard()->setText(describe()); });
    m_exportButton->setMenu(menu);

    // A long title never makes the window wider.
    m_title->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    m_titleRow->addWidget(m_title, 1);
    m_titleRow->addWidget(m_controls);
    m_pinButton->setText(tr("Pin"));
    m_pinButton->setToolTip(tr("Keeps this panel at its place while the selection moves on"));
    m_pinButton->setCheckable(true);
    m_pinButton->setAccessibleName(tr("Pin %1").arg(title));
    m_pinButton->setVisible(false);
    connect(m_pinButton, &QToolButton::toggled, this, &View::pinChanged);
    m_helpButton->setText(u"?"_s);
    m_helpButton->setToolTip(tr("What this figure shows and how to read it (F1)"));
    m_helpButton->setAccessibleName(tr("Help for %1").arg(title));
    m_helpButton->setVisible(false);
    connect(m_helpButton, &QToolButton::clicked, this, [this] { Q_EMIT helpAsked(m_helpTopic); });
    m_titleRow->addWidget(m_pinButton);
    m_titleRow->addWidget(m_tableButton);
    m_titleRow->addWidget(m_exportButton);
    m_titleRow->addWidget(m_helpButton);
    m_titleRow->setSpacing(Theme::kStep);
    auto* controls = new QHBoxLayout(m_controls);
    controls->setContentsMargins(0, 0, 0, 0);
    controls->setSpacing(Theme::kStep);
    m_header->addLayout(m_titleRow);
    m_header->setSpacing(Theme::kStep);

    m_figureLayout->setContentsMargins(0, 0, 0, 0);
    m_figureLayout->setSpacing(Theme::kStep);

    scaleFont(*m_emptyHeadline, 1.3, true);
    m_emptyHeadline->setAlignment(Qt::AlignHCenter);
    m_emptyText->setWordWrap(true);
    m_emptyText->setAlignment(Qt::AlignHCenter);
    m_emptyText->setProperty("tone", u"dim"_s);
    m_emptyText->setMaximumWidth(480);
    m_emptyButton->setProperty("primary", true);
    auto* empty = new QVBoxLayout(m_emptyPage);
    empty->setSpacing(2 * Theme::kStep);
    empty->addStretch(2);
    empty->addWidget(m_emptyHeadline, 0, Qt::AlignHCenter);
    // Stretches beside it and no alignment: only then a wrapped label gets the height it needs.
    auto* words = new QHBoxLayout;
    words->addStretch(1);
    words->addWidget(m_emptyText, 8);
    words->addStretch(1);
    empty->addLayout(words);
    empty->addWidget(m_emptyButton, 0, Qt::AlignHCenter);
    empty->addStretch(3);
    connect(m_emptyButton, &QPushButton::clicked, this, [this] {
        if (!m_emptyAction.isNull()) m_emptyAction->trigger();
    });

    m_stack->addWidget(m_figurePage);
    m_stack->addWidget(m_tableView);
    m_stack->addWidget(m_emptyPage);

    m_reading->setProperty("tone", u"dim"_s);
    m_reading->setWordWrap(true);
    m_reading->setTextInteractionFlags(Qt::TextSelectableByMouse);

    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(2 * Theme::kStep, Theme::kStep, 2 * Theme::kStep, Theme::kStep);
    layout->setSpacing(Theme::kStep);
    layout->addLayout(m_header);
    layout->addWidget(m_stack, 1);
    layout->addWidget(m_reading);
    showEmpty(title, {});
}

QString View::title() const { return m_title->text(); }

void View::setTitle(const QString& title)
{
    m_title->setText(title);
    m_title->setToolTip(title);
    fitHeader();
}

bool View::titleShown() const
{
    return m_title->width() >= std::min(m_title->sizeHint().width(), kReadableTitle);
}

void View::fitHeader()
{
    const int title = std::min(m_title->sizeHint().width(), kLeastTitle);
    const int room = contentsRect().width() - 4 * Theme::kStep;
    const int others = m_titleRow->sizeHint().width(); // the title counts as nothing there
    const bool beside = m_titleRow->indexOf(m_controls) >= 0;
    const int own = beside ? 0 : m_controls->sizeHint().width() + m_titleRow->spacing();
    const bool fits = others + own + title <= room;
    if (fits == beside) return;
    if (fits)
        m_titleRow->insertWidget(1, m_controls);
    else
        m_header->addWidget(m_controls, 0, Qt::AlignLeft);
}

void View::resizeEvent(QResizeEvent* event)
{
    QWidget::resizeEvent(event);
    fitHeader();
}

bool View::event(QEvent* event)
{
    // A control was shown or hidden.
    if (event->type() == QEvent::LayoutRequest) fitHeader();
    return QWidget::event(event);
}

void View::setReading(const QString& text)
{
    QString shown = text;
    if (m_plot != nullptr && !m_plot->note().isEmpty())
        shown += (shown.isEmpty() ? QString() : u"  "_s) + u"("_s + m_plot->note() + u")"_s;
    m_reading->setText(shown);
    m_reading->setVisible(!shown.isEmpty());
}

QString View::reading() const { return m_reading->text(); }

QString View::describe() const
{
    if (!m_picture) return title();
    return toQt(halftone::describe(*m_picture));
}

void View::choosePlot(const Picture& picture)
{
    enum class Kind { Chart, Raster, Treemap } kind = Kind::Chart;
    if (!picture.series.empty()) {
        if (picture.series.front().mark == Trace::Mark::Cells) kind = Kind::Raster;
        if (picture.series.front().mark == Trace::Mark::Rectangles) kind = Kind::Treemap;
    }
    const bool fits = (kind == Kind::Chart && qobject_cast<ChartView*>(m_plot) != nullptr) ||
                      (kind == Kind::Raster && qobject_cast<RasterView*>(m_plot) != nullptr) ||
                      (kind == Kind::Treemap && qobject_cast<TreemapView*>(m_plot) != nullptr);
    if (fits) return;
    delete m_plot;
    if (kind == Kind::Raster)
        m_plot = new RasterView(m_figurePage);
    else if (kind == Kind::Treemap)
        m_plot = new TreemapView(m_figurePage);
    else
        m_plot = new ChartView(m_figurePage);
    m_plot->setAccessibleName(title());
    m_figureLayout->insertWidget(0, m_plot, 1);
    connect(m_plot, &Plot::hovered, this, &View::hovered);
    connect(m_plot, &Plot::picked, this, &View::pointPicked);
}

void View::setPicture(std::shared_ptr<const Picture> picture)
{
    m_picture = std::move(picture);
    m_tableFresh = false;
    if (!m_picture) {
        m_table.reset();
        return;
    }
    choosePlot(*m_picture);
    m_plot->setPicture(m_picture);
    plotReady(*m_plot);
    setTable(std::make_shared<const TableData>(tableOf(*m_picture)));
    if (m_stack->currentWidget() == m_emptyPage) m_stack->setCurrentWidget(m_figurePage);
    m_tableButton->setVisible(true);
    m_exportButton->setVisible(true);
    setReading(toQt(m_picture->spec.caption));
    setAccessibleDescription(describe());
}

void View::setTable(std::shared_ptr<const TableData> table)
{
    m_table = std::move(table);
    m_tableFresh = false;
    if (tableShown()) {
        m_tableView->setTable(m_table);
        m_tableFresh = true;
    }
}

void View::setStale(bool stale)
{
    if (m_plot != nullptr) m_plot->setStale(stale);
}

void View::showEmpty(const QString& headline, const QString& text, QAction* action)
{
    m_emptyHeadline->setText(headline);
    m_emptyText->setText(text);
    m_emptyText->setVisible(!text.isEmpty());
    m_emptyAction = action;
    m_emptyButton->setVisible(action != nullptr);
    if (action != nullptr) {
        m_emptyButton->setText(action->text().remove(u'&'));
        m_emptyButton->setEnabled(action->isEnabled());
    }
    m_stack->setCurrentWidget(m_emptyPage);
    m_tableButton->setVisible(false);
    m_tableButton->setChecked(false);
    m_exportButton->setVisible(false);
    m_picture.reset();
    m_table.reset();
    m_reading->setVisible(false);
    setAccessibleDescription(headline + u". "_s + text);
}

void View::follow(const Place& place)
{
    if (!isPinned()) highlight(place);
}

void View::setPinnable() { m_pinButton->setVisible(true); }

bool View::isPinned() const { return m_pinButton->isChecked(); }

void View::setPinned(bool pinned) { m_pinButton->setChecked(pinned); }

void View::setHelpTopic(const QString& topic)
{
    m_helpTopic = topic;
    m_helpButton->setVisible(!topic.isEmpty());
}

bool View::isEmpty() const { return m_stack->currentWidget() == m_emptyPage; }

void View::toggleTable()
{
    if (isEmpty()) return;
    const bool table = !tableShown();
    m_tableButton->setChecked(table);
    if (table && !m_tableFresh) {
        m_tableView->setTable(m_table);
        m_tableFresh = true;
    }
    m_stack->setCurrentWidget(table ? static_cast<QWidget*>(m_tableView) : m_figurePage);
    (table ? static_cast<QWidget*>(m_tableView) : m_plot)->setFocus();
}

bool View::tableShown() const { return m_stack->currentWidget() == m_tableView; }

void View::addHeaderWidget(QWidget* widget)
{
    // A list may become narrower than its longest entry, so that the window can.
    if (qobject_cast<QComboBox*>(widget) != nullptr) widget->setMinimumWidth(kLeastList);
    m_controls->layout()->addWidget(widget);
}

Status View::exportTo(const QString& file, double scale) const
{
    if (!m_picture) return Error(Errc::InvalidArgument, toStd(title()) + " has nothing to export yet");
    return writePicture(*m_picture, file, pictureTheme(), scale);
}

void View::askExport(const QString& suffix)
{
    if (!m_picture) return;
    const QString name = toQt(m_picture->spec.id.empty() ? "figure" : m_picture->spec.id) + u'.' + suffix;
    QString file = QFileDialog::getSaveFileName(this, tr("Export %1").arg(title()), name,
                                                tr("%1 files (*.%2)").arg(suffix.toUpper(), suffix));
    if (file.isEmpty()) return;
    if (!file.endsWith(u'.' + suffix, Qt::CaseInsensitive)) file += u'.' + suffix;
    inBackground(
        this,
        [picture = m_picture, file, theme = pictureTheme()] {
            return writePicture(*picture, file, theme, 2);
        },
        [this](const Status& done) {
            if (!done) Q_EMIT failed(toQt(done.error().line()));
        });
}

void View::keyPressEvent(QKeyEvent* event)
{
    if (event->key() == Qt::Key_T && event->modifiers() == Qt::NoModifier) {
        toggleTable();
        return;
    }
    QWidget::keyPressEvent(event);
}

} // namespace halftone
