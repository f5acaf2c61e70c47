// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/rng.h"
#include "core/numeric/small_float.h"
#include "tests/core/session/quantize_support.h"
#include "tests/support/main.h"
#include "tests/support/temp_dir.h"

#include <QCoreApplication>
#include <QProcess>

#include <atomic>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <sys/resource.h>
#include <thread>

using namespace halftone;
using test::FixtureKind;

namespace {

// Replaces one BF16 value of a fixture's tensor.
void plant(test::Fixture& fixture, std::string_view name, std::size_t element, std::uint16_t bits)
{
    for (auto& tensor : fixture.tensors)
        if (tensor.name == name) std::memcpy(tensor.bytes.data() + 2 * element, &bits, 2);
}

std::vector<float> valuesOf(const Model& model, std::string_view name)
{
    const auto& weights = *model.weights();
    const WeightInfo* info = weights.find(name);
    if (info == nullptr) return {};
    auto tensor = weights.loadRows(*info, 0, info->shape.rows(), DType::F32, cpuDevice(), {});
    if (!tensor) return {};
    const auto span = std::as_const(*tensor).values<float>();
    return {span.begin(), span.end()};
}

// In the process that is killed: the third weight ends it without a word.
int runAndDie(const std::filesystem::path& model, const std::filesystem::path& output)
{
    auto method = std::make_shared<test::AnyFormat>();
    method->before = [count = std::make_shared<int>(0)](JobContext&) -> Status {
        if (++*count == 3) std::raise(SIGKILL);
        return Ok{};
    };
    const char* format = output.extension() == ".gguf" ? "q8_0" : "int4.g32.f16";
    auto request = test::makeRequest(model, output, {{"format", format}}, method);
    return request && test::run(*request) ? 0 : 1;
}

} // namespace

class TestQuantize : public QObject {
    Q_OBJECT
    test::TempDir m_dir;
    std::filesystem::path m_tiny, m_tiny256, m_tied;

private Q_SLOTS:
    void initTestCase();
    void errorsInTheTableAreThoseOfTheFile();
    void keptWeightsKeepTheirBits();
    void keptWeightsCanChangeType();
    void sameBytesForAnyThreadCount();
    void nanNamesTensorRowColumnAndRemedy();
    void overflowOfAKeptWeightIsAnError();
    void zeroAndTinyBlocks_data();
    void zeroAndTinyBlocks();
    void oddTensorsAreKept();
    void cancelLeavesNoFileAndKeepsRows();
    void cancelIsHeardSoon();
    void existingOutputIsRefused();
    void inputIsNeverOverwritten();
    void folderBecomesAModel();
    void untiedHeadHoldsTheEmbedding();
    void requantizingNeedsPermission();
    void fullDiskLeavesNothing();
    void killedRunLeavesNoFinalName();
};

void TestQuantize::initTestCase()
{
    m_tiny = test::writeModel(test::makeFixture(FixtureKind::Tiny), m_dir / "tiny");
    m_tiny256 = test::writeModel(test::makeFixture(FixtureKind::Tiny256), m_dir / "tiny256");
    m_tied = test::writeModel(test::makeFixture(FixtureKind::Tied), m_dir / "tied");
}

void TestQuantize::errorsInTheTableAreThoseOfTheFile()
{
    const auto output = m_dir / "errors.safetensors";
    auto request = test::makeRequest(m_tiny256, output, {{"format", "int4a.g64.f16"}});
    HALFTONE_VERIFY(request);
    auto results = MemoryResults::make({});
    HALFTONE_VERIFY(test::run(*request, results));
    QCOMPARE(results->rows("weights"), 14);
    const auto sqnr = results->column("weights", "sqnr_db");
    const auto ids = results->column("weights", "id");
    const auto names = results->names("weights", "id");
    HALFTONE_VERIFY(sqnr);
    HALFTONE_VERIFY(ids);
    HALFTONE_VERIFY(names);
    const auto written = openModel(output);
    HALFTONE_VERIFY(written);
    for (std::size_t row = 0; row < 14; ++row) {
        const std::string& id = (*names)[static_cast<std::size_t>((*ids)[row])];
        const WeightRole* there = (*written)->byId(id);
        const WeightRole* here = request->model->byId(id);
        QVERIFY(there != nullptr && here != nullptr);
        const auto y = valuesOf(**written, (*written)->weights()->all()[there->weight].name);
        const auto x = valuesOf(*request->model, request->model->weights()->all()[here->weight].name);
        QCOMPARE(y.size(), x.size());
        double signal = 0, noise = 0;
        for (std::size_t i = 0; i < x.size(); ++i) {
            signal += static_cast<double>(x[i]) * x[i];
            noise += (static_cast<double>(x[i]) - y[i]) * (static_cast<double>(x[i]) - y[i]);
        }
        const double expected = 10 * std::log10(signal / noise);
        QVERIFY2(std::fabs(expected - (*sqnr)[row]) < 1e-9, id.c_str());
        // Gaussian values on 15 steps of the range of 64: about 21 dB.
        QVERIFY(expected > 19 && expected < 23);
    }
}

