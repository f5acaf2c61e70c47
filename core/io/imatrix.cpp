// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/io/imatrix.h"

#include "core/io/gguf_header.h"
#include "core/io/le_bytes.h"

#include <algorithm>
#include <cmath>
#include <fmt/core.h>
#include <map>
#include <numeric>

namespace halftone {

namespace {

constexpr std::string_view kSums = ".in_sum2", kCounts = ".counts";
/// llama.cpp's names have at most 64 characters; more room for other programs.
constexpr std::int32_t kNameLimit = 1024;

/// Text of a file for an error: printable or replaced.
std::string shown(std::string_view text)
{
    std::string out(text.substr(0, 80));
    for (char& c : out)
        if (c < ' ' || c == '\x7f') c = '?';
    return out;
}

} // namespace

/// Fills an Imatrix from a mapped file.
class ImatrixReader {
public:
    explicit ImatrixReader(std::shared_ptr<const MappedFile> file) { m_out->m_file = std::move(file); }

    Result<std::shared_ptr<const Imatrix>> read()
    {
        const auto bytes = m_out->m_file->bytes();
        m_out->m_old = !asText(bytes).starts_with("GGUF");
        HALFTONE_CHECK(m_out->m_old ? readOld(bytes) : readGguf(bytes));
        HALFTONE_CHECK(sortEntries());
        if (m_out->m_file->damaged()) return bad(Errc::Io, "the file was cut while it was read");
        return std::shared_ptr<const Imatrix>(std::move(m_out));
    }

private:
    Error bad(Errc code, std::string_view what) const
    {
        return {code, fmt::format("{}: {}", m_out->m_file->path().string(), what)};
    }
    Error bad(std::string_view what) const { return bad(Errc::BadFormat, what); }

    struct Pair {
        const TensorInfo* sums = nullptr;
        const TensorInfo* counts = nullptr;
    };

    Status readGguf(std::span<const std::byte> bytes)
    {
        auto read = readGgufHeader(bytes);
        if (!read) return std::move(read).error().in(m_out->m_file->path().string());
        const GgufHeader& header = *read;
        HALFTONE_CHECK(readKeys(header));
        if (!header.cut.empty())
            return bad(fmt::format("the file is too short for {}: copy it again", shown(header.cut.front())));
        std::map<std::string_view, Pair> pairs;
        for (const TensorInfo& tensor : header.tensors) {
            const std::string_view name = tensor.name;
            if (name.ends_with(kSums))
                pairs[name.substr(0, name.size() - kSums.size())].sums = &tensor;
            else if (name.ends_with(kCounts))
                pairs[name.substr(0, name.size() - kCounts.size())].counts = &tensor;
        }
        if (pairs.empty()) return bad("no tensor NAME.in_sum2: this is no importance matrix");
        for (const auto& [name, pair] : pairs)
            HALFTONE_CHECK(addPair(bytes, name, pair));
        return Ok{};
    }

    Status readKeys(const GgufHeader& header)
    {
        std::optional<std::string> type;
        for (const MetaEntry& entry : header.metadata) {
            if (entry.key == "general.type") type = metaString(entry);
            if (entry.key == "imatrix.datasets")
                m_out->m_datasets = metaStrings(entry).value_or(std::vector<std::string>{});
            if (entry.key == "imatrix.chunk_count") m_out->m_chunks = metaInt(entry).value_or(0);
            if (entry.key == "imatrix.chunk_size") m_out->m_chunkTokens = metaInt(entry).value_or(0);
        }
        if (type != "imatrix")
            return bad(
                fmt::format("a GGUF file with general.type \"{}\" instead of \"imatrix\": give the file "
                            "that llama-imatrix wrote",
                            shown(type.value_or(""))));
        return Ok{};
    }

    Status addPair(std::span<const std::byte> bytes, std::string_view name, const Pair& pair)
    {
        const auto of = [&](const TensorInfo* tensor, std::string_view suffix) -> Status {
            if (tensor == nullptr)
                return bad(fmt::format("{} has no tensor {}{}: make the file again", shown(name), shown(name),
                                       suffix));
            if (tensor->stored.plain != DType::F32)
                return bad(
                    fmt::format("{}{} is {} instead of F32", shown(name), suffix, tensor->stored.name));
            return Ok{};
        };
        HALFTONE_CHECK(of(pair.sums, kSums));
        HALFTONE_CHECK(of(pair.counts, kCounts));
        const Shape& shape = pair.sums->shape;
        const std::int64_t sets = shape.rank() >= 2 ? shape.rows() : 1;
        if (shape.count() == 0 || pair.counts->shape.count() != sets)
            return bad(fmt::format("{}: {} counts for sums of shape {}", shown(name),
                                   pair.counts->shape.count(), shape.text()));
        // Inside the file: the header's reader has checked it.
        const auto at = [&](const TensorInfo& t) {
            return bytes.subspan(static_cast<std::size_t>(t.fileOffset), static_cast<std::size_t>(t.bytes));
        };
        m_out->m_entries.push_back({std::string(name), shape.count(), sets});
        m_out->m_places.push_back({at(*pair.sums), at(*pair.counts), 0});
        return Ok{};
    }

    template <class T> bool take(T& value)
    {
        if (m_rest.size() < sizeof value) return false;
        value = readLe<T>(m_rest);
        m_rest = m_rest.subspan(sizeof value);
        return true;
    }

