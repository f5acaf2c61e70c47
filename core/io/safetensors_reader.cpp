// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/io/checkpoint_impl.h"

#include "core/io/json_walk.h"
#include "core/io/le_bytes.h"
#include "core/io/safetensors_header.h"
#include "core/io/text_names.h"

#include <algorithm>
#include <fmt/core.h>
#include <map>
#include <new>
#include <optional>
#include <tuple>

namespace halftone {

namespace {

constexpr std::uint64_t kIndexLimit = 200'000'000;

void addMetadata(CheckpointData& data, const SafetensorsHeader& header)
{
    for (const auto& item : header.metadata) {
        const auto known =
            std::ranges::any_of(data.metadata, [&](const auto& e) { return e.key == item.first; });
        if (known) continue; // shards repeat "format"
        std::vector<std::byte> raw;
        appendGgufString(raw, item.second);
        data.metadataBytes.push_back(std::move(raw));
        MetaEntry entry;
        entry.key = item.first;
        entry.raw = data.metadataBytes.back();
        data.metadata.push_back(std::move(entry));
    }
}

// Holes and trailing bytes: the reference reader refuses such files, a browser need not.
Status noteProblems(CheckpointData& data, const std::filesystem::path& file,
                    const std::vector<std::string>& problems, bool strict)
{
    for (const auto& p : problems) {
        if (strict) return Error(Errc::BadFormat, p + "; other readers refuse such a file").in(file.string());
        data.warn(fmt::format("{}: {}; other readers refuse such a file", file.filename().string(), p));
    }
    return Ok{};
}

std::string shortText(const SafetensorsHeader& header, std::uint64_t size)
{
    return fmt::format(
        "has {} bytes, but its header describes {}; {} tensors are cut: {}; get the file again", size,
        header.end, header.cut.size(), shownNames(header.cut));
}

// weight_map of a *.safetensors.index.json.
class IndexVisitor final : public JsonVisitor {
public:
    std::vector<std::pair<std::string, std::string>> map; ///< tensor, file
    bool found = false;

    bool beginObject() override
    {
        ++m_depth;
        if (m_depth == 2 && m_isMap) m_inMap = found = true;
        return !m_inMap || m_depth == 2 || fail();
    }
    bool endObject() override
    {
        if (m_depth == 2) m_inMap = false;
        --m_depth;
        return true;
    }
    bool beginArray() override
    {
        ++m_depth;
        return m_depth > 1 && !m_inMap ? true : fail();
    }
    bool endArray() override
    {
        --m_depth;
        return true;
    }
    bool key(std::string& text) override
    {
        if (m_depth == 1) {
            m_isMap = text == "weight_map";
            if (m_isMap && found) return fail();
        }
        if (m_inMap) map.emplace_back(std::move(text), std::string());
        return true;
    }
    bool value(const JsonScalar& scalar) override
    {
        if (m_depth == 0) return fail();
        if (!m_inMap) return true;
        const auto* text = std::get_if<std::string_view>(&scalar);
        if (text == nullptr) return fail();
        map.back().second = *text;
        return true;
    }

private:
    bool fail()
    {
        why = "is no index of a sharded checkpoint: weight_map must map tensor names to file names";
        return false;
    }
    int m_depth = 0;
    bool m_isMap = false, m_inMap = false;
};

// A name from the index must stay in the index' folder.
bool isPlainFileName(const std::string& name)
{
    return !name.empty() && name.size() <= 255 && name != "." && name != ".." &&
           name.find_first_of(std::string_view("/\\\0", 3)) == std::string::npos;
}

struct Shard {
    std::string name;
    std::vector<std::string> expected; ///< tensors that the index places here, sorted
    std::optional<CheckpointFile> file;
    SafetensorsHeader header;
};

class IndexReader {
public:
    IndexReader(const std::filesystem::path& index, OpenOptions options)
        : m_folder(index.parent_path()), m_options(options)
    {
        m_data.path = index;
    }