void TestQuantize::keptWeightsKeepTheirBits()
{
    const auto fixture = test::makeFixture(FixtureKind::Tiny256);
    const auto output = m_dir / "kept.safetensors";
    auto request = test::makeRequest(m_tiny256, output, {});
    HALFTONE_VERIFY(request);
    HALFTONE_VERIFY(test::run(*request));
    const auto checkpoint = Checkpoint::open(output);
    HALFTONE_VERIFY(checkpoint);
    for (const char* name : {"model.embed_tokens.weight", "lm_head.weight", "model.norm.weight",
                             "model.layers.1.input_layernorm.weight"}) {
        const TensorInfo* info = (*checkpoint)->find(name);
        QVERIFY(info != nullptr);
        const auto raw = (*checkpoint)->raw(*info);
        HALFTONE_VERIFY(raw);
        const auto& original = fixture.tensor(name).bytes;
        QVERIFY(std::equal(raw->begin(), raw->end(), original.begin(), original.end()));
    }
}

void TestQuantize::keptWeightsCanChangeType()
{
    const auto output = m_dir / "kept32.safetensors";
    auto request = test::makeRequest(m_tiny256, output, {{"keep-dtype", "f32"}});
    HALFTONE_VERIFY(request);
    HALFTONE_VERIFY(test::run(*request));
    const auto written = openModel(output);
    HALFTONE_VERIFY(written);
    const auto* info = (*written)->weights()->find("lm_head.weight");
    QVERIFY(info != nullptr);
    QVERIFY(info->plain == DType::F32);
    QCOMPARE(valuesOf(**written, "lm_head.weight"), valuesOf(*request->model, "lm_head.weight"));
}

void TestQuantize::sameBytesForAnyThreadCount()
{
    std::string first;
    const int before = threadCount();
    for (int turn = 0; turn < 5; ++turn) {
        setThreadCount(turn % 2 + 1);
        for (const char* name : {"same.gguf", "same.safetensors"}) {
            const auto output = m_dir / name;
            const bool gguf = output.extension() == ".gguf";
            auto request =
                test::makeRequest(m_tiny256, output, {{"format", gguf ? "q5_1" : "int3a.g64.bf16"}});
            HALFTONE_VERIFY(request);
            request->overwrite = true;
            HALFTONE_VERIFY(test::run(*request));
        }
        const std::string bytes =
            test::fileText(m_dir / "same.gguf") + test::fileText(m_dir / "same.safetensors");
        if (turn == 0) first = bytes;
        QVERIFY(bytes == first);
    }
    setThreadCount(before);
}

void TestQuantize::nanNamesTensorRowColumnAndRemedy()
{
    auto fixture = test::makeFixture(FixtureKind::Tiny);
    plant(fixture, "model.layers.1.mlp.up_proj.weight", 5 * 64 + 17, 0x7fc0);
    const auto model = test::writeModel(fixture, m_dir / "nan");
    const test::TempDir out;
    auto request = test::makeRequest(model, out / "nan.gguf", {{"format", "q8_0"}});
    HALFTONE_VERIFY(request);
    const auto status = test::run(*request);
    QVERIFY(!status);
    QCOMPARE(status.error().code(), Errc::Numeric);
    const std::string line = status.error().line();
    const std::string start = (m_dir / "nan" / "model.safetensors").string() +
                              ": tensor model.layers.1.mlp.up_proj.weight: NaN at row 5, column 17: ";
    QVERIFY2(line.starts_with(start), line.c_str());
    QVERIFY2(line.ends_with("skip=model.layers.1.mlp.up_proj.weight"), line.c_str());
    QVERIFY(test::folderNames(out.path()).empty());
    // The remedy works.
    auto skipped = test::makeRequest(model, out / "nan.gguf",
                                     {{"format", "q8_0"}, {"skip", "model.layers.1.mlp.up_proj.weight"}});
    HALFTONE_VERIFY(skipped);
    HALFTONE_VERIFY(test::run(*skipped));
}

