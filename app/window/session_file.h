// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/window/method_panel.h"
#include "core/base/result.h"

#include <QByteArray>
#include <QLatin1StringView>
#include <QString>
#include <QStringList>

#include <optional>
#include <string>
#include <string_view>

namespace halftone {

inline constexpr auto kSessionSuffix = QLatin1StringView(".halftone");

/// A file that a session looks at, by place and content.
struct SessionInput {
    QString path; ///< absolute
    QString hash; ///< of the content; empty: not known yet
    friend bool operator==(const SessionInput&, const SessionInput&) = default;
};

/// What a person chose in the window: enough to find everything again. Results are not in it: they are
/// files of their own, or are made again.
struct Session {
    std::optional<SessionInput> model, results;
    FormState form;
    std::optional<double> budget; ///< bytes
    QString panel;                ///< id of the tab in front
    QStringList pinned;           ///< ids of panels that don't follow the selection
    QString filter;               ///< of the weights
    QString weight;               ///< name of the selected one; empty: none
    qint64 row = -1, block = -1;
    QString workspace; ///< id of the layout
    QByteArray layout;
    QString notes;
    friend bool operator==(const Session&, const Session&) = default;
};

/// JSON. Inputs beside or below `folder` are written relative to it, so that all can move together.
std::string sessionText(const Session& session, const QString& folder);
/// Unsupported for a newer version; BadFormat names the member and what is wrong with it.
Result<Session> readSession(std::string_view text, const QString& folder);
/// Reads a session file: NotFound, BadFormat, Unsupported, with the file's name.
Result<Session> loadSession(const QString& file);
/// Writes it whole or not at all. Hashes a results file whose hash is not known: not on the window's thread.
Status saveSession(Session session, const QString& file);
/// Hash of a file's whole content, as inputs that are no checkpoints are named.
Result<QString> contentHashOf(const QString& file);

} // namespace halftone