    // int32 entries; each: int32 length, name, int32 calls, int32 values, floats. Then, in newer files, int32
    // chunks, int32 length, name of the data set.
    Status readOld(std::span<const std::byte> bytes)
    {
        m_rest = bytes;
        std::int32_t count = 0;
        constexpr std::size_t kLeast = 4 + 1 + 4 + 4 + 4; // bytes of an entry
        if (!take(count) || count <= 0 || static_cast<std::size_t>(count) > m_rest.size() / kLeast)
            return bad(fmt::format("{} entries in a file of {} bytes: this is no importance matrix", count,
                                   bytes.size()));
        for (std::int32_t i = 0; i < count; ++i)
            HALFTONE_CHECK(readOldEntry(bytes, i));
        if (m_rest.empty()) return Ok{};
        std::int32_t chunks = 0, length = 0;
        if (!take(chunks)) return trailing(bytes);
        m_out->m_chunks = std::max(chunks, 0);
        if (m_rest.empty()) return Ok{};
        if (!take(length) || length < 0 || static_cast<std::size_t>(length) != m_rest.size())
            return trailing(bytes);
        if (length > 0) m_out->m_datasets.emplace_back(asText(m_rest));
        return Ok{};
    }

    Status readOldEntry(std::span<const std::byte> bytes, std::int32_t number)
    {
        const std::size_t at = bytes.size() - m_rest.size();
        const auto cut = [&](std::string_view what) {
            return bad(fmt::format("entry {} at byte {}: {}", number, at, what));
        };
        std::int32_t length = 0, calls = 0, values = 0;
        if (!take(length)) return cut("the file ends here");
        if (length <= 0 || length > kNameLimit || static_cast<std::size_t>(length) > m_rest.size())
            return cut(fmt::format("a name of {} bytes, {} are left", length, m_rest.size()));
        const std::string_view name = asText(m_rest.first(static_cast<std::size_t>(length)));
        m_rest = m_rest.subspan(name.size());
        if (!take(calls) || !take(values)) return cut("the file ends within it");
        const std::size_t size = static_cast<std::size_t>(std::max(values, 0)) * sizeof(float);
        if (values <= 0 || size > m_rest.size())
            return cut(
                fmt::format("{} has {} values, {} bytes are left", shown(name), values, m_rest.size()));
        if (calls < 0) return cut(fmt::format("{} has {} calls", shown(name), calls));
        m_out->m_entries.push_back({std::string(name), values, 0});
        m_out->m_places.push_back({m_rest.first(size), {}, calls});
        m_rest = m_rest.subspan(size);
        return Ok{};
    }

    Error trailing(std::span<const std::byte> bytes) const
    {
        return bad(
            fmt::format("the end of the file (of {} bytes) is neither a chunk count nor a data set's name",
                        bytes.size()));
    }

    Status sortEntries()
    {
        auto& entries = m_out->m_entries;
        std::vector<std::size_t> order(entries.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::sort(order.begin(), order.end(),
                  [&](std::size_t a, std::size_t b) { return entries[a].name < entries[b].name; });
        std::vector<ImatrixEntry> sorted;
        std::vector<Imatrix::Place> places;
        for (const std::size_t i : order) {
            if (!sorted.empty() && sorted.back().name == entries[i].name)
                return bad(fmt::format("{} stands twice", shown(entries[i].name)));
            sorted.push_back(std::move(entries[i]));
            places.push_back(m_out->m_places[i]);
        }
        entries = std::move(sorted);
        m_out->m_places = std::move(places);
        return Ok{};
    }

    std::shared_ptr<Imatrix> m_out = std::make_shared<Imatrix>();
    std::span<const std::byte> m_rest;
};

Result<std::shared_ptr<const Imatrix>> Imatrix::open(const std::filesystem::path& path)
{
    HALFTONE_TRY(file, MappedFile::open(path));
    return ImatrixReader(std::move(file)).read();
}

const ImatrixEntry* Imatrix::find(std::string_view name) const
{
    const auto at = std::lower_bound(m_entries.begin(), m_entries.end(), name,
                                     [](const ImatrixEntry& e, std::string_view n) { return e.name < n; });
    return at != m_entries.end() && at->name == name ? &*at : nullptr;
}

Result<std::vector<float>> Imatrix::values(const ImatrixEntry& entry) const
{
    const Place& place = m_places[static_cast<std::size_t>(&entry - m_entries.data())];
    const auto bad = [&](float value, const char* what) {
        return Error(Errc::BadFormat,
                     fmt::format("{}: {} has the {} {}", path().string(), shown(entry.name), what, value));
    };
    const auto usable = [](float value) { return value >= 0 && std::isfinite(value); };
    const std::int64_t sets = std::max<std::int64_t>(entry.sets, 1), columns = entry.values / sets;
    std::vector<float> means(static_cast<std::size_t>(entry.values));
    for (std::int64_t set = 0; set < sets; ++set) {
        const float count =
            place.counts.empty()
                ? static_cast<float>(place.calls)
                : readLe<float>(place.counts.subspan(static_cast<std::size_t>(set) * sizeof(float)));
        if (!usable(count)) return bad(count, "token count");
        for (std::int64_t i = set * columns; i < (set + 1) * columns; ++i) {
            const auto at = static_cast<std::size_t>(i);
            const float sum = readLe<float>(place.sums.subspan(at * sizeof(float)));
            if (!usable(sum)) return bad(sum, "sum of squares");
            means[at] = count > 0 ? sum / count : 1.0f;
            if (!std::isfinite(means[at])) return bad(sum, "sum of squares");
        }
    }
    if (m_file->damaged()) return Error(Errc::Io, path().string() + ": the file was cut while it was read");
    return means;
}

} // namespace halftone