void TestQuantize::overflowOfAKeptWeightIsAnError()
{
    auto fixture = test::makeFixture(FixtureKind::Tiny);
    plant(fixture, "lm_head.weight", 3 * 64 + 2, floatToBfloat(1e30f));
    const auto model = test::writeModel(fixture, m_dir / "huge");
    const test::TempDir out;
    auto request = test::makeRequest(model, out / "huge.safetensors", {{"keep-dtype", "f16"}});
    HALFTONE_VERIFY(request);
    const auto status = test::run(*request);
    QVERIFY(!status);
    QCOMPARE(status.error().code(), Errc::Numeric);
    const std::string line = status.error().line();
    for (const char* part : {"lm_head.weight", "row 3, column 2", "does not fit F16", "keep-dtype=bf16"})
        QVERIFY2(line.find(part) != std::string::npos, line.c_str());
    QVERIFY(test::folderNames(out.path()).empty());
}

void TestQuantize::zeroAndTinyBlocks_data()
{
    QTest::addColumn<QString>("format");
    // Those that a container holds.
    for (const auto* format : listedFormats())
        if (format->ggufType() || format->desc().family == FormatDesc::Family::IntGrid)
            QTest::newRow(format->name().c_str()) << QString::fromStdString(format->name());
}

void TestQuantize::zeroAndTinyBlocks()
{
    QFETCH(QString, format);
    // Row 0 all zero; row 1 one value of 1e-11; row 2 of 1e-30; row 3 a subnormal; then ordinary rows.
    const char* name = "model.layers.0.self_attn.v_proj.weight";
    test::Fixture fixture;
    fixture.tensors.push_back({name, Shape{8, 256}, DType::BF16, test::Bytes(std::size_t{2} * 8 * 256)});
    plant(fixture, name, 256 + 3, floatToBfloat(1e-11f));
    plant(fixture, name, 512 + 3, floatToBfloat(1e-30f));
    plant(fixture, name, 768 + 3, 0x0001);
    const auto ordinary = test::fixtureValues(name, 4 * 256);
    for (std::size_t i = 0; i < ordinary.size(); ++i)
        plant(fixture, name, 1024 + i, floatToBfloat(ordinary[i]));
    const test::TempDir out;
    const auto model = out / "model.safetensors";
    test::writeBytes(model, test::safetensorsBytes(fixture.tensors));
    const auto named = formatNamed(format.toStdString());
    HALFTONE_VERIFY(named);
    const auto output = out / ((*named)->ggufType() ? "zero.gguf" : "zero.safetensors");
    auto request = test::makeRequest(model, output, {{"format", format.toStdString()}});
    HALFTONE_VERIFY(request);
    HALFTONE_VERIFY(test::run(*request));
    const auto written = openModel(output);
    HALFTONE_VERIFY(written);
    const auto values = valuesOf(**written, name);
    QCOMPARE(values.size(), std::size_t{8 * 256});
    for (std::size_t i = 0; i < 256; ++i)
        QCOMPARE(values[i], 0.0f);
    for (std::size_t i = 256; i < 4 * 256; ++i)
        QVERIFY(std::isfinite(values[i]) && std::fabs(values[i]) <= 1e-3f);
}

