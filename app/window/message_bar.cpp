// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/window/message_bar.h"

#include "app/ui/theme.h"

#include <QAccessible>
#include <QClipboard>
#include <QGuiApplication>
#include <QHBoxLayout>
#include <QLabel>
#include <QStyle>
#include <QToolButton>

#include <utility>

namespace halftone {

using namespace Qt::Literals::StringLiterals;

MessageBar::MessageBar(QWidget* parent)
    : QFrame(parent), m_label(new QLabel(this)), m_copy(new QToolButton(this)), m_offer(new QToolButton(this))
{
    m_label->setWordWrap(true);
    m_label->setTextInteractionFlags(Qt::TextSelectableByMouse);
    m_copy->setText(tr("Copy details"));
    m_copy->setAccessibleName(tr("Copy the details of the message"));
    connect(m_copy, &QToolButton::clicked, this,
            [this] { QGuiApplication::clipboard()->setText(m_details); });
    m_offer->setObjectName(u"offer"_s);
    connect(m_offer, &QToolButton::clicked, this, [this] {
        hide();
        if (const auto run = std::exchange(m_run, nullptr)) run();
    });
    auto* close = new QToolButton(this);
    close->setText(u"✕"_s);
    close->setAccessibleName(tr("Close the message"));
    connect(close, &QToolButton::clicked, this, &QWidget::hide);
    auto* layout = new QHBoxLayout(this);
    layout->setContentsMargins(2 * Theme::kStep, 4, Theme::kStep, 4);
    layout->addWidget(m_label, 1);
    layout->addWidget(m_offer);
    layout->addWidget(m_copy);
    layout->addWidget(close);
    hide();
}

QString MessageBar::text() const { return isHidden() ? QString() : m_label->text(); }

void MessageBar::showLine(const QString& line, const QString& details, const char* role)
{
    m_label->setText(line);
    m_details = details.isEmpty() ? line : details;
    m_run = nullptr;
    m_offer->hide();
    m_copy->setVisible(QLatin1StringView(role) != "info"_L1);
    setProperty("role", QString(u"message-"_s + QLatin1StringView(role)));
    style()->unpolish(this);
    style()->polish(this);
    setAccessibleName(line);
    show();
    QAccessibleEvent alert(this, QAccessible::Alert);
    QAccessible::updateAccessibility(&alert);
}

void MessageBar::dismiss()
{
    if (!m_run) hide();
}

void MessageBar::showError(const QString& line) { showLine(line, {}, "error"); }

void MessageBar::showWarning(const QString& line, const QString& details)
{
    showLine(line, details, "warning");
}

void MessageBar::showInfo(const QString& line) { showLine(line, {}, "info"); }

void MessageBar::offer(const QString& line, const QString& button, std::function<void()> run)
{
    showLine(line, {}, "info");
    m_run = std::move(run);
    m_offer->setText(button);
    m_offer->setAccessibleName(button);
    m_offer->show();
}

} // namespace halftone
