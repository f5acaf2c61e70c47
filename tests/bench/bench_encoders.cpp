// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/bench/report.h"
#include "tests/support/samples.h"

#include <cstdlib>
#include <dlfcn.h>
#include <fmt/core.h>

namespace halftone::bench {

namespace {

constexpr std::int64_t kCols = 4096;
/// How much faster than ggml's searches the best encoder must be.
constexpr double kBar = 6;

/// ggml, where a person has it: HALFTONE_GGML names its library (libggml-base.so).
class Ggml {
public:
    Ggml()
    {
        const char* named = std::getenv("HALFTONE_GGML");
        m_library = dlopen(named != nullptr ? named : "libggml-base.so", RTLD_NOW | RTLD_LOCAL);
        if (m_library != nullptr)
            m_quantize = reinterpret_cast<Quantize>(dlsym(m_library, "ggml_quantize_chunk"));
    }
    ~Ggml()
    {
        if (m_library != nullptr) dlclose(m_library);
    }
    Ggml(const Ggml&) = delete;
    Ggml& operator=(const Ggml&) = delete;

    bool found() const { return m_quantize != nullptr; }
    void quantize(std::uint32_t type, const Tensor& in, Tensor& codes,
                  const std::vector<float>& importance) const
    {
        m_quantize(static_cast<int>(type), in.values<float>().data(), codes.mutableBytes().data(), 0,
                   in.shape()[0], kCols, importance.data());
    }

private:
    using Quantize = std::size_t (*)(int type, const float* in, void* out, std::int64_t start,
                                     std::int64_t rows, std::int64_t cols, const float* importance);
    void* m_library = nullptr;
    Quantize m_quantize = nullptr;
};

/// ggml takes the scales of the others from the largest magnitude.
bool searchedByGgml(FormatDesc::Family family)
{
    using Family = FormatDesc::Family;
    return family != Family::Q8_0 && family != Family::MXFP4 && family != Family::NVFP4;
}

Result<double> errorOf(const Tensor& in, const PackedTensor& packed, Stream& stream)
{
    std::vector<ErrorStats> stats;
    HALFTONE_CHECK(cpuDevice().run(BlockErrorsOp{in, packed, 0, stats}, stream));
    ErrorStats all;
    for (const ErrorStats& row : stats)
        all.merge(row);
    return all.normalisedMse();
}

} // namespace

Status benchEncoders(const Options& options)
{
    const std::int64_t rows = std::max<std::int64_t>(options.elements / kCols / 64, 1);
    const auto count = static_cast<double>(rows * kCols);
    HALFTONE_TRY(in, makeTensor(cpuDevice(), DType::F32, Shape{rows, kCols}));
    auto values = test::gaussian(static_cast<std::size_t>(rows * kCols), 21);
    for (std::size_t i = 0; i < values.size(); ++i)
        in.values<float>()[i] = 0.02f * values[i];
    const Ggml ggml;
    const std::vector<float> ones(static_cast<std::size_t>(kCols), 1.0f);
    say("Encoders: millions of weights a second on one thread, normal values of deviation 0.02; error is the "
        "normalised square");
    if (!ggml.found()) say("(no ggml to compare with: HALFTONE_GGML may name its library, libggml-base.so)");
    say(fmt::format("{:<8} {:>8} {:>8} {:>7} {:>10} {:>10} {:>8} {:>10} {:>7}", "format", "best", "referen.",
                    "ratio", "error", "of refer.", "ggml", "its error", "ratio"));
    HALFTONE_TRY(stream, cpuDevice().makeStream());
    setThreadCount(1);
    for (const BlockFormat* format : listedFormats()) {
        if (!format->desc().best || format->name().find(options.only) == std::string::npos) continue;
        HALFTONE_TRY(packed, makePacked(cpuDevice(), *format, in.shape()));
        Status status = Ok{};
        const auto run = [&](Encoder encoder) {
            if (auto s = cpuDevice().run(QuantizeBlocksOp{in, packed, {encoder, {}}}, *stream); !s)
                status = std::move(s);
        };
        // In turns, so that a busy machine slows all alike.
        double reference = 1e9, best = 1e9, theirs = 1e9, referenceError = 0, bestError = 0, theirError = 0;
        for (int i = 0; i < options.repeats; ++i) {
            reference = std::min(reference, fastest(1, [&] { run(Encoder::Reference); }));
            HALFTONE_TRY(ofReference, errorOf(in, packed, *stream));
            best = std::min(best, fastest(1, [&] { run(Encoder::Best); }));
            HALFTONE_TRY(ofBest, errorOf(in, packed, *stream));
            referenceError = ofReference;
            bestError = ofBest;
            if (!ggml.found()) continue;
            theirs = std::min(
                theirs, fastest(1, [&] { ggml.quantize(*format->ggufType(), in, packed.codes, ones); }));
            HALFTONE_TRY(ofTheirs, errorOf(in, packed, *stream));
            theirError = ofTheirs;
        }
        HALFTONE_CHECK(status);
        std::string beside;
        if (ggml.found())
            beside =
                fmt::format(" {:>8.1f} {:>10.4e} {:>7.2f}", count / theirs / 1e6, theirError, theirs / best);
        const bool good =
            bestError <= referenceError &&
            (!ggml.found() ||
             (bestError <= theirError && (!searchedByGgml(format->desc().family) || theirs >= kBar * best)));
        say(fmt::format("{:<8} {:>8.1f} {:>8.1f} {:>7.2f} {:>10.4e} {:>10.4e}{} {}", format->name(),
                        count / best / 1e6, count / reference / 1e6, reference / best, bestError,
                        referenceError, beside, options.bars ? judge(good) : ""));
    }
    return Ok{};
}

} // namespace halftone::bench
