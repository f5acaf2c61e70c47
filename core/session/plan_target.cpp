// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/plan.h"

#include "core/device/device.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <cstring>
#include <fmt/format.h>
#include <vector>

namespace halftone {

namespace {

std::string lowerExtension(const std::filesystem::path& path)
{
    std::string text = path.extension().string();
    std::transform(text.begin(), text.end(), text.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return text;
}

// Bytes a second that one thread copies here, from 16 MB a few times: under 20 ms, once a process.
double measureCopyRate()
{
    using Clock = std::chrono::steady_clock;
    constexpr std::size_t kBytes = 16u << 20;
    std::vector<std::byte> from(kBytes, std::byte{1}), to(kBytes);
    double best = 0;
    for (int round = 0; round < 3; ++round) {
        from[static_cast<std::size_t>(round)] = std::byte{2};
        const auto start = Clock::now();
        std::memcpy(to.data(), from.data(), kBytes);
        const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
        best = std::max(best, static_cast<double>(kBytes) / std::max(seconds, 1e-9));
    }
    // Keeps the copies from being optimised away; the rate is never 0.
    return to[2] == std::byte{2} ? best : std::max(best, 1.0);
}

double copyRate()
{
    static const double rate = measureCopyRate();
    return rate;
}

} // namespace

Result<OutputTarget> outputTarget(const std::filesystem::path& output)
{
    OutputTarget target;
    const std::string extension = lowerExtension(output);
    std::error_code ignored;
    const bool isFolder = std::filesystem::is_directory(output, ignored) || !output.has_filename();
    if (!isFolder) {
        for (const std::string_view other :
             {".bin", ".pt", ".pth", ".ckpt", ".onnx", ".h5", ".npz", ".json", ".ggml", ".pkl", ".zip"})
            if (extension == other)
                return Error(
                    Errc::InvalidArgument,
                    fmt::format("{}: {} can't be written: name a .gguf or .safetensors file, or a folder",
                                output.string(), other));
        if (extension == ".gguf") target.container = Container::Gguf;
        if (extension == ".gguf" || extension == ".safetensors") {
            target.weightsFile = output;
            return target;
        }
    }
    target.folder = true;
    target.weightsFile = output / "model.safetensors";
    return target;
}

std::optional<std::uint32_t> ggufTypeOf(DType dtype)
{
    constexpr std::uint32_t kTypes = 64;
    for (std::uint32_t id = 0; id < kTypes; ++id)
        if (const GgufTypeInfo* info = ggufTypeInfo(id); info != nullptr && info->plain == dtype) return id;
    return std::nullopt;
}

std::chrono::nanoseconds estimateTime(std::uint64_t bytesRead, std::uint64_t bytesWritten, double values,
                                      double flops)
{
    // Read twice (encode, measure), written, flushed, read back and hashed twice; the encoder and the error
    // sums do a few operations a value beside the method's own, at about a tenth of a copy's byte rate.
    const double rate = copyRate();
    const double threads = std::max(1, threadCount());
    const double moved = 2.0 * static_cast<double>(bytesRead) + 8.0 * static_cast<double>(bytesWritten);
    const double computed = (12.0 * values + flops) / threads;
    const double seconds = moved / rate + computed / (rate * 0.2) + 0.05; // the last: flushing to disk
    return std::chrono::nanoseconds(static_cast<std::int64_t>(std::min(seconds, 1e9) * 1e9));
}

} // namespace halftone