void TestQuantize::oddTensorsAreKept()
{
    std::vector<test::FixtureTensor> tensors;
    const auto add = [&](const char* name, Shape shape, DType dtype) {
        const auto bytes = bytesOf(dtype, static_cast<std::uint64_t>(shape.count()));
        tensors.push_back({name, shape, dtype, test::Bytes(static_cast<std::size_t>(bytes.value_or(0)))});
    };
    add("scalar", Shape{}, DType::F32);
    add("empty.weight", Shape{0, 32}, DType::BF16);
    add("vector.weight", Shape{7}, DType::F16);
    add("conv.weight", Shape{4, 3, 2, 2}, DType::F32);
    add("table.weight", Shape{4, 32}, DType::I64);
    add("matrix.weight", Shape{4, 32}, DType::F32);
    add("w", Shape{4, 32}, DType::F32); // a matrix whose name the packed layout can't carry
    const auto file = m_dir / "odd.safetensors";
    test::writeBytes(file, test::safetensorsBytes(tensors));
    const auto output = m_dir / "odd-out.safetensors";
    auto request = test::makeRequest(file, output, {});
    HALFTONE_VERIFY(request);
    const auto plan = planQuantize(*request);
    HALFTONE_VERIFY(plan);
    QCOMPARE(plan->quantizedCount, 4 * 32);
    QCOMPARE(plan->substitutions.size(), std::size_t{1});
    QVERIFY2(plan->substitutions[0].text.find("ends in \".weight\"") != std::string::npos,
             plan->substitutions[0].text.c_str());
    HALFTONE_VERIFY(test::run(*request));
    const auto written = openModel(output);
    HALFTONE_VERIFY(written);
    for (const auto& tensor : tensors) {
        const auto* info = (*written)->weights()->find(tensor.name);
        QVERIFY2(info != nullptr, tensor.name.c_str());
        QVERIFY2(info->shape == tensor.shape, (tensor.name + " " + info->shape.text()).c_str());
    }
}

void TestQuantize::cancelLeavesNoFileAndKeepsRows()
{
    const test::TempDir out;
    for (const char* name : {"cut.safetensors", "folder"}) {
        auto method = std::make_shared<test::AnyFormat>();
        auto count = std::make_shared<int>(0);
        std::atomic<JobId> job{0};
        auto runner = JobRunner::make();
        method->before = [&, count](JobContext&) -> Status {
            if (++*count == 5) runner->cancel(job.load());
            return Ok{};
        };
        auto request = test::makeRequest(m_tiny256, out / name, {}, method);
        HALFTONE_VERIFY(request);
        auto results = MemoryResults::make({});
        JobRequest body;
        body.results = results;
        body.body = [&](JobContext& ctx) {
            while (job.load() == 0) // the id is known a moment after the job may begin
                std::this_thread::yield();
            return runQuantize(*request, ctx);
        };
        job = runner->submit(std::move(body));
        const auto status = runner->wait(job.load());
        QVERIFY(!status);
        QCOMPARE(status.error().code(), Errc::Cancelled);
        QCOMPARE(results->rows("weights"), 4);
        QVERIFY(test::folderNames(out.path()).empty());
    }
}

void TestQuantize::cancelIsHeardSoon()
{
    // One weight of 16 million values: the cancel comes in the middle of it.
    std::vector<test::FixtureTensor> tensors{
        {"big.weight", Shape{4096, 4096}, DType::BF16, test::Bytes(std::size_t{2} * 4096 * 4096)}};
    const test::TempDir out;
    test::writeBytes(out / "big.safetensors", test::safetensorsBytes(tensors));
    auto request = test::makeRequest(out / "big.safetensors", out / "cut.safetensors", {});
    HALFTONE_VERIFY(request);
    auto runner = JobRunner::make();
    JobRequest body;
    body.body = [&](JobContext& ctx) { return runQuantize(*request, ctx); };
    const JobId job = runner->submit(std::move(body));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    const auto start = std::chrono::steady_clock::now();
    runner->cancel(job);
    const auto status = runner->wait(job);
    const auto waited = std::chrono::steady_clock::now() - start;
    QVERIFY(!std::filesystem::exists(out / "cut.safetensors") || status);
    // A busy machine gets more than the 100 ms of an idle one.
    QVERIFY2(waited < std::chrono::seconds(1),
             qPrintable(QString::number(std::chrono::duration<double>(waited).count())));
}

