// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/io/checkpoint_impl.h"

#include "core/io/gguf_header.h"
#include "core/io/text_names.h"

#include <algorithm>
#include <cstring>
#include <fmt/core.h>
#include <optional>

namespace halftone {

namespace {

constexpr std::string_view kSplitNo = "split.no";
constexpr std::string_view kSplitCount = "split.count";
constexpr std::string_view kSplitTensors = "split.tensors.count";

struct Split {
    std::int64_t number = 0, count = 1;
    std::optional<std::int64_t> tensors;
};

Split splitOf(const GgufHeader& header)
{
    Split split;
    for (const auto& e : header.metadata) {
        if (e.key == kSplitNo) split.number = metaInt(e).value_or(-1);
        if (e.key == kSplitCount) split.count = metaInt(e).value_or(-1);
        if (e.key == kSplitTensors) split.tensors = metaInt(e);
    }
    return split;
}

// "model" of "model-00001-of-00003.gguf", or nothing when the name does not say part `number` of `count`.
std::optional<std::string> splitPrefix(const std::string& fileName, const Split& split)
{
    const std::string suffix = fmt::format("-{:05}-of-{:05}.gguf", split.number + 1, split.count);
    if (!fileName.ends_with(suffix)) return std::nullopt;
    return fileName.substr(0, fileName.size() - suffix.size());
}

class GgufOpener {
public:
    GgufOpener(CheckpointFile first, OpenOptions options) : m_options(options)
    {
        m_data.path = first.mapped->path();
        m_data.container = Container::Gguf;
        m_first = std::move(first);
    }

    Result<std::shared_ptr<const Checkpoint>> open()
    {
        HALFTONE_TRY(header, readHeader(m_first));
        const Split split = splitOf(header);
        if (split.count > 1 && m_options.joinParts) {
            HALFTONE_CHECK(openParts(std::move(header), split));
        } else {
            HALFTONE_CHECK(addFile(std::move(m_first), std::move(header), true));
        }
        if (m_options.strict)
            for (const auto& issue : m_data.issues)
                return Error(Errc::BadFormat, issue.text);
        return makeCheckpoint(std::move(m_data));
    }

private:
    static Result<GgufHeader> readHeader(const CheckpointFile& file)
    {
        auto header = readGgufHeader(file.mapped->bytes());
        const auto where = file.mapped->path().string();
        if (file.mapped->damaged())
            return Error(Errc::Io, "the file was cut while it was read; try again").in(where);
        return std::move(header).in(where);
    }

    // A lone file that is too short is refused; a short part of several costs its tensors only.
    Status addFile(CheckpointFile file, GgufHeader header, bool alone)
    {
        const auto& path = file.mapped->path();
        const auto name = shownName(path.filename().string());
        if (!header.cut.empty()) {
            auto text = fmt::format(
                "has {} bytes, but its header describes {}; {} tensors are cut: {}; get the "
                "file again",
                file.mapped->bytes().size(), header.end, header.cut.size(), shownNames(header.cut));
            if (alone) return Error(Errc::BadFormat, std::move(text)).in(path.string());
            m_data.error(name + ": " + text);
        }
        for (const auto& p : header.problems) {
            if (m_options.strict) return Error(Errc::BadFormat, p).in(path.string());
            m_data.warn(name + ": " + p);
        }
        if (m_data.metadata.empty()) m_data.metadata = std::move(header.metadata);
        for (auto& t : header.tensors) {
            t.file = static_cast<std::uint32_t>(m_data.files.size());
            m_data.tensors.push_back(std::move(t));
        }
        file.headerBytes = header.headerBytes;
        m_data.files.push_back(std::move(file));
        return Ok{};
    }

    Status openParts(GgufHeader opened, const Split& split)
    {
        const auto path = m_first.mapped->path();
        const auto fileName = path.filename().string();
        const auto prefix = splitPrefix(fileName, split);
        if (!prefix) {
            m_data.error(fmt::format(
                "{}: is part {} of {}, but its name does not end in "
                "-{:05}-of-{:05}.gguf, so that the other parts can't be found; rename it",
                shownName(fileName), split.number + 1, split.count, split.number + 1, split.count));
            return addFile(std::move(m_first), std::move(opened), false);
        }
        std::vector<std::string> missing;
        for (std::int64_t i = 0; i < split.count; ++i) {
            if (i == split.number) {
                HALFTONE_CHECK(addFile(std::move(m_first), std::move(opened), false));
                continue;
            }
            const auto name = fmt::format("{}-{:05}-of-{:05}.gguf", *prefix, i + 1, split.count);
            HALFTONE_CHECK(openPart(path.parent_path() / name, i, split, missing));
        }
        if (!missing.empty())
            m_data.error(fmt::format("{} of {} parts can't be read: {}; put them into the folder of {}",
                                     missing.size(), split.count, shownNames(missing), shownName(fileName)));
        else if (split.tensors && *split.tensors != static_cast<std::int64_t>(m_data.tensors.size()))
            m_data.error(fmt::format("{}: the parts hold {} tensors, but {} says {}; get the parts again",
                                     shownName(fileName), m_data.tensors.size(), kSplitTensors,
                                     *split.tensors));
        return Ok{};
    }

    Status openPart(const std::filesystem::path& path, std::int64_t number, const Split& split,
                    std::vector<std::string>& missing)
    {
        auto file = mapCheckpointFile(path);
        if (!file) {
            missing.push_back(path.filename().string() + " (" + file.error().what() + ")");
            return Ok{};
        }
        constexpr std::string_view kMagic = "GGUF";
        const auto bytes = file->mapped->bytes();
        if (bytes.size() < kMagic.size() || std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) != 0) {
            missing.push_back(
                fmt::format("{} ({} bytes, no GGUF file)", path.filename().string(), bytes.size()));
            return Ok{};
        }
        HALFTONE_TRY(header, readHeader(*file));
        const Split own = splitOf(header);
        if (own.count != split.count || own.number != number)
            return Error(Errc::BadFormat, fmt::format("says it is part {} of {}, but its name says {} of {}",
                                                      own.number + 1, own.count, number + 1, split.count))
                .in(path.string());
        return addFile(std::move(*file), std::move(header), false);
    }

    OpenOptions m_options;
    CheckpointFile m_first;
    CheckpointData m_data;
};

} // namespace

bool isSplitKey(std::string_view key)
{
    return key == kSplitNo || key == kSplitCount || key == kSplitTensors;
}

Result<std::shared_ptr<const Checkpoint>> openGguf(CheckpointFile file, OpenOptions options)
{
    return GgufOpener(std::move(file), options).open();
}

} // namespace halftone
