// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/io/checkpoint.h"

#include "core/io/checkpoint_impl.h"
#include "core/io/le_bytes.h"
#include "core/io/text_names.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>
#include <new>

namespace halftone {

namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t kConfigLimit = 16'000'000;
constexpr std::string_view kIndexSuffix = ".safetensors.index.json";

// Files that other programs put beside the weights and a copy of the model needs.
constexpr std::array<std::string_view, 14> kSidecarNames{"tokenizer.json",
                                                         "tokenizer_config.json",
                                                         "generation_config.json",
                                                         "special_tokens_map.json",
                                                         "vocab.json",
                                                         "vocab.txt",
                                                         "merges.txt",
                                                         "added_tokens.json",
                                                         "chat_template.jinja",
                                                         "chat_template.json",
                                                         "preprocessor_config.json",
                                                         "processor_config.json",
                                                         "modules.json",
                                                         "sentence_bert_config.json"};

// What else people try to open, and what to do about it. Told by the first bytes.
struct Signature {
    std::string_view start;
    const char* advice;
};
constexpr const char* kPickle = "is a PyTorch pickle, which can run code when it is read; convert it to "
                                "safetensors first";
constexpr Signature kForeign[] = {
    {std::string_view("PK\x03\x04", 4), "is a zip archive, perhaps a PyTorch file, whose pickle can run code "
                                        "when it is read; unpack it, or convert "
                                        "it to safetensors first"},
    {"\x80\x02", kPickle},
    {"\x80\x03", kPickle},
    {"\x80\x04", kPickle},
    {"\x80\x05", kPickle},
    {"\x89HDF\r\n",
     "is an HDF5 file, no checkpoint; results open with `view`, Keras weights must be converted"},
    {"version https://git-lfs", "is a Git LFS pointer, not the file itself; run `git lfs pull`"},
    {"<!DOCTYPE", "is a web page, not the file itself; download it again"},
    {"<!doctype", "is a web page, not the file itself; download it again"},
    {"<html", "is a web page, not the file itself; download it again"},
    {"lmgg", "is a GGML file of before August 2023; convert the model to GGUF"},
    {"fmgg", "is a GGML file of before August 2023; convert the model to GGUF"},
    {"tjgg", "is a GGML file of before August 2023; convert the model to GGUF"},
    {"\x1f\x8b", "is compressed with gzip; unpack it first"},
    {"\x28\xb5\x2f\xfd", "is compressed with zstd; unpack it first"},
    {"\x93NUMPY", "is a NumPy array; save it as safetensors first"},
};

Result<std::shared_ptr<const Checkpoint>> openFile(const fs::path& path, OpenOptions options)
{
    HALFTONE_TRY(file, mapCheckpointFile(path));
    const auto bytes = file.mapped->bytes();
    const auto start = asText(bytes.first(std::min<std::size_t>(64, bytes.size())));
    if (start.starts_with("GGUF")) return openGguf(std::move(file), options);
    // Before the others: a header length may look like any of them.
    if (looksLikeSafetensors(bytes)) return openSafetensors(std::move(file), options);
    for (const auto& s : kForeign)
        if (start.starts_with(s.start)) return Error(Errc::BadFormat, s.advice).in(path.string());
    const auto text = start.find_first_not_of(" \t\r\n");
    if (text != std::string_view::npos && start[text] == '{') return openSafetensorsIndex(path, options);
    return openSafetensors(std::move(file), options);
}

struct FolderEntries {
    std::vector<fs::path> indices, safetensors, gguf;
};

Result<FolderEntries> listFolder(const fs::path& folder)
{
    std::error_code error;
    FolderEntries out;
    for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
        const auto name = it->path().filename().string();
        if (name.starts_with('.')) continue;
        if (name.ends_with(kIndexSuffix)) out.indices.push_back(it->path());
        if (name.ends_with(".safetensors")) out.safetensors.push_back(it->path());
        if (name.ends_with(".gguf")) out.gguf.push_back(it->path());
    }
    if (error) return Error(Errc::Io, "can't list the folder: " + error.message()).in(folder.string());
    for (auto* list : {&out.indices, &out.safetensors, &out.gguf})
        std::ranges::sort(*list);
    return out;
}