    Result<std::shared_ptr<const Checkpoint>> read()
    {
        HALFTONE_CHECK(readIndex());
        for (auto& shard : m_shards)
            HALFTONE_CHECK(readShard(shard));
        if (m_data.files.empty())
            return Error(
                Errc::NotFound,
                fmt::format("none of the {} shards that it names can be read, first {}; put them into "
                            "this folder",
                            m_shards.size(), shownName(m_shards.front().name)));
        HALFTONE_CHECK(collect());
        if (m_options.strict)
            for (const auto& issue : m_data.issues)
                return Error(Errc::BadFormat, issue.text);
        readSidecars(m_data, m_folder);
        return makeCheckpoint(std::move(m_data));
    }

private:
    Status readIndex()
    {
        HALFTONE_TRY(text, readTextFile(m_data.path, kIndexLimit));
        IndexVisitor visitor;
        HALFTONE_CHECK(walkJson(text, 32, visitor));
        auto& map = visitor.map;
        if (!visitor.found || map.empty())
            return Error(Errc::BadFormat,
                         "is no index of a sharded checkpoint: it has no weight_map with tensors in it");
        std::ranges::sort(map);
        std::map<std::string, std::size_t> shards;
        for (std::size_t i = 0; i < map.size(); ++i) {
            const auto& [tensor, file] = map[i];
            if (i > 0 && map[i - 1].first == tensor)
                return Error(Errc::BadFormat,
                             fmt::format("weight_map holds tensor {} twice", shownName(tensor)));
            if (!isPlainFileName(file))
                return Error(
                    Errc::BadFormat,
                    fmt::format("weight_map sends tensor {} to \"{}\", which is no file name in this "
                                "folder; such an index is refused",
                                shownName(tensor), shownName(file)));
            shards[file];
        }
        for (auto& [file, at] : shards) {
            at = m_shards.size();
            m_shards.push_back({file, {}, {}, {}});
        }
        for (auto& [tensor, file] : map)
            m_shards[shards[file]].expected.push_back(std::move(tensor));
        return Ok{};
    }

    Status readShard(Shard& shard)
    {
        const auto path = m_folder / shard.name;
        auto unusable = [&](std::string why) {
            m_data.error(fmt::format("{}: {}; {} tensors can't be read: {}", shownName(shard.name), why,
                                     shard.expected.size(), shownNames(shard.expected)));
        };
        auto file = mapCheckpointFile(path);
        if (!file) {
            unusable(file.error().what() + "; put the shard into this folder");
            return Ok{};
        }
        auto header = readSafetensorsHeader(file->mapped->bytes());
        if (file->mapped->damaged())
            return Error(Errc::Io, "the file was cut while it was read; try again").in(path.string());
        if (!header) {
            // A forged shard is an error of the whole; one that is cut inside its header only a loss.
            const auto bytes = file->mapped->bytes();
            if (looksLikeSafetensors(bytes)) return std::move(header).error().in(path.string());
            unusable(header.error().what());
            return Ok{};
        }
        shard.header = std::move(*header);
        file->headerBytes = shard.header.headerBytes;
        if (!shard.header.cut.empty())
            m_data.error(fmt::format("{}: {}", shownName(shard.name),
                                     shortText(shard.header, file->mapped->bytes().size())));
        if (shard.header.cut.empty())
            HALFTONE_CHECK(noteProblems(m_data, path, shard.header.problems, m_options.strict));
        addMetadata(m_data, shard.header);
        for (auto& t : shard.header.tensors)
            t.file = static_cast<std::uint32_t>(m_data.files.size());
        m_data.files.push_back(*file);
        shard.file = std::move(*file);
        return Ok{};
    }

