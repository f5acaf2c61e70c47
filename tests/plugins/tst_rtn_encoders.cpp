// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/methods/rtn/rtn.h"
#include "tests/core/session/quantize_support.h"
#include "tests/support/imatrix_files.h"
#include "tests/support/main.h"
#include "tests/support/temp_dir.h"

#include <algorithm>

using namespace halftone;
using namespace halftone::test;

namespace {

std::shared_ptr<const RtnMethod> rtn() { return std::make_shared<const RtnMethod>(); }

/// Codes of one tensor of a written file.
std::vector<std::byte> codesOf(const std::filesystem::path& file, const std::string& name)
{
    const auto checkpoint = Checkpoint::open(file);
    if (!checkpoint || (*checkpoint)->find(name) == nullptr) return {};
    const auto raw = (*checkpoint)->raw(*(*checkpoint)->find(name));
    return raw ? std::vector<std::byte>(raw->begin(), raw->end()) : std::vector<std::byte>{};
}

} // namespace

class TestRtnEncoders : public QObject {
    Q_OBJECT
    TempDir m_dir;
    std::filesystem::path m_model;

    std::filesystem::path written(const std::string& name, ParamTexts texts) const
    {
        const auto output = m_dir / (name + ".gguf");
        texts.emplace_back("format", "q4_k");
        const auto request = makeRequest(m_model, output, texts, rtn());
        if (!request || !run(*request)) return {};
        return output;
    }

private Q_SLOTS:
    void initTestCase() { m_model = writeModel(makeFixture(FixtureKind::Tiny256), m_dir / "model"); }

    void bestIsTheDefault()
    {
        const std::string name = "blk.0.ffn_up.weight";
        const auto byDefault = codesOf(written("default", {}), name);
        QVERIFY(!byDefault.empty());
        QVERIFY(byDefault == codesOf(written("best", {{"encoder", "best"}}), name));
        QVERIFY(byDefault != codesOf(written("reference", {{"encoder", "reference"}}), name));
    }

    void importanceReachesTheEncoder()
    {
        std::vector<float> sums(256, 1e-3f);
        for (std::size_t i = 0; i < sums.size(); i += 16)
            sums[i] = 1;
        const auto matrix = m_dir / "matrix.gguf";
        writeBytes(matrix, ggufImatrix({{"blk.0.ffn_up.weight", sums, {1}}}));
        const ParamTexts texts{{"imatrix", matrix.string()}};
        const auto request =
            makeRequest(m_model, m_dir / "planned.gguf", {{"format", "q4_k"}, texts.front()}, rtn());
        HALFTONE_VERIFY(request);
        const auto plan = planQuantize(*request);
        HALFTONE_VERIFY(plan);
        const auto told = [&](std::string_view text) {
            return std::ranges::any_of(plan->warnings, [&](const std::string& line) {
                return line.find(text) != std::string::npos;
            });
        };
        QVERIFY(told("matrix.gguf: 1 entries, 100 chunks of 512 tokens"));
        QVERIFY(told("no calibration data for"));
        QVERIFY(told("model.layers.1.mlp.up_proj.weight (not in the file)"));
        QVERIFY(!told("model.layers.0.mlp.up_proj.weight (not"));

        const auto plain = written("plain", {}), weighted = written("weighted", texts);
        QVERIFY(!plain.empty() && !weighted.empty());
        QVERIFY(codesOf(plain, "blk.0.ffn_up.weight") != codesOf(weighted, "blk.0.ffn_up.weight"));
        QVERIFY(codesOf(plain, "blk.1.ffn_up.weight") == codesOf(weighted, "blk.1.ffn_up.weight"));
        // The reference and integer grids heed none: the file is not even opened.
        const RtnMethod method;
        for (const ParamTexts& others :
             {ParamTexts{{"format", "q4_k"}, {"encoder", "reference"}, {"imatrix", "x"}},
              ParamTexts{{"imatrix", "x"}}, ParamTexts{{"format", "tq2_0"}, {"imatrix", "x"}}})
            QVERIFY(method.importanceFile(*method.schema().complete(others)).empty());
        QCOMPARE(method.importanceFile(*method.schema().complete({{"format", "q6_k"}, {"imatrix", "x"}})),
                 std::string("x"));
    }

    void badMatrixStopsThePlan()
    {
        const auto broken = m_dir / "broken.gguf";
        writeBytes(broken, oldImatrix({{"blk.0.ffn_up.weight", {1, 2}, {1}}}, "x"));
        for (const std::string& file : {broken.string(), (m_dir / "nowhere").string()}) {
            const auto request =
                makeRequest(m_model, m_dir / "never.gguf", {{"format", "q4_k"}, {"imatrix", file}}, rtn());
            HALFTONE_VERIFY(request);
            const auto plan = planQuantize(*request);
            QVERIFY(!plan);
            QVERIFY(plan.error().line().find(file) != std::string::npos);
        }
    }
};

QTEST_GUILESS_MAIN(TestRtnEncoders)
#include "tst_rtn_encoders.moc"
