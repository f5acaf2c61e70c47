// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/job_file.h"
#include "plugins/methods/block_error/block_error.h"
#include "plugins/methods/block_error/error_tables.h"
#include "tests/support/jobs.h"
#include "tests/support/main.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tiny_model.h"

#include <algorithm>
#include <cmath>

using namespace halftone;

namespace {

std::vector<double> columnOf(const ResultReader& results, const char* table, const char* name)
{
    auto column = results.column(table, name);
    return column ? *column : std::vector<double>{};
}

} // namespace

class TestBlockError : public QObject {
    Q_OBJECT

    test::TempDir m_folder;
    std::shared_ptr<const Model> m_model;
    static constexpr std::int64_t kOutlierColumn = 37;
    const std::string m_planted = "model.layers.1.self_attn.q_proj.weight";

    Result<std::shared_ptr<MemoryResults>> run(const ParamTexts& texts, const std::vector<std::string>& globs)
    {
        const BlockErrorMethod method;
        HALFTONE_TRY(params, method.schema().complete(texts));
        HALFTONE_TRY(weights, matchWeights(*m_model, globs));
        auto results = MemoryResults::make({});
        HALFTONE_CHECK(test::runAsJob(results, [&](JobContext& ctx) {
            return method.run({m_model, weights}, params, ctx);
        }));
        return results;
    }

private Q_SLOTS:
    void initTestCase()
    {
        auto tensors = test::tinyLlama();
        for (auto& t : tensors)
            if (t.name == m_planted)
                for (std::int64_t r = 0; r < 64; ++r)
                    t.values[static_cast<std::size_t>(r * 64 + kOutlierColumn)] *= 50;
        auto model = openModel(test::writeTinyModel(m_folder / "model", tensors));
        HALFTONE_VERIFY(model);
        m_model = *model;
    }

    // One bad column makes the block it is in the worst of every row, and its weight the worst of all.
    void findsAPlantedColumn()
    {
        const auto results = run({{"format", "q4_0"}}, {m_planted});
        HALFTONE_VERIFY(results);
        const auto rows = columnOf(**results, "block_error", "row");
        const auto blocks = columnOf(**results, "block_error", "block");
        const auto mse = columnOf(**results, "block_error", "mse");
        QCOMPARE(rows.size(), std::size_t{64 * 2});
        std::vector<double> clean(64), bad(64);
        for (std::size_t i = 0; i < rows.size(); ++i)
            (blocks[i] == kOutlierColumn / 32 ? bad : clean)[static_cast<std::size_t>(rows[i])] = mse[i];
        int worse = 0;
        for (std::size_t r = 0; r < 64; ++r)
            worse += bad[r] > clean[r] ? 1 : 0;
        // A row whose planted value happened to be tiny is no outlier.
        QVERIFY2(worse >= 60, qPrintable(QString::number(worse)));
    }

    void mapsTheWorstWeightWhenNoneIsChosen()
    {
        const auto results = run({{"format", "q4_0"}}, {});
        HALFTONE_VERIFY(results);
        const auto maps = (*results)->names("block_error", "map");
        HALFTONE_VERIFY(maps);
        QCOMPARE(*maps, std::vector<std::string>{m_planted + " q4_0"});
        const auto names = (*results)->names("tensor_error", "name");
        HALFTONE_VERIFY(names);
        // The two down projections have rows of 172, which q4_0 can't take: told in the log, not measured.
        QCOMPARE(names->size(), std::size_t{14 - 2});
        int told = 0;
        for (const auto& [level, text] : (*results)->log())
            told += text.find("down_proj") != std::string::npos ? 1 : 0;
        QCOMPARE(told, 2);
    }

    void sumsAgree()
    {
        const auto results = run({{"format", "q8_0"}}, {m_planted});
        HALFTONE_VERIFY(results);
        const double whole = columnOf(**results, "tensor_error", "mse").at(0);
        for (const char* table : {"row_error", "block_error"}) {
            const auto mse = columnOf(**results, table, "mse");
            double mean = 0;
            for (const double m : mse)
                mean += m / static_cast<double>(mse.size());
            QVERIFY2(std::abs(mean / whole - 1) < 1e-9, table);
        }
    }

