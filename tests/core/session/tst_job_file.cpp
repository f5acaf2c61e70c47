// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/job_file.h"
#include "core/session/job_lines.h"
#include "tests/support/jobs.h"
#include "tests/support/main.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tiny_model.h"
#include "tests/support/tiny_quantizer.h"

#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <set>

using namespace halftone;

class TestJobFile : public QObject {
    Q_OBJECT
    MethodRegistry m_methods;
    test::TempDir m_folder;
    std::shared_ptr<const Model> m_model;

    Result<JobFile> parse(const std::string& text) const { return parseJobFile(text, "/jobs", m_methods); }
    Result<JobFile> parseSteps(const std::string& steps) const
    {
        return parse("{\"halftone-job\": 1, \"model\": \"m.gguf\", \"steps\": [" + steps + "]}");
    }

private Q_SLOTS:
    void initTestCase()
    {
        HALFTONE_VERIFY(m_methods.add(test::TinyProvider()));
        auto model = openModel(test::writeTinyModel(m_folder / "model", test::tinyLlama(192), 192));
        HALFTONE_VERIFY(model);
        m_model = *model;
    }

    void readsAll()
    {
        const auto job = parse(R"({ // a comment
            "halftone-job": 1, "model": "m.gguf", "seed": 7,
            /* another
               one */
            "steps": [
                {"do": "overview"},
                {"do": "analyse", "method": "tiny", "set": {"bits": 3}, "tensors": ["*.q_proj.*"]},
                {"do": "sweep", "points": [{"method": "tiny", "set": {"bits": {"from": 2, "to": 4}, "group-size": [16, 64]}},
                                           {"method": "tiny"}]},
                {"do": "quantize", "method": "tiny", "set": {"bits": 8}, "output": "out.safetensors"},
                {"do": "verify", "output": "out.safetensors", "against": "m.gguf"}
            ] })");
        HALFTONE_VERIFY(job);
        QCOMPARE(job->model, std::filesystem::path("/jobs/m.gguf"));
        QCOMPARE(job->seed, std::uint64_t{7});
        QCOMPARE(job->steps.size(), std::size_t{5});
        QCOMPARE(*findParam(job->steps[1].params, "bits"), ParamValue(std::int64_t{3}));
        QCOMPARE(job->steps[1].tensors, std::vector<std::string>{"*.q_proj.*"});
        QCOMPARE(job->steps[2].points.size(), std::size_t{3 * 2 + 1});
        QCOMPARE(job->steps[2].points[1].label, std::string("tiny bits=2 group-size=64"));
        QCOMPARE(job->steps[3].output, std::string("out.safetensors"));
        QCOMPARE(job->steps[4].against, std::string("/jobs/m.gguf"));
    }

    void absolutePathsStay()
    {
        const auto job = parse(R"({"halftone-job": 1, "model": "/a/m.gguf", "steps": [{"do": "overview"}]})");
        HALFTONE_VERIFY(job);
        QCOMPARE(job->model, std::filesystem::path("/a/m.gguf"));
    }

    // Every problem is told at once, with its line and key, in the order of the file.
    void allProblemsAtOnce()
    {
        const auto job = parse("{\"halftone-job\": 2,\n"
                               " \"modell\": \"m.gguf\",\n"
                               " \"steps\": [\n"
                               "  {\"do\": \"quantize\", \"method\": \"tiny\",\n"
                               "   \"set\": {\"bits\": 9,\n"
                               "           \"grup-size\": 4}},\n"
                               "  {\"do\": \"dance\"}]}");
        QVERIFY(!job);
        const auto text = QString::fromStdString(job.error().what());
        for (const char* part :
             {"line 1: halftone-job: ", "line 1: model: is missing", "line 2: modell: is not known",
              "line 4: steps[0].output: is missing", "line 5: steps[0].set.bits: ", "9",
              "line 6: steps[0].set.grup-size", "line 7: steps[1].do: \"dance\" is not known"})
            QVERIFY2(text.contains(QString::fromLatin1(part)), qPrintable(QString::fromLatin1(part) + text));
        QVERIFY(!text.contains(QLatin1Char('\n')));
        QVERIFY(text.indexOf(QStringLiteral("line 2")) < text.indexOf(QStringLiteral("line 5")));
    }

    void problems_data()
    {
        QTest::addColumn<QString>("step");
        QTest::addColumn<QString>("part");
        const auto row = [](const char* step, const char* part) {
            QTest::newRow(part) << QString::fromLatin1(step) << QString::fromLatin1(part);
        };
        row(R"(17)", "steps[0]: is not an object");
        row(R"({"method": "tiny"})", "steps[0].do: is missing");
        row(R"({"do": "analyse", "method": "gptq"})", "no method \"gptq\"");
        row(R"({"do": "analyse", "method": "tiny", "output": "x"})", "steps[0].output: is not known here");
        row(R"({"do": "analyse", "method": "tiny", "set": []})", "steps[0].set: is not an object");
        row(R"({"do": "analyse", "method": "tiny", "set": {"bits": null}})",
            "steps[0].set.bits: is not a number");
        row(R"({"do": "analyse", "method": "tiny", "set": {"bits": "four"}})", "steps[0].set.bits: ");
        row(R"({"do": "analyse", "method": "tiny", "tensors": "x"})", "steps[0].tensors: is not a list");
        row(R"({"do": "sweep", "points": []})", "steps[0].points: is not a list of at least one");
        row(R"({"do": "sweep", "points": [{"method": "tiny", "set": {"bits": {"from": 2}}}]})",
            "steps[0].points[0].set.bits.to: is not a number");
        row(R"({"do": "sweep", "points": [{"method": "tiny", "set": {"bits": {"from": 2, "to": 9}}}]})", "9");
        row(R"({"do": "sweep", "points": [{"method": "tiny", "set": {"grouped": {"from": 0, "to": 1}}}]})",
            "a range needs a number");
        row(R"({"do": "sweep", "points": [{"method": "tiny", "set": {"bits": []}}]})", "has no values");
        row(R"({"do": "quantize", "method": "tiny", "output": "a.gguf", "output": "b.gguf"})",
            "is there twice");
        row(R"({"do": "quantize", "method": "tiny", "output": "a.gguf"},
               {"do": "quantize", "method": "tiny", "output": "./a.gguf"})",
            "is written by an earlier step");
    }
    void problems()
    {
        QFETCH(QString, step);
        QFETCH(QString, part);
        const auto job = parseSteps(step.toStdString());
        QVERIFY(!job);
        QCOMPARE(job.error().code(), Errc::InvalidArgument);
        QVERIFY2(job.error().what().find(part.toStdString()) != std::string::npos,
                 job.error().what().c_str());
    }

    void notJson_data()
    {
        QTest::addColumn<QByteArray>("text");
        QTest::newRow("empty") << QByteArray();
        QTest::newRow("cut") << QByteArray("{\"halftone-job\": 1,\n \"steps\": [");
        QTest::newRow("bytes") << QByteArray("\xff\xfe\x00\x01", 4);
        QTest::newRow("open comment") << QByteArray("{} /* ");
        QTest::newRow("deep") << QByteArray(200000, '[');
    }
    void notJson()
    {
        QFETCH(QByteArray, text);
        const auto job = parse(text.toStdString());
        QVERIFY(!job);
        QCOMPARE(job.error().code(), Errc::BadFormat);
    }

    void otherRoots_data()
    {
        QTest::addColumn<QByteArray>("text");
        QTest::newRow("array") << QByteArray("[]");
        QTest::newRow("number") << QByteArray("12");
        QTest::newRow("deep but closed") << QByteArray(5000, '[') + QByteArray(5000, ']');
        QTest::newRow("nothing in it") << QByteArray("{}");
    }
    void otherRoots()
    {
        QFETCH(QByteArray, text);
        const auto job = parse(text.toStdString());
        QVERIFY(!job);
        QCOMPARE(job.error().code(), Errc::InvalidArgument);
    }

    void linesOfValues()
    {
        const auto lines =
            jsonLines("{\n \"a\": [1,\n  {\"b\": \"x } y\"}, // no \"c\": 3\n  2],\n \"d\": true\n}");
        QCOMPARE(lines.lines.at("/a"), 2);
        QCOMPARE(lines.lines.at("/a/0"), 2);
        QCOMPARE(lines.lines.at("/a/1/b"), 3);
        QCOMPARE(lines.lines.at("/a/2"), 4);
        QCOMPARE(lines.lines.at("/d"), 5);
        QCOMPARE(lines.lines.size(), std::size_t{7});
        QVERIFY(lines.doubles.empty());
    }

    // What the window copies is what the batch program reads.
    void textRoundTrips()
    {
        const auto job = parseSteps(
            R"({"do": "analyse", "method": "tiny", "set": {"bits": 3}, "tensors": ["a*"]},
               {"do": "sweep", "points": [{"method": "tiny", "set": {"bits": [2, 3]}}]},
               {"do": "quantize", "method": "tiny", "set": {"grouped": false}, "output": "o.gguf"},
               {"do": "overview"}, {"do": "verify", "output": "o.gguf"})");
        HALFTONE_VERIFY(job);
        for (const auto& step : job->steps) {
            const auto text = jobText("m.gguf", step);
            const auto again = parse(text);
            HALFTONE_VERIFY(again);
            QCOMPARE(again->steps.size(), std::size_t{1});
            const auto& read = again->steps[0];
            QVERIFY(read.what == step.what);
            QVERIFY(read.method == step.method);
            QVERIFY(read.params == step.params);
            QVERIFY(read.tensors == step.tensors);
            QCOMPARE(read.output, step.output);
            QCOMPARE(read.points.size(), step.points.size());
            for (std::size_t i = 0; i < read.points.size(); ++i)
                QVERIFY(read.points[i].params == step.points[i].params);
        }
    }

    void schemaIsJson()
    {
        QJsonParseError failed;
        const auto document =
            QJsonDocument::fromJson(QByteArray::fromStdString(jobSchemaJson(m_methods)), &failed);
        QVERIFY2(document.isObject(), qPrintable(failed.errorString()));
        const auto steps = document.object()
                               .value(QStringLiteral("properties"))
                               .toObject()
                               .value(QStringLiteral("steps"))
                               .toObject()
                               .value(QStringLiteral("items"))
                               .toObject()
                               .value(QStringLiteral("anyOf"))
                               .toArray();
        QStringList kinds;
        for (const auto& step : steps)
            kinds << step.toObject()
                         .value(QStringLiteral("properties"))
                         .toObject()
                         .value(QStringLiteral("do"))
                         .toObject()
                         .value(QStringLiteral("const"))
                         .toString();
        QCOMPARE(kinds.join(QLatin1Char(' ')), QStringLiteral("overview analyse quantize sweep verify"));
    }

    void runsAllSteps()
    {
        const test::TempDir out;
        const auto job = parseSteps(
            R"({"do": "overview"},
               {"do": "sweep", "points": [{"method": "tiny", "set": {"bits": [3, 5]}}], "tensors": ["layers.0.attn.*"]},
               {"do": "quantize", "method": "tiny", "set": {"bits": 8}, "output": "eight.safetensors"},
               {"do": "quantize", "method": "tiny", "output": "four.safetensors"},
               {"do": "verify", "output": "eight.safetensors"})");
        HALFTONE_VERIFY(job);
        auto results = MemoryResults::make({});
        HALFTONE_VERIFY(test::runAsJob(
            results, [&](JobContext& ctx) { return runJobFile(*job, m_model, out.path(), ctx); }));
        QVERIFY(std::filesystem::exists(out / "eight.safetensors"));
        QVERIFY(std::filesystem::exists(out / "four.safetensors"));
        // The second quantize step has its own table, and its figures show that one.
        QVERIFY(results->rows("weights") > 0);
        QCOMPARE(results->rows("weights_4"), results->rows("weights"));
        std::set<std::string> ids;
        for (const auto& figure : results->figures()) {
            QVERIFY(ids.insert(figure.id).second);
            if (figure.id == "weight_sqnr_4") QCOMPARE(figure.traces[0].table, std::string("weights_4"));
        }
        QVERIFY(ids.contains("weight_sqnr_4"));
        QVERIFY(ids.contains("pareto"));
        QCOMPARE(results->rows("verify"), 21);
        // Once more: what is there is not written over unasked, and that is said before any work.
        auto again = MemoryResults::make({});
        const auto done = test::runAsJob(
            again, [&](JobContext& ctx) { return runJobFile(*job, m_model, out.path(), ctx); });
        QVERIFY(!done);
        QCOMPARE(done.error().code(), Errc::CannotWrite);
        QVERIFY(again->tables().empty());
    }

    void progressNeverGoesBack()
    {
        const test::TempDir out;
        const auto job = parseSteps(R"({"do": "overview"},
               {"do": "sweep", "points": [{"method": "tiny", "set": {"bits": [3, 5]}}]},
               {"do": "quantize", "method": "tiny", "output": "four.safetensors"})");
        HALFTONE_VERIFY(job);
        auto runner = JobRunner::make();
        JobRequest request;
        request.title = "job";
        request.body = [&](JobContext& ctx) { return runJobFile(*job, m_model, out.path(), ctx); };
        const auto id = runner->submit(std::move(request));
        double last = 0;
        for (;;) {
            const auto now = runner->snapshot(id);
            QVERIFY(now);
            QVERIFY(now->fraction >= last && now->fraction <= 1);
            last = now->fraction;
            if (now->state > JobState::Running) break;
        }
        HALFTONE_VERIFY(runner->wait(id));
        QCOMPARE(runner->snapshot(id)->fraction, 1.0);
    }

    void unknownTensorsAreToldFirst()
    {
        const test::TempDir out;
        const auto job = parseSteps(R"({"do": "overview"},
               {"do": "analyse", "method": "tiny", "tensors": ["nothing*"]})");
        HALFTONE_VERIFY(job);
        auto results = MemoryResults::make({});
        const auto done = test::runAsJob(
            results, [&](JobContext& ctx) { return runJobFile(*job, m_model, out.path(), ctx); });
        QVERIFY(!done);
        QVERIFY(done.error().line().find("step 2 analyse") != std::string::npos);
        QVERIFY(results->tables().empty());
    }
};

QTEST_GUILESS_MAIN(TestJobFile)
#include "tst_job_file.moc"
