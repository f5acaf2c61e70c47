// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/bench/report.h"

#include "core/base/text.h"
#include "core/io/checkpoint.h"
#include "core/io/writer.h"

#include <fmt/core.h>
#include <fstream>

namespace halftone::bench {

namespace {

constexpr double kMostSeconds = 1.0;
constexpr std::uint64_t kMostBytes = 300'000'000;

// The names and the header of a real file; the weights are a hole that takes no disk. Its header is
// returned, for the baseline.
Result<std::vector<std::byte>> generate(Container container, std::int64_t count,
                                        const std::filesystem::path& path)
{
    std::vector<OutputTensor> tensors;
    for (std::int64_t i = 0; i < count; ++i) {
        OutputTensor t;
        t.name = fmt::format("model.layers.{}.mlp.experts.{}.up_proj.weight", i / 64, i % 64);
        t.shape = Shape{64, 64};
        t.dtype = DType::BF16;
        t.ggufType = 30; // ggml's number for BF16
        t.bytes = 64 * 64 * 2;
        tensors.push_back(std::move(t));
    }
    std::vector<OutputMeta> metadata;
    if (container == Container::Gguf) metadata.push_back(metaOf("general.architecture", "llama"));
    HALFTONE_TRY(layout, layoutFile(container, std::move(tensors), metadata));
    std::ofstream file(path, std::ios::binary);
    file.write(reinterpret_cast<const char*>(layout.header.data()),
               static_cast<std::streamsize>(layout.header.size()));
    file.close();
    std::error_code failed;
    std::filesystem::resize_file(path, layout.totalBytes, failed);
    if (!file || failed) return Error(Errc::CannotWrite, "can't write the generated file").in(path.string());
    return std::move(layout.header);
}

} // namespace

Status benchOpen(const Options& options)
{
    say(fmt::format("Opening {} tensors: seconds, times the reading of the header's bytes, peak memory",
                    options.tensors));
    for (const Container container : {Container::Safetensors, Container::Gguf}) {
        const bool gguf = container == Container::Gguf;
        const auto path = options.folder / (gguf ? "halftone-bench.gguf" : "halftone-bench.safetensors");
        std::uint64_t headerSum = 0;
        double baseline = 0;
        {
            HALFTONE_TRY(header, generate(container, options.tensors, path));
            baseline = fastest(options.repeats, [&] {
                for (const std::byte b : header)
                    headerSum = headerSum * 31 + std::to_integer<std::uint64_t>(b);
            });
        }
        const bool fresh = resetPeakResident();
        Status status = Ok{};
        const double seconds = fastest(options.repeats, [&] {
            auto opened = Checkpoint::open(path);
            if (!opened)
                status = std::move(opened).error();
            else if (static_cast<std::int64_t>((*opened)->tensors().size()) != options.tensors)
                status = Error(Errc::Internal, "tensors are missing");
        });
        const std::uint64_t peak = peakResident();
        std::error_code ignored;
        std::filesystem::remove(path, ignored);
        HALFTONE_CHECK(status);
        const bool good = seconds < kMostSeconds && (!fresh || peak < kMostBytes);
        say(fmt::format("{:<12} {:.3f} s  x {:.1f}  {} {} (header sum {:x})", gguf ? "GGUF" : "safetensors",
                        seconds, seconds / baseline, humanBytes(peak), options.bars ? judge(good) : "",
                        headerSum));
    }
    return Ok{};
}

} // namespace halftone::bench