    void reducedCellsKeepTheWorst()
    {
        const auto full = run({{"format", "q4_0"}, {"block-size", "1"}}, {m_planted});
        const auto small = run({{"format", "q4_0"}, {"block-size", "1"}, {"max-cells", "256"}}, {m_planted});
        HALFTONE_VERIFY(full);
        HALFTONE_VERIFY(small);
        const auto all = columnOf(**full, "block_error", "mse");
        const auto cells = columnOf(**small, "block_error", "mse");
        QCOMPARE(all.size(), std::size_t{64 * 64});
        QVERIFY(cells.size() <= 256);
        QCOMPARE(*std::max_element(cells.begin(), cells.end()), *std::max_element(all.begin(), all.end()));
        const auto worstRow = columnOf(**small, "block_error", "worst_row");
        const auto worstBlock = columnOf(**small, "block_error", "worst_block");
        for (std::size_t i = 0; i < cells.size(); ++i)
            QCOMPARE(all[static_cast<std::size_t>(worstRow[i] * 64 + worstBlock[i])], cells[i]);
    }

    void storedValuesHaveNoError()
    {
        const auto results = run({{"format", "stored"}}, {m_planted});
        HALFTONE_VERIFY(results);
        QCOMPARE(columnOf(**results, "tensor_error", "mse").at(0), 0.0);
        QVERIFY(columnOf(**results, "tensor_error", "crest_factor").at(0) > 10);
    }

    void allFormats()
    {
        const auto results = run({{"format", "all"}}, {m_planted});
        HALFTONE_VERIFY(results);
        // Rows of 64 are too short for the blocks of 256.
        const auto formats = listedFormats();
        QCOMPARE((*results)->rows("tensor_error"),
                 std::ranges::count_if(formats, [](const auto* f) { return bool(f->layout(64, 64)); }));
        // More bits of one kind never lose more.
        const auto names = (*results)->names("tensor_error", "format");
        const auto ids = columnOf(**results, "tensor_error", "format");
        const auto mse = columnOf(**results, "tensor_error", "mse");
        HALFTONE_VERIFY(names);
        double q4 = 0, q8 = 0;
        for (std::size_t i = 0; i < ids.size(); ++i) {
            const auto& name = (*names)[static_cast<std::size_t>(ids[i])];
            if (name == "q4_0") q4 = mse[i];
            if (name == "q8_0") q8 = mse[i];
        }
        QVERIFY(q8 > 0);
        QVERIFY(q4 > 10 * q8);
    }

    void cellGrid_data()
    {
        QTest::addColumn<qint64>("rows");
        QTest::addColumn<qint64>("blocks");
        QTest::addColumn<qint64>("most");
        QTest::newRow("fits") << qint64{64} << qint64{2} << qint64{256};
        QTest::newRow("square") << qint64{4096} << qint64{4096} << qint64{65536};
        QTest::newRow("one block a row") << qint64{150000} << qint64{1} << qint64{256};
        QTest::newRow("one row") << qint64{1} << qint64{1000000} << qint64{256};
        QTest::newRow("wide") << qint64{3} << qint64{1000000} << qint64{256};
        QTest::newRow("empty") << qint64{0} << qint64{4} << qint64{256};
    }
    void cellGrid()
    {
        QFETCH(qint64, rows);
        QFETCH(qint64, blocks);
        QFETCH(qint64, most);
        const auto grid = block_error::cellGrid(rows, blocks, most);
        QVERIFY(grid.cellRows * grid.cellCols <= most);
        QVERIFY(grid.cellRows * grid.rowsPerCell >= rows);
        QVERIFY(grid.cellCols * grid.blocksPerCell >= blocks);
        if (rows * blocks <= most) {
            QCOMPARE(grid.rowsPerCell, 1);
            QCOMPARE(grid.blocksPerCell, 1);
        }
    }
};

QTEST_GUILESS_MAIN(TestBlockError)
#include "tst_block_error.moc"