void TestQuantize::existingOutputIsRefused()
{
    const auto output = m_dir / "twice.safetensors";
    auto request = test::makeRequest(m_tiny256, output, {});
    HALFTONE_VERIFY(request);
    HALFTONE_VERIFY(test::run(*request));
    const std::string before = test::fileText(output);
    const auto again = test::run(*request);
    QVERIFY(!again);
    QCOMPARE(again.error().code(), Errc::CannotWrite);
    QVERIFY2(again.error().line().find("twice.safetensors: exists") != std::string::npos,
             again.error().line().c_str());
    request->overwrite = true;
    HALFTONE_VERIFY(test::run(*request));
    QVERIFY(test::fileText(output) == before);
    // A folder with weights of another model is never mixed with ours.
    const auto folder = m_dir / "other";
    test::writeSharded(test::makeFixture(FixtureKind::Tiny), folder, 2);
    auto mixed = test::makeRequest(m_tiny256, folder, {});
    HALFTONE_VERIFY(mixed);
    mixed->overwrite = true;
    const auto refused = test::run(*mixed);
    QVERIFY(!refused);
    QVERIFY2(refused.error().line().find("holds other weights") != std::string::npos,
             refused.error().line().c_str());
}

void TestQuantize::inputIsNeverOverwritten()
{
    for (const auto& output : {m_tiny256, m_tiny256.parent_path()}) {
        auto request = test::makeRequest(m_tiny256, output, {});
        HALFTONE_VERIFY(request);
        request->overwrite = true;
        const auto status = test::run(*request);
        QVERIFY(!status);
        QCOMPARE(status.error().code(), Errc::CannotWrite);
        QVERIFY2(status.error().line().find("is the input") != std::string::npos,
                 status.error().line().c_str());
    }
    auto nowhere = test::makeRequest(m_tiny256, m_dir / "missing" / "out.safetensors", {});
    HALFTONE_VERIFY(nowhere);
    const auto status = test::run(*nowhere);
    QVERIFY(!status);
    QCOMPARE(status.error().code(), Errc::CannotWrite);
    QVERIFY2(status.error().line().find("no such folder") != std::string::npos,
             status.error().line().c_str());
}

void TestQuantize::folderBecomesAModel()
{
    const auto source = m_dir / "with-tokenizer";
    const auto weights = test::writeModel(test::makeFixture(FixtureKind::Tiny256), source);
    std::ofstream(source / "tokenizer.json") << "{\"model\": {}}";
    const auto output = m_dir / "packed";
    auto request = test::makeRequest(source, output, {{"format", "int4.g128.f16"}});
    HALFTONE_VERIFY(request);
    HALFTONE_VERIFY(test::run(*request));
    QVERIFY(std::filesystem::exists(output / "model.safetensors"));
    QCOMPARE(test::fileText(output / "tokenizer.json"), std::string("{\"model\": {}}"));
    const std::string config = test::fileText(output / "config.json");
    for (const char* part : {"\"quantization_config\"", "\"pack-quantized\"", "\"group_size\": 128",
                             "\"lm_head\"", "\"model_type\": \"llama\""})
        QVERIFY2(config.find(part) != std::string::npos, part);
    const auto model = openModel(output);
    HALFTONE_VERIFY(model);
    // The layout does not tell the two symmetric conventions apart: both decode alike.
    QCOMPARE((*model)->weights()->find("model.layers.0.mlp.up_proj.weight")->type,
             std::string("int4f.g128.f16"));
}

void TestQuantize::untiedHeadHoldsTheEmbedding()
{
    const auto output = m_dir / "untied";
    auto request = test::makeRequest(m_tied, output,
                                     {{"untie", "true"}, {"head", "quantize"}, {"format", "int8.g32.f16"}});
    HALFTONE_VERIFY(request);
    HALFTONE_VERIFY(test::run(*request));
    const auto model = openModel(output);
    HALFTONE_VERIFY(model);
    QVERIFY(!(*model)->config().tiedHead);
    const auto head = valuesOf(**model, "lm_head.weight");
    const auto embedding = valuesOf(*request->model, "model.embed_tokens.weight");
    QCOMPARE(valuesOf(**model, "model.embed_tokens.weight"), embedding);
    QCOMPARE(head.size(), embedding.size());
    for (std::size_t i = 0; i < head.size(); ++i)
        QVERIFY(std::fabs(head[i] - embedding[i]) < 1e-3f);
}

