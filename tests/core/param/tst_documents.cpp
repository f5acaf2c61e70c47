// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/param/documents.h"
#include "tests/support/main.h"

#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>

using namespace halftone;

namespace {

ParamSchema sample()
{
    ParamSchema s;
    s.add({.key = "bits",
           .label = "Bits",
           .help = "Width of a code.",
           .unit = "bit",
           .fallback = std::int64_t{4},
           .min = 2,
           .max = 8});
    s.add({.key = "rate",
           .label = "Rate",
           .help = "One a|b step.",
           .kind = ParamSpec::Kind::Real,
           .fallback = 0.5,
           .min = 0,
           .level = ParamSpec::Level::Advanced});
    s.add({.key = "mode",
           .label = "Mode",
           .help = "How.",
           .kind = ParamSpec::Kind::Choice,
           .fallback = std::string("x"),
           .choices = {"x", "y"}});
    s.add({.key = "fast",
           .label = "Fast",
           .help = "Less exact.",
           .kind = ParamSpec::Kind::Bool,
           .fallback = true,
           .enabledBy = "mode=x|y"});
    s.add({.key = "text",
           .label = "Text",
           .help = "A text file.",
           .kind = ParamSpec::Kind::File,
           .fallback = std::string(),
           .enabledBy = "fast"});
    return s;
}

} // namespace

class TestDocuments : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void jsonSchemaSaysWhatTheSpecsSay()
    {
        QJsonParseError error;
        const auto text = QByteArray::fromStdString(paramJsonSchema(sample()));
        const QJsonObject root = QJsonDocument::fromJson(text, &error).object();
        QCOMPARE(error.error, QJsonParseError::NoError);
        const auto key = [](const char* k) { return QString::fromLatin1(k); };
        QCOMPARE(root[key("$schema")].toString(), key("https://json-schema.org/draft/2020-12/schema"));
        QCOMPARE(root[key("type")].toString(), key("object"));
        QCOMPARE(root[key("additionalProperties")].toBool(true), false);
        const QJsonObject properties = root[key("properties")].toObject();
        QCOMPARE(properties.size(), 5);
        const QJsonObject bits = properties[key("bits")].toObject();
        QCOMPARE(bits[key("type")].toString(), key("integer"));
        QCOMPARE(bits[key("minimum")].toInt(), 2);
        QCOMPARE(bits[key("maximum")].toInt(), 8);
        QCOMPARE(bits[key("default")].toInt(), 4);
        QCOMPARE(bits[key("x-unit")].toString(), key("bit"));
        const QJsonObject rate = properties[key("rate")].toObject();
        QCOMPARE(rate[key("type")].toString(), key("number"));
        QVERIFY(!rate.contains(key("maximum")));
        QCOMPARE(rate[key("x-level")].toString(), key("advanced"));
        QCOMPARE(properties[key("mode")].toObject()[key("enum")].toArray().size(), 2);
        QCOMPARE(properties[key("fast")].toObject()[key("type")].toString(), key("boolean"));
        QCOMPARE(properties[key("text")].toObject()[key("type")].toString(), key("string"));
    }

    void helpTableIsMarkdown()
    {
        const QByteArray expected =
            "| Key | Value | Default | Unit | Help |\n"
            "| --- | --- | --- | --- | --- |\n"
            "| `bits` | INT in 2..8 | 4 | bit | Width of a code. |\n"
            "| `rate` | REAL, 0 or more | 0.5 |  | One a\\|b step. |\n"
            "| `mode` | one of: x, y | x |  | How. |\n"
            "| `fast` | true or false | true |  | Less exact. Used when `mode` is x or y. |\n"
            "| `text` | FILE | none |  | A text file. Used with `fast`. |\n";
        QCOMPARE(QByteArray::fromStdString(paramHelpTable(sample())), expected);
    }

    void largeLimitsAreWrittenOut()
    {
        QCOMPARE(paramTypeText({.min = 1, .max = 1e6}), std::string("INT in 1..1000000"));
        QCOMPARE(paramTypeText({.max = 5}), std::string("INT, 5 or less"));
        QCOMPARE(paramTypeText({}), std::string("INT"));
    }
};

QTEST_GUILESS_MAIN(TestDocuments)
#include "tst_documents.moc"
