// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/bench/report.h"

#include "core/base/text.h"
#include "core/io/writer.h"
#include "core/job/job.h"
#include "core/session/job_file.h"
#include "core/session/quantize.h"
#include "plugins/methods/rtn/rtn.h"

#include <algorithm>
#include <chrono>
#include <fmt/core.h>
#include <fstream>

namespace halftone::bench {

namespace {

constexpr std::uint64_t kSlack = 300'000'000;

// Equal matrices of BF16 until the file has the wanted size.
Status generate(const std::filesystem::path& path, std::uint64_t bytes, std::int64_t rows, std::int64_t cols)
{
    HALFTONE_TRY(content, weights(DType::BF16, rows, cols));
    std::vector<OutputTensor> tensors;
    const std::uint64_t count = std::max<std::uint64_t>(bytes / content.byteSize(), 1);
    for (std::uint64_t i = 0; i < count; ++i)
        tensors.push_back({fmt::format("model.layers.{}.mlp.up_proj.weight", i), content.shape(), DType::BF16,
                           0, content.byteSize()});
    HALFTONE_TRY(layout, layoutFile(Container::Safetensors, std::move(tensors), {}));
    std::ofstream file(path, std::ios::binary);
    const auto put = [&](std::span<const std::byte> part) {
        file.write(reinterpret_cast<const char*>(part.data()), static_cast<std::streamsize>(part.size()));
    };
    put(layout.header);
    for (std::uint64_t i = 0; i < count; ++i)
        put(content.bytes());
    file.close();
    if (!file) return Error(Errc::CannotWrite, "can't write the generated checkpoint").in(path.string());
    return Ok{};
}

Status quantize(const std::filesystem::path& from, const std::filesystem::path& to)
{
    HALFTONE_TRY(model, openModel(from));
    QuantizeRequest request;
    request.model = model;
    request.method = std::make_shared<const RtnMethod>();
    HALFTONE_TRY(params, quantizeSchema().joined(request.method->schema()).complete({}));
    request.params = params;
    request.output = to;
    request.overwrite = true;
    const auto runner = JobRunner::make();
    JobRequest job;
    job.title = "bench";
    job.body = [&](JobContext& ctx) { return runQuantize(request, ctx); };
    return runner->wait(runner->submit(std::move(job)));
}

} // namespace

Status benchQuantizeMemory(const Options& options)
{
    const std::int64_t cols = 4096, rows = options.checkpointBytes >= 1'000'000'000 ? 8192 : 32;
    const auto largest = static_cast<std::uint64_t>(rows * cols) * 2;
    const auto from = options.folder / "halftone-bench-in.safetensors";
    const auto to = options.folder / "halftone-bench-out.safetensors";
    say(fmt::format("Quantizing a checkpoint of {}: peak memory against 4 x the largest tensor + 300 MB",
                    humanBytes(options.checkpointBytes)));
    HALFTONE_CHECK(generate(from, options.checkpointBytes, rows, cols));
    const bool fresh = resetPeakResident();
    const auto start = std::chrono::steady_clock::now();
    const Status status = quantize(from, to);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    const std::uint64_t peak = peakResident(), limit = 4 * largest + kSlack;
    std::error_code ignored;
    std::filesystem::remove(from, ignored);
    std::filesystem::remove(to, ignored);
    HALFTONE_CHECK(status);
    say(fmt::format("{:.1f} s, peak {} of {}: ratio {:.2f} {}{}", seconds, humanBytes(peak),
                    humanBytes(limit), static_cast<double>(peak) / static_cast<double>(limit),
                    options.bars ? judge(peak <= limit) : "", fresh ? "" : " (with what came before)"));
    return Ok{};
}

} // namespace halftone::bench
