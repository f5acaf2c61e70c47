// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/host/plugin_loader.h"
#include "core/param/documents.h"
#include "core/session/job_file.h"
#include "tests/support/jobs.h"
#include "tests/support/main.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tiny_model.h"

#include <QJsonDocument>
#include <QJsonObject>
#include <QRegularExpression>
#include <cmath>
#include <set>

using namespace halftone;

Q_DECLARE_METATYPE(std::shared_ptr<const halftone::Method>)

/// One walk over all methods of all plugins: what every one of them promises.
class TestAllMethods : public QObject {
    Q_OBJECT

    MethodRegistry m_methods;
    test::TempDir m_folder;
    std::shared_ptr<const Model> m_model;

    void rows()
    {
        QTest::addColumn<std::shared_ptr<const Method>>("method");
        for (const auto& method : m_methods.all())
            QTest::newRow(method->info().id.c_str()) << method;
    }

private Q_SLOTS:
    void initTestCase()
    {
        for (const auto& plugin : loadPlugins(m_methods, false))
            QVERIFY2(plugin.state == PluginEntry::State::Ready, qPrintable(plugin.file + plugin.why));
        QVERIFY(m_methods.find("rtn"));
        QVERIFY(m_methods.find("block_error"));
        QVERIFY(m_methods.find("int_vs_fp"));
        // Rows of the feed-forward part are 192 wide: every format fits every weight.
        auto model = openModel(test::writeTinyModel(m_folder / "model", test::tinyLlama(192), 192));
        HALFTONE_VERIFY(model);
        m_model = *model;
    }

    void description_data() { rows(); }
    void description()
    {
        QFETCH(std::shared_ptr<const Method>, method);
        const auto& info = method->info();
        QVERIFY(info.version >= 1);
        QVERIFY(!info.title.empty());
        QVERIFY(info.summary.ends_with('.'));
        QVERIFY(!info.reference.empty());
    }

    void parameters_data() { rows(); }
    void parameters()
    {
        QFETCH(std::shared_ptr<const Method>, method);
        const auto& schema = method->schema();
        static const QRegularExpression kKey(QStringLiteral("^[a-z][a-z0-9]*(-[a-z0-9]+)*$"));
        std::set<std::string> keys;
        for (const auto& spec : schema.specs()) {
            const auto key = QString::fromStdString(spec.key);
            QVERIFY2(kKey.match(key).hasMatch(), qPrintable(key));
            QVERIFY2(keys.insert(spec.key).second, qPrintable(key));
            QVERIFY2(!spec.label.empty(), qPrintable(key));
            QVERIFY2(spec.help.ends_with('.'), qPrintable(key));
            QVERIFY2(!paramTypeText(spec).empty(), qPrintable(key));
            const auto parsed = schema.parse(spec.key, toText(spec.fallback));
            HALFTONE_VERIFY(parsed);
            QVERIFY2(*parsed == spec.fallback, qPrintable(key));
            if (!spec.enabledBy.empty()) {
                const auto parent = spec.enabledBy.substr(0, spec.enabledBy.find('='));
                QVERIFY2(keys.contains(parent), qPrintable(key));
            }
        }
        const auto defaults = schema.complete({});
        HALFTONE_VERIFY(defaults);
        ParamTexts texts;
        for (const auto& [key, value] : *defaults)
            texts.emplace_back(key, toText(value));
        const auto again = schema.complete(texts);
        HALFTONE_VERIFY(again);
        QVERIFY(*again == *defaults);
        const auto json = QByteArray::fromStdString(paramJsonSchema(schema));
        QJsonParseError failed;
        const auto document = QJsonDocument::fromJson(json, &failed);
        QVERIFY2(document.isObject(), qPrintable(failed.errorString()));
        const auto properties = document.object().value(QStringLiteral("properties")).toObject();
        QCOMPARE(static_cast<std::size_t>(properties.size()), schema.specs().size());
    }

    // The tables and figures that a run writes are the ones that were declared, to the column.
    void declaredIsWritten_data() { rows(); }
    void declaredIsWritten()
    {
        QFETCH(std::shared_ptr<const Method>, method);
        const auto params = method->schema().complete({});
        HALFTONE_VERIFY(params);
        const auto plan = method->plan({m_model, {}}, *params);
        HALFTONE_VERIFY(plan);
        QCOMPARE(plan->weights, std::int64_t{14});
        QVERIFY(plan->peakBytes > 0);
        QVERIFY(plan->bytesRead > 0);
        QVERIFY(plan->flops > 0);
        auto results = MemoryResults::make({});
        HALFTONE_VERIFY(test::runAsJob(results, [&](JobContext& ctx) {
            return method->run({m_model, {}}, *params, ctx);
        }));
        const auto declared = method->tables();
        for (const auto& written : results->tables()) {
            const auto match = std::find_if(declared.begin(), declared.end(),
                                            [&](const auto& t) { return t.name == written.name; });
            QVERIFY2(match != declared.end(), written.name.c_str());
            QCOMPARE(written.columns.size(), match->columns.size());
            for (std::size_t c = 0; c < written.columns.size(); ++c)
                QCOMPARE(written.columns[c].name, match->columns[c].name);
            QVERIFY2(results->rows(written.name) > 0, written.name.c_str());
        }
        QVERIFY(!results->tables().empty());
        std::set<std::string> figures;
        for (const auto& figure : method->figures())
            figures.insert(figure.id);
        QVERIFY(!results->figures().empty());
        for (const auto& figure : results->figures()) {
            QVERIFY2(figures.contains(figure.id), figure.id.c_str());
            QVERIFY2(figure.caption.ends_with('.'), figure.id.c_str());
            for (const auto& trace : figure.traces)
                for (const auto& column : {trace.x, trace.y, trace.z, trace.text})
                    if (!column.empty())
                        QVERIFY2(static_cast<bool>(results->column(trace.table, column)), column.c_str());
        }
    }

    // A cancelled run keeps the rows it has finished and says that it was cancelled.
    void cancelKeepsRows_data() { rows(); }
    void cancelKeepsRows()
    {
        QFETCH(std::shared_ptr<const Method>, method);
        const auto params = method->schema().complete({});
        HALFTONE_VERIFY(params);
        auto results = MemoryResults::make({});
        std::stop_source stop;
        const auto done = test::runAsJob(results, [&](JobContext& ctx) {
            struct Counting final : Progress {
                explicit Counting(std::stop_source& s) : source(s) {}
                void declare(std::span<const std::pair<std::string_view, double>>) override {}
                void enter(std::string_view, std::int64_t) override {}
                void detail(std::string_view) override {}
                void advance(std::int64_t items) noexcept override
                {
                    seen += items;
                    if (seen >= 3) source.request_stop();
                }
                std::stop_source& source;
                std::int64_t seen = 0;
            } progress(stop);
            JobContext own{ctx.device, ctx.stream, progress, ctx.results, ctx.rng, stop.get_token()};
            return method->run({m_model, {}}, *params, own);
        });
        QVERIFY(!done);
        QCOMPARE(done.error().code(), Errc::Cancelled);
        const auto table = method->tables().front().name;
        QVERIFY(results->rows(table) >= 2);
        QVERIFY(results->rows(table) <= 4);
    }
};

QTEST_GUILESS_MAIN(TestAllMethods)
#include "tst_all_methods.moc"