// The first part of a split GGUF stands for all of them.
void dropLaterParts(std::vector<fs::path>& files)
{
    std::erase_if(files, [](const fs::path& p) {
        const auto name = p.stem().string(); // "model-00002-of-00003"
        constexpr std::size_t kTail = 15;
        if (name.size() < kTail) return false;
        const auto tail = std::string_view(name).substr(name.size() - kTail);
        const auto digits = [](std::string_view s) {
            return std::ranges::all_of(s, [](char c) { return c >= '0' && c <= '9'; });
        };
        return tail[0] == '-' && tail.substr(6, 4) == "-of-" && digits(tail.substr(1, 5)) &&
               digits(tail.substr(10)) && tail.substr(1, 5) != "00001";
    });
}

Result<fs::path> pickInFolder(const fs::path& folder)
{
    HALFTONE_TRY(found, listFolder(folder));
    const auto usual = folder / "model.safetensors";
    if (std::ranges::find(found.safetensors, usual) != found.safetensors.end()) return usual;
    if (!found.indices.empty()) {
        if (found.indices.size() == 1) return found.indices.front();
        const auto usualIndex = folder / "model.safetensors.index.json";
        if (std::ranges::find(found.indices, usualIndex) != found.indices.end()) return usualIndex;
    }
    dropLaterParts(found.gguf);
    std::vector<fs::path> all = found.indices.empty() ? found.safetensors : found.indices;
    all.insert(all.end(), found.gguf.begin(), found.gguf.end());
    if (all.size() == 1) return all.front();
    if (all.empty())
        return Error(Errc::NotFound, "the folder holds no .safetensors and no .gguf file")
            .in(folder.string());
    std::vector<std::string> names;
    for (const auto& p : all)
        names.push_back(p.filename().string());
    return Error(
               Errc::InvalidArgument,
               fmt::format("the folder holds {} checkpoints ({}); open one of them, or the *{} of a sharded "
                           "model",
                           all.size(), shownNames(names), kIndexSuffix))
        .in(folder.string());
}

} // namespace

void readSidecars(CheckpointData& data, const fs::path& folder)
{
    std::error_code error;
    const auto read = [&](const char* name, std::string& into) {
        const auto file = folder / name;
        if (!into.empty() || !fs::is_regular_file(file, error)) return;
        auto text = readTextFile(file, kConfigLimit);
        if (text)
            into = std::move(*text);
        else
            data.warn(std::string(name) + " can't be read: " + text.error().what());
    };
    read("config.json", data.configJson);
    read("quantize_config.json", data.quantizeConfigJson);
    read("quant_config.json", data.quantizeConfigJson);
    for (const auto name : kSidecarNames)
        if (const auto path = folder / name; fs::is_regular_file(path, error)) data.sidecars.push_back(path);
    const auto here = folder.empty() ? fs::path(".") : folder;
    for (fs::directory_iterator it(here, error), end; !error && it != end; it.increment(error))
        // A broken link must not end the walk: its error is its own.
        if (std::error_code own; it->path().extension() == ".model" && it->is_regular_file(own))
            data.sidecars.push_back(folder / it->path().filename());
    std::ranges::sort(data.sidecars);
}

Result<std::shared_ptr<const Checkpoint>> Checkpoint::open(const fs::path& path, OpenOptions options)
{
    try {
        std::error_code error;
        if (!fs::is_directory(path, error)) return openFile(path, options);
        HALFTONE_TRY(file, pickInFolder(path));
        return openFile(file, options);
    } catch (const std::bad_alloc&) {
        return Error(Errc::OutOfMemory, "not enough memory to open it").in(path.string());
    } catch (const std::exception& e) {
        return Error(Errc::Io, std::string("can't open: ") + e.what()).in(path.string());
    }
}

} // namespace halftone
