// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/window/command_palette.h"

#include "app/ui/theme.h"
#include "app/window/action_list.h"

#include <QKeyEvent>
#include <QLineEdit>
#include <QListView>
#include <QPainter>
#include <QStyledItemDelegate>
#include <QVBoxLayout>

#include <algorithm>

namespace halftone {

using namespace Qt::Literals::StringLiterals;

namespace {

constexpr int kDetailRole = Qt::UserRole + 1;
constexpr int kRunRole = Qt::UserRole + 2;

/// Name on the left, shortcut or path dim on the right.
class EntryDelegate : public QStyledItemDelegate {
public:
    using QStyledItemDelegate::QStyledItemDelegate;
    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override
    {
        const ThemeColours& c = Theme::colours();
        if ((option.state & QStyle::State_Selected) != 0) painter->fillRect(option.rect, c.selected);
        const QRect box = option.rect.adjusted(12, 0, -12, 0);
        const bool enabled = (index.flags() & Qt::ItemIsEnabled) != 0;
        const QString detail = index.data(kDetailRole).toString();
        const int right = option.fontMetrics.horizontalAdvance(detail);
        painter->setPen(c.dim);
        painter->drawText(box, Qt::AlignRight | Qt::AlignVCenter, detail);
        painter->setPen(enabled ? c.text : c.dim);
        painter->drawText(box, Qt::AlignLeft | Qt::AlignVCenter,
                          option.fontMetrics.elidedText(index.data().toString(), Qt::ElideMiddle,
                                                        box.width() - right - 16));
    }
    QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex&) const override
    {
        return {100, option.fontMetrics.height() + 10};
    }
};

bool wordsMatch(const QString& text, const QStringList& words)
{
    return std::all_of(words.begin(), words.end(),
                       [&](const QString& word) { return text.contains(word, Qt::CaseInsensitive); });
}

} // namespace

CommandPalette::CommandPalette(ActionList& actions, std::function<std::vector<Hit>(const QString&)> search,
                               QWidget* parent)
    : QFrame(parent), m_actions(actions), m_search(std::move(search)), m_edit(new QLineEdit(this)),
      m_list(new QListView(this))
{
    setProperty("role", u"palette"_s);
    setAccessibleName(tr("Command palette"));
    m_edit->setPlaceholderText(tr("Search commands and weights"));
    m_edit->setAccessibleName(tr("Search commands and weights"));
    m_list->setModel(&m_entries);
    m_list->setItemDelegate(new EntryDelegate(m_list));
    m_list->setAccessibleName(tr("What was found"));
    m_list->setEditTriggers(QAbstractItemView::NoEditTriggers);
    m_list->setUniformItemSizes(true);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(Theme::kStep, Theme::kStep, Theme::kStep, Theme::kStep);
    layout->addWidget(m_edit);
    layout->addWidget(m_list);
    m_edit->installEventFilter(this);
    connect(m_edit, &QLineEdit::textChanged, this, &CommandPalette::filter);
    connect(m_list, &QListView::clicked, this, [this] { runCurrent(); });
    hide();
}

void CommandPalette::popUp()
{
    const int width = std::min(640, parentWidget()->width() - 48);
    setGeometry((parentWidget()->width() - width) / 2, 56, width,
                std::min(460, parentWidget()->height() - 112));
    m_edit->clear();
    filter({});
    show();
    raise();
    m_edit->setFocus();
}

void CommandPalette::filter(const QString& text)
{
    m_entries.clear();
    m_runs.clear();
    const QStringList words = text.split(u' ', Qt::SkipEmptyParts);
    const auto add = [this](const QString& name, const QString& detail, bool enabled,
                            std::function<void()> run) {
        auto* item = new QStandardItem(name);
        item->setData(detail, kDetailRole);
        item->setData(static_cast<int>(m_runs.size()), kRunRole);
        item->setEnabled(enabled);
        item->setToolTip(name);
        m_entries.appendRow(item);
        m_runs.push_back(std::move(run));
    };
    for (QAction* action : m_actions.all()) {
        if (!action->isVisible()) continue;
        const QString name = action->text().remove(u'&').remove(u"…"_s);
        const QString id = action->objectName();
        if (!wordsMatch(name + u' ' + id, words)) continue;
        QString detail = action->shortcut().toString(QKeySequence::NativeText);
        if (detail.isEmpty()) detail = id;
        add(name, detail, action->isEnabled(), [action] { action->trigger(); });
    }
    if (text.size() >= 2)
        for (Hit& hit : m_search(text))
            add(hit.text, hit.detail, true, std::move(hit.run));
    m_list->setCurrentIndex(m_entries.index(0, 0));
}

void CommandPalette::runCurrent()
{
    const QModelIndex index = m_list->currentIndex();
    if (!index.isValid() || (index.flags() & Qt::ItemIsEnabled) == 0) return;
    const auto run = m_runs[static_cast<std::size_t>(index.data(kRunRole).toInt())];
    hide();
    run();
}

bool CommandPalette::eventFilter(QObject* watched, QEvent* event)
{
    if (event->type() == QEvent::FocusOut && !m_list->hasFocus()) hide();
    if (event->type() != QEvent::KeyPress) return QFrame::eventFilter(watched, event);
    const int key = static_cast<QKeyEvent*>(event)->key();
    const int row = m_list->currentIndex().row();
    const int last = m_entries.rowCount() - 1;
    switch (key) {
    case Qt::Key_Down:
        m_list->setCurrentIndex(m_entries.index(std::min(row + 1, last), 0));
        return true;
    case Qt::Key_Up:
        m_list->setCurrentIndex(m_entries.index(std::max(row - 1, 0), 0));
        return true;
    case Qt::Key_PageDown:
        m_list->setCurrentIndex(m_entries.index(std::min(row + 10, last), 0));
        return true;
    case Qt::Key_PageUp:
        m_list->setCurrentIndex(m_entries.index(std::max(row - 10, 0), 0));
        return true;
    case Qt::Key_Return:
    case Qt::Key_Enter:
        runCurrent();
        return true;
    case Qt::Key_Escape:
        hide();
        return true;
    default:
        return QFrame::eventFilter(watched, event);
    }
}

} // namespace halftone