void TestQuantize::requantizingNeedsPermission()
{
    const auto first = m_dir / "first.gguf";
    auto once = test::makeRequest(m_tiny256, first, {{"format", "q8_0"}});
    HALFTONE_VERIFY(once);
    HALFTONE_VERIFY(test::run(*once));
    const auto second = m_dir / "second.gguf";
    auto refused = test::makeRequest(first, second, {{"format", "q4_0"}});
    HALFTONE_VERIFY(refused);
    const auto plan = planQuantize(*refused);
    QVERIFY(!plan);
    QCOMPARE(plan.error().code(), Errc::Unsupported);
    for (const char* part : {"is quantized already", "Q8_0", "requantize=true"})
        QVERIFY2(plan.error().line().find(part) != std::string::npos, plan.error().line().c_str());
    auto allowed = test::makeRequest(first, second, {{"format", "q4_0"}, {"requantize", "true"}});
    HALFTONE_VERIFY(allowed);
    auto results = MemoryResults::make({});
    HALFTONE_VERIFY(test::run(*allowed, results));
    bool told = false;
    for (const auto& [level, text] : results->log())
        told = told || text.find("double quantised: 14 weights from Q8_0") != std::string::npos;
    QVERIFY(told);
    // Weights that are packed already and stay so are copied as they are.
    auto kept =
        test::makeRequest(first, m_dir / "third.gguf",
                          {{"format", "q4_0"}, {"tensors", "layers.0.attn.q"}, {"requantize", "true"}});
    HALFTONE_VERIFY(kept);
    HALFTONE_VERIFY(test::run(*kept));
    const auto third = openModel(m_dir / "third.gguf");
    HALFTONE_VERIFY(third);
    QCOMPARE((*third)->weights()->find("blk.0.attn_q.weight")->type, std::string("Q4_0"));
    QCOMPARE((*third)->weights()->find("blk.1.attn_q.weight")->type, std::string("Q8_0"));
}

void TestQuantize::fullDiskLeavesNothing()
{
    // A limit on the size of files stands for a full disk: the write that crosses it fails the same way.
    const test::TempDir out;
    struct rlimit before {};
    QCOMPARE(::getrlimit(RLIMIT_FSIZE, &before), 0);
    std::signal(SIGXFSZ, SIG_IGN);
    for (const rlim_t limit : {rlim_t{1000}, rlim_t{65536}, rlim_t{500000}}) {
        for (const char* name : {"full.gguf", "folder"}) {
            auto request = test::makeRequest(
                m_tiny256, out / name, {{"format", std::string(name) == "folder" ? "int8.g32.f16" : "q8_0"}});
            HALFTONE_VERIFY(request);
            struct rlimit small = before;
            small.rlim_cur = limit;
            QCOMPARE(::setrlimit(RLIMIT_FSIZE, &small), 0);
            const auto status = test::run(*request);
            QCOMPARE(::setrlimit(RLIMIT_FSIZE, &before), 0);
            QVERIFY(!status);
            QCOMPARE(status.error().code(), Errc::CannotWrite);
            QVERIFY(test::folderNames(out.path()).empty());
        }
    }
    std::signal(SIGXFSZ, SIG_DFL);
}

void TestQuantize::killedRunLeavesNoFinalName()
{
    const test::TempDir out;
    for (const char* name : {"killed.safetensors", "killed.gguf", "folder"}) {
        QProcess child;
        QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
        environment.insert(QStringLiteral("HALFTONE_TEST_DIE_MODEL"),
                           QString::fromStdString(m_tiny.string()));
        environment.insert(QStringLiteral("HALFTONE_TEST_DIE_OUTPUT"),
                           QString::fromStdString((out / name).string()));
        child.setProcessEnvironment(environment);
        child.start(QCoreApplication::applicationFilePath(), QStringList());
        QVERIFY(child.waitForFinished(30000));
        QCOMPARE(child.exitStatus(), QProcess::CrashExit);
        QVERIFY(!std::filesystem::exists(out / name));
        // The next run is not disturbed by what the killed one left.
        auto request = test::makeRequest(
            m_tiny, out / name, {{"format", std::string(name) == "killed.gguf" ? "q8_0" : "int4.g32.f16"}});
        HALFTONE_VERIFY(request);
        HALFTONE_VERIFY(test::run(*request));
    }
}

int main(int argc, char** argv)
{
    QCoreApplication app(argc, argv);
    const char* model = std::getenv("HALFTONE_TEST_DIE_MODEL");
    const char* output = std::getenv("HALFTONE_TEST_DIE_OUTPUT");
    if (model != nullptr && output != nullptr) return runAndDie(model, output);
    TestQuantize test;
    return QTest::qExec(&test, argc, argv);
}

#include "tst_quantize.moc"
