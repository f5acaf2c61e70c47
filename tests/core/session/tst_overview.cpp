// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/job_file.h"
#include "tests/support/jobs.h"
#include "tests/support/main.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tiny_model.h"

#include <numeric>

using namespace halftone;

class TestOverview : public QObject {
    Q_OBJECT
    test::TempDir m_folder;
    std::shared_ptr<const Model> m_model;

private Q_SLOTS:
    void initTestCase()
    {
        auto model = openModel(test::writeTinyModel(m_folder / "model", test::tinyLlama()));
        HALFTONE_VERIFY(model);
        m_model = *model;
    }

    void sumsUp()
    {
        auto results = MemoryResults::make({});
        HALFTONE_VERIFY(test::runAsJob(results, [&](JobContext& ctx) { return runOverview(*m_model, ctx); }));
        QCOMPARE(results->rows("tensors"), 21);
        QCOMPARE(results->rows("layers"), 3);
        const auto bytes = results->column("tensors", "bytes");
        const auto byLayer = results->column("layers", "bytes");
        HALFTONE_VERIFY(bytes);
        HALFTONE_VERIFY(byLayer);
        // 156,480 weights of two bytes.
        QCOMPARE(std::accumulate(bytes->begin(), bytes->end(), 0.0), 312960.0);
        QCOMPARE(std::accumulate(byLayer->begin(), byLayer->end(), 0.0), 312960.0);
        const auto ids = results->names("tensors", "id");
        HALFTONE_VERIFY(ids);
        QVERIFY(std::find(ids->begin(), ids->end(), "layers.1.attn.q") != ids->end());
        QStringList figures;
        for (const auto& figure : results->figures())
            figures << QString::fromStdString(figure.id);
        QCOMPARE(figures, (QStringList{QStringLiteral("size_treemap"), QStringLiteral("bytes_by_layer")}));
    }

    void matchesNamesAndIds_data()
    {
        QTest::addColumn<QStringList>("globs");
        QTest::addColumn<int>("count");
        QTest::newRow("none") << QStringList{} << 0;
        QTest::newRow("name") << QStringList{QStringLiteral("lm_head.weight")} << 1;
        QTest::newRow("id") << QStringList{QStringLiteral("layers.*.attn.q")} << 2;
        QTest::newRow("both, once") << QStringList{QStringLiteral("layers.0.attn.q"),
                                                   QStringLiteral("*q_proj*")}
                                    << 2;
        QTest::newRow("nothing") << QStringList{QStringLiteral("*q_proj*"), QStringLiteral("gone*")} << -1;
    }
    void matchesNamesAndIds()
    {
        QFETCH(QStringList, globs);
        QFETCH(int, count);
        std::vector<std::string> wanted;
        for (const auto& g : globs)
            wanted.push_back(g.toStdString());
        const auto matched = matchWeights(*m_model, wanted);
        QCOMPARE(static_cast<bool>(matched), count >= 0);
        if (matched)
            QCOMPARE(static_cast<int>(matched->size()), count);
        else
            QVERIFY(matched.error().what().find("gone*") != std::string::npos);
    }

    void missingFile()
    {
        const auto model = openModel(m_folder / "none.gguf");
        QVERIFY(!model);
        QCOMPARE(model.error().code(), Errc::NotFound);
        QVERIFY(model.error().line().find("none.gguf") != std::string::npos);
    }
};

QTEST_GUILESS_MAIN(TestOverview)
#include "tst_overview.moc"
