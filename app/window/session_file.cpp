// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/window/session_file.h"

#include "app/host/strings.h"
#include "core/base/file.h"
#include "core/base/hash.h"
#include "core/base/version.h"

#include <QDir>
#include <QFileInfo>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>

#include <algorithm>
#include <cmath>

namespace halftone {

using namespace Qt::Literals::StringLiterals;

namespace {

constexpr int kSessionVersion = 1;
constexpr std::uint64_t kLargestFile = 8U << 20;
constexpr qsizetype kLongestText = 1 << 20;
constexpr qsizetype kMostEntries = 1000;
constexpr double kLargestBudget = 1e18;

/// Reads members by name; the first that is wrong is remembered, and names itself with its object.
class Reader {
public:
    Reader(QJsonObject object, QString where, std::optional<Error>& wrong)
        : m_object(std::move(object)), m_where(std::move(where)), m_wrong(wrong)
    {
    }
    bool has(const QString& key) const { return m_object.contains(key); }
    Reader object(const QString& key) const
    {
        const QJsonValue value = m_object.value(key);
        if (!value.isUndefined() && !value.isObject()) refuse(key, u"is no object"_s);
        return {value.toObject(), m_where + key + u'.', m_wrong};
    }
    QString text(const QString& key) const { return checked(key, m_object.value(key)); }
    double number(const QString& key, double fallback, double low, double high) const
    {
        const QJsonValue value = m_object.value(key);
        if (value.isUndefined()) return fallback;
        const double number = value.toDouble(std::nan(""));
        if (number >= low && number <= high) return number;
        refuse(key, u"is no number from %1 to %2"_s.arg(low).arg(high));
        return fallback;
    }
    QStringList texts(const QString& key) const
    {
        const QJsonValue value = m_object.value(key);
        if (value.isUndefined()) return {};
        if (!value.isArray() || value.toArray().size() > kMostEntries) {
            refuse(key, u"is no short list"_s);
            return {};
        }
        QStringList out;
        const QJsonArray list = value.toArray();
        for (const auto& entry : list)
            out << checked(key, entry);
        return out;
    }
    ParamTexts pairs(const QString& key) const
    {
        const QJsonObject object = m_object.value(key).toObject();
        if ((has(key) && !m_object.value(key).isObject()) || object.size() > kMostEntries)
            refuse(key, u"is no short object"_s);
        ParamTexts out;
        for (auto at = object.begin(); at != object.end() && !m_wrong; ++at)
            out.emplace_back(toStd(at.key()), toStd(checked(key + u'.' + at.key(), at.value())));
        return out;
    }
    void refuse(const QString& key, const QString& why) const
    {
        if (!m_wrong) m_wrong = Error(Errc::BadFormat, toStd(u"\"%1%2\" %3"_s.arg(m_where, key, why)));
    }

private:
    QString checked(const QString& key, const QJsonValue& value) const
    {
        if (value.isUndefined()) return {};
        QString text = value.toString();
        if (!value.isString() || text.size() > kLongestText || text.contains(QChar(0))) {
            refuse(key, u"is no text"_s);
            return {};
        }
        return text;
    }
    QJsonObject m_object;
    QString m_where;
    std::optional<Error>& m_wrong;
};

QJsonObject inputObject(const SessionInput& input, const QString& folder)
{
    const QString relative = QDir(folder).relativeFilePath(input.path);
    return {{u"path"_s, relative.startsWith(u".."_s) ? input.path : relative}, {u"hash"_s, input.hash}};
}

std::optional<SessionInput> readInput(const Reader& root, const QString& key, const QString& folder)
{
    if (!root.has(key)) return std::nullopt;
    const Reader at = root.object(key);
    const QString path = at.text(u"path"_s);
    if (path.isEmpty()) at.refuse(u"path"_s, u"is missing"_s);
    return SessionInput{QDir::cleanPath(QDir(folder).absoluteFilePath(path)), at.text(u"hash"_s)};
}

} // namespace

std::string sessionText(const Session& s, const QString& folder)
{
    QJsonObject params;
    for (const auto& [key, text] : s.form.texts)
        params.insert(toQt(key), toQt(text));
    QJsonObject choices{{u"method"_s, s.form.method},
                        {u"params"_s, params},
                        {u"panel"_s, s.panel},
                        {u"pinned"_s, QJsonArray::fromStringList(s.pinned)},
                        {u"filter"_s, s.filter}};
    if (!s.form.output.isEmpty()) choices.insert(u"output"_s, s.form.output);
    if (s.budget) choices.insert(u"budget_bytes"_s, *s.budget);
    if (!s.weight.isEmpty())
        choices.insert(u"selection"_s,
                       QJsonObject{{u"weight"_s, s.weight}, {u"row"_s, s.row}, {u"block"_s, s.block}});
    QJsonObject root{{u"format"_s, u"halftone-session"_s},
                     {u"version"_s, kSessionVersion},
                     {u"program"_s, QLatin1StringView(halftone::kVersion)},
                     {u"choices"_s, choices},
                     {u"layout"_s, QJsonObject{{u"workspace"_s, s.workspace},
                                               {u"docks"_s, QString::fromLatin1(s.layout.toBase64())}}},
                     {u"notes"_s, s.notes}};
    if (s.model) root.insert(u"model"_s, inputObject(*s.model, folder));
    if (s.results) root.insert(u"results"_s, inputObject(*s.results, folder));
    return QJsonDocument(root).toJson().toStdString();
}

Result<Session> readSession(std::string_view text, const QString& folder)
{
    QJsonParseError problem;
    const auto document = QJsonDocument::fromJson(
        QByteArray::fromRawData(text.data(), static_cast<qsizetype>(text.size())), &problem);
    if (document.isNull() || !document.isObject())
        return Error(Errc::BadFormat, toStd(document.isNull() ? problem.errorString() : u"no object"_s) +
                                          " at byte " + std::to_string(problem.offset));
    std::optional<Error> wrong;
    const Reader root(document.object(), {}, wrong);
    if (root.text(u"format"_s) != u"halftone-session"_s)
        return Error(Errc::BadFormat, "this is no session: \"format\" is not \"halftone-session\"");
    const double version = root.number(u"version"_s, 0, 1, 1e6);
    if (!root.has(u"version"_s)) root.refuse(u"version"_s, u"is missing"_s);
    if (!wrong && version > kSessionVersion)
        return Error(
            Errc::Unsupported,
            toStd(u"it has version %1, this program reads up to %2: update Halftone"_s.arg(version).arg(
                kSessionVersion)));
    Session s;
    s.model = readInput(root, u"model"_s, folder);
    s.results = readInput(root, u"results"_s, folder);
    const Reader choices = root.object(u"choices"_s);
    s.form = {choices.text(u"method"_s), choices.pairs(u"params"_s), choices.text(u"output"_s)};
    if (choices.has(u"budget_bytes"_s)) s.budget = choices.number(u"budget_bytes"_s, 0, 1, kLargestBudget);
    s.panel = choices.text(u"panel"_s);
    s.pinned = choices.texts(u"pinned"_s);
    s.filter = choices.text(u"filter"_s);
    const Reader selection = choices.object(u"selection"_s);
    s.weight = selection.text(u"weight"_s);
    constexpr double kLargestExact = 9007199254740992.0; // 2^53
    s.row = static_cast<qint64>(selection.number(u"row"_s, -1, -1, kLargestExact));
    s.block = static_cast<qint64>(selection.number(u"block"_s, -1, -1, kLargestExact));
    const Reader layout = root.object(u"layout"_s);
    s.workspace = layout.text(u"workspace"_s);
    s.layout = QByteArray::fromBase64(layout.text(u"docks"_s).toLatin1());
    s.notes = root.text(u"notes"_s);
    if (wrong) return *std::move(wrong);
    return s;
}

Result<Session> loadSession(const QString& file)
{
    const auto text = readTextFile(toStd(file), kLargestFile);
    if (!text) return Error(text.error());
    return readSession(*text, QFileInfo(file).absolutePath()).in("session " + toStd(file));
}

Status saveSession(Session session, const QString& file)
{
    if (session.results && session.results->hash.isEmpty())
        if (auto hash = contentHashOf(session.results->path)) session.results->hash = *hash;
    return writeTextFile(toStd(file), sessionText(session, QFileInfo(file).absolutePath()));
}

Result<QString> contentHashOf(const QString& file)
{
    HALFTONE_TRY(mapped, MappedFile::open(toStd(file)));
    constexpr std::size_t kPiece = std::size_t{16} << 20;
    Hasher hasher;
    const auto bytes = mapped->bytes();
    for (std::size_t at = 0; at < bytes.size(); at += kPiece) {
        const auto piece = bytes.subspan(at, std::min(kPiece, bytes.size() - at));
        hasher.add(piece);
        mapped->release(piece);
    }
    if (mapped->damaged()) return Error(Errc::Io, "was cut while it was read").in("file " + toStd(file));
    return toQt(hasher.hex());
}

} // namespace halftone