    // The three lists: what the index names and no shard holds, what a shard holds and the index does not
    // name, what two shards hold.
    Status collect()
    {
        std::map<std::string_view, std::vector<std::size_t>> holders;
        for (std::size_t s = 0; s < m_shards.size(); ++s)
            for (const auto& t : m_shards[s].header.tensors)
                holders[t.name].push_back(s);
        std::vector<std::string> doubles;
        for (const auto& [name, where] : holders)
            if (where.size() > 1)
                doubles.push_back(fmt::format("{} in {} and {}", shownName(name),
                                              shownName(m_shards[where[0]].name),
                                              shownName(m_shards[where[1]].name)));
        if (!doubles.empty())
            m_data.error(
                fmt::format("{} tensors stand in more than one shard, the one that the index names is "
                            "shown: {}; get the shards again",
                            doubles.size(), shownNames(doubles)));
        std::size_t total = 0;
        for (auto& shard : m_shards)
            total += shard.header.tensors.size();
        m_data.tensors.reserve(total);
        std::vector<std::string> orphans;
        for (auto& shard : m_shards) {
            if (!shard.file) continue;
            std::vector<std::string> missing;
            HALFTONE_CHECK(takeTensors(shard, holders, missing, orphans));
            if (!missing.empty())
                m_data.error(
                    fmt::format("{}: does not hold {} tensors that the index places there: {}; get the "
                                "shard or the index again",
                                shownName(shard.name), missing.size(), shownNames(missing)));
        }
        if (!orphans.empty())
            m_data.warn(fmt::format("{} tensors stand in a shard but not in the index and are left out: {}",
                                    orphans.size(), shownNames(orphans)));
        return Ok{};
    }

    Status takeTensors(Shard& shard, const std::map<std::string_view, std::vector<std::size_t>>& holders,
                       std::vector<std::string>& missing, std::vector<std::string>& orphans)
    {
        std::vector<std::string_view> names;
        for (const auto& t : shard.header.tensors)
            names.push_back(t.name);
        std::ranges::sort(names);
        const auto twice = std::ranges::adjacent_find(names);
        if (twice != names.end())
            return Error(Errc::BadFormat,
                         fmt::format("tensor {} stands twice in the header; the file is damaged",
                                     shownName(*twice)))
                .in((m_folder / shard.name).string());
        for (const auto& name : shard.expected)
            if (!std::ranges::binary_search(names, std::string_view(name))) missing.push_back(name);
        for (auto& t : shard.header.tensors) {
            if (std::ranges::binary_search(shard.expected, t.name)) {
                m_data.tensors.push_back(t);
                continue;
            }
            // A double is reported as such.
            if (holders.at(t.name).size() > 1) continue;
            if (m_options.keepOrphans) m_data.tensors.push_back(t);
            orphans.push_back(t.name);
        }
        return Ok{};
    }

    std::filesystem::path m_folder;
    OpenOptions m_options;
    CheckpointData m_data;
    std::vector<Shard> m_shards;
};

} // namespace

Result<std::shared_ptr<const Checkpoint>> openSafetensors(CheckpointFile file, OpenOptions options)
{
    CheckpointData data;
    data.path = file.mapped->path();
    const auto where = data.path.string();
    auto header = readSafetensorsHeader(file.mapped->bytes());
    if (file.mapped->damaged())
        return Error(Errc::Io, "the file was cut while it was read; try again").in(where);
    if (!header) return std::move(header).error().in(where);
    if (!header->cut.empty())
        return Error(Errc::BadFormat, shortText(*header, file.mapped->bytes().size())).in(where);
    HALFTONE_CHECK(noteProblems(data, data.path, header->problems, options.strict));
    addMetadata(data, *header);
    data.tensors = std::move(header->tensors);
    file.headerBytes = header->headerBytes;
    data.files.push_back(std::move(file));
    readSidecars(data, data.path.parent_path());
    return makeCheckpoint(std::move(data));
}

Result<std::shared_ptr<const Checkpoint>> openSafetensorsIndex(const std::filesystem::path& index,
                                                               OpenOptions options)
{
    auto opened = IndexReader(index, options).read();
    if (!opened && opened.error().trail().empty()) return std::move(opened).in(index.string());
    return opened;
}

} // namespace halftone
