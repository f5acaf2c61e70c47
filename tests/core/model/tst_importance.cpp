// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/importance.h"
#include "tests/support/fixtures.h"
#include "tests/support/imatrix_files.h"
#include "tests/support/main.h"
#include "tests/support/temp_dir.h"

#include <numeric>

using namespace halftone;
using test::FixtureKind;

namespace {

Result<std::shared_ptr<const Model>> open(const std::filesystem::path& path)
{
    HALFTONE_TRY(checkpoint, Checkpoint::open(path));
    HALFTONE_TRY(weights, WeightSet::of(checkpoint));
    return Model::read(weights);
}

/// `count` values from `first` on.
std::vector<float> counting(std::size_t count, float first = 1)
{
    std::vector<float> values(count);
    std::iota(values.begin(), values.end(), first);
    return values;
}

std::uint32_t indexOf(const Model& model, std::string_view id) { return model.byId(id)->weight; }

} // namespace

class TestImportance : public QObject {
    Q_OBJECT
    test::TempDir m_dir;

    std::filesystem::path matrix(const std::vector<test::ImatrixPart>& parts, bool old = false) const
    {
        const auto path = m_dir / "imatrix.gguf";
        test::writeBytes(path, old ? test::oldImatrix(parts) : test::ggufImatrix(parts));
        return path;
    }

private Q_SLOTS:
    void namesOfBothContainers_data()
    {
        QTest::addColumn<bool>("gguf");
        QTest::addColumn<bool>("old");
        for (const bool gguf : {false, true})
            for (const bool old : {false, true})
                QTest::addRow("%s model, %s matrix", gguf ? "GGUF" : "safetensors", old ? "old" : "new")
                    << gguf << old;
    }
    void namesOfBothContainers()
    {
        QFETCH(bool, gguf);
        QFETCH(bool, old);
        const auto fixture = test::makeFixture(FixtureKind::Tiny);
        const auto model = open(gguf ? test::writeGguf(fixture, m_dir / "tiny.gguf")
                                     : test::writeModel(fixture, m_dir / "tiny"));
        HALFTONE_VERIFY(model);
        auto sums = counting(64);
        const auto file =
            matrix({{"blk.1.attn_q.weight", sums, {2}}, {"blk.0.ffn_up.weight", counting(63), {1}}}, old);
        const auto importance = Importance::open(file, **model);
        HALFTONE_VERIFY(importance);
        for (float& x : sums)
            x /= 2;
        QVERIFY(*(*importance)->of(indexOf(**model, "layers.1.attn.q")) == sums);
        // One that the matrix lacks, and one of another width.
        const auto without = indexOf(**model, "layers.0.attn.q"), other = indexOf(**model, "layers.0.ffn.up");
        QVERIFY((*importance)->of(without)->empty() && (*importance)->of(other)->empty());
        const auto line =
            unweightedLine(**importance, **model, {indexOf(**model, "layers.1.attn.q"), without, other});
        QVERIFY2(line.find("no calibration data for 2 tensors") != std::string::npos, line.c_str());
        QVERIFY(line.find((*model)->weights()->all()[without].name + " (not in the file)") !=
                std::string::npos);
        QVERIFY(line.find("63 values for 64 columns") != std::string::npos);
        QVERIFY(unweightedLine(**importance, **model, {indexOf(**model, "layers.1.attn.q")}).empty());
        QVERIFY((*importance)->summary().find("2 entries") != std::string::npos);
        QVERIFY((*importance)->summary().find("wiki.train.raw") != std::string::npos);
    }

    void expertsOfAStack_data()
    {
        QTest::addColumn<bool>("gguf");
        QTest::newRow("one tensor an expert") << false;
        QTest::newRow("stacked") << true;
    }
    void expertsOfAStack()
    {
        QFETCH(bool, gguf);
        const auto fixture = test::makeFixture(FixtureKind::Moe);
        const auto model = open(gguf ? test::writeGguf(fixture, m_dir / "moe.gguf")
                                     : test::writeModel(fixture, m_dir / "moe"));
        HALFTONE_VERIFY(model);
        const auto file = matrix({{"blk.0.ffn_up_exps.weight", counting(4 * 64), {1, 1, 0, 2}}});
        const auto importance = Importance::open(file, **model);
        HALFTONE_VERIFY(importance);
        const auto expert = [&](int e) -> std::vector<float> {
            if (!gguf)
                return *(*importance)
                            ->of(indexOf(**model, "layers.0.ffn.experts." + std::to_string(e) + ".up"));
            const auto all = *(*importance)->of(indexOf(**model, "layers.0.ffn.experts.up"));
            return {all.begin() + e * 64, all.begin() + (e + 1) * 64};
        };
        QVERIFY(expert(0) == counting(64));
        QVERIFY(expert(1) == counting(64, 65));
        QVERIFY(expert(2) == std::vector<float>(64, 1.0f)); // no token reached it
        auto last = counting(64, 193);
        for (float& x : last)
            x /= 2;
        QVERIFY(expert(3) == last);
    }

    void tiedHeadStandsForTheEmbedding()
    {
        const auto model = open(test::writeModel(test::makeFixture(FixtureKind::Tied), m_dir / "tied"));
        HALFTONE_VERIFY(model);
        const auto importance = Importance::open(matrix({{"output.weight", counting(64), {1}}}), **model);
        HALFTONE_VERIFY(importance);
        QVERIFY(*(*importance)->of(indexOf(**model, "embed")) == counting(64));
    }

    void ofAnotherModel()
    {
        const auto model = open(test::writeModel(test::makeFixture(FixtureKind::Tiny), m_dir / "other"));
        HALFTONE_VERIFY(model);
        for (const char* name : {"blk.77.attn_q.weight", "whatever"}) {
            const auto importance = Importance::open(matrix({{name, counting(64), {1}}}), **model);
            QVERIFY(!importance);
            QCOMPARE(importance.error().code(), Errc::InvalidArgument);
            QVERIFY(importance.error().line().find("another model") != std::string::npos);
        }
        QVERIFY(!Importance::open(m_dir / "nowhere", **model));
    }
};

QTEST_GUILESS_MAIN(TestImportance)
#include "tst_importance.moc"
